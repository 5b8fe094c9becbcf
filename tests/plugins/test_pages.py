"""The pages on plug-ins, followed to the letter."""

from __future__ import annotations

from typing import Any

from tests.test_pages import blocks


def test_gymnasium() -> None:
    first, following = blocks("plugins/gymnasium.md")
    names: dict[str, Any] = {}
    exec(first, names)
    assert names["observation"].shape == (4, 12)
    assert (names["info"]["bonus"] != 0).any()
    exec(following, names)
