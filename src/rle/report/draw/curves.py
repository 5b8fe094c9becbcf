"""The curves of a task: its own measures over training, and what to watch beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rle.report.draw.figures import CurveFigure, GridFigure, Series
from rle.report.draw.style import LineStyle
from rle.report.measure.curves import SEEDS_FOR_A_BAND, diagnostics_of, method_curve, seeds_label
from rle.report.measure.measures import MAX_ENTROPY
from rle.report.read.methods import TaskGroup
from rle.report.read.words import is_fourroom, judged_by, steps_axis, suite_of
from rle.stats import Bootstrap

MOST_BANDS = 6
"""More bands, or lines of single seeds, than this hide the curves."""
POINTS, SMALL_POINTS = 121, 49
"""Of a curve; more cannot be seen."""


@dataclass(frozen=True)
class _Kind:
    """One metric as a figure."""

    key: str
    name: str
    title: str
    caption: str
    y_label: str
    digits: int | None
    bounds: tuple[float, float] | None = None
    limits: tuple[float, float] | None = None
    """Of the axis; None: as the values need it."""
    ceiling: tuple[float, str] | None = None


_COVERAGE = _Kind(
    "coverage",
    "coverage",
    "Coverage over training",
    "Share of the 2504 free cells visited so far.",
    "share of free cells visited",
    3,
    (0.0, 1.0),
    (0.0, 1.0),
)
_REACHED = replace(
    _COVERAGE,
    caption="Share of the task's cells visited so far.",
    y_label="share of cells visited",
    digits=4,
    limits=None,
)
_ENTROPY = _Kind(
    "visitation_entropy",
    "visitation-entropy",
    "Visitation entropy over training",
    "Entropy of all visits so far; it is highest, ln 2504 = 7.83 nats, when every free cell is "
    "visited equally often.",
    "entropy of visits (nats)",
    2,
    (0.0, MAX_ENTROPY),
    (0.0, 8.0),
    (MAX_ENTROPY, "even visits"),
)
_SUCCESS = _Kind(
    "score",
    "success",
    "Success at the goal over training",
    "An episode counts 1 if it reached the goal, else 0. Shown is the mean of the last 128 training "
    "episodes.",
    "share of episodes at the goal",
    3,
    (0.0, 1.0),
    (0.0, 1.0),
)
_SCORE = _Kind(
    "score",
    "score",
    "Score over training",
    "Mean return of the last 128 training episodes.",
    "return of an episode",
    2,
)


def curve_figures(
    group: TaskGroup, styles: dict[str, LineStyle], bootstrap: Bootstrap, points: int = POINTS
) -> list[CurveFigure]:
    """The curves of a task, each with every method."""
    judged = judged_by(group.task)
    if not is_fourroom(group.task):
        kinds = [{"score": _SCORE, "success": _SUCCESS, "coverage": _REACHED}[judged]]
    else:
        kinds = [_COVERAGE, _ENTROPY, *([_SUCCESS] if judged == "success" else [])]
    figures = [_figure(group, kind, styles, bootstrap, points) for kind in kinds]
    return [figure for figure in figures if figure.series]


def _figure(
    group: TaskGroup, kind: _Kind, styles: dict[str, LineStyle], bootstrap: Bootstrap, points: int
) -> CurveFigure:
    series: list[Series] = []
    notes: list[str] = []
    for method in group.methods:
        curve = method_curve(method, kind.key, kind.bounds, bootstrap, points)
        if curve is not None:
            of_seeds = (curve.low, curve.high, curve.single)
            label = seeds_label(method, curve)
            series.append(Series(label, styles[method.label], curve.steps, curve.values, *of_seeds))
            notes.extend(curve.notes)
    bands = len(series) <= MOST_BANDS
    return CurveFigure(
        name=kind.name,
        title=kind.title,
        caption=f"{kind.caption} {how_to_read(series, bands)}",
        notes=tuple(notes),
        y_label=kind.y_label,
        series=tuple(series),
        limits=kind.limits or value_limits(series),
        digits=kind.digits,
        ceiling=kind.ceiling,
        bands=bands,
        x_label=steps_axis(suite_of(group.task)),
    )


def how_to_read(series: Sequence[Series], bands: bool) -> str:
    """What lines and bands mean."""
    with_bands = any(one.low is not None for one in series)
    if not bands and with_bands:
        return (
            "Lines are means over seeds. With so many methods no bands are drawn: point at the "
            "curves to read the 95 % confidence intervals of the mean."
        )
    said = ["Lines are means over seeds"]
    if with_bands:
        said.append("bands are 95 % confidence intervals of the mean, point by point")
    if bands and any(one.single for one in series):
        said.append(
            f"with fewer than {SEEDS_FOR_A_BAND} seeds, thin lines are the single seeds, because an "
            "interval of so few would span most of the picture"
        )
    return f"{'; '.join(said)}."


def value_limits(series: Sequence[Series]) -> tuple[float, float]:
    """The range of an axis that shows all of the curves and their bands."""
    parts = _parts(series)
    if not parts:
        return (0.0, 1.0)
    return _with_room(min(float(p.min()) for p in parts), max(float(p.max()) for p in parts))


def _robust_limits(series: Sequence[Series]) -> tuple[float, float]:
    """The same without rare values far from all others, which would flatten the rest."""
    values = np.concatenate(_parts(series))
    low, high = np.quantile(values, (0.05, 0.95))
    reach = 2 * (high - low)
    return _with_room(float(max(values.min(), low - reach)), float(min(values.max(), high + reach)))


def _parts(series: Sequence[Series]) -> list[np.ndarray]:
    single = [values for one in series for _, values in one.single]
    parts = (part for one in series for part in (one.values, one.low, one.high))
    return [part for part in parts if part is not None] + single


def _with_room(low: float, high: float) -> tuple[float, float]:
    margin = 0.05 * (high - low) or max(abs(high), 1.0) * 0.05
    # A scale that starts at zero is the honest one where nothing is below it.
    return (0.0 if 0 <= low < 0.5 * high else low - margin, high + margin)


def diagnostics_figure(
    group: TaskGroup, styles: dict[str, LineStyle], bootstrap: Bootstrap
) -> GridFigure | None:
    """Every further number that the runs of a task recorded, each with the methods that have it."""
    panels = []
    for key in diagnostics_of(group):
        figure = _figure(
            group, _Kind(key, key, key, "", key, None), styles, bootstrap, SMALL_POINTS
        )
        if figure.series:
            panels.append(replace(figure, limits=_robust_limits(figure.series)))
    if not panels:
        return None
    shown = [one for panel in panels for one in panel.series]
    drawn = {one.style for one in shown}
    return GridFigure(
        name="diagnostics",
        title="Diagnostics",
        caption=(
            "What the runs recorded beside their results, by its name in metrics.jsonl, each on a "
            "scale of its own and with the methods that have it. Without z the latent sensitivity "
            f"is 0. {how_to_read(shown, any(panel.bands for panel in panels))}"
        ),
        legend=tuple((label, style) for label, style in styles.items() if style in drawn),
        panels=tuple(panels),
    )
