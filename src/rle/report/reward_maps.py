"""Reward maps: F(s, z) over all cells, for several z."""

from __future__ import annotations

import matplotlib
import numpy as np
import torch

from rle.explore.mixture import latent_strategy
from rle.randomness import generator
from rle.report.figures import ColourScale, Panel, PanelFigure, PanelGroup, Pixels
from rle.report.methods import Method
from rle.report.pictures import (
    COLUMNS,
    Problems,
    Values,
    attempt,
    colours,
    marks,
    marks_text,
    representative,
    which_seed,
)
from rle.report.records import RunRecord
from rle.report.style import file_name, number_text, steps_text
from rle.report.trajectories import SEED, load_for_pictures
from rle.tasks import fourroom

REWARD_MAP = "RdBu_r"
REWARD_MAPS = 10


def reward_figure(method: Method, folded: bool, problems: Problems) -> PanelFigure | None:
    """F(s, z) of ten z over all cells, of a method whose bonus is such a function."""
    run = representative(method)
    if "rle" not in method.explore.split("+") or not run.directory.checkpoint_steps():
        return None
    values = attempt(run, "reward maps", problems, lambda: _rewards(run))
    if values is None:
        return None
    highest = float(np.abs(values[:, fourroom.free_cells().numpy()]).max())
    goal, television = marks(run)
    panels = tuple(
        Panel(
            f"z {number}", pixels=reward_pixels(reward, highest), goal=goal, television=television
        )
        for number, reward in enumerate(values, start=1)
    )
    label = number_text(highest, 2)
    scale = ColourScale(
        "F(s, z)", colours(REWARD_MAP), ((0.0, number_text(-highest, 2)), (0.5, "0"), (1.0, label))
    )
    step = run.directory.checkpoint_steps()[-1]
    return PanelFigure(
        name=f"reward-maps-{file_name(method.label)}" if folded else "reward-maps",
        title=f"Random rewards of {REWARD_MAPS} latents ({method.label})",
        caption=(
            f"F(s, z), the bonus for entering each cell, under {REWARD_MAPS} random z: "
            f"{method.label}, {which_seed(method, run)}, after {steps_text(step)} steps. Red cells "
            f"attract, blue ones repel, white ones do neither. S: start{marks_text(run.task)}."
        ),
        groups=(PanelGroup("", panels),),
        columns=COLUMNS,
        scale=scale,
        folded=folded,
    )


def _rewards(run: RunRecord) -> Values | None:
    agent = load_for_pictures(run, None)
    strategy = latent_strategy(agent.strategy)
    if strategy is None:
        return None
    latents = strategy.draw_latents(REWARD_MAPS, generator(SEED, "report latents"))
    with torch.no_grad():
        rewards = strategy.reward_map(
            fourroom.coordinates().to(agent.device), latents.to(agent.device)
        )
    values: Values = (
        rewards.reshape(REWARD_MAPS, fourroom.SIZE, fourroom.SIZE).cpu().double().numpy()
    )
    return values


def reward_pixels(values: Values, highest: float) -> Pixels:
    """Diverging colours of F with 0 in the middle; walls are transparent."""
    position = 0.5 + 0.5 * values / max(highest, 1e-12)
    pixels: Pixels = matplotlib.colormaps[REWARD_MAP](np.clip(position, 0, 1), bytes=True)
    pixels[~fourroom.free_cells().numpy()] = 0
    return pixels
