"""Agents on tiny worlds with known answers: which fails tells which part of the agent is wrong."""

import pytest
import torch
from torch import Tensor, nn

from rle.presets import preset_config
from rle.runs.trainer import Trainer
from rle.settings import replace
from rle.tasks.base import Discrete, State, Step, Task, TaskSpec
from tests.probes.environments import (
    ActionObservationReward,
    ActionReward,
    ConstantReward,
    DelayedReward,
    ObservationReward,
)

GAMMA = 0.5


def trained(task: Task, explore: str, iterations: int, **settings: object) -> Trainer:
    config = replace(
        preset_config("fourroom", explore),
        {
            "num_envs": task.spec.num_envs,
            "rollout_steps": 8,
            "minibatches": 2,
            "learning_rate": 3e-3,
            "policy_hidden": (32,),
            "value_hidden": (32,),
            "discount": GAMMA,
            "compile": "off",
            "scale_reward": False,
            "clip_value_loss": False,
            **{name.replace("__", "."): value for name, value in settings.items()},
        },
    )
    trainer = Trainer(config, task)
    trainer.start()
    for _ in range(iterations):
        trainer.iterate()
    return trainer


def values(trainer: Trainer, *observations: float) -> list[float]:
    with torch.no_grad():
        points = torch.tensor(observations)[:, None]
        return trainer.network.value(points, None)[:, 0].tolist()


def greedy(trainer: Trainer, *observations: float) -> list[int]:
    with torch.no_grad():
        return trainer.network.policy(torch.tensor(observations)[:, None], None).argmax(-1).tolist()


def test_fits_a_constant() -> None:
    trainer = trained(ConstantReward(16), "none", 30)
    assert values(trainer, 0.0) == pytest.approx([1.0], abs=0.05)


def test_sees_its_observation() -> None:
    trainer = trained(ObservationReward(16), "none", 60)
    assert values(trainer, -1.0, 1.0) == pytest.approx([-1.0, 1.0], abs=0.1)


def test_discounts() -> None:
    trainer = trained(DelayedReward(16), "none", 60)
    assert values(trainer, 0.0, 1.0) == pytest.approx([GAMMA, 1.0], abs=0.1)


def test_improves_its_policy() -> None:
    trainer = trained(ActionReward(16), "none", 30)
    assert greedy(trainer, 0.0) == [1]
    assert values(trainer, 0.0) == pytest.approx([1.0], abs=0.2)


def test_does_all_of_it_together() -> None:
    trainer = trained(ActionObservationReward(16), "none", 60)
    assert greedy(trainer, -1.0, 1.0) == [0, 1]


class TwoPlaces(Task):
    """One step from 0: action 0 leads to -1, action 1 to +1. No reward of its own."""

    def __init__(self, num_envs: int, forced: bool = False) -> None:
        self.spec = TaskSpec(num_envs, (1,), torch.float32, Discrete(2))
        self._forced = forced
        self._start = torch.zeros(num_envs, 1)

    def reset(self, seed: int) -> Tensor:
        return self._start

    def step(self, action: Tensor) -> Step:
        # Forced: every action leads to +1, so that only z decides what is earned.
        where = torch.ones_like(self._start) if self._forced else action[:, None] * 2.0 - 1.0
        terminated = torch.ones(len(action), dtype=torch.bool)
        return Step(torch.zeros(len(action)), terminated, ~terminated, where, self._start)

    def state_dict(self) -> State:
        return {}

    def load_state_dict(self, state: State) -> None:
        pass


def identity_features(observation_shape: tuple[int, ...], dimension: int) -> nn.Module:
    """φ(s) = s: the bonus of going to ±1 is ±z."""
    return nn.Identity()


RLE_PROBE = {
    "rle__dimension": 1,
    "rle__feature_network": "tests.runs.test_probes:identity_features",
    "rle__standardise": False,
    "rle__scale_bonus": False,
    "rle__coefficient": 1.0,
}


def test_bonus_value_depends_on_z() -> None:
    """Always led to φ = +1, the agent earns z: V_bonus(0, z) = z, and the task's value stays 0."""
    trainer = trained(TwoPlaces(32, forced=True), "rle", 60, **RLE_PROBE)
    with torch.no_grad():
        found = trainer.network.value(torch.zeros(2, 1), torch.tensor([[-1.0], [1.0]]))
    assert found[:, 1].tolist() == pytest.approx([-1.0, 1.0], abs=0.1)
    assert found[:, 0].tolist() == pytest.approx([0.0, 0.0], abs=0.1)


def test_policy_goes_where_its_latent_points() -> None:
    trainer = trained(TwoPlaces(32), "rle", 60, **RLE_PROBE)
    with torch.no_grad():
        output = trainer.network.policy(torch.zeros(2, 1), torch.tensor([[-1.0], [1.0]]))
    assert output.argmax(-1).tolist() == [0, 1]
    assert float(output.softmax(-1).diagonal().min()) > 0.8


def earned(trainer: Trainer, iterations: int) -> float:
    """The mean bonus of `iterations` further rollouts."""
    return sum(trainer.iterate()[0]["bonus_rle_mean"] for _ in range(iterations)) / iterations


def test_without_conditioning_the_policy_cannot_follow() -> None:
    """The ablation: whoever does not see z earns as much for going with it as for going against it."""
    blind = trained(TwoPlaces(32), "rle", 40, **RLE_PROBE, rle__condition=False)
    # ±1 with mean 0, 20 · 256 of them: five standard errors are 0.07.
    assert abs(earned(blind, 20)) < 0.07
    seeing = trained(TwoPlaces(32), "rle", 40, **RLE_PROBE)
    assert earned(seeing, 1) > 0.6


def test_one_summed_reward_learns_the_same_preference() -> None:
    trainer = trained(TwoPlaces(32), "rle", 60, **RLE_PROBE, rle__separate_streams=False)
    assert len(trainer.network.value_heads) == 1
    with torch.no_grad():
        output = trainer.network.policy(torch.zeros(2, 1), torch.tensor([[-1.0], [1.0]]))
    assert output.argmax(-1).tolist() == [0, 1]
