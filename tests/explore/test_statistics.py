"""What strategies keep statistics of: true next observations of real transitions, each once."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from rle.runs.trainer import Trainer
from rle.tasks.base import Step
from tests.builders import PAPERS_F, small_config

# Calls that only reset an environment answer with an observation no action led to.
RESETTING = {"task": "gym/CartPole-v1", "autoreset": "next-step", "time_limit": 6}
RLE = {**RESETTING, **PAPERS_F, "rle__standardise": True}
CASES = {
    "rle": ("rle", RLE),
    "rle, paid on the way": ("rle", {**RLE, "rle__condition_on_bonus": True}),
    "rle, a part at a time": ("rle", {**RLE, "micro_batch": 7}),
    "rnd": ("rnd", RESETTING),
    "rnd, a part at a time": ("rnd", {**RESETTING, "micro_batch": 7}),
}


def statistics(explore: str, strategy):
    """What holds the strategy's mean and deviation, and the moments they come from."""
    if explore == "rle":
        kept = strategy.random_reward
        return kept.mean, kept.std, kept.moments
    return strategy._mean, strategy._std, strategy._moments


def kept(explore: str, strategy) -> Callable[[Tensor], Tensor]:
    """What the strategy's statistics are of: features or the observations themselves."""
    return strategy.features if explore == "rle" else lambda observation: observation


@pytest.mark.parametrize("case", CASES)
@torch.no_grad()
def test_statistics_are_of_real_transitions_alone(case: str) -> None:
    explore, settings = CASES[case]
    trainer = Trainer(small_config(explore, **settings))
    strategy, step = trainer.strategy, trainer.task.step
    seen: list[Tensor] = []
    resets = 0

    def write_down(action: Tensor) -> Step:
        nonlocal resets
        outcome = step(action)
        for n in range(trainer.task.spec.num_envs):
            if outcome.real is None or bool(outcome.real[n]):
                seen.append(outcome.next_observation[n].clone())
            else:
                resets += 1
        return outcome

    def check() -> None:
        numbers = kept(explore, strategy)(torch.stack(seen)).double()
        used_mean, used_std, moments = statistics(explore, strategy)
        assert float(moments.count) == len(seen)
        mean, std = numbers.mean(0), numbers.std(0, correction=0)
        torch.testing.assert_close(used_mean, mean.float(), atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(used_std, std.float(), atol=1e-5, rtol=1e-5)

    trainer.task.step = write_down
    trainer.start()
    # After the warm-up by random actions; then after each of two rollouts.
    check()
    for _ in range(2):
        before = resets
        trainer.collect()
        trainer.learner.prepare(trainer.rollout, strategy)
        assert resets > before
        check()


@torch.no_grad()
def test_statistics_of_features_can_be_off() -> None:
    trainer = Trainer(small_config("rle", **{**RLE, "rle__standardise": False}))
    trainer.start()
    assert trainer.strategy.warmup_rollouts == 0
    trainer.collect()
    trainer.learner.prepare(trainer.rollout, trainer.strategy)
    mean, std, moments = statistics("rle", trainer.strategy)
    assert float(moments.count) == 0
    assert mean.tolist() == [0.0] * trainer.strategy.config.dimension
    assert std.tolist() == [1.0] * trainer.strategy.config.dimension
