"""What a suite of tasks is: one record that says all the rest of the program needs to know of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from rle.checks import nearest
from rle.config import EnvironmentConfig
from rle.errors import UsageError

if TYPE_CHECKING:
    import torch

    from rle.tasks.base import Task
    from rle.tasks.film.stage import Filmed


@dataclass(frozen=True)
class Wanted:
    """A task that a suite is asked to build."""

    name: str
    """Within the suite."""
    config: EnvironmentConfig
    """Among others, how many environments it is to have."""
    device: torch.device
    """Where its tensors are to be."""
    engine_threads: int = 0
    """Of an engine that steps environments in threads; 0: one per core."""
    pictures: bool = False
    """Whether what the task's `picture` needs is to be loaded too."""


def _nothing(name: str) -> Collection[str]:
    return ()


def _nowhere(name: str) -> str | None:
    return None


Judged = Literal["score", "success", "coverage"]
"""The mean score of episodes, the share of them whose score is above 0, or how much was visited."""


def _by_score(name: str) -> Judged:
    return "score"


def _always(name: str) -> bool:
    return True


@dataclass(frozen=True)
class Suite:
    """Tasks that are named `<suite>/<name>` and built in one way.

    The functions take the task's name within the suite, and import what they need when they are
    called: that a suite is there must cost nothing.
    """

    tasks: Mapping[str, str]
    """One line for `rle list tasks` about each name; of an open-ended suite, about a pattern."""
    build: Callable[[Wanted], Task]
    name: str = ""
    """What stands before the slash; one that is brought along goes by its `module:name` instead."""
    bare: bool = False
    """Whether its names stand alone, without the suite's and a slash."""
    names: Callable[[], Iterable[str]] | None = None
    """Names to suggest; None: those of `tasks`."""
    check: Callable[[str], None] | None = None
    """Raises `UsageError` unless there is such a task; None: it must be one of the names."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of a suite that is brought along: what to train with where that is not what other tasks start
    from, by dotted names. A strategy's settings count where it is used."""
    takes: Callable[[str], Collection[str]] = _nothing
    """Which settings the task takes of those that most tasks do not: `autoreset`, `env_kwargs`,
    `wrappers`, `frame_stack`, `grayscale`, `resize`, `full_action_space`, `television`,
    `engine_threads`."""
    images: bool | None = None
    """Whether its tasks show images; None: that is only seen once one is built."""
    continuous: bool | None = None
    """Whether their actions are continuous; None: the same."""
    pays: Callable[[str], bool] = _always
    """Whether the task ever gives a reward."""
    judged: Callable[[str], Judged] = _by_score
    """What tells how well an agent does in the task; reports go by the score of suites that are brought
    along."""
    film: Callable[[str, EnvironmentConfig], Filmed] | None = None
    """A stage of its own for films; None: the task's pictures."""
    gymnasium_id: Callable[[str], str | None] = _nowhere
    """The same world as a single Gymnasium environment, for other libraries to train on."""

    def full_name(self, name: str) -> str:
        """How a task is called on the command line."""
        return name if self.bare else f"{self.name}/{name}"

    def known_names(self) -> list[str]:
        """The tasks' names, as far as they can be listed."""
        return list(self.tasks if self.names is None else self.names())

    def check_name(self, name: str) -> None:
        """Raise `UsageError` with the nearest name unless there is a task `name`."""
        if self.check is not None:
            self.check(name)
        elif name not in self.known_names():
            advice = nearest(name, self.known_names())
            raise UsageError(f"{self.name} has no task {name!r}: {advice}")


SUITES: dict[str, Suite] = {}
"""The suites of this package, by name, in the order in which they are listed."""


def register(suite: Suite) -> Suite:
    """Make a suite known by its name."""
    SUITES[suite.name] = suite
    return suite
