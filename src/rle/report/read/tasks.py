"""What a task is called, what happens in it, and which suite it belongs to."""

from __future__ import annotations

from rle.report.read.words import FRAMES_PER_STEP
from rle.tasks import fourroom

GOAL_TASK = "fourroom-sparse"
TELEVISION_TASK = "fourroom-noisytv"
ATARI = "atari"

_ROOMS = (
    "A grid of 51 × 51 cells: four rooms, joined by four doors of one cell. The agent starts in "
    "the top right corner and sees its coordinates."
)
_TASKS = {
    "fourroom": (
        "FourRoom, reward-free",
        f"{_ROOMS} There is no reward: the question is how much of the rooms an agent visits.",
    ),
    GOAL_TASK: (
        "FourRoom, sparse goal",
        f"{_ROOMS} The only reward is 1 in the bottom left corner, at least 100 steps away; "
        "reaching it ends the episode.",
    ),
    TELEVISION_TASK: (
        "FourRoom, noisy television",
        f"{_ROOMS} There is no reward, and inside one square of 2 × 2 cells the observation is "
        "random: a strategy that seeks the unpredictable may get stuck there.",
    ),
}


def is_fourroom(task: str) -> bool:
    """Whether a task is one of the grid worlds with maps to draw."""
    return task in fourroom.VARIANTS


def suite_of(task: str) -> str:
    """The suite of a task; empty for grid worlds, which have measures of their own."""
    return task.partition("/")[0] if "/" in task else ""


def short_name(task: str) -> str:
    """A task without its suite: the game of `atari/<game>`."""
    return task.partition("/")[2]


def task_title(task: str) -> str:
    """What a task is called in a heading."""
    return _TASKS[task][0] if task in _TASKS else task.split("/", 1)[-1]


def task_description(task: str) -> str:
    """What happens in a task."""
    if task in _TASKS:
        return _TASKS[task][1]
    if suite_of(task) == ATARI:
        return f"The Atari game {task_title(task)}. The score is the return of a whole game, unclipped."
    return f"The environment {task}. The score is the return of an episode."


def marks_text(task: str) -> str:
    """What the marks in a task's pictures mean."""
    more = {GOAL_TASK: "; *: goal", TELEVISION_TASK: "; outlined square: television"}
    return f"S: start{more.get(task, '')}."


def steps_axis(suite: str) -> str:
    """What the axis of a curve over training is called."""
    return f"training steps ({FRAMES_PER_STEP} frames each)" if suite == ATARI else "training steps"
