"""What people look at: pictures, curves and tables of any folder of runs, on one page."""

import sys
import types
from pathlib import Path

from rle.report.build import report

__all__ = ["report"]


class _CallableModule(types.ModuleType):
    """Lets `rle.report(...)` be the verb although `rle.report` is also this package."""

    def __call__(self, *arguments: object, **options: object) -> Path:
        return report(*arguments, **options)  # type: ignore[arg-type]


sys.modules[__name__].__class__ = _CallableModule
