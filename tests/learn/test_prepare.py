"""From a rollout to advantages: every stream against plain loops over what happened."""

import math
import statistics

import pytest
import torch
from torch import Tensor

from rle.runs.trainer import Trainer
from tests.builders import PAPERS_F, small_config
from tests.learn.plain import History, PlainStream, advantages_of_stream, collected
from tests.probes import gymnasium_environments

NUM_ENVS = 4
SETTINGS = {
    "num_envs": NUM_ENVS,
    "rollout_steps": 32,
    "discount": 0.9,
    "gae_lambda": 0.8,
    "scale_reward": True,
    "enlarge_reward": True,
}
DISCOUNTS = {"rle": 0.7, "rnd": 0.6}
COEFFICIENTS = {"rle": 0.3, "rnd": 0.5}
CARTPOLE = {"task": "gym/CartPole-v1", "time_limit": 15}
RLE = {**PAPERS_F, "rle__standardise": True, "rle__unit_norm": True, "rle__scale_bonus": True}
RLE |= {"rle__discount": DISCOUNTS["rle"], "rle__coefficient": COEFFICIENTS["rle"]}
RND = {"rnd__scale_bonus": True, "rnd__discount": DISCOUNTS["rnd"]}
RND |= {"rnd__coefficient": COEFFICIENTS["rnd"]}

CASES = {
    "rle over reset rows": ("rle", {**CARTPOLE, **RLE, "autoreset": "next-step"}),
    "rle without reset rows": ("rle", {**CARTPOLE, **RLE, "autoreset": "same-step"}),
    "rle, paid on the way": (
        "rle",
        {**CARTPOLE, **RLE, "autoreset": "next-step", "rle__condition_on_bonus": True},
    ),
    "rnd over reset rows": ("rnd", {**CARTPOLE, **RND, "autoreset": "next-step"}),
    "rnd without reset rows": ("rnd", {**CARTPOLE, **RND, "autoreset": "same-step"}),
    "both, a part at a time": (
        "rle+rnd",
        {**RLE, **RND, **CARTPOLE, "autoreset": "next-step", "micro_batch": 5},
    ),
}
HAPPENED = {
    case: {"terminated", "truncated"}
    | ({"cut"} if "rle" in explore else set())
    | ({"reset"} if settings["autoreset"] == "next-step" else set())
    for case, (explore, settings) in CASES.items()
}
"""What there has to be in the rollouts for the comparison to mean something."""


def bonuses_of_rle(strategy, history: History) -> Tensor:
    """F(s', z) = f(s')·z, `[T, N]`, with what the statistics were before the rollout."""
    d = strategy.config.dimension
    rows = []
    for moment in history.moments:
        features = strategy.features(moment.step.next_observation)
        statistics = strategy.random_reward
        features = (features - statistics.mean) / statistics.std
        features = features / features.square().sum(-1, keepdim=True).sqrt()
        rows.append((features * moment.latent[:, :d]).sum(-1))
    return torch.stack(rows)


def bonuses_of_rnd(strategy, history: History) -> Tensor:
    """½ ‖prediction - target‖², `[T, N]`, on observations whitened as before the rollout."""
    rows = []
    for moment in history.moments:
        seen = (moment.step.next_observation - strategy._mean) / strategy._std
        seen = seen.clip(-5, 5)
        difference = strategy._predictor(seen) - strategy._target(seen)
        rows.append(difference.square().sum(-1) / 2)
    return torch.stack(rows)


BONUSES = {"rle": bonuses_of_rle, "rnd": bonuses_of_rnd}


def assert_close(found: Tensor, expected: dict[tuple[int, int], float]) -> None:
    """Compare a flat batch `[T · N]` at the real transitions."""
    for (t, n), number in expected.items():
        assert float(found[t * NUM_ENVS + n]) == pytest.approx(number, abs=2e-4), (t, n)


