"""Observations of ones among zeros, given as where these are: sums are the products they stand for."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from rle.errors import UsageError
from rle.nets.layers import MLP, side_by_side
from rle.nets.ones import places_of_ones, sum_of_columns, worthwhile
from rle.runs.trainer import Trainer
from tests.builders import small_config


def test_places_by_hand() -> None:
    observation = torch.tensor([[[0.0, 1, 0, 1], [1, 0, 0, 1]], [[1, 1, 0, 0], [0, 0, 1, 1]]])
    places = places_of_ones(observation, 2)
    assert places.dtype == torch.int32
    assert places.tolist() == [[[1, 3], [0, 3]], [[0, 1], [2, 3]]]


@pytest.mark.parametrize(
    "observation",
    [
        [[1.0, 0, 1, 0], [1, 0, 0, 0]],
        # Right in all, and wrong in each.
        [[1.0, 1, 1, 0], [1, 0, 0, 0]],
        [[1.0, 0, 0, 0], [1, 1, 1, 0]],
        [[1.0, 2, 0, 0], [1, 1, 0, 0]],
        [[1.0, float("nan"), 0, 0], [1, 1, 0, 0]],
    ],
)
def test_what_is_no_such_observation_is_refused(observation: list[list[float]]) -> None:
    with pytest.raises(UsageError, match=r"are 2 ones .*: leave `ones` out of its TaskSpec"):
        places_of_ones(torch.tensor(observation), 2)


def test_only_where_there_are_many_zeros() -> None:
    cpu = torch.device("cpu")
    assert worthwhile(984, 148, cpu)
    assert not worthwhile(8, 2, cpu)
    assert not worthwhile(984, 148, torch.device("cuda"))


# Above 32,767 inputs, places do not fit 16 bits.
@pytest.mark.parametrize("inputs", [6, 40_000])
def test_sums_are_the_products(inputs: int) -> None:
    source = torch.Generator().manual_seed(0)
    # Two rows are alike, most inputs are never one, and the first and the last are.
    places = torch.tensor([[0, 2], [2, inputs - 1], [0, 2]], dtype=torch.int32)
    x = torch.zeros(3, inputs, dtype=torch.float64).scatter_(1, places.long(), 1.0)
    weight = torch.randn(4, inputs, generator=source, dtype=torch.float64).requires_grad_()
    toward = torch.randn(3, 4, generator=source, dtype=torch.float64)
    product, summed = functional.linear(x, weight), sum_of_columns(places, weight)
    torch.testing.assert_close(summed, product)
    (expected,) = torch.autograd.grad(product, weight, toward)
    (found,) = torch.autograd.grad(summed, weight, toward)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("with_latent", [True, False])
def test_a_network_makes_the_same_of_both(with_latent: bool) -> None:
    source = torch.Generator().manual_seed(0)
    observation = torch.eye(6)[torch.tensor([1, 5, 1, 0])]
    beside = torch.randn(4, 2, generator=source) if with_latent else None
    size = 8 if with_latent else 6
    first, second = (MLP(size, (5, 3), "tanh", source) for _ in range(2))
    places = places_of_ones(observation, 1)
    for network, together in zip(
        (first, second), side_by_side(first, second, places, beside), strict=True
    ):
        expected = network(observation, beside)
        torch.testing.assert_close(network(places, beside), expected)
        torch.testing.assert_close(together, expected)


@pytest.mark.parametrize("explore", ["none", "rle", "noisy", "rnd"])
@pytest.mark.parametrize("task", ["sparse/Maze-13-1", "sparse/DoorKey-6x6"])
def test_what_is_learned_is_the_same(task: str, explore: str) -> None:
    # Of all transitions: which of them RND leaves out is drawn anew each time.
    settings = {"rnd__keep_fraction": 1.0} if explore == "rnd" else {}
    trainer = Trainer(small_config(explore, task, **settings))
    trainer.start()
    trainer.collect()
    learner: Any = trainer.learner
    flat: Tensor = learner.parameters
    flat += 0.05 * torch.randn(len(flat), generator=torch.Generator().manual_seed(0))
    shown, network = trainer.rollout.flat_observation(), trainer.network
    batch, everyone, _ = learner.prepare(trainer.rollout, trainer.strategy)
    assert batch.observation.dtype == torch.int32
    values = network.value(shown[: len(batch.values)], batch.latent)
    torch.testing.assert_close(batch.values, values, rtol=1e-4, atol=1e-5)
    rows = torch.arange(3, 128, 5)
    found, expected = (
        learner._gradients(some, everyone, rows, rows, trainer.rollout)
        for some in (batch, batch._replace(observation=shown))
    )
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    trainer.task.close()


@pytest.mark.parametrize(
    ("task", "ones"),
    [
        ("sparse/DeepSea-10", 1),
        ("sparse/Maze-13-1", 1),
        ("sparse/DoorKey-6x6", 148),
        ("fourroom", None),
        ("sparse/PointMaze-U", None),
    ],
)
def test_tasks_show_as_many_ones_as_they_say(task: str, ones: int | None) -> None:
    """In whatever is acted on, across the ends of episodes."""
    trainer = Trainer(small_config("none", task))
    trainer.start()
    assert trainer.task.spec.ones == ones
    for _ in range(6):
        trainer.collect()
        assert ones is None or places_of_ones(trainer.rollout.observation, ones).shape[-1] == ones
    trainer.task.close()


def test_networks_without_layers_are_shown_numbers() -> None:
    config = small_config("none", "sparse/Maze-13-1", policy_hidden=())
    trainer = Trainer(config)
    trainer.start()
    trainer.iterate()
    assert not trainer.network.reads_ones
