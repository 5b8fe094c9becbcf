"""Curves over training steps: the mean over seeds with a confidence band."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rle.report.figures import CurveFigure, FloatArray, Series
from rle.report.measures import MAX_ENTROPY
from rle.report.methods import Method, TaskGroup
from rle.report.records import GOAL_TASK, is_fourroom
from rle.report.style import LineStyle
from rle.report.suites import suite_of
from rle.report.wording import steps_axis
from rle.stats import Bootstrap, aggregate_curve, align_curves, mean


@dataclass(frozen=True)
class CurveDrawing:
    """How curves are computed."""

    bootstrap: Bootstrap
    points: int = 121
    """Points per curve; more cannot be seen."""


BAND = (
    "Lines are means over seeds; bands are 95 % confidence intervals of the mean, point by point."
)
NO_BAND = (
    "Lines are means over seeds. With so many methods no bands are drawn: point at the curves to "
    "read the 95 % confidence intervals of the mean."
)
MOST_BANDS = 6
"""More bands than this hide the curves."""


def curve_figures(
    group: TaskGroup, styles: dict[str, LineStyle], draw: CurveDrawing
) -> list[CurveFigure]:
    """The curves of a task, each with every method."""
    figures = []
    if is_fourroom(group.task):
        figures += [_coverage(group, styles, draw), _entropy(group, styles, draw)]
    if not is_fourroom(group.task) or group.task == GOAL_TASK:
        figures.append(_score(group, styles, draw))
    return [_without_bands(figure) for figure in figures if figure.series]


def _without_bands(figure: CurveFigure) -> CurveFigure:
    """The figure itself, unless it has so many curves that bands would hide them."""
    if len(figure.series) <= MOST_BANDS:
        return figure
    return replace(figure, bands=False, caption=figure.caption.replace(BAND, NO_BAND))


def _coverage(group: TaskGroup, styles: dict[str, LineStyle], draw: CurveDrawing) -> CurveFigure:
    series, notes = _series(group, "coverage", styles, (0.0, 1.0), draw)
    return CurveFigure(
        name="coverage",
        title="Coverage over training",
        caption=f"Share of the 2504 free cells visited so far. {BAND}",
        y_label="share of free cells visited",
        series=series,
        limits=(0.0, 1.0),
        digits=3,
        notes=notes,
    )


def _entropy(group: TaskGroup, styles: dict[str, LineStyle], draw: CurveDrawing) -> CurveFigure:
    series, notes = _series(group, "visitation_entropy", styles, (0.0, MAX_ENTROPY), draw)
    return CurveFigure(
        name="visitation-entropy",
        title="Visitation entropy over training",
        caption=(
            "Entropy of all visits so far; it is highest, ln 2504 = 7.83 nats, when every free "
            f"cell is visited equally often. {BAND}"
        ),
        y_label="entropy of visits (nats)",
        series=series,
        limits=(0.0, 8.0),
        digits=2,
        ceiling=(MAX_ENTROPY, "even visits"),
        notes=notes,
    )


def _score(group: TaskGroup, styles: dict[str, LineStyle], draw: CurveDrawing) -> CurveFigure:
    goal = group.task == GOAL_TASK
    series, notes = _series(group, "score", styles, (0.0, 1.0) if goal else None, draw)
    if goal:
        return CurveFigure(
            name="success",
            title="Success at the goal over training",
            caption=(
                "Return of an episode: 1 if it reached the goal, else 0. Shown is the mean of the "
                f"last 128 training episodes. {BAND}"
            ),
            y_label="share of episodes at the goal",
            series=series,
            limits=(0.0, 1.0),
            digits=3,
            notes=notes,
        )
    return CurveFigure(
        name="score",
        title="Score over training",
        caption=f"Mean return of the last 128 training episodes. {BAND}",
        y_label="return of an episode",
        series=series,
        limits=value_limits(series),
        digits=2,
        notes=notes,
        x_label=steps_axis(suite_of(group.task)),
    )


def value_limits(series: tuple[Series, ...]) -> tuple[float, float]:
    """The range of an axis that shows all of the curves and their bands."""
    parts = [part for s in series for part in (s.values, s.low, s.high) if part is not None]
    if not parts:
        return (0.0, 1.0)
    low = min(float(part.min()) for part in parts)
    high = max(float(part.max()) for part in parts)
    margin = 0.05 * (high - low) or max(abs(high), 1.0) * 0.05
    # A scale that starts at zero is the honest one where nothing is below it.
    return (0.0 if 0 <= low < 0.5 * high else low - margin, high + margin)


def _series(
    group: TaskGroup,
    key: str,
    styles: dict[str, LineStyle],
    bounds: tuple[float, float] | None,
    draw: CurveDrawing,
) -> tuple[tuple[Series, ...], tuple[str, ...]]:
    series: list[Series] = []
    notes: list[str] = []
    for method in group.methods:
        drawn = method_series(method, key, styles[method.label], bounds, draw)
        if drawn is not None:
            series.append(drawn[0])
            notes.extend(drawn[1])
    return tuple(series), tuple(notes)


def method_series(
    method: Method,
    key: str,
    style: LineStyle,
    bounds: tuple[float, float] | None,
    draw: CurveDrawing,
) -> tuple[Series, tuple[str, ...]] | None:
    """One method's mean and band, with notes; None if no run has a finite value."""
    curves = finite_curves(method, key)
    if not curves:
        return None
    seeds = f"{len(curves)} seed{'s' if len(curves) > 1 else ''}"
    aligned = align_curves(method.label, {method.runs[0].task: curves}, _grid(curves, draw.points))
    band = aggregate_curve(mean, aligned, draw.bootstrap, bounds)
    low = high = None
    if np.isfinite(band.low).all():
        low, high = band.low, band.high
    label = f"{method.label} ({seeds})"
    early = [curve for curve in curves if curve[0][-1] < 0.99 * aligned.steps[-1]]
    notes: tuple[str, ...] = ()
    if early:
        notes = (
            f"{method.label}: {len(early)} of {len(curves)} runs end early; from there on their "
            "last value counts.",
        )
    return Series(label, style, aligned.steps, band.point, low, high), notes


def finite_curves(method: Method, key: str) -> list[tuple[FloatArray, FloatArray]]:
    """The curves of a method's runs without the values that are NaN or infinite."""
    curves = []
    for run in method.runs:
        if key in run.curves:
            steps, values = run.curves[key]
            finite = np.isfinite(values)
            if finite.any():
                curves.append((steps[finite], values[finite]))
    return curves


def _grid(curves: list[tuple[FloatArray, FloatArray]], points: int) -> FloatArray:
    """Recorded steps of the longest run, from where every run has a value, evenly thinned."""
    longest = max((steps for steps, _ in curves), key=lambda steps: steps[-1])
    start = max(steps[0] for steps, _ in curves)
    recorded: FloatArray = longest[longest >= start]
    kept = np.linspace(0, len(recorded) - 1, min(points, len(recorded))).round().astype(int)
    return np.asarray(recorded[kept], dtype=np.float64)
