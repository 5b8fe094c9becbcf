"""Modules that users name, in settings (`module:function`) and in ids (`module:MyMaze-v0`)."""

from __future__ import annotations

import importlib
import sys
import traceback
from pathlib import Path
from types import ModuleType

from rle.errors import UsageError


def search_working_folder() -> None:
    """Let modules of the working folder be imported, as `python -m` does; in child processes too."""
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)


def import_named(module: str, what: str) -> ModuleType:
    """The module called `module`; where that fails, a sentence that begins with `what`."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        missing = error.name or module
        if module == missing or module.startswith(f"{missing}."):
            here = str(Path.cwd())
            # A program of one's own looks into its own folder instead.
            folder = here if here in sys.path else sys.path[0] or here
            raise UsageError(
                f"{what}, but there is no module {missing!r} in {folder} and none is installed: "
                f"start from the folder that holds {missing}.py, or install the package that does."
            ) from error
        raise UsageError(
            f"{what}, but the module {module!r} needs {missing!r}, which is not installed: "
            f"pip install {missing.partition('.')[0]}."
        ) from error
    except Exception as error:
        raise UsageError(f"{what}, but {_where_it_failed(module, error)}") from error


def _where_it_failed(module: str, error: Exception) -> str:
    place = traceback.extract_tb(error.__traceback__)[-1]
    # A syntax error names its place itself.
    where = "" if isinstance(error, SyntaxError) else f" ({place.filename}, line {place.lineno})"
    reason = " ".join(str(error).split())
    return f"the module {module!r} fails with {type(error).__name__}: {reason}{where}."
