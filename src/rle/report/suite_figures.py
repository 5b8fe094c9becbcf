"""The figures of a suite: IQM over training, improvement, profiles, variants, all learning curves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rle.report.curves import MOST_BANDS, CurveDrawing, curve_figures, value_limits
from rle.report.estimates import ablation_figures, improvement_figure
from rle.report.figures import CurveFigure, Figure, GridFigure, Series
from rle.report.style import LineStyle
from rle.report.suite_results import IQM, SuiteResults, iqm_curve, profile_bands
from rle.report.suites import Suite, short_name
from rle.stats import Band, Bootstrap

GRID_POINTS = 49
BANDS = (
    "Bands are 95 % confidence intervals, point by point, from seeds resampled within each task."
)


def suite_figures(
    results: SuiteResults, styles: dict[str, LineStyle], bootstrap: Bootstrap
) -> list[Figure]:
    """Every figure of a suite that can be drawn."""
    figures: list[Figure] = []
    if results.normalised:
        figures.append(_training(results, styles, bootstrap))
    if results.comparisons:
        figures.append(improvement_figure(results.comparisons, styles, len(results.tasks)))
    if results.normalised and results.scale.mark is not None:
        figures.append(_profiles(results, styles, bootstrap))
    methods = [method for group in results.suite.groups for method in group.methods]
    iqm = {label: found[IQM] for label, found in results.aggregates.items()}
    what = f"IQM of the {results.scale.label}"
    figures += ablation_figures(methods, iqm, what, 3, styles)
    grid = learning_curves(results.suite, styles, bootstrap)
    return [
        figure
        for figure in (*figures, grid)
        if not isinstance(figure, CurveFigure | GridFigure) or _has_curves(figure)
    ]


def _has_curves(figure: CurveFigure | GridFigure) -> bool:
    return bool(figure.series if isinstance(figure, CurveFigure) else figure.panels)


def _training(
    results: SuiteResults, styles: dict[str, LineStyle], bootstrap: Bootstrap
) -> CurveFigure:
    series, notes = [], []
    for label in results.normalised:
        band = iqm_curve(results, label, bootstrap)
        if isinstance(band, str):
            notes.append(band)
        else:
            series.append(_series(label, styles[label], band))
            notes += band.notes
    return CurveFigure(
        name="iqm",
        title="All tasks over training",
        caption=(
            f"Interquartile mean (IQM) over all runs of {len(results.averaged)} tasks of the "
            f"{results.scale.label}: {results.scale.explanation}. The score of a run is the mean "
            f"return of its last 128 training episodes. {BANDS}"
        ),
        y_label=f"IQM of the {results.scale.label}",
        series=tuple(series),
        limits=value_limits(tuple(series)),
        digits=3,
        notes=tuple(notes),
        bands=len(series) <= MOST_BANDS,
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
