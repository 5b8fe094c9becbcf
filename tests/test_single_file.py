"""`examples/single_file_rle.py` computes what the package computes, in one short file of its own."""

import ast
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import Tensor, nn

from rle import core
from rle.config import RunConfig
from rle.explore.rle import build_rle
from rle.learn.loss import LossWeights, ppo_loss
from rle.nets.actor_critic import ActorCritic
from rle.nets.build import make_actor_critic
from rle.nets.distributions import Categorical
from rle.presets import preset_config
from rle.randomness import generator
from rle.runs.trainer import Trainer
from rle.settings import replace
from rle.tasks.atari import OPTIONS, STEP_LIMIT
from rle.tasks.base import Discrete, TaskSpec
from rle.tasks.fourroom import GOAL, NUM_ACTIONS, SIZE, FourRoom
from tests.builders import small_config

FILE = Path(__file__).parent.parent / "examples" / "single_file_rle.py"
SPECS = {
    "fourroom": TaskSpec(6, (2,), torch.float32, Discrete(4)),
    "atari/Breakout": TaskSpec(6, (4, 84, 84), torch.uint8, Discrete(18)),
}


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("single_file_rle", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up by its name.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


single = load()


def settings_of(task: str):
    return single.ATARI if task.startswith("atari") else single.Settings(task)


def test_it_is_short_and_needs_nothing_of_the_package() -> None:
    source = FILE.read_text()
    assert len(source.splitlines()) <= 350
    imported = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0
            imported.add(str(node.module).partition(".")[0])
    assert imported == {"dataclasses", "envpool", "itertools", "numpy", "torch", "tyro"}


@pytest.mark.parametrize("task", ["fourroom", "fourroom-sparse", "atari/Breakout"])
def test_its_numbers_are_the_paper_presets(task: str) -> None:
    config: RunConfig = preset_config(task, "rle", "paper")
    learner, rle = config.learner, config.rle
    assert rle is not None
    expected = {
        "task": task.removeprefix("atari/"),
        "seed": config.seed,
        "total_steps": config.total_steps,
        "num_envs": config.environment.num_envs,
        "bonus_discount": rle.discount,
    }
    given = vars(settings_of(task))
    for name in given.keys() - expected.keys():
        expected[name] = getattr(learner if hasattr(learner, name) else rle, name)
    assert given == expected
    # What the file has no setting for.
    assert rle.value_coefficient == learner.value_coefficient
    assert (rle.distribution, rle.unit_norm, rle.scale_bonus) == ("sphere", True, True)
    assert (rle.separate_streams, rle.condition, rle.stagger) == (True, True, False)
    assert (rle.warmup_rollouts, rle.feature_update) == (1, "minibatch")
    assert (learner.clip_value_loss, learner.normalise_advantages) == (True, True)
    assert (learner.task_coefficient, learner.reward_scale) == (1, 1)
    assert (learner.reward_clip, learner.anneal_learning_rate) == (None, False)
    if task.startswith("atari"):
        assert (config.environment.full_action_space, rle.feature_raw_pixels) == (True, False)
        assert config.environment.time_limit is None
    else:
        assert config.environment.time_limit == single.FourRoom.time_limit


def observations(spec: TaskSpec) -> Tensor:
    if spec.is_image:
        return torch.randint(0, 256, (spec.num_envs, *spec.observation_shape), dtype=torch.uint8)
    return 2 * torch.rand(spec.num_envs, *spec.observation_shape) - 1


def copy(mine: nn.Module, theirs: nn.Module) -> None:
    for own, other in zip(mine.parameters(), theirs.parameters(), strict=True):
        # The same gain gives an orthogonal matrix the same norm.
        torch.testing.assert_close(own.norm(), other.norm())
        own.data.copy_(other)


def library(task: str) -> tuple[ActorCritic, nn.Module]:
    """The package's networks and φ, in the one precision that the file has."""
    spec = SPECS[task]
    config = replace(preset_config(task, "rle", "paper"), {"precision": "float32"})
    assert config.rle is not None
    strategy = build_rle(config, config.rle, spec, torch.device("cpu"))
    return make_actor_critic(
        spec, config.network, strategy.input_size, 2, generator(0, "network")
    ), strategy.features


@pytest.mark.parametrize("task", list(SPECS))
def test_networks_are_the_same(task: str) -> None:
    torch.manual_seed(0)
    spec, settings = SPECS[task], settings_of(task)
    agent, (network, features) = single.Agent(settings, spec.is_image), library(task)
    for name, child in agent.named_children():
        same = {"encoder": "latent_encoder"}.get(name, name)
        copy(child, features if name == "features" else getattr(network, same))
    observation, latent = observations(spec), torch.randn(6, settings.dimension + 1)
    logits, values = agent(observation, latent)
    expected = network(observation, latent[:, : agent.latent_size])
    torch.testing.assert_close((logits, values), expected)
    torch.testing.assert_close(agent.features(observation), features(observation))
    if settings.feature_update_rate > 0:
        for body in (agent.value_body, network.value_body):
            for parameter in body.parameters():
                parameter.data.mul_(1.5)
        agent.follow(0.3)
        features.follow(network.value_body, 0.3)
        torch.testing.assert_close(agent.features(observation), features(observation))


@pytest.mark.parametrize("standardise", [False, True])
def test_same_bonus(standardise: bool) -> None:
    torch.manual_seed(1)
    theirs, moments = core.RandomReward(5, standardise), single.RunningMeanStd(5)
    for _ in range(3):
        features, z = 3 + 2 * torch.randn(7, 4, 5), torch.randn(7, 4, 5)
        earned = single.bonus(features, z, moments.mean, moments.std)
        torch.testing.assert_close(earned, theirs.reward(features, z), atol=1e-6, rtol=1e-6)
        real = torch.rand(7, 4) < 0.8
        theirs.observe(features, real)
        theirs.commit()
        if standardise:
            moments.update(features[real])


def random_rollout(steps: int, num_envs: int) -> tuple[Tensor, Tensor, Tensor, list[Tensor]]:
    """Rewards, values, values at time limits and flags; a reset follows every end, as in EnvPool."""
    rewards, values = torch.randn(steps, num_envs, 2), torch.randn(steps + 1, num_envs, 2)
    terminated = torch.rand(steps, num_envs) < 0.1
    truncated = (torch.rand(steps, num_envs) < 0.1) & ~terminated
    real = torch.ones_like(terminated)
    for row in range(1, steps):
        real[row] = ~(terminated[row - 1] | truncated[row - 1])
        terminated[row] &= real[row]
        truncated[row] &= real[row]
    switched = terminated | truncated | (torch.rand(steps, num_envs) < 0.1) & real
    rewards = rewards * real[..., None]
    return rewards, values, torch.randn(steps, num_envs), [terminated, truncated, switched, real]


@pytest.mark.parametrize("scale_reward", [False, True])
def test_same_advantages_whatever_ends(scale_reward: bool) -> None:
    torch.manual_seed(2)
    settings = single.Settings(
        num_envs=5, scale_reward=scale_reward, discount=0.9, bonus_discount=0.8, gae_lambda=0.7
    )
    streams, discounts = single.Streams(settings), torch.tensor([0.9, 0.8])
    scaler = core.RewardScaler(5, discounts)
    pairings = set()
    for _ in range(3):  # the scale goes on from rollout to rollout
        rewards, values, limits, flags = random_rollout(40, 5)
        terminated, truncated, switched, real = flags
        pairings |= set(zip(*(flag[real].tolist() for flag in flags[:3]), strict=True))
        cut = torch.stack([terminated, switched], -1)
        stop = torch.stack([terminated | truncated, switched], -1)
        next_values = values[1:].clone()
        next_values[..., 0][truncated] = limits[truncated]
        scaled = scaler(rewards, stop, real)
        if not scale_reward:
            scaled[..., 0] = rewards[..., 0]
        expected = core.advantages(
            scaled, values[:-1], next_values, cut, stop, discounts, 0.7, real
        )
        found = single.advantages(rewards, values, limits, flags, streams)
        torch.testing.assert_close(found[real], expected[real], atol=1e-5, rtol=1e-5)
    assert pairings == {
        (False, False, False),
        (False, False, True),
        (False, True, True),
        (True, False, True),
    }


def test_same_loss() -> None:
    torch.manual_seed(3)
    settings = single.Settings(clip=0.15, entropy_coefficient=0.02, value_coefficient=0.4)
    size, real = 64, torch.rand(64) < 0.8
    logits, values = torch.randn(size, 4, requires_grad=True), torch.randn(size, 2)
    values.requires_grad_()
    action, distribution = torch.randint(4, (size,)), Categorical(4)
    old_values, advantage = values.detach() + 0.3 * torch.randn(size, 2), 5 * torch.randn(size) + 1
    old_log_probability = distribution.log_probability(logits, action).detach()
    old_log_probability = old_log_probability + 0.3 * torch.randn(size)
    returns = torch.randn(size, 2)
    expected, _ = ppo_loss(
        distribution.log_probability(logits, action),
        distribution.entropy(logits),
        values,
        old_log_probability,
        old_values,
        advantage,
        returns,
        LossWeights(0.15, 0.02, (0.4, 0.4), True, True),
        real,
    )
    old = [part[real] for part in (action, old_log_probability, old_values, advantage, returns)]
    found = single.loss(logits[real], values[real], old, settings)
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(
        torch.autograd.grad(found, (logits, values)),
        torch.autograd.grad(expected, (logits, values)),
        atol=1e-6,
        rtol=1e-5,
    )


def test_same_batch_of_a_rollout() -> None:
    """From what a run of the package stored to what its loss is computed from."""
    config = small_config("rle", task="fourroom", time_limit=7, scale_reward=True)
    trainer = Trainer(config)
    trainer.start()
    assert config.rle is not None
    streams = single.Streams(
        single.Settings(
            num_envs=8,
            scale_reward=True,
            discount=config.learner.discount,
            bonus_discount=config.rle.discount,
            gae_lambda=config.learner.gae_lambda,
        )
    )
    nothing = torch.zeros(config.rle.dimension)
    for _ in range(2):
        trainer.collect()
        rollout = trainer.rollout
        rollout.reward.copy_(torch.randn(rollout.reward.shape))
        batch, _, _ = trainer.learner.prepare(rollout, trainer.strategy)
        with torch.no_grad():
            features = trainer.strategy.features(rollout.next_observation())
            earned = single.bonus(features, rollout.latent[:-1], nothing, nothing + 1)
            values = trainer.network.value(rollout.observation, rollout.latent)
            limits = trainer.network.value(rollout.next_observation(), rollout.latent[:-1])
        flags = [rollout.terminated, rollout.truncated, rollout.bonus_cut[..., 0]]
        assert bool(rollout.truncated.any())
        flags.append(torch.ones_like(rollout.terminated))
        rewards = torch.stack([rollout.reward, earned], -1)
        both = single.advantages(rewards, values, limits[..., 0], flags, streams)
        together = both[..., 0] + config.rle.coefficient * both[..., 1]
        torch.testing.assert_close(together.flatten(), batch.advantage, atol=1e-5, rtol=1e-5)
        returns = (both + values[:-1]).flatten(0, 1)
        torch.testing.assert_close(returns, batch.returns, atol=1e-5, rtol=1e-5)


def test_same_world() -> None:
    settings = single.Settings("fourroom-sparse", num_envs=6)
    mine, theirs = single.FourRoom(settings), FourRoom("fourroom-sparse", 6)
    torch.testing.assert_close(mine.observation, theirs.reset(0))
    # One environment starts beside the goal, the others where they always do.
    mine.place[0] = torch.tensor([GOAL[1] + 1, GOAL[0]])
    theirs._position[0] = (GOAL[0] * SIZE + GOAL[1] + 1) * NUM_ACTIONS
    actions = torch.randint(4, (2100, 6), generator=torch.Generator().manual_seed(4))
    actions[0, 0] = 0
    for action in actions:
        reward, terminated, truncated, after, real = mine.step(action)
        step = theirs.step(action)
        assert bool(real.all())
        assert torch.equal(reward, step.reward)
        assert torch.equal(terminated, step.terminated)
        assert torch.equal(truncated, step.truncated)
        torch.testing.assert_close(after, step.next_observation, atol=1e-6, rtol=0)
        torch.testing.assert_close(mine.observation, step.observation, atol=1e-6, rtol=0)
    assert mine.scores[0] == 1.0
    assert len(mine.scores) > 6
    assert torch.equal(mine.visited.T.flatten(), theirs.visits() > 0)


def test_the_loop_resamples_z_and_cuts_there(monkeypatch: pytest.MonkeyPatch) -> None:
    rollouts = []
    advantages = single.advantages

    def spy(rewards, values, limits, flags, streams):
        rollouts.append((rewards, flags))
        return advantages(rewards, values, limits, flags, streams)

    monkeypatch.setattr(single, "advantages", spy)
    monkeypatch.setattr(single.FourRoom, "time_limit", 13)
    settings = single.Settings(num_envs=4, rollout_steps=16, total_steps=100, resample_every=5)
    measures = single.train(settings)
    assert measures["step"] == 128
    assert measures["coverage"] > 0
    assert len(rollouts) == 2
    _, truncated, switched, _ = (
        torch.cat(parts) for parts in zip(*(flags for _, flags in rollouts), strict=True)
    )
    # A new z every 5 steps; an episode's end at step 13 gives one too and restarts the count.
    ends = [12, 25]
    assert truncated.all(-1).nonzero().flatten().tolist() == ends
    assert switched.all(-1).nonzero().flatten().tolist() == [4, 9, 12, 17, 22, 25, 30]
    assert torch.equal(switched.any(-1), switched.all(-1))


def test_the_loop_warms_up_and_shows_the_previous_bonus(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    forward = single.Agent.forward

    def spy(agent, observation, latent):
        seen.append(latent)
        return forward(agent, observation, latent)

    monkeypatch.setattr(single.Agent, "forward", spy)
    paid = []
    bonus = single.bonus

    def spy_bonus(*arguments):
        paid.append((arguments[2:], bonus(*arguments)))
        return paid[-1][1]

    monkeypatch.setattr(single, "bonus", spy_bonus)
    settings = single.Settings(
        num_envs=4,
        rollout_steps=8,
        total_steps=96,
        standardise=True,
        condition_on_bonus=True,
        resample_every=6,
    )
    # The warm-up counts: two of three rollouts are learned from.
    assert single.train(settings)["step"] == 96
    assert len(paid) == 16
    first = seen[:8]
    assert not bool(first[0][:, -1].any())
    torch.testing.assert_close(first[1][:, -1], paid[0][1])
    # Under a new z there was no bonus yet.
    assert not bool(first[6][:, -1].any())
    assert not torch.equal(first[5][:, :-1], first[6][:, :-1])
    # Statistics are there from the first step on, and change between rollouts only.
    means = [mean for (mean, _), _ in paid]
    assert bool(means[0].any())
    assert all(torch.equal(mean, means[0]) for mean in means[:8])
    assert not torch.equal(means[7], means[8])


def test_atari_trains() -> None:
    pytest.importorskip("envpool")
    settings = single.replace(
        single.ATARI, num_envs=2, rollout_steps=8, total_steps=32, epochs=1, minibatches=2
    )
    measures = single.train(settings)
    assert measures["step"] == 32
    assert abs(measures["bonus"]) <= 1


def test_atari_is_played_by_the_same_rules() -> None:
    pytest.importorskip("envpool")
    world = single.Atari(single.replace(single.ATARI, num_envs=1, seed=5))
    expected = {**OPTIONS, "full_action_space": True, "max_episode_steps": STEP_LIMIT, "seed": 5}
    assert {name: world.pool.config[name] for name in expected} == expected


def test_atari_resets_are_no_transitions() -> None:
    """Random actions lose lives: after each end comes a row that is not real and pays nothing."""
    pytest.importorskip("envpool")
    world = single.Atari(single.replace(single.ATARI, num_envs=4))
    ended = torch.zeros(4, dtype=torch.bool)
    ends, generator = 0, torch.Generator().manual_seed(0)
    for _ in range(300):
        reward, terminated, truncated, _, real = world.step(
            torch.randint(18, (4,), generator=generator)
        )
        assert torch.equal(real, ~ended)
        assert not bool((terminated | truncated)[~real].any())
        assert not bool(reward[~real].any())
        ended = terminated | truncated
        ends += int(ended.sum())
    assert ends > 4
