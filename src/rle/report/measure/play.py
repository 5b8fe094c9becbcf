"""What a trained agent does on FourRoom: its trajectories, and the reward of each z.

The only place of the report where agents are loaded and play.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from rle.agents.agent import Agent
from rle.explore.mixture import latent_strategy
from rle.explore.noisy import noisy_layers
from rle.randomness import derive_seed, generator
from rle.report.measure.plan import SEED
from rle.report.read.moments import NeedsCodeError
from rle.report.read.records import FloatArray, IntArray, RunRecord
from rle.report.read.words import GOAL_TASK
from rle.runs.evaluate import trajectories, use_threads
from rle.runs.loading import load
from rle.runs.trust import code_of_agent
from rle.tasks import fourroom, fourroom_plan


def load_for_pictures(run: RunRecord, step: int | None) -> Agent:
    """The agent of a run at a checkpoint (the latest if None), to be watched.

    Raises:
        NeedsCodeError: it is built by code that the run names. Somebody who only looks at runs has not
            asked for that to be run, whether they have trusted it elsewhere or not.

    """
    code = code_of_agent(run.directory.config())
    if code:
        raise NeedsCodeError(
            "a report does not run code that is not part of this package and that a run names "
            f"({', '.join(map(str, code))})"
        )
    agent = load(run.directory, step)
    use_threads(agent)
    return agent


def watch(agent: Agent, draws: int, repeats: int, steps: int) -> tuple[IntArray, IntArray | None]:
    """Cells `[steps + 1, draws * repeats]` of trajectories, and which draw each was made under.

    A draw is a z, or for NoisyNet a sample of its weight noise; None for agents with neither.
    """
    latents = None
    if agent.latent_dimension:
        drawn = agent.sample_latents(draws, generator(SEED, "report latents"))
        latents = drawn.repeat_interleave(repeats, dim=0)
    perturbed = _perturb_each(agent, draws, repeats)
    cells = trajectory_cells(agent, latents, steps, draws * repeats)
    return cells, np.arange(draws).repeat(repeats) if perturbed or latents is not None else None


def _perturb_each(agent: Agent, draws: int, repeats: int) -> bool:
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


def trajectory_cells(agent: Agent, latents: Tensor | None, steps: int, count: int) -> IntArray:
    """Cells `[steps + 1, count]` of trajectories from the start, each under its own fixed z.

    A trajectory that reaches the goal stays there: what follows would be another episode.
    """
    _, seen = trajectories(agent, latents, steps, count, SEED)
    cells = cells_of(seen.cpu().double().numpy(), agent.config.environment.television)
    if agent.config.task == GOAL_TASK:
        arrived = np.maximum.accumulate(
            cells == fourroom_plan.cell_index(*fourroom_plan.GOAL), axis=0
        )
        cells = np.where(arrived, fourroom_plan.cell_index(*fourroom_plan.GOAL), cells)
    return cells


def cells_of(seen: FloatArray, television: tuple[int, int]) -> IntArray:
    """Cells `[T, N]` of observations `[T, N, 2]`.

    Inside the television the observation is random. The cell entered is then the one beside the
    last cell seen, and the agent is taken to stay there until it is seen again.
    """
    scale = (fourroom_plan.SIZE - 1) / 2
    exact = np.stack([(1 - seen[..., 1]) * scale, (1 + seen[..., 0]) * scale], axis=-1)
    nearest = np.rint(exact).astype(np.int64)
    visible = np.abs(exact - nearest).max(axis=-1) < 1e-3
    corner = np.array(television)
    for time in np.flatnonzero(~visible.all(axis=1)):
        entered = np.clip(nearest[time - 1], corner, corner + fourroom_plan.TELEVISION_SIZE - 1)
        nearest[time] = np.where(visible[time][:, None], nearest[time], entered)
    cells: IntArray = nearest[..., 0] * fourroom_plan.SIZE + nearest[..., 1]
    return cells


def reward_values(agent: Agent, number: int) -> npt.NDArray[np.float32] | None:
    """F(s, z) `[number, 51, 51]` of several z over all cells; None for agents without z."""
    strategy = latent_strategy(agent.strategy)
    if strategy is None:
        return None
    latents = strategy.sample_latents(number, generator(SEED, "report latents"))
    with torch.no_grad():
        rewards = strategy.reward_map(
            fourroom.coordinates().to(agent.device), latents.to(agent.device)
        )
    shape = (number, fourroom_plan.SIZE, fourroom_plan.SIZE)
    values: npt.NDArray[np.float32] = rewards.reshape(shape).cpu().numpy()
    return values
