"""Many runs: declared grids, run in local processes."""

from rle.studies.definitions import STUDIES, Method, Study, find_study, study_names
from rle.studies.local import StudyResult, run_all, study

__all__ = [
    "STUDIES",
    "Method",
    "Study",
    "StudyResult",
    "find_study",
    "run_all",
    "study",
    "study_names",
]
