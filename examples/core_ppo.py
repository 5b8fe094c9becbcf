"""Random Latent Exploration in a PPO written by hand: `rle.core`, PyTorch and Gymnasium, nothing else.

    python examples/core_ppo.py [--no-rle] [--seed 0] [--steps 32768]

Explores FourRoom, which pays no reward, and prints the share of its cells that were visited.
"""

import argparse

import gymnasium
import numpy as np
import torch
from torch import Tensor, nn

from rle import core

NUM_ENVS, ROLLOUT, EPOCHS, MINIBATCHES = 32, 128, 4, 4
DIMENSION, PERIOD = 4, 128  # of z, and steps under one z
COEFFICIENTS = torch.tensor([1.0, 1.0])  # of the advantage of the task, and of the bonus
DISCOUNTS = torch.tensor([0.99, 0.99])
FREE_CELLS = 2504


def network(inputs: int, outputs: int, gain: float) -> nn.Sequential:
    """Two hidden layers with orthogonal weights, and a linear one of the given gain."""
    sizes = ((inputs, 64, 2**0.5), (64, 64, 2**0.5), (64, outputs, gain))
    layers: list[nn.Module] = []
    for before, after, layer_gain in sizes:
        layer = nn.Linear(before, after)
        nn.init.orthogonal_(layer.weight, layer_gain)
        nn.init.zeros_(layer.bias)
        layers += [layer, nn.Tanh()]
    return nn.Sequential(*layers[:-1])


def explore(steps: int, seed: int, with_rle: bool) -> float:
    """Train for `steps` agent steps; returns the share of cells visited."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    environments = gymnasium.make_vec(
        "rle/FourRoom-v0",
        NUM_ENVS,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP},
    )
    source = torch.Generator().manual_seed(seed)
    phi = core.random_features((2,), DIMENSION, source)
    latents = core.Latents(NUM_ENVS, DIMENSION, PERIOD, source)
    random_reward = core.RandomReward(DIMENSION)
    scaler = core.RewardScaler(NUM_ENVS, DISCOUNTS)
    policy, value = network(2 + DIMENSION, 4, 0.01), network(2 + DIMENSION, 2, 1.0)
    optimiser = torch.optim.Adam([*policy.parameters(), *value.parameters()], lr=1e-3, eps=1e-5)
    coefficients = COEFFICIENTS * torch.tensor([1.0, float(with_rle)])

    def seen(observation: np.ndarray) -> Tensor:
        """What the networks see `[N, 2 + d]`: the observation, and z with RLE."""
        return torch.cat([torch.from_numpy(observation), latents.z * with_rle], -1)

    observation, _ = environments.reset(seed=seed)
    visited: set[tuple[int, int]] = set()
    for _ in range(steps // (NUM_ENVS * ROLLOUT)):
        rows = []
        for _ in range(ROLLOUT):
            before, z = seen(observation), latents.z
            with torch.no_grad():
                choice = torch.distributions.Categorical(logits=policy(before))
                action = choice.sample()
            observation, reward, terminated, truncated, info = environments.step(action.numpy())
            visited.update(info["cell"])
            ended = torch.from_numpy(terminated | truncated)
            true_next = observation.copy()
            for index in ended.nonzero().flatten().tolist():
                true_next[index] = info["final_obs"][index]
            # The bonus is for the state the action led to, under the z it was taken with.
            with torch.no_grad():
                features = phi(torch.from_numpy(true_next))
                bonus = random_reward.reward(features, z)
                random_reward.observe(features)
                after = torch.cat([torch.from_numpy(true_next), z * with_rle], -1)
            switched = latents.step(ended)
            rewards = torch.stack([torch.from_numpy(reward).float(), bonus], -1)
            cut = torch.stack([torch.from_numpy(terminated), switched], -1)
            stop = torch.stack([ended, switched], -1)
            rows.append((before, action, choice.log_prob(action), after, rewards, cut, stop))
        random_reward.commit()  # the next rollout's bonuses are standardised by what this one saw
        before, action, old, after, rewards, cut, stop = map(torch.stack, zip(*rows, strict=True))
        with torch.no_grad():
            values = value(before)
            advantage = core.advantages(
                scaler(rewards, stop), values, value(after), cut, stop, DISCOUNTS, 0.95
            )
        returns = (advantage + values).flatten(0, 1)
        advantage = (advantage * coefficients).sum(-1).flatten()
        before, action, old = before.flatten(0, 1), action.flatten(), old.flatten()
        for _ in range(EPOCHS):
            for part in torch.randperm(len(action)).chunk(MINIBATCHES):
                choice = torch.distributions.Categorical(logits=policy(before[part]))
                ratio = (choice.log_prob(action[part]) - old[part]).exp()
                gain = (advantage[part] - advantage[part].mean()) / (advantage[part].std() + 1e-8)
                policy_loss = -torch.min(gain * ratio, gain * ratio.clamp(0.8, 1.2)).mean()
                value_loss = 0.25 * (value(before[part]) - returns[part]).square().sum(-1).mean()
                loss = policy_loss + value_loss - 0.01 * choice.entropy().mean()
                optimiser.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_([*policy.parameters(), *value.parameters()], 0.5)
                optimiser.step()
    return len(visited) / FREE_CELLS


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--no-rle", action="store_true", help="plain PPO")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=32768)
    known = parser.parse_args()
    share = explore(known.steps, known.seed, not known.no_rle)
    print(f"{'PPO' if known.no_rle else 'RLE'} visited {share:.1%} of the cells")
