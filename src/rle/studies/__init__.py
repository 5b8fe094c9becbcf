"""Many runs: declared grids, run in local processes."""

from rle.studies.catalogue import find_study, study_names
from rle.studies.definitions import Method, Study
from rle.studies.local import StudyResult, run_all, study
from rle.studies.registry import STUDIES

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
