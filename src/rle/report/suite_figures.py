"""The figures of a suite: aggregates over training and at its end, improvement, profiles, all curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rle.report.curves import MOST_BANDS, CurveDrawing, curve_figures, value_limits
from rle.report.estimates import (
    ablation_figures,
    end_figure,
    improvement_figure,
    over_ppo_figure,
)
from rle.report.figures import CurveFigure, Figure, GridFigure, Series
from rle.report.style import LineStyle, steps_text
from rle.report.suite_results import (
    IQM,
    LABELS,
    SuiteResults,
    aggregate_definition,
    aggregate_name,
    profile_bands,
)
from rle.report.suite_training import Training
from rle.report.suites import ATARI, Suite, short_name
from rle.report.wording import frames_text, lengths_text, span, steps_axis
from rle.stats import Band, Bootstrap

GRID_POINTS = 49
BANDS = (
    "Bands are 95 % confidence intervals, point by point, from seeds resampled within each task."
)


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
            f"The {definition}: {scale.explanation}. The score of a run is the mean return of its "
            f"last 128 training episodes.{axis} {BANDS}"
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
    draw = CurveDrawing(bootstrap, GRID_POINTS)
    panels = [
        replace(figure, title=short_name(group.task))
        for group in suite.groups
        for figure in curve_figures(group, styles, draw)
    ]
    notes = dict.fromkeys(note for panel in panels for note in panel.notes)
    return GridFigure(
        name="learning-curves",
        title="Learning curves of every task",
        caption=(
            "Mean return of the last 128 training episodes over training steps. Lines are means over "
            "seeds, bands 95 % confidence intervals of the mean, point by point; every task has a "
            "scale of its own."
        ),
        legend=tuple((label, styles[label]) for label in suite.labels),
        panels=tuple(panels),
        notes=tuple(notes)
        if len(notes) <= 6
        else (f"{len(notes)} curves hold runs that end early.",),
    )
