"""The tables of a suite: aggregates, comparisons, training needed, and every method on every task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rle.report.measure.depth import Depth, Solving
from rle.report.measure.measures import SCORE, Estimate, Measure, TaskMeasures, main_measure
from rle.report.measure.suites import LABELS, Comparison, SuiteResults
from rle.report.measure.training import POINTS, Reached, Training, reached
from rle.report.read.methods import Suite
from rle.report.read.words import DASH, number_text, short_name, span, steps_text
from rle.report.write.tables import Cell, Table, count, estimate_cell, number, word

Measured = Mapping[str, TaskMeasures]
"""By the full name of the task."""


def aggregates_table(results: SuiteResults) -> Table:
    """One row per method."""
    keys = list(next(iter(results.aggregates.values())))
    rows = []
    for label, found in results.aggregates.items():
        methods = [results.suite.methods(label)[task] for task in results.averaged]
        counts = results.normalised[label].runs_per_task
        rows.append(
            (
                word(label),
                count(len(results.averaged)),
                Cell(span(counts, str), int(counts.min()), (("", span(counts, str)),)),
                steps_cell([method.steps for method in methods]),
                *(estimate_cell(found[key], 3) for key in keys),
            )
        )
    headings = (
        ("method", "Method"),
        ("tasks", "Tasks"),
        ("seeds", "Seeds per task"),
        ("steps", "Steps"),
        *((key, LABELS[key]) for key in keys),
    )
    caption = (
        f"Aggregates over tasks of the {results.scale.label}, with 95 % confidence intervals in "
        "brackets. For the optimality gap lower is better, for the others higher."
    )
    return Table("aggregates", "Over all tasks", caption, headings, tuple(rows))


def comparisons_table(results: SuiteResults) -> Table | None:
    """RLE beside each rival, one row each; None without rivals."""
    found = results.comparisons
    if not found:
        return None
    first, heading = found[0].first, ("rival", "Rival")
    return _pairs_table("comparisons", (first, "rival"), heading, {c.second: c for c in found})


def over_ppo_table(results: SuiteResults) -> Table | None:
    """Each method beside PPO, one row each; None without PPO or with nothing new to say."""
    found = results.over_ppo
    if not found:
        return None
    ppo, heading = found[0].second, ("method", "Method")
    return _pairs_table("over-ppo", ("method", ppo), heading, {c.first: c for c in found})


def _pairs_table(
    name: str, pair: tuple[str, str], heading: tuple[str, str], found: Mapping[str, Comparison]
) -> Table:
    """One row for each of the methods that `heading` stands for; `pair` says who is beside whom."""
    first, second = (f"the {who}" if who == heading[0] else who for who in pair)
    rows = []
    for label, one in found.items():
        low, high = one.improvement.limits
        decided = replace(estimate_cell(one.improvement, 3), strong=low > 0.5 or high < 0.5)
        rows.append((word(label), decided, estimate_cell(one.difference, 3, signed=True)))
    return Table(
        name,
        f"{first} beside each rival" if heading[0] == "rival" else f"Each method beside {second}",
        f"Probability that a run of {first} beats a run of {second}, and difference of the IQM, over "
        "all tasks, with 95 % confidence intervals; bold where the interval excludes 0.5 and 0.",
        (
            heading,
            ("probability_of_improvement", f"P({pair[0]} > {pair[1]})"),
            ("iqm_difference", "Difference of the IQM"),
        ),
        tuple(rows),
    )


def training_table(trainings: Sequence[Training]) -> Table | None:
    """How soon each method is as good as the next best at the end; None for a single method."""
    found = {t.key: {one.method: one for one in reached(t.bands)} for t in trainings}
    methods = dict.fromkeys(label for of in found.values() for label in of)
    if not methods:
        return None
    return Table(
        "training-needed",
        "Training needed for the next best method's final value",
        "When the curve of a method first reaches what the next best method has at the end of training, "
        "as a share of each task's training and in steps. From curves of "
        f"{POINTS} points, without intervals. The last method has none below it.",
        (("method", "Method"), *((t.key, LABELS[t.key]) for t in trainings)),
        tuple(
            (word(label), *(_reached_cell(found[t.key].get(label), t) for t in trainings))
            for label in methods
        ),
    )


def _reached_cell(one: Reached | None, training: Training) -> Cell:
    endings = ("_share", "_steps_min", "_steps_max", "_rival", "_level")
    if one is None:
        return Cell(DASH, None, tuple((ending, None) for ending in endings))
    steps = [round(one.share * length) for length in training.lengths.values()]
    text = (
        f"{number_text(100 * one.share, 0)} % ({span(steps, steps_text)} steps) for "
        f"{one.rival}: {number_text(one.level, 3)}"
    )
    values = (one.share, min(steps), max(steps), one.rival, one.level)
    return Cell(text, one.share, tuple(zip(endings, values, strict=True)))


def scores_table(suite: Suite, measured: Measured) -> Table:
    """One row per task, the best method in bold."""
    labels = suite.labels
    rows = []
    for group in suite.groups:
        main = main_measure(group.task)
        estimates = {
            label: found[main.key]
            for label, found in measured[group.task].estimates.items()
            if main.key in found
        }
        steps = {method.label: method.steps for method in group.methods}
        best = max((one.interval.point for one in estimates.values()), default=None)
        rows.append(
            (
                word(short_name(group.task)),
                steps_cell(list(steps.values())),
                *(score_cell(estimates.get(label), best, main) for label in labels),
            )
        )
    headings = (
        ("task", "Task"),
        ("steps", "Steps"),
        *((f"score_{label}", label) for label in labels),
    )
    measures = dict.fromkeys(main_measure(group.task) for group in suite.groups)
    what = ", or ".join(
        "Mean return of the last 128 training episodes" if m is SCORE else m.label for m in measures
    )
    return Table(
        "scores",
        "Score on every task",
        f"{what}, mean over seeds with its 95 % confidence "
        "interval; the highest mean of a task in bold, whether or not intervals tell it from the "
        "others.",
        headings,
        tuple(rows),
    )


def depth_table(depths: Sequence[Depth]) -> Table | None:
    """When each method solved which size of DeepSea; None if there is nothing to compare."""
    if not depths:
        return None
    sizes = sorted({one.size for depth in depths for one in depth.solvings})
    rows = []
    for depth in depths:
        solvings = {one.size: one for one in depth.solvings}
        deepest = max((size for size, _ in depth.solved), default=None)
        rows.append(
            (
                word(depth.method),
                *(_solving_cell(solvings.get(size)) for size in sizes),
                number(deepest, 0),
                number(depth.exponent, 3),
            )
        )
    return Table(
        "depth",
        "Steps until DeepSea is solved",
        "The first step at which at least half of the last 128 training episodes found the chest: "
        "median over seeds, and how many seeds got there; the largest N that at least half of them "
        "solved; and β of steps ~ 2^(β N), fitted to the medians (random actions: about 1).",
        (
            ("method", "Method"),
            *((f"steps_{size}", f"N = {size}") for size in sizes),
            ("largest", "Largest N"),
            ("exponent", "β"),
        ),
        tuple(rows),
    )


def _solving_cell(one: Solving | None) -> Cell:
    if one is None:
        return Cell(DASH, None, (("", None), ("_solved", None), ("_seeds", 0)))
    text = DASH if one.median is None else steps_text(one.median)
    values = (one.median, len(one.steps), one.seeds)
    columns = tuple(zip(("", "_solved", "_seeds"), values, strict=True))
    return Cell(f"{text} ({len(one.steps)} of {one.seeds})", one.median, columns)


def steps_cell(steps: list[int]) -> Cell:
    """Steps of training, a range where methods or tasks differ."""
    return Cell(span(steps, steps_text), max(steps), (("_min", min(steps)), ("_max", max(steps))))


def score_cell(estimate: Estimate | None, best: float | None, measure: Measure = SCORE) -> Cell:
    """A mean score with its interval, in bold if it is the best."""
    if estimate is None:
        return Cell(DASH, None, (("", None), ("_low", None), ("_high", None), ("_seeds", 0)))
    interval = estimate.interval
    digits = score_digits(interval.point) if measure is SCORE else measure.digits
    cell = estimate_cell(interval, digits)
    seeds = len(estimate.values)
    return replace(
        cell,
        columns=(*cell.columns, ("_seeds", seeds)),
        strong=interval.point == best,
        hint=" ".join(filter(None, [f"{seeds} seeds.", interval.note])),
    )


def score_digits(value: float) -> int:
    """Decimals of a score: none where it has thousands."""
    return 0 if abs(value) >= 1000 else 1 if abs(value) >= 100 else 2
