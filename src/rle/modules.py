"""What users bring: things in their modules, named `module:name`, and in packages they installed."""

from __future__ import annotations

import importlib
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import EntryPoint, distributions
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from rle.checks import nearest
from rle.errors import UsageError
from rle.renamed import RENAMED_GROUPS

Kind = TypeVar("Kind")

DISTRIBUTION_GROUP = "rle.distributions"
FEATURE_GROUP = "rle.features"
"""Groups of entry points in which installed packages name their distributions of z and networks φ."""


def search_working_folder() -> None:
    """Let modules of the working folder be imported, as `python -m` does; in child processes too."""
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)


@contextmanager
def done_without(module: str) -> Iterator[None]:
    """Let imports of `module` fail, unless it is there already: for packages that can do without it."""
    if module in sys.modules:
        yield
        return
    # What Python's import system takes for "there is none".
    sys.modules[module] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[module]


def import_named(module: str, what: str) -> ModuleType:
    """The module called `module`; where that fails, a sentence that begins with `what`."""
    if not re.fullmatch(r"\w+(\.\w+)*", module):
        raise UsageError(
            f"{what}, but {module!r} is no module's name: give one that can be imported."
        )
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
    # A program that ends itself is no module either.
    except (Exception, SystemExit) as error:
        raise UsageError(f"{what}, but {_where_it_failed(module, error)}") from error


def _where_it_failed(module: str, error: BaseException) -> str:
    place = traceback.extract_tb(error.__traceback__)[-1]
    # A syntax error names its place itself.
    where = "" if isinstance(error, SyntaxError) else f" ({place.filename}, line {place.lineno})"
    reason = " ".join(str(error).split())
    return f"the module {module!r} fails with {type(error).__name__}: {reason}{where}."


def load_named(path: str, what: str, kind: type[Kind]) -> Kind:
    """The thing of the given kind that `module:name` names.

    Where that fails, a sentence that begins with `what`.
    """
    module_name, _, name = path.partition(":")
    if not module_name or not name:
        raise UsageError(f"{what}: give module:name of something in a module of yours.")
    found: Any = import_named(module_name, what)
    for part in name.split("."):
        if not hasattr(found, part):
            present = [key for key in dir(found) if not key.startswith("_")]
            advice = nearest(part, present) if present else "write it there."
            raise UsageError(f"{what}, but {module_name} has no {name!r}: {advice}")
        found = getattr(found, part)
    return _of_kind(found, what, path, kind)


def _of_kind(found: Any, what: str, path: str, kind: type[Kind]) -> Kind:
    if not isinstance(found, kind):
        raise UsageError(
            f"{what}, but {path} is of the kind {type(found).__name__}: make it a {kind.__name__}."
        )
    return found


def path_of(function: Callable[..., Any]) -> str | None:
    """`module:name` under which a function or a class is found again, or None if it has no such name."""
    name, module = getattr(function, "__qualname__", "<unnamed>"), function.__module__
    # What a program defines itself is in no module that another program could import.
    return None if "<" in name or module == "__main__" else f"{module}:{name}"


@cache
def installed(group: str) -> dict[str, EntryPoint]:
    """What installed packages bring along, by name: their entry points of a group, not yet loaded."""
    groups = [old for old, new in RENAMED_GROUPS.items() if new == group] + [group]
    # The working folder may hold what somebody else wrote: nothing in it is installed.
    places = [place for place in sys.path if Path(place).resolve() != Path.cwd()]
    found = [entry for each in distributions(path=places) for entry in each.entry_points]
    # What comes first on the path counts, as it does for modules.
    return {entry.name: entry for name in groups for entry in found[::-1] if entry.group == name}


def load_installed(group: str, name: str, kind: type[Kind]) -> Kind:
    """The thing of the given kind that an installed package calls `name`."""
    entry = installed(group)[name]
    what = f"{name!r} is brought by an installed package as {entry.value}"
    return load_named(entry.value, what, kind)


def load_all_installed(group: str, kind: type[Kind]) -> dict[str, Kind]:
    """All that installed packages bring along; what cannot be loaded is left out with a warning."""
    loaded: dict[str, Kind] = {}
    for name in installed(group):
        try:
            loaded[name] = load_installed(group, name, kind)
        except UsageError as error:
            warnings.warn(f"left out: {error}", stacklevel=2)
    return loaded
