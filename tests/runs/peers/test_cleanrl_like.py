"""The flat loop in CleanRL's manner: it trains, and its returns are the textbook's."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from rle.config import RunConfig
from rle.core.returns import advantages
from rle.runs.peers.cleanrl_like import CleanRLLikeContender
from rle.runs.peers.cleanrl_worlds import Moments
from tests.builders import small_config
from tests.runs.test_control import control_config
from tests.runs.test_images import atari_config

ACROBOT = small_config("none", task="envpool/Acrobot-v1", time_limit=7)
# EnvPool declares Acrobot's bounds in double precision.
pytestmark = pytest.mark.filterwarnings("ignore:.*precision lowered by casting")


def vector(agent: nn.Module) -> Tensor:
    return nn.utils.parameters_to_vector(agent.parameters()).detach().clone()


@pytest.mark.parametrize(
    "config",
    [
        ACROBOT,
        control_config("none", rollout_steps=64),
        atari_config("Pong", "none"),
    ],
    ids=["choices", "numbers", "images"],
)
def test_it_trains(config: RunConfig) -> None:
    contender = CleanRLLikeContender(config, warm_up=1)
    before = vector(contender.agent)
    measured = contender.run(0.001)
    assert measured.steps % config.batch_size == 0
    after = vector(contender.agent)
    assert torch.isfinite(after).all()
    assert not torch.equal(before, after)


def test_networks_for_vectors_have_our_sizes() -> None:
    """Acrobot shows 6 numbers and has 3 actions: 6-16-3 and 6-16-1, with biases."""
    contender = CleanRLLikeContender(ACROBOT, warm_up=0)
    assert len(vector(contender.agent)) == (6 * 16 + 16 + 16 * 3 + 3) + (6 * 16 + 16 + 16 + 1)


def test_advantages_are_those_of_our_returns() -> None:
    contender = CleanRLLikeContender(ACROBOT, warm_up=1)
    values = torch.cat([contender._values, contender.agent.value(contender._observation)[None]])
    done = torch.cat([contender._dones[1:], contender._done[None]]).bool()
    assert done.any()
    expected = advantages(
        *(contender._rewards[..., None], values[:-1, :, None], values[1:, :, None]),
        *(done[..., None], done[..., None]),
        torch.tensor([0.99]),
        gae_lambda=0.95,
    )
    # They are computed once more, after the update: the same function of what is stored.
    torch.testing.assert_close(contender._advantages(), expected[..., 0].detach())


def test_moments_are_those_of_all_samples() -> None:
    samples = np.random.default_rng(0).normal(3, 2, (100, 2))
    moments = Moments((2,))
    for part in np.split(samples, [10, 15, 60]):
        moments.update(part)
    np.testing.assert_allclose(moments.mean, samples.mean(0))
    np.testing.assert_allclose(moments.variance, samples.var(0))
