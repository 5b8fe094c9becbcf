"""The figures of a suite: aggregates over training and at its end, improvement, profiles, all curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from rle.report.draw.curves import (
    MOST_BANDS,
    SMALL_POINTS,
    curve_figures,
    how_to_read,
    value_limits,
)
from rle.report.draw.figures import (
    CurveFigure,
    EstimateFigure,
    EstimateRow,
    Figure,
    GridFigure,
    Series,
)
from rle.report.draw.style import LineStyle
from rle.report.measure.suites import (
    IQM,
    LABELS,
    Comparison,
    SuiteResults,
    aggregate_definition,
    aggregate_name,
    profile_bands,
)
from rle.report.measure.training import Training
from rle.report.read.methods import Method, Suite, strategy_label
from rle.report.read.words import (
    ATARI,
    file_name,
    frames_text,
    judged_by,
    lengths_text,
    short_name,
    span,
    steps_axis,
    steps_text,
)
from rle.stats import Band, Bootstrap, Interval

BANDS = (
    "Bands are 95 % confidence intervals, point by point, from seeds resampled within each task."
)
LINES = "Dots are estimates, lines 95 % confidence intervals; a dot without a line has none."


def suite_figures(
    results: SuiteResults,
    trainings: Sequence[Training],
    styles: dict[str, LineStyle],
    bootstrap: Bootstrap,
) -> list[Figure]:
    """Every figure of a suite that can be drawn."""
    figures: list[Figure] = [_training(results, training, styles) for training in trainings]
    if results.comparisons:
        figures.append(improvement_figure(results.comparisons, styles, len(results.tasks)))
    if results.over_ppo:
        figures.append(over_ppo_figure(results.over_ppo, styles, len(results.tasks)))
    if results.normalised and results.scale.mark is not None:
        figures += [end_figure(results, key, styles) for key in results.scale.shown]
        figures.append(_profiles(results, styles, bootstrap))
    methods = [method for group in results.suite.groups for method in group.methods]
    iqm = {label: found[IQM] for label, found in results.aggregates.items()}
    figures += ablation_figures(methods, iqm, aggregate_name(results.scale, IQM), 3, styles)
    grid = learning_curves(results.suite, styles, bootstrap)
    return [
        figure
        for figure in (*figures, grid)
        if not isinstance(figure, CurveFigure | GridFigure) or _has_curves(figure)
    ]


def _has_curves(figure: CurveFigure | GridFigure) -> bool:
    return bool(figure.series if isinstance(figure, CurveFigure) else figure.panels)


def _training(
    results: SuiteResults, training: Training, styles: dict[str, LineStyle]
) -> CurveFigure:
    """An aggregate over steps, or over the share of the training where tasks have different lengths."""
    scale, suite = results.scale, results.suite.name
    unit = 100 if training.steps is None else training.steps
    bands = {label: replace(b, grid=unit * b.grid) for label, b in training.bands.items()}
    series = tuple(_series(label, styles[label], band) for label, band in bands.items())
    lengths = lengths_text(training.lengths, frames_text if suite == ATARI else steps_text)
    axis = "" if training.steps else f" All of a task's training is 100 %, in steps: {lengths}."
    trained = span(training.lengths.values(), steps_text)
    definition = aggregate_definition(scale, training.key, len(results.averaged))
    return CurveFigure(
        name=training.key,
        title=f"{LABELS[training.key]} of all tasks over training",
        caption=(
            f"The {definition}: {scale.explanation}. The score of a run is {scale.of_run}.{axis} "
            f"{BANDS}"
        ),
        y_label=aggregate_name(scale, training.key),
        series=series,
        limits=value_limits(series),
        digits=3,
        notes=training.notes,
        bands=len(series) <= MOST_BANDS,
        x_label=steps_axis(suite) if training.steps else f"% of the training ({trained} steps)",
        x_digits=None if training.steps else 0,
    )


def _profiles(
    results: SuiteResults, styles: dict[str, LineStyle], bootstrap: Bootstrap
) -> CurveFigure:
    bands = profile_bands(results, bootstrap)
    return CurveFigure(
        name="profiles",
        title="Performance profiles",
        caption=(
            f"Share of the runs of all tasks whose {results.scale.label} at the end of training is "
            "above each threshold; a curve above another is better (Agarwal et al. 2021). "
            f"{BANDS}"
        ),
        y_label="share of runs above the threshold",
        series=tuple(_series(label, styles[label], band) for label, band in bands.items()),
        limits=(0.0, 1.0),
        digits=3,
        bands=len(bands) <= MOST_BANDS,
        x_label=results.scale.label,
        x_digits=2,
    )


def _series(label: str, style: LineStyle, band: Band) -> Series:
    known = bool(np.isfinite(band.low).all())
    low, high = (band.low, band.high) if known else (None, None)
    return Series(label, style, band.grid, band.point, low, high)


def learning_curves(suite: Suite, styles: dict[str, LineStyle], bootstrap: Bootstrap) -> GridFigure:
    """The score over training on every task."""
    panels = [
        replace(figure, title=short_name(group.task))
        for group in suite.groups
        for figure in curve_figures(group, styles, bootstrap, SMALL_POINTS)
    ]
    notes = dict.fromkeys(note for panel in panels for note in panel.notes)
    series = [one for panel in panels for one in panel.series]
    what = "Mean return" if any(judged_by(g.task) == "score" for g in suite.groups) else "Success"
    return GridFigure(
        name="learning-curves",
        title="Learning curves of every task",
        caption=(
            f"{what} of the last 128 training episodes over training steps; every task has a scale of "
            f"its own. {how_to_read(series, any(panel.bands for panel in panels))}"
        ),
        legend=tuple((label, styles[label]) for label in suite.labels),
        panels=tuple(panels),
        notes=tuple(notes)
        if len(notes) <= 6
        else (f"{len(notes)} curves hold runs that end early.",),
    )


def improvement_figure(
    comparisons: Sequence[Comparison], styles: dict[str, LineStyle], tasks: int
) -> EstimateFigure:
    """RLE over each rival, one row each."""
    reference = comparisons[0].first
    rows = [(f"over {c.second}", c.second, c.improvement) for c in comparisons]
    return _probabilities(
        "improvement",
        f"Probability that {reference} improves",
        f"a run of {reference} scores higher than a run of the rival",
        [EstimateRow(said, styles[label].colour, found) for said, label, found in rows],
        tasks,
    )


def over_ppo_figure(
    comparisons: Sequence[Comparison], styles: dict[str, LineStyle], tasks: int
) -> EstimateFigure:
    """Each method over PPO, one row each."""
    ppo = comparisons[0].second
    event = f"a run of the method scores higher than a run of {ppo}"
    rows = [EstimateRow(c.first, styles[c.first].colour, c.improvement) for c in comparisons]
    title = f"Probability of improving over {ppo}"
    return _probabilities("improvement-over-ppo", title, event, rows, tasks)


def _probabilities(
    name: str, title: str, event: str, rows: Sequence[EstimateRow], tasks: int
) -> EstimateFigure:
    """Probabilities of improvement, and the line of no difference."""
    return EstimateFigure(
        name=name,
        title=title,
        caption=(
            f"The probability that {event} on the same task, a tie counting half, averaged over "
            f"{tasks} tasks (Agarwal et al. 2021). Dashed: 0.5, neither is better. It needs no "
            f"normalisation of scores. {LINES}"
        ),
        x_label="probability of improvement",
        rows=tuple(rows),
        limits=(0.0, 1.0),
        digits=2,
        reference=(0.5, "neither is better"),
    )


def end_figure(results: SuiteResults, key: str, styles: dict[str, LineStyle]) -> EstimateFigure:
    """An aggregate over all tasks at the end of training, one row per method."""
    intervals = {label: found[key] for label, found in results.aggregates.items()}
    scale = results.scale
    definition = aggregate_definition(scale, key, len(results.averaged))
    low, high = limits = _limits(list(intervals.values()))
    # A line beyond the last estimate would make the axis longer and say nothing.
    mark = scale.mark if scale.mark is not None and low <= scale.mark[0] <= high else None
    dashed = f" Dashed: {mark[1]}." if mark else ""
    return EstimateFigure(
        name=f"{key}-at-end",
        title=f"{LABELS[key]} of all tasks at the end",
        caption=f"The {definition}, at the end of training: {scale.explanation}.{dashed} {LINES}",
        x_label=aggregate_name(scale, key),
        rows=tuple(EstimateRow(x, styles[x].colour, found) for x, found in intervals.items()),
        limits=limits,
        digits=3,
        reference=mark,
    )


def ablation_figures(
    methods: Sequence[Method],
    intervals: Mapping[str, Interval],
    what: str,
    digits: int,
    styles: dict[str, LineStyle],
) -> list[EstimateFigure]:
    """For every strategy that was run with several settings, its variants below each other."""
    figures = []
    for explore in dict.fromkeys(method.explore for method in methods):
        labels = dict.fromkeys(
            m.label for m in methods if m.explore == explore and m.label in intervals
        )
        if len(labels) < 2:
            continue
        name = strategy_label(explore)
        unchanged = intervals.get(name)
        figures.append(
            EstimateFigure(
                name=f"variants-{file_name(explore)}",
                title=f"Variants of {name}",
                caption=(
                    f"{what[:1].upper()}{what[1:]} of {name} with different settings; a label names "
                    f"what differs{f' from {name}, whose value is dashed' if unchanged else ''}. "
                    f"{LINES}"
                ),
                x_label=what,
                rows=tuple(EstimateRow(x, styles[x].colour, intervals[x]) for x in labels),
                limits=_limits([intervals[label] for label in labels]),
                digits=digits,
                reference=None if unchanged is None else (unchanged.point, name),
            )
        )
    return figures


def _limits(intervals: Sequence[Interval]) -> tuple[float, float]:
    """A range that shows every dot and line, with some room."""
    ends = [end for one in intervals for end in (one.low, one.high, one.point) if end is not None]
    low, high = min(ends), max(ends)
    margin = 0.08 * (high - low) or 0.1 * max(abs(high), 1.0)
    return (0.0 if 0 <= low < margin else low - margin, high + margin)
