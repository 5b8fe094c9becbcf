"""The studies of this package: each registers itself where it is declared."""

from __future__ import annotations

from rle.studies.definitions import Study

STUDIES: dict[str, Study] = {}
"""By name, in the order in which they are listed."""


def register(study: Study) -> Study:
    """Make a study known by its name."""
    STUDIES[study.name] = study
    return study
