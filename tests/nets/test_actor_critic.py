"""Policy and value networks for vectors: where the latent joins, and what it passes before."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from rle.config import NetworkConfig
from rle.errors import UsageError
from rle.nets.actor_critic import VectorActorCritic
from rle.tasks.base import Continuous, TaskSpec

SPEC = TaskSpec(4, (5,), torch.float32, Continuous((-1.0, -1.0), (1.0, 1.0)))
LATENT = 3


def build(latent: int = LATENT, **settings: Any) -> VectorActorCritic:
    config = NetworkConfig(policy_hidden=(6, 7), value_hidden=(8, 9, 10), **settings)
    return VectorActorCritic(SPEC, config, latent, 2, torch.Generator().manual_seed(0))


def shapes(module: torch.nn.Module) -> list[tuple[int, ...]]:
    return [tuple(p.shape) for p in module.parameters() if p.dim() == 2]


def test_without_an_encoder_the_latent_is_concatenated_to_the_observation() -> None:
    network = build()
    assert network.latent_encoder is None
    assert shapes(network.policy_body)[0] == (6, 5 + LATENT)
    assert shapes(network.value_body) == [(8, 5 + LATENT), (9, 8), (10, 9)]


def test_the_encoder_is_shared_and_its_output_concatenated() -> None:
    network = build(latent_encoder=(11, 4))
    assert network.latent_encoder is not None
    assert shapes(network.latent_encoder) == [(11, LATENT), (4, 11)]
    assert shapes(network.policy_body)[0] == (6, 5 + 4)
    assert shapes(network.value_body)[0] == (8, 5 + 4)
    observation, latent = torch.randn(7, 5), torch.randn(7, LATENT)
    encoded = network.latent_encoder(latent)
    joined = torch.cat([observation, encoded], -1)
    expected = network.policy_head(network.policy_body(joined))
    torch.testing.assert_close(network.policy(observation, latent)[:, :2], expected)
    torch.testing.assert_close(network(observation, latent)[0][:, :2], expected)
    # It starts small: gain 0.1, so that the first embeddings are.
    assert float(encoded.detach().abs().max()) < 0.5


def test_a_value_backbone_sees_the_observation_alone() -> None:
    network = build(latent_encoder=(11, 4), value_backbone=2)
    assert shapes(network.value_body) == [(8, 5), (9, 8)]
    assert network.value_tail is not None
    assert shapes(network.value_tail) == [(10, 9 + 4)]
    observation, latent = torch.randn(7, 5), torch.randn(7, LATENT)
    assert network.latent_encoder is not None
    joined = torch.cat([network.value_body(observation), network.latent_encoder(latent)], -1)
    hidden = network.value_tail(joined)
    expected = torch.cat([head(hidden) for head in network.value_heads], -1)
    torch.testing.assert_close(network.value(observation, latent), expected)
    torch.testing.assert_close(network(observation, latent)[1], expected)


def test_without_a_latent_a_backbone_changes_nothing_but_names() -> None:
    plain, split = build(0, latent_encoder=(11, 4)), build(0, value_backbone=2)
    assert plain.latent_encoder is None
    observation = torch.randn(7, 5)
    torch.testing.assert_close(plain.value(observation, None), split.value(observation, None))
    torch.testing.assert_close(plain.policy(observation, None), split.policy(observation, None))


@pytest.mark.parametrize("backbone", [3, 4])
def test_a_backbone_that_leaves_no_layer_to_z_is_refused(backbone: int) -> None:
    with pytest.raises(UsageError, match="value-hidden has 3 layers: z needs one"):
        build(value_backbone=backbone)
