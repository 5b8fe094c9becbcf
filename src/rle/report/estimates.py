"""Figures of estimates with their intervals: probability of improvement, and ablations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rle.report.figures import EstimateFigure, EstimateRow
from rle.report.methods import Method, strategy_label
from rle.report.style import LineStyle, file_name
from rle.report.suite_results import (
    LABELS,
    Comparison,
    SuiteResults,
    aggregate_definition,
    aggregate_name,
)
from rle.stats import Interval

LINES = "Dots are estimates, lines 95 % confidence intervals; a dot without a line has none."


def improvement_figure(
    comparisons: Sequence[Comparison], styles: dict[str, LineStyle], tasks: int
) -> EstimateFigure:
    """RLE over each rival, one row each."""
    reference = comparisons[0].first
    return _probabilities(
        "improvement",
        f"Probability that {reference} improves",
        f"a run of {reference} scores higher than a run of the rival",
        [
            EstimateRow(f"over {c.second}", styles[c.second].colour, c.improvement)
            for c in comparisons
        ],
        tasks,
    )


def over_ppo_figure(
    comparisons: Sequence[Comparison], styles: dict[str, LineStyle], tasks: int
) -> EstimateFigure:
    """Each method over PPO, one row each."""
    ppo = comparisons[0].second
    return _probabilities(
        "improvement-over-ppo",
        f"Probability of improving over {ppo}",
        f"a run of the method scores higher than a run of {ppo}",
        [EstimateRow(c.first, styles[c.first].colour, c.improvement) for c in comparisons],
        tasks,
    )


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
