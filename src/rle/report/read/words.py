"""How the report speaks: what tasks are called, and one way to write each number."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from unicodedata import category

from rle.stats import Interval
from rle.tasks import fourroom_plan
from rle.tasks.suite import SUITES, Judged

DASH = "–"
"""Stands in a table where there is no number."""
MOST_NAMED = 4
"""So many methods fit into a sentence."""
FRAMES_PER_STEP = 4
"""Atari games are played with a frame skip of four."""
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


def plain_text(text: str) -> str:
    """`text` with what no page can show (surrogates, control signs) written as Python would."""
    return "".join(
        sign if sign.isprintable() or category(sign) == "Zs" else ascii(sign)[1:-1] for sign in text
    )


def file_name(text: str) -> str:
    """`text` as part of a file's name or of an address in the page."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def steps_text(steps: float) -> str:
    """Steps as people say them: 500 k, 2.5 M."""
    if steps < 0:
        return f"−{steps_text(-steps)}"
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        # Run lengths are rounded up to whole rollouts: 2 502 656 steps are "2.5 M" to a reader.
        if steps >= size * 0.9995:
            return f"{float(f'{steps / size:.3g}'):g}\u00a0{unit}"
    return f"{steps:g}"


def frames_text(steps: int) -> str:
    """Steps of an Atari game in both units: 40 M (160 M frames)."""
    return f"{steps_text(steps)} ({steps_text(FRAMES_PER_STEP * steps)} frames)"


def number_text(value: float | None, digits: int) -> str:
    """A number with a fixed number of decimals and thousands set apart; a dash for none."""
    if value is None or math.isnan(value):
        return DASH
    # -0.000 would puzzle a reader.
    rounded = round(value, digits) + 0.0
    return f"{rounded:,.{digits}f}".replace(",", "\u202f").replace("-", "−")


def interval_text(interval: Interval, digits: int) -> str:
    """An estimate, and its limits in brackets where it has any."""
    text = number_text(interval.point, digits)
    if interval.low is None or interval.high is None:
        return text
    return f"{text} [{number_text(interval.low, digits)}, {number_text(interval.high, digits)}]"


def join(names: list[str]) -> str:
    """Names as a part of a sentence."""
    if len(names) > MOST_NAMED:
        return f"{len(names)} others"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def plural(number: int, word: str) -> str:
    """A number with its word."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def span(values: Iterable[int], text: Callable[[int], str]) -> str:
    """The lowest and the highest of some numbers, or the only one."""
    numbers = list(values)
    return " to ".join(dict.fromkeys(text(number) for number in (min(numbers), max(numbers))))


def lengths_text(lengths: Mapping[str, int], text: Callable[[int], str]) -> str:
    """How long some tasks were trained for; those that took longer are named."""
    usual = min(lengths.values())
    longer = [f", {task} {text(steps)}" for task, steps in lengths.items() if steps > usual]
    return text(usual) + "".join(longer)


def is_fourroom(task: str) -> bool:
    """Whether a task is one of the grid worlds with maps to draw."""
    return task in fourroom_plan.VARIANTS


def suite_of(task: str) -> str:
    """The suite of a task; empty for grid worlds, which have measures of their own."""
    return task.partition("/")[0] if "/" in task else ""


def short_name(task: str) -> str:
    """A task without its suite: the game of `atari/<game>`."""
    return task.partition("/")[2]


def judged_by(task: str) -> Judged:
    """What tells how well an agent does in a task; suites that are brought along go by their scores."""
    if is_fourroom(task):
        return SUITES["fourroom"].judged(task)
    suite = SUITES.get(suite_of(task))
    return "score" if suite is None else suite.judged(short_name(task))


def task_title(task: str) -> str:
    """What a task is called in a heading."""
    return _TASKS[task][0] if task in _TASKS else task.split("/", 1)[-1]


def task_description(task: str) -> str:
    """What happens in a task."""
    if task in _TASKS:
        return _TASKS[task][1]
    if suite_of(task) == ATARI:
        return f"The Atari game {task_title(task)}. The score is the return of a whole game, unclipped."
    if judged_by(task) == "success":
        return f"The task {task}. An episode succeeds or does not."
    if judged_by(task) == "coverage":
        return f"The task {task}. There is no reward: the question is how much an agent visits."
    return f"The environment {task}. The score is the return of an episode."


def marks_text(task: str) -> str:
    """What the marks in a task's pictures mean."""
    more = {GOAL_TASK: "; *: goal", TELEVISION_TASK: "; outlined square: television"}
    return f"S: start{more.get(task, '')}."


def steps_axis(suite: str) -> str:
    """What the axis of a curve over training is called."""
    return f"training steps ({FRAMES_PER_STEP} frames each)" if suite == ATARI else "training steps"
