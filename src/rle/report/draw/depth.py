"""The figure of DeepSea: steps until solved against N, beside those of random actions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rle.report.draw.figures import CurveFigure, Series
from rle.report.draw.style import GREY, LineStyle
from rle.report.measure.depth import Depth, dithering_steps

_DITHERING = LineStyle(GREY, (3, 2))
_POINTS = 60


def depth_figure(depths: Sequence[Depth], styles: dict[str, LineStyle]) -> CurveFigure | None:
    """Steps on a logarithmic scale; None if there is nothing to compare."""
    if not depths:
        return None
    sizes = [one.size for depth in depths for one in depth.solvings]
    series = [
        Series(
            depth.method,
            styles[depth.method],
            np.array([float(size) for size, _ in depth.solved]),
            np.log10([steps for _, steps in depth.solved]),
        )
        for depth in depths
        if depth.solved
    ]
    random = np.linspace(min(sizes), max(sizes), _POINTS)
    curve = np.log10([dithering_steps(size) for size in random])
    highest = max((float(one.values.max()) for one in series), default=float(curve[0]))
    return CurveFigure(
        name="depth",
        title="Steps until DeepSea is solved",
        caption=(
            "The first step at which at least half of the last 128 training episodes found the chest: "
            "median over seeds, without sizes that fewer than half of them solved. Dashed: N · 2^N, "
            "what random actions take on average to find it once."
        ),
        y_label="steps, as a power of ten",
        series=(*series, Series("random actions, N · 2^N", _DITHERING, random, curve)),
        limits=(3.0, float(np.ceil(max(highest, float(curve[0])) + 0.5))),
        digits=2,
        x_label="N",
        x_digits=0,
    )