@pytest.mark.parametrize("case", CASES)
@torch.no_grad()
def test_advantages_and_returns_equal_the_plain_loops(case: str) -> None:
    """Two rollouts, so that filters and statistics go on from one to the next."""
    explore, settings = CASES[case]
    trainer = Trainer(small_config(explore, **{**SETTINGS, **settings}))
    trainer.start()
    parts = getattr(trainer.strategy, "parts", {explore: trainer.strategy})
    task_stream = PlainStream(0.9, NUM_ENVS)
    bonus_streams = {name: PlainStream(DISCOUNTS[name], NUM_ENVS) for name in parts}
    happened = set()
    for _ in range(2):
        history = collected(trainer)
        bonuses = {name: BONUSES[name](part, history) for name, part in parts.items()}
        batch, _, metrics = trainer.learner.prepare(trainer.rollout, trainer.strategy)

        rewards = task_stream.scaled(history, history.rewards(), history.ends())
        together = advantages_of_stream(trainer, history, 0, 0.9, rewards)
        assert_close(batch.returns[:, 0] - batch.values[:, 0], together)
        for head, (name, stream) in enumerate(bonus_streams.items(), start=1):
            cuts = history.cuts(head - 1)
            rewards = stream.scaled(history, bonuses[name], cuts)
            advantages = advantages_of_stream(trainer, history, head, stream.discount, rewards)
            assert_close(batch.returns[:, head] - batch.values[:, head], advantages)
            for place, advantage in advantages.items():
                together[place] += COEFFICIENTS[name] * advantage
            happened |= {"cut" for t, n in advantages if bool(cuts[t, n])}
            paid = torch.tensor([float(bonuses[name][place]) for place in advantages])
            assert metrics[f"bonus_{name}_mean"] == pytest.approx(float(paid.mean()), abs=1e-4)
            assert metrics[f"bonus_{name}_max"] == pytest.approx(float(paid.max()), abs=1e-4)
            assert metrics[f"bonus_{name}_min"] == pytest.approx(float(paid.min()), abs=1e-4)
            assert metrics[f"bonus_{name}_std"] == pytest.approx(float(paid.std()), abs=1e-4)
        assert_close(batch.advantage, together)
        for moment in history.moments:
            happened |= {"terminated"} if bool(moment.step.terminated.any()) else set()
            happened |= {"truncated"} if bool(moment.step.truncated.any()) else set()
            happened |= {"reset"} if moment.step.real is not None else set()
    assert happened == HAPPENED[case]


@torch.no_grad()
def test_one_head_learns_the_weighted_sum_and_is_cut_as_the_task_is() -> None:
    settings = {**SETTINGS, **CARTPOLE, **RLE, "autoreset": "next-step", "task_coefficient": 2.0}
    trainer = Trainer(small_config("rle", **settings, rle__separate_streams=False))
    trainer.start()
    # Both are filtered with the task's discount.
    task_stream, bonus_stream = PlainStream(0.9, NUM_ENVS), PlainStream(0.9, NUM_ENVS)
    for _ in range(2):
        history = collected(trainer)
        bonus = bonuses_of_rle(trainer.strategy, history)
        batch, _, _ = trainer.learner.prepare(trainer.rollout, trainer.strategy)
        rewards = task_stream.scaled(history, history.rewards(), history.ends())
        for place, paid in bonus_stream.scaled(history, bonus, history.cuts(0)).items():
            rewards[place] = 2.0 * rewards[place] + COEFFICIENTS["rle"] * paid
        expected = advantages_of_stream(trainer, history, 0, 0.9, rewards)
        assert batch.returns.shape == (32 * NUM_ENVS, 1)
        assert_close(batch.returns[:, 0] - batch.values[:, 0], expected)
        # The weights are in the reward already.
        assert_close(batch.advantage, expected)


@torch.no_grad()
def test_the_task_reward_is_multiplied_then_scaled_then_clipped() -> None:
    settings = {**SETTINGS, "task": "gym/Pendulum-v1", "time_limit": 7}
    trainer = Trainer(small_config("none", **settings, reward_scale=3.0, reward_clip=0.2))
    trainer.start()
    stream = PlainStream(0.9, NUM_ENVS)
    clipped = kept = 0
    for _ in range(2):
        history = collected(trainer)
        batch, _, _ = trainer.learner.prepare(trainer.rollout, trainer.strategy)
        rewards = stream.scaled(history, 3.0 * history.rewards(), history.ends())
        clipped += sum(abs(reward) > 0.2 for reward in rewards.values())
        kept += sum(abs(reward) <= 0.2 for reward in rewards.values())
        rewards = {place: max(-0.2, min(0.2, reward)) for place, reward in rewards.items()}
        assert_close(batch.advantage, advantages_of_stream(trainer, history, 0, 0.9, rewards))
    assert clipped > 10
    assert kept > 10


@torch.no_grad()
def test_diagnostics_are_of_real_transitions_alone() -> None:
    """Shares of |coefficient · advantage|, and 1 - Var(return - value) / Var(return), head by head."""
    settings = {**SETTINGS, **CARTPOLE, **RLE, "autoreset": "next-step", "task_coefficient": 2.0}
    trainer = Trainer(small_config("rle", **settings))
    trainer.start()
    trainer.collect()
    batch, _, metrics = trainer.learner.prepare(trainer.rollout, trainer.strategy)
    real = batch.mask.nonzero().squeeze(-1).tolist()
    assert len(real) < len(batch.mask)
    returns, values = batch.returns.double(), batch.values.double()
    sizes = [
        sum(abs(weight * float(returns[i, head] - values[i, head])) for i in real)
        for head, weight in enumerate((2.0, COEFFICIENTS["rle"]))
    ]
    for head, name in enumerate(("task", "rle")):
        share = sizes[head] / sum(sizes)
        assert metrics[f"advantage_share_{name}"] == pytest.approx(share, rel=1e-4)
        errors = statistics.variance(float(returns[i, head] - values[i, head]) for i in real)
        spread = statistics.variance(float(returns[i, head]) for i in real)
        assert metrics[f"explained_variance_{name}"] == pytest.approx(1 - errors / spread, rel=1e-3)


