"""Sentences of the page: what a task is, and what came out, in plain words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from rle.report.measures import COVERAGE, SCORE, SUCCESS, Measure, TaskMeasures
from rle.report.methods import TaskGroup
from rle.report.records import GOAL_TASK, is_fourroom
from rle.report.style import number_text, steps_text
from rle.report.suites import ATARI
from rle.stats import Interval

FRAMES_PER_STEP = 4
"""Atari games are played with a frame skip of four."""
_ROOMS = (
    "A grid of 51 × 51 cells: four rooms, joined by four doors of one cell. The agent starts in "
    "the top right corner and sees its coordinates."
)
_TASKS = {
    "fourroom": (
        "FourRoom, reward-free",
        f"{_ROOMS} There is no reward: the question is how much of the rooms an agent visits.",
    ),
    "fourroom-sparse": (
        "FourRoom, sparse goal",
        f"{_ROOMS} The only reward is 1 in the bottom left corner, at least 100 steps away; "
        "reaching it ends the episode.",
    ),
    "fourroom-noisytv": (
        "FourRoom, noisy television",
        f"{_ROOMS} There is no reward, and inside one square of 2 × 2 cells the observation is "
        "random: a strategy that seeks the unpredictable may get stuck there.",
    ),
}

MOST_NAMED = 4
"""So many methods fit into a sentence."""


def task_title(task: str) -> str:
    """What a task is called in a heading."""
    return _TASKS[task][0] if task in _TASKS else task.split("/", 1)[-1]


def task_description(task: str) -> str:
    """What happens in a task."""
    if task in _TASKS:
        return _TASKS[task][1]
    if task.startswith("atari/"):
        return f"The Atari game {task_title(task)}. The score is the return of a whole game, unclipped."
    return f"The environment {task}. The score is the return of an episode."


def headline(group: TaskGroup, results: TaskMeasures) -> str:
    """The outcome in two or three sentences."""
    measure = main_measure(group.task)
    outcomes = {
        method.label: results.estimates[method.label][measure.key].interval
        for method in group.methods
        if measure.key in results.estimates[method.label]
    }
    if not outcomes:
        return "No run has a result yet."
    steps = {steps_text(method.steps) for method in group.methods}
    when = f"after {steps.pop()} steps" if len(steps) == 1 else "at the end of training"
    what = {
        COVERAGE: "Share of the free cells visited",
        SUCCESS: "Share of the last episodes that reached the goal",
        SCORE: "Mean return of the last 128 episodes",
    }[measure]
    left_out = ""
    if len(outcomes) > MOST_NAMED:
        ranked = sorted(outcomes, key=lambda label: -outcomes[label].point)
        kept = [*ranked[: MOST_NAMED - 1], ranked[-1]]
        left_out = f"; {len(ranked) - len(kept)} methods lie between the last two"
        outcomes = {label: outcomes[label] for label in kept}
    said = [f"{label} {_with_interval(interval, measure)}" for label, interval in outcomes.items()]
    return f"{what} {when}: {'; '.join(said)}{left_out}. {_verdict(results, measure)}".strip()


def main_measure(task: str) -> Measure:
    """The measure a task is about."""
    if not is_fourroom(task):
        return SCORE
    return SUCCESS if task == GOAL_TASK else COVERAGE


def _with_interval(interval: Interval, measure: Measure) -> str:
    text = number_text(interval.point, measure.digits)
    if interval.low is None or interval.high is None:
        return text
    low, high = (number_text(limit, measure.digits) for limit in (interval.low, interval.high))
    return f"{text} (95 % interval {low} to {high})"


def _verdict(results: TaskMeasures, measure: Measure) -> str:
    """Which differences the intervals support."""
    above: list[str] = []
    below: list[str] = []
    undecided: list[str] = []
    reference = ""
    for difference in results.differences:
        reference = difference.reference
        interval = difference.intervals.get(measure.key)
        if interval is None or interval.low is None or interval.high is None:
            continue
        side = above if interval.low > 0 else below if interval.high < 0 else undecided
        side.append(difference.rival)
    sentences = []
    for rivals, phrase in ((above, "above"), (below, "below")):
        if rivals:
            sentences.append(
                f"{reference} is {phrase} {join(rivals)}: the 95 % interval excludes 0."
            )
    if undecided:
        sentences.append(
            f"Between {reference} and {join(undecided)} these seeds do not decide: the interval "
            "of the difference includes 0."
        )
    return " ".join(sentences)


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


def frames_text(steps: int) -> str:
    """Steps of an Atari game in both units: 40 M (160 M frames)."""
    return f"{steps_text(steps)} ({steps_text(FRAMES_PER_STEP * steps)} frames)"


def steps_axis(suite: str) -> str:
    """What the axis of a curve over training is called."""
    return f"training steps ({FRAMES_PER_STEP} frames each)" if suite == ATARI else "training steps"


def lengths_text(lengths: Mapping[str, int], text: Callable[[int], str]) -> str:
    """How long some tasks were trained for; those that took longer are named."""
    usual = min(lengths.values())
    longer = [f", {task} {text(steps)}" for task, steps in lengths.items() if steps > usual]
    return text(usual) + "".join(longer)
