"""Tests of an extra that is not installed are skipped: not every platform has all of them.

And none touches what the user keeps in their own folders.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from importlib.util import find_spec

import pytest


@pytest.fixture(scope="session", autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What tests trust is not remembered beside what the user does; in their processes too."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


EXTRAS = ("ale_py", "av", "envpool", "mujoco", "stable_baselines3", "tensorboard")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    return (yield from _skipped_without_its_extra())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    return (yield from _skipped_without_its_extra())


def _skipped_without_its_extra() -> Generator[None, object, object]:
    try:
        return (yield)
    except Exception as error:
        missing = _missing(error)
        if missing is None:
            raise
        pytest.skip(f"{missing} is not installed")


def _missing(error: BaseException | None) -> str | None:
    """The extra whose absence is the cause of `error`, or of what that was raised from."""
    while error is not None:
        if isinstance(error, ModuleNotFoundError):
            module = (error.name or "").partition(".")[0]
            # Where it is installed, its absence is pretended by the test and the error is real.
            return module if module in EXTRAS and find_spec(module) is None else None
        error = error.__cause__
    return None