@pytest.mark.parametrize("explore", ["none", "rle", "rnd"])
@pytest.mark.parametrize("size", [(2, 1), (1, 2)])
def test_rollouts_with_one_real_transition_or_none(explore: str, size: tuple[int, int]) -> None:
    """Episodes of two to six steps, two rows per rollout: some rollouts are nothing but resets."""
    gymnasium_environments.register()
    num_envs, steps = size
    trainer = Trainer(
        small_config(
            explore,
            "gym/probe/Terminating-v0",
            num_envs=num_envs,
            rollout_steps=steps,
            minibatches=1,
            total_steps=200,
        )
    )
    trainer.start()
    counts = set()
    while not trainer.done:
        metrics, _ = trainer.iterate()
        real = trainer.rollout.real
        counts.add(2 if real is None else int(real.sum()))
        assert all(math.isfinite(value) for value in metrics.values())
        if explore != "none" and real is not None:
            assert ("bonus_" + explore + "_mean" in metrics) == (int(real.sum()) > 0)
            assert ("bonus_" + explore + "_std" in metrics) == (int(real.sum()) > 1)
    # Alone, an environment is reset once in a while; of two, both at once.
    assert counts == ({1, 2} if num_envs == 1 else {0, 1, 2})
    assert bool(trainer.learner.parameters.isfinite().all())


def weighed(trainer: Trainer) -> Tensor:
    """What the policy is to learn from, by hand: both advantages, `[B, 2]`, are told apart."""
    batch, _, _ = trainer.learner.prepare(trainer.rollout, trainer.strategy)
    per_head = batch.returns - batch.values
    return torch.linalg.lstsq(per_head, batch.advantage[:, None]).solution[:, 0]


@pytest.mark.parametrize(("share", "left"), [(0.0, 1.0), (0.25, 0.75), (1.0, 0.0)])
def test_an_annealed_bonus_weighs_what_is_left_of_the_run(share: float, left: float) -> None:
    trainer = Trainer(
        small_config("rle", "gym/CartPole-v1", rle__coefficient=0.4, rle__anneal=True)
    )
    trainer.start()
    trainer.learner.set_progress(share)
    trainer.collect()
    assert weighed(trainer).tolist() == pytest.approx([1, 0.4 * left], abs=1e-5)


def test_an_annealed_bonus_without_a_head_of_its_own() -> None:
    """One head: at the end of the run it is told of the task's reward alone."""
    returns = []
    for settings in ({"rle__coefficient": 0.4, "rle__anneal": True}, {"rle__coefficient": 1e-12}):
        joined = {"rle__separate_streams": False, "rle__scale_bonus": False, **settings}
        trainer = Trainer(small_config("rle", "gym/CartPole-v1", **joined))
        trainer.start()
        trainer.learner.set_progress(1.0)
        trainer.collect()
        batch, _, _ = trainer.learner.prepare(trainer.rollout, trainer.strategy)
        returns.append(batch.returns)
    torch.testing.assert_close(*returns)


@pytest.mark.parametrize(
    ("paid", "expected"),
    [
        # In turn p and -p, γ = 0: the sums are the rewards, and their deviation is p.
        (0.5, 0.5),
        (4.0, 1.0),
    ],
)
def test_rewards_are_made_smaller_and_not_larger(paid: float, expected: float) -> None:
    settings = {"scale_reward": True, "enlarge_reward": False, "discount": 0.0, "gae_lambda": 0.0}
    trainer = Trainer(small_config("none", value_gain=0.0, **settings))
    trainer.start()
    trainer.collect()
    trainer.rollout.reward[0::2], trainer.rollout.reward[1::2] = paid, -paid
    batch, _, _ = trainer.learner.prepare(trainer.rollout, trainer.strategy)
    torch.testing.assert_close(batch.returns.abs(), torch.full_like(batch.returns, expected))


def test_what_pays_nothing_has_no_advantage() -> None:
    """With values that start at zero, the task's head stays there until the task pays."""
    trainer = Trainer(small_config("rle", "fourroom", value_gain=0.0, rle__coefficient=1e-3))
    trainer.start()
    for _ in range(3):
        metrics, _ = trainer.iterate()
        assert metrics["advantage_share_task"] == 0.0
        assert metrics["value_loss_task"] == 0.0
        assert metrics["advantage_share_rle"] == 1.0
