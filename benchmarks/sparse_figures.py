"""Pictures of the sparse suite from a saved file, with every seed of every day.

    python -m benchmarks.sparse_figures docs/results/data/sparse-suite.csv docs/results/figures

`sparse-success.png`: each method's success on each task, and its interquartile mean over all of them.
`sparse-profiles.png`: the share of runs above each success.
"""

import argparse
import sys
from pathlib import Path

import matplotlib
import numpy as np
from benchmarks.sparse_suite import By, by_method, comparable, of_file
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from rle.report.draw.style import QUIET, RESOLUTION, SETTINGS, assign_styles
from rle.stats import Scores, aggregate_interval, interquartile_mean

METHODS = {
    "rle": "RLE",
    "rle-rnd": "RLE + RND",
    "rnd": "RND",
    "ppo": "PPO",
    "noisynet": "NoisyNet",
    "random": "random actions",
}
WITHOUT_SUCCESS = ("sparse/AntFree",)


def draw_tasks(axes: Axes, found: By, colours: dict[str, str]) -> None:
    """A row per task, the one that RLE is best at on top, a dot per method."""
    order = sorted(found["rle"], key=lambda task: np.mean(found["rle"][task]))
    for place, (method, scores) in enumerate(found.items()):
        shift = 0.11 * (place - (len(found) - 1) / 2)
        axes.plot(
            [np.mean(scores[task]) for task in order],
            np.arange(len(order)) - shift,
            "o",
            color=colours[method],
            markersize=5 if method == "rle" else 4,
            zorder=4 if method == "rle" else 3,
            clip_on=False,
        )
    axes.set_yticks(range(len(order)), [task.removeprefix("sparse/") for task in order])
    axes.set_xlim(0, 1)
    axes.set_xlabel("success in the last tenth of training")
    axes.set_title("by task: mean over seeds", loc="left", fontsize=9)


def draw_means(axes: Axes, found: By, colours: dict[str, str]) -> None:
    """The interquartile mean of each method with its interval."""
    for place, (method, scores) in enumerate(found.items()):
        interval = aggregate_interval(interquartile_mean, Scores.from_runs(method, scores))
        low, high = interval.limits
        axes.barh(-place, interval.point, 0.6, color=colours[method], alpha=0.85, zorder=2)
        axes.plot([low, high], [-place, -place], color=QUIET, linewidth=1.6, zorder=3)
    axes.set_yticks([-place for place in range(len(found))], [METHODS[m] for m in found])
    axes.set_xlim(0, 1)
    axes.set_xlabel("success")
    axes.set_title("over all: interquartile mean, 95 % interval", loc="left", fontsize=9)


def draw_profiles(axes: Axes, found: By, colours: dict[str, str]) -> None:
    """The share of runs, every task counted the same, whose success is above a threshold."""
    thresholds = np.linspace(0, 1, 201)
    for method, scores in found.items():
        shares = np.mean(
            [np.mean(np.array(some)[:, None] > thresholds, axis=0) for some in scores.values()], 0
        )
        axes.step(thresholds, shares, color=colours[method], label=METHODS[method], where="post")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_xlabel("success τ")
    axes.set_ylabel("share of runs above τ")
    axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1))


def save(figure: Figure, path: Path) -> None:
    FigureCanvasAgg(figure).print_png(str(path), pil_kwargs={"compress_level": 9})


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("figures", type=Path, help="the folder they go to")
    parser.add_argument("--least-seeds", type=int, default=3, help="of a task that is shown")
    known = parser.parse_args(arguments)
    runs = [run for run in of_file(known.file) if run["task"] not in WITHOUT_SUCCESS]
    kept = comparable(by_method(runs), known.least_seeds)
    found = {method: kept[method] for method in METHODS if method in kept}
    styles = assign_styles([METHODS[method] for method in found])
    colours = {method: styles[METHODS[method]].colour for method in found}
    with matplotlib.rc_context(SETTINGS | {"figure.dpi": RESOLUTION}):
        both = Figure(figsize=(9.2, 4.6), layout="constrained")
        left, right = both.subplots(1, 2, width_ratios=(1.25, 1))
        draw_tasks(left, found, colours)
        draw_means(right, found, colours)
        save(both, known.figures / "sparse-success.png")
        alone = Figure(figsize=(6.4, 3.4), layout="constrained")
        draw_profiles(alone.subplots(), found, colours)
        save(alone, known.figures / "sparse-profiles.png")


if __name__ == "__main__":
    main(sys.argv[1:])
