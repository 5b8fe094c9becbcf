"""The method by itself, in a loop of somebody else's, on a device."""

import torch

from rle import core
from tests.devices.pretend import DEVICE, pretending

ENVIRONMENTS, DIMENSION = 3, 4


def bonuses(device: str) -> torch.Tensor:
    """Scaled rewards `[T, N, K]` of a few steps, with all that is kept saved and loaded on the way."""
    source = torch.Generator().manual_seed(0)
    phi = core.random_features((5,), DIMENSION, source).to(device)
    latents = core.Latents(ENVIRONMENTS, DIMENSION, 2, source, staggered=True, device=device)
    random_reward = core.RandomReward(DIMENSION, device=device)
    scaler = core.RewardScaler(ENVIRONMENTS, torch.tensor([0.9, 0.8], device=device))
    earned = []
    for step in range(6):
        features = phi(torch.rand(ENVIRONMENTS, 5, generator=source).to(device))
        bonus = random_reward.reward(features, latents.z)
        random_reward.observe(features)
        ended = torch.tensor([step == 2, False, False]).to(device)
        switched = latents.step(ended if step % 2 == 0 else None)
        rewards = torch.stack([torch.zeros_like(bonus), bonus], -1)
        earned.append(scaler.step(rewards, torch.stack([ended, switched], -1)))
        for kept in (latents, random_reward, scaler):
            kept.load_state_dict(kept.state_dict())
    random_reward.commit()
    lived = torch.ones(6, ENVIRONMENTS, dtype=torch.bool, device=device)
    seen = random_reward.standardised(features).expand(6, -1, -1)
    lengths = torch.ones(ENVIRONMENTS, device=device)
    hindsight = core.hindsight_latents(seen, lived, 0.9, lengths)
    rewards = torch.stack(earned)
    stop = torch.zeros_like(rewards).bool()
    discount = torch.tensor([0.9, 0.8], device=device)
    advantage = core.advantages(rewards, rewards, rewards, stop, stop, discount, 0.95)
    return torch.cat([advantage.flatten(), hindsight.flatten()])


def test_the_core_computes_what_it_computes_on_the_cpu() -> None:
    expected = bonuses("cpu")
    with pretending() as pretence:
        found = bonuses(DEVICE)
        assert found.device.type == DEVICE
        assert torch.equal(found.cpu(), expected)
    assert pretence.operations > 100
