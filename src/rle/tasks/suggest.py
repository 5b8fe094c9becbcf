"""Which task a mistaken name meant: people know CartPole-v1 and Breakout, not our suites."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rle.checks import closest
from rle.tasks.suite import SUITES

_DECORATION = re.compile(r"(noframeskip|deterministic)?(-ram)?(-v\d+)?$")
"""What the id of an environment has beside the name of its world, in small letters."""

OURS_FOR_OTHERS = "gym/rle/"
"""Our own worlds as Gymnasium environments."""
ONCE_MORE = "sparse/"
"""Where worlds of other suites are judged by their successes."""


def suggest_task(name: str) -> str | None:
    """`did you mean ...?` with the whole names of tasks like `name`, or None if there are none."""
    tasks = [suite.full_name(task) for suite in SUITES.values() for task in suite.known_names()]
    worlds = {task: _world(task) for task in tasks}
    world = closest(_world(name), worlds.values())
    alike = [task for task in tasks if worlds[task] == world]
    if not alike:
        return None
    suite, own_name = name.partition("/")[0], name.rpartition("/")[2]
    in_suite = [task for task in alike if task.startswith(f"{suite}/")]
    alike = [task for task in alike if not task.startswith(ONCE_MORE)] or alike
    by_name = [task for task in alike if task.endswith(f"/{own_name}")]
    # What is ours is better trained on directly.
    others = [task for task in alike if not task.startswith(OURS_FOR_OTHERS)]
    meant = _one_of_each_suite(in_suite or by_name or others)
    return f"did you mean {' or '.join(map(repr, meant))}?"


def _world(name: str) -> str:
    return _DECORATION.sub("", name.rpartition("/")[2].lower())


def _one_of_each_suite(tasks: Iterable[str]) -> list[str]:
    """The shortest name of each suite, and of several the last: the newest version."""
    chosen: dict[str, str] = {}
    for task in tasks:
        suite, _, _ = task.partition("/")
        if suite not in chosen or len(task) <= len(chosen[suite]):
            chosen[suite] = task
    return list(chosen.values())
