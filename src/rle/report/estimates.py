"""Figures of estimates with their intervals: probability of improvement, and ablations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rle.report.figures import EstimateFigure, EstimateRow
from rle.report.methods import Method, strategy_label
from rle.report.style import LineStyle, file_name
from rle.report.suite_results import Comparison
from rle.stats import Interval

LINES = "Dots are estimates, lines 95 % confidence intervals; a dot without a line has none."


def improvement_figure(
    comparisons: Sequence[Comparison], styles: dict[str, LineStyle], tasks: int
) -> EstimateFigure:
    """One row per rival, and the line of no difference."""
    reference = comparisons[0].reference
    rows = tuple(
        EstimateRow(f"over {c.rival}", styles[c.rival].colour, c.improvement) for c in comparisons
    )
    return EstimateFigure(
        name="improvement",
        title=f"Probability that {reference} improves",
        caption=(
            f"The probability that a run of {reference} scores higher than a run of the rival on the "
            f"same task, a tie counting half, averaged over {tasks} tasks (Agarwal et al. 2021). "
            f"Dashed: 0.5, neither is better. It needs no normalisation of scores. {LINES}"
        ),
        x_label="probability of improvement",
        rows=rows,
        limits=(0.0, 1.0),
        digits=2,
        reference=(0.5, "neither is better"),
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
