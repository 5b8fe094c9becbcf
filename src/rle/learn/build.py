"""The learner that a configuration asks for."""

from __future__ import annotations

from rle.agents.agent import Agent
from rle.learn.base import Learner
from rle.learn.ppo import PPO
from rle.nets.ones import worthwhile
from rle.world import ALONE, World


def make_learner(agent: Agent, compile: bool, world: World = ALONE, fused: bool = False) -> Learner:
    """The learner of the section `learner`, for `agent`: PPO is the only one there is."""
    config = agent.config
    return PPO(
        agent.network,
        agent.distribution,
        agent.strategy,
        config.learner,
        agent.spec.num_envs,
        config.seed,
        agent.device,
        compile,
        config.machine.micro_batch,
        world,
        _ones(agent),
        fused,
    )


def _ones(agent: Agent) -> int | None:
    """How many ones observations are shown to the networks by, where that is faster than as numbers."""
    ones, (inputs, *more) = agent.spec.ones, agent.spec.observation_shape
    if ones is None or more or not agent.network.reads_ones:
        return None
    return ones if worthwhile(inputs, ones, agent.device) else None
