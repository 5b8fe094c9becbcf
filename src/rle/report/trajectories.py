"""Trajectories of a trained agent on FourRoom, and how different those of different z are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from rle.explore import RandomLatentExploration, Strategy
from rle.explore.mixture import Mixture, latent_strategy
from rle.explore.noisy import noisy_layers
from rle.randomness import derive_seed, generator
from rle.report.records import RunRecord
from rle.runs.evaluate import load_agent, trajectories
from rle.runs.trainer import Trainer
from rle.tasks import fourroom

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

LATENTS = 8
REPEATS = 8
"""Diversity is measured on 8 trajectories of each of 8 z."""
PERIOD = 128
"""Length of the trajectories diversity is measured on: the steps under one z in the paper."""
SEED = 0
"""Of the latents and the actions in pictures and measures."""


@dataclass(frozen=True)
class Diversity:
    """Mean pairwise Jaccard distances between the sets of cells trajectories visit."""

    between: float | None
    """Of trajectories under different z; None for agents without z."""
    within: float
    """Of repeated trajectories under one z: what action noise alone does."""


def load_for_pictures(run: RunRecord, step: int | None) -> Trainer:
    """The agent of a run at a checkpoint (the latest if None), to be watched."""
    agent = load_agent(run.directory, step)
    agent.strategy.evaluate(greedy=False)
    return agent


def draw_latents(strategy: Strategy, count: int) -> Tensor | None:
    """`[count, L]` latents, the same for every agent with the same law and d; None without z.

    What is stored beside z (the previous bonus) is 0, as on the first step under a new z.
    """
    if latent_strategy(strategy) is None:
        return None
    parts = strategy.parts.values() if isinstance(strategy, Mixture) else [strategy]
    drawn = []
    for part in parts:
        latent = torch.zeros(count, part.latent_size)
        if isinstance(part, RandomLatentExploration):
            z = part.draw_latents(count, generator(SEED, "report latents"))
            latent[:, : z.shape[1]] = z
        drawn.append(latent)
    return torch.cat(drawn, dim=1)


def watch(agent: Trainer, draws: int, repeats: int, steps: int) -> tuple[IntArray, IntArray | None]:
    """Cells `[steps + 1, draws * repeats]` of trajectories, and which draw each was made under.

    A draw is a z, or for NoisyNet a sample of its weight noise; None for agents with neither.
    """
    latents = draw_latents(agent.strategy, draws)
    if latents is not None:
        latents = latents.repeat_interleave(repeats, dim=0).to(agent.device)
    perturbed = _perturb_each(agent, draws, repeats)
    cells = trajectory_cells(agent, latents, steps, draws * repeats)
    return cells, np.arange(draws).repeat(repeats) if perturbed or latents is not None else None


def _perturb_each(agent: Trainer, draws: int, repeats: int) -> bool:
    """Give the trajectories of each draw their own sample of weight noise; False without any."""
    layers = noisy_layers(agent.network)
    for layer in layers:
        # One sample again, should the agent have been watched before.
        layer.weight_noise = torch.zeros_like(layer.weight)
        layer.bias_noise = torch.zeros_like(layer.bias)
    samples: list[list[tuple[Tensor, Tensor]]] = [[] for _ in layers]
    for draw in range(draws if layers else 0):
        agent.strategy.reseed(derive_seed(SEED, f"report draw {draw}"))
        agent.strategy.begin_rollout(agent.network)
        for layer, drawn in zip(layers, samples, strict=True):
            drawn.append((layer.weight_noise.clone(), layer.bias_noise.clone()))
    for layer, drawn in zip(layers, samples, strict=True):
        weights, biases = (torch.stack(part) for part in zip(*drawn, strict=True))
        layer.weight_noise = weights.repeat_interleave(repeats, dim=0)
        layer.bias_noise = biases.repeat_interleave(repeats, dim=0)
    return bool(layers)


def time_limit(agent: Trainer) -> int:
    """Steps after which an episode of the agent's task ends."""
    limit = agent.config.environment.time_limit
    return fourroom.TIME_LIMIT if limit is None else limit


def trajectory_cells(agent: Trainer, latents: Tensor | None, steps: int, count: int) -> IntArray:
    """Cells `[steps + 1, count]` of trajectories from the start, each under its own fixed z.

    A trajectory that reaches the goal stays there: what follows would be another episode.
    """
    _, seen = trajectories(agent, latents, min(steps, time_limit(agent)), count, SEED)
    cells = cells_of(seen.cpu().double().numpy(), agent.config.environment.television)
    if agent.config.task == "fourroom-sparse":
        arrived = np.maximum.accumulate(cells == fourroom.cell_index(*fourroom.GOAL), axis=0)
        cells = np.where(arrived, fourroom.cell_index(*fourroom.GOAL), cells)
    return cells


def cells_of(seen: FloatArray, television: tuple[int, int]) -> IntArray:
    """Cells `[T, N]` of observations `[T, N, 2]`.

    Inside the television the observation is random. The cell entered is then the one beside the
    last cell seen, and the agent is taken to stay there until it is seen again.
    """
    scale = (fourroom.SIZE - 1) / 2
    exact = np.stack([(1 - seen[..., 1]) * scale, (1 + seen[..., 0]) * scale], axis=-1)
    nearest = np.rint(exact).astype(np.int64)
    visible = np.abs(exact - nearest).max(axis=-1) < 1e-3
    corner = np.array(television)
    for time in range(1, len(nearest)):
        entered = np.clip(nearest[time - 1], corner, corner + fourroom.TELEVISION_SIZE - 1)
        nearest[time] = np.where(visible[time][:, None], nearest[time], entered)
    cells: IntArray = nearest[..., 0] * fourroom.SIZE + nearest[..., 1]
    return cells


def jaccard_distances(cells: IntArray) -> FloatArray:
    """`[N, N]`: 1 - |A ∩ B| / |A ∪ B| of the sets of cells of trajectories `[T, N]`."""
    visited = np.zeros((cells.shape[1], fourroom.SIZE**2), dtype=np.int64)
    visited[np.arange(cells.shape[1])[None], cells] = 1
    shared = visited @ visited.T
    sizes = visited.sum(axis=1)
    distances: FloatArray = 1 - shared / (sizes[:, None] + sizes[None] - shared)
    return distances


def diversity_of(cells: IntArray, draw_of: IntArray | None) -> Diversity:
    """Diversity of trajectories `[T, N]` of which number i was under z number `draw_of[i]`."""
    distances = jaccard_distances(cells)
    number = cells.shape[1]
    other = ~np.eye(number, dtype=bool)
    if draw_of is None:
        return Diversity(None, float(distances[other].mean()))
    same = draw_of[:, None] == draw_of[None]
    return Diversity(float(distances[~same].mean()), float(distances[same & other].mean()))


def measure_diversity(run: RunRecord) -> Diversity:
    """Diversity of the agent of a run's last checkpoint."""
    return diversity_of(*watch(load_for_pictures(run, None), LATENTS, REPEATS, PERIOD))
