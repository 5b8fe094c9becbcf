"""Many runs: declared grids, run in local processes."""

from typing import TYPE_CHECKING

from rle.lazy import lazy_names

if TYPE_CHECKING:
    from rle.studies.catalogue import find_study, study_names
    from rle.studies.definitions import Method, Study
    from rle.studies.registry import STUDIES
    from rle.studies.running import StudyResult, run_all, study
    from rle.studies.status import RunStatus, StudyStatus, study_status

__all__ = [
    "STUDIES",
    "Method",
    "RunStatus",
    "Study",
    "StudyResult",
    "StudyStatus",
    "find_study",
    "run_all",
    "study",
    "study_names",
    "study_status",
]

__getattr__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(("STUDIES", "find_study", "study_names"), "rle.studies.catalogue"),
        **dict.fromkeys(("Method", "Study"), "rle.studies.definitions"),
        **dict.fromkeys(("StudyResult", "run_all", "study"), "rle.studies.running"),
        **dict.fromkeys(("RunStatus", "StudyStatus", "study_status"), "rle.studies.status"),
    },
)
