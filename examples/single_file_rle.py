"""Random Latent Exploration (Mahankali et al., ICML 2024), all of it, to be read from top to bottom.

    python examples/single_file_rle.py fourroom [--task fourroom-sparse] [--total-steps 500000]
    python examples/single_file_rle.py atari [--task Alien] [--seed 1]      # needs EnvPool

The idea. Give every environment a random vector z, and pay the agent F(s', z) = f(s')·z for reaching
s', f being a random feature of unit length. Each z is then another random reward, good at other
places. Let policy and value see z, change z now and then, and the agent sets out for other places
each time, instead of trembling around what it knows. Everything else here is PPO with two returns.

Shapes: T steps, N environments, K = 2 streams (the task's first, then the bonus's), d numbers in z.
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import torch
import tyro
from torch import Tensor, nn
from torch.distributions import Categorical


# ===== Settings: the paper's =====
@dataclass(frozen=True)
class Settings:
    """Every number of a run; the defaults are FourRoom's."""

    task: str = "fourroom"  # fourroom, fourroom-sparse, or the name of an Atari game
    seed: int = 0
    total_steps: int = 2_500_000  # of all environments, the warm-up included
    num_envs: int = 32
    rollout_steps: int = 128
    learning_rate: float = 1e-3
    adam_epsilon: float = 1e-5
    discount: float = 0.99
    gae_lambda: float = 0.95
    minibatches: int = 4
    epochs: int = 4
    clip: float = 0.2
    entropy_coefficient: float = 0.01
    value_coefficient: float = 0.5
    max_gradient_norm: float = 0.5
    scale_reward: bool = (
        False  # divide the task's reward, like the bonus, by its return's deviation
    )
    coefficient: float = 0.1  # weight of the bonus's advantage beside the task's
    dimension: int = 4  # d, the size of z
    resample_every: int = 128  # S, steps under one z; an episode's end gives a new one too
    bonus_discount: float = 0.99
    standardise: bool = False  # φ's output, by its running mean and deviation
    condition_on_bonus: bool = False  # let the networks also see F of the previous step
    feature_update_rate: float = 0.0  # τ: how fast φ follows the value network; 0: not at all


ATARI = Settings("Breakout", total_steps=40_000_000, num_envs=128, clip=0.1, scale_reward=True)
ATARI = replace(ATARI, learning_rate=3e-4, discount=0.999, coefficient=0.01, dimension=16)
ATARI = replace(ATARI, resample_every=1280, standardise=True, condition_on_bonus=True)
ATARI = replace(ATARI, feature_update_rate=0.005)


# ===== Worlds =====
# `step` returns, each `[N, ...]`: the reward; terminated; truncated, by a time limit, which is no end
# for the value, since the world would go on; the true next observation, which is an episode's last and
# never the next one's first; and real, False where the call only reset the environment.
class FourRoom:
    """51 x 51 cells, four rooms, doors of one cell; without reward, or with a goal far away."""

    moves = torch.tensor([[-1, 0], [1, 0], [0, -1], [0, 1]])
    start, goal, time_limit = torch.tensor([50, 0]), torch.tensor([0, 50]), 1000  # column, row

    def __init__(self, settings: Settings) -> None:
        self.has_goal, self.scores = settings.task == "fourroom-sparse", []
        self.free = torch.ones(51, 51, dtype=torch.bool)
        self.free[25, :] = self.free[:, 25] = False
        self.free[[15, 35, 25, 25], [25, 25, 20, 30]] = True
        self.visited, self.clock = torch.zeros_like(self.free), torch.zeros(settings.num_envs)
        self.place = self.start.repeat(settings.num_envs, 1)
        self.observation = self.view(self.place)

    def view(self, place: Tensor) -> Tensor:
        # Centred: with ReLU and zero biases, φ depends only on the direction of what it sees.
        return (place / 25 - 1) * torch.tensor([1, -1])

    def step(self, action: Tensor) -> tuple[Tensor, ...]:
        target = (self.place + self.moves[action]).clamp(0, 50)
        place = torch.where(self.free[target.unbind(-1)][:, None], target, self.place)
        self.visited[place.unbind(-1)] = True
        terminated = (place == self.goal).all(-1) & self.has_goal
        truncated = (self.clock + 1 >= self.time_limit) & ~terminated
        ended, real = terminated | truncated, torch.ones_like(terminated)
        self.scores += terminated[ended].tolist()
        self.clock = torch.where(ended, 0, self.clock + 1)
        self.place = torch.where(ended[:, None], self.start, place)
        self.observation = self.view(self.place)
        return terminated.float(), terminated, truncated, self.view(place), real


class Atari:
    """A game on EnvPool: four grey frames of 84 x 84; losing a life ends the learner's episode."""

    def __init__(self, settings: Settings) -> None:
        import envpool

        rules = {"repeat_action_probability": 0.25, "full_action_space": True, "reward_clip": True}
        rules |= {"episodic_life": True, "num_envs": settings.num_envs, "seed": settings.seed}
        self.pool = envpool.make(f"{settings.task}-v5", env_type="gymnasium", **rules)
        self.observation, self.scores = torch.from_numpy(self.pool.reset()[0]), []
        self.ended, self.score = np.zeros(settings.num_envs, bool), np.zeros(settings.num_envs)

    def step(self, action: Tensor) -> tuple[Tensor, ...]:
        observed, reward, terminated, truncated, info = self.pool.step(action.int().numpy())
        # EnvPool resets on the call after an episode's end, and ignores that call's action. So what
        # it shows at the end is both the true last observation and the one to act on next.
        real = ~self.ended
        terminated, truncated = terminated & real, truncated & ~terminated & real
        self.ended = terminated | truncated
        self.score += np.where(real, info["reward"], 0)  # as it was before it was clipped
        over = (info["terminated"] > 0) & real | truncated  # the game, and not just a life
        self.scores += self.score[over].tolist()
        self.score[over] = 0
        self.observation = torch.from_numpy(observed)
        reward = np.where(real, reward, 0).astype(np.float32)
        return tuple(map(torch.from_numpy, (reward, terminated, truncated, observed, real)))


# ===== Networks =====
def initialised(layer: nn.Module, gain: float = 2**0.5) -> nn.Module:
    """Orthogonal weights and zero biases, as PPO has them."""
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer


def dense(sizes: tuple[int, ...], activation: type[nn.Module] = nn.ReLU) -> nn.Sequential:
    """Linear layers with an activation after each."""
    layers = [initialised(nn.Linear(*pair)) for pair in pairwise(sizes)]
    return nn.Sequential(*(part for layer in layers for part in (layer, activation())))


class ImageBody(nn.Sequential):
    """Bytes `[B, 4, 84, 84]` to 448 numbers."""

    def __init__(self) -> None:
        sizes = (4, 32, 8, 4), (32, 64, 4, 2), (64, 64, 3, 1)
        layers = [part for size in sizes for part in (initialised(nn.Conv2d(*size)), nn.ReLU())]
        super().__init__(*layers, nn.Flatten(), dense((3136, 256, 448)))

    def forward(self, image: Tensor) -> Tensor:
        return super().forward(image.float() / 255)


class Agent(nn.Module):
    """Policy, values of both streams, and φ. Policy and values see z: it says what is rewarded now."""

    def __init__(self, settings: Settings, image: bool) -> None:
        super().__init__()
        self.image, self.latent_size = image, settings.dimension + settings.condition_on_bonus
        if image:  # one body; what two layers make of z is added to its embedding
            self.value_body, self.encoder = ImageBody(), dense((self.latent_size, 448, 448))
            self.policy_hidden = initialised(nn.Linear(448, 448), 0.01)
            self.value_hidden = initialised(nn.Linear(448, 448), 0.1)
        else:  # two networks; z stands beside the observation
            self.policy_body = dense((2 + self.latent_size, 64, 64), nn.Tanh)
            self.value_body = dense((2 + self.latent_size, 64, 64), nn.Tanh)
        width, self.num_actions, gain = (448, 18, 0.01) if image else (64, 4, 1.0)
        self.policy_head = initialised(nn.Linear(width, self.num_actions), 0.01)
        self.value_heads = nn.ModuleList(initialised(nn.Linear(width, 1), gain) for _ in range(2))
        # φ: a body of its own, and a random layer that stays as it is. No gradient reaches them.
        body = ImageBody() if image else dense((2, 64, 64, 64))
        head = initialised(nn.Linear(width, settings.dimension), 1.0)
        self.features = nn.Sequential(body, head).requires_grad_(False)

    def forward(self, observation: Tensor, latent: Tensor) -> tuple[Tensor, Tensor]:
        latent = latent[:, : self.latent_size]
        if self.image:
            embedding = self.value_body(observation) + self.encoder(latent)
            policy = self.policy_hidden(embedding).relu()
            value = embedding + self.value_hidden(embedding).relu()
        else:
            seen = torch.cat([observation, latent], -1)
            policy, value = self.policy_body(seen), self.value_body(seen)
        return self.policy_head(policy), torch.cat([head(value) for head in self.value_heads], -1)

    @torch.no_grad()
    def follow(self, rate: float) -> None:
        # φ ← τ V + (1-τ) φ: φ comes to see what the value needs, so slowly that F hardly changes.
        body, value_body = self.features[0].parameters(), self.value_body.parameters()
        for mine, theirs in zip(body, value_body, strict=True):
            mine.lerp_(theirs, rate)


# ===== The bonus =====
def draw_latents(settings: Settings) -> Tensor:
    """Vectors z `[N, d]`, uniform on the sphere, and beside each F of the previous step: 0 so far."""
    z = nn.functional.normalize(torch.randn(settings.num_envs, settings.dimension), dim=-1)
    return nn.functional.pad(z, (0, 1))


def bonus(features: Tensor, z: Tensor, mean: Tensor, deviation: Tensor) -> Tensor:
    """F(s', z) `[...]`, in [-1, 1], of φ(s') `[..., d]`, z `[..., d]` and φ's moments `[d]`."""
    standardised = (features - mean) / (deviation + 1e-8)
    unit = standardised / (standardised.norm(dim=-1, keepdim=True) + 1e-8)
    return (unit * z).sum(-1)


class RunningMeanStd:
    """Mean and deviation `[size]` of everything seen; sums over a long run need float64."""

    def __init__(self, size: int) -> None:
        self.count, self.sums = 0, torch.zeros(2, size, dtype=torch.float64)
        self.mean, self.std = torch.zeros(size), torch.ones(size)

    def update(self, samples: Tensor) -> None:
        self.count += len(samples)
        self.sums += torch.stack([samples.double().sum(0), samples.double().square().sum(0)])
        mean, square = self.sums / self.count
        self.mean, self.std = mean.float(), (square - mean.square()).clamp(0).sqrt().float()


# ===== PPO with two returns =====
class Streams:
    """Task and bonus: their discounts, and the scale of their returns."""

    def __init__(self, settings: Settings) -> None:
        self.discounts = torch.tensor([settings.discount, settings.bonus_discount])
        self.scaled = torch.tensor([settings.scale_reward, True])
        self.gae_lambda = settings.gae_lambda
        self.total, self.moments = torch.zeros(settings.num_envs, 2), RunningMeanStd(2)

    def scale(self, rewards: Tensor, stop: Tensor, real: Tensor) -> Tensor:
        totals = []  # along time and per environment; a sum starts anew where its stream stops
        for reward, stopped in zip(rewards, stop, strict=True):
            totals.append(reward + self.discounts * self.total)
            self.total = torch.where(stopped, 0.0, totals[-1])
        self.moments.update(torch.stack(totals)[real])
        # Divided and not centred; so `coefficient` weighs returns of like size.
        deviation = (self.moments.std.square() + 1e-8).sqrt()
        return torch.where(self.scaled, rewards / deviation, rewards)


def advantages(
    rewards: Tensor, values: Tensor, limits: Tensor, flags: list[Tensor], streams: Streams
) -> Tensor:
    """Advantages `[T, N, K]` of a rollout; with `values[:-1]` added, they are its returns.

    `rewards` are `[T, N, K]`, 0 where not real; `values` `[T + 1, N, K]`; `limits` `[T, N]` the task's
    values where time limits struck; `flags` bool `[T, N]`: terminated, truncated, switched and real.
    """
    terminated, truncated, switched, real = flags
    # cut: nothing is earned after this row. The task's return ends where the episode terminates, the
    # bonus's where z switches: what comes then is paid for another z. stop: the next row is not this
    # one's future. At a time limit the task's return goes on, but with the value of the last state.
    cut = torch.stack([terminated, switched], -1)
    stop = torch.stack([terminated | truncated, switched], -1)
    next_values = values[1:].clone()
    next_values[..., 0] = torch.where(truncated, limits, next_values[..., 0])
    result = streams.scale(rewards, stop, real) - values[:-1]
    result += streams.discounts * next_values * ~cut
    for row in reversed(range(len(result) - 1)):  # generalised advantage estimation
        result[row] += streams.discounts * streams.gae_lambda * ~stop[row] * result[row + 1]
    return result


def loss(logits: Tensor, values: Tensor, old: list[Tensor], settings: Settings) -> Tensor:
    """PPO's loss of B transitions, of which `old` holds action, log π, values, advantage and returns."""
    action, log_probability, old_values, advantage, targets = old
    choice, clip = Categorical(logits=logits), settings.clip
    gain = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    ratio = (choice.log_prob(action) - log_probability).exp()
    policy = -torch.min(gain * ratio, gain * ratio.clamp(1 - clip, 1 + clip)).mean()
    near = old_values + (values - old_values).clamp(-clip, clip)
    errors, near_errors = (values - targets).square(), (near - targets).square()
    # Only the task's value is held near the old one: the bonus's returns change on purpose.
    value = 0.5 * torch.max(errors, near_errors)[:, 0].mean() + 0.5 * errors[:, 1].mean()
    entropy = settings.entropy_coefficient * choice.entropy().mean()
    return policy + settings.value_coefficient * value - entropy


# ===== The loop =====
def train(settings: Settings) -> dict[str, float]:
    """Train an agent; returns the measures of its last rollout."""
    torch.manual_seed(settings.seed)
    num_envs, batch = settings.num_envs, settings.num_envs * settings.rollout_steps
    image = not settings.task.startswith("fourroom")
    torch.set_num_threads(torch.get_num_threads() if image else 1)  # small matrices need one
    agent, world = Agent(settings, image), (Atari if image else FourRoom)(settings)
    adam = torch.optim.Adam(agent.parameters(), settings.learning_rate, eps=settings.adam_epsilon)
    moments, streams = RunningMeanStd(settings.dimension), Streams(settings)
    if settings.standardise:  # a rollout of random actions shows what features are like
        for _ in range(settings.rollout_steps):
            *_, after, real = world.step(torch.randint(agent.num_actions, (num_envs,)))
            moments.update(agent.features(after)[real])
        world = type(world)(settings)  # training begins with new episodes
    latent, countdown = draw_latents(settings), torch.full((num_envs,), settings.resample_every)
    for iteration in range(int(settings.standardise), -(-settings.total_steps // batch)):
        rows = []
        for _ in range(settings.rollout_steps):
            before, z = world.observation, latent[:, : settings.dimension]
            with torch.no_grad():
                logits, values = agent(before, latent)
                choice = Categorical(logits=logits)
                action = choice.sample()
                reward, terminated, truncated, after, real = world.step(action)
                # Paid is the state the action led to, under the z it was taken with.
                seen = agent.features(after)
                earned = bonus(seen, z, moments.mean, moments.std) * real
                # Only looked at where a time limit struck, which is rarely.
                limit = agent(after, latent)[1][:, 0] if truncated.any() else values[:, 0]
            countdown = countdown - real.long()
            switched = terminated | truncated | (countdown <= 0)
            taken = before, latent, action, choice.log_prob(action), values
            paid = seen, torch.stack([reward, earned], -1), limit
            rows.append((*taken, *paid, terminated, truncated, switched, real))
            latent = torch.cat([z, earned[:, None]], -1)
            latent = torch.where(switched[:, None], draw_latents(settings), latent)
            countdown = torch.where(switched, settings.resample_every, countdown)
        kept = [torch.stack(column) for column in zip(*rows, strict=True)]
        taken, (seen, rewards, limits), flags, real = kept[:5], kept[5:8], kept[8:], kept[-1]
        if settings.standardise:  # from the next rollout on: within one, F is one function
            moments.update(seen[real])
        with torch.no_grad():
            values = torch.cat([taken[-1], agent(world.observation, latent)[1][None]])
        both = advantages(rewards, values, limits, flags, streams)
        together = both[..., 0] + settings.coefficient * both[..., 1]
        samples = [column.flatten(0, 1) for column in (*taken, together, both + values[:-1])]
        usable = real.flatten().nonzero().flatten()
        for _ in range(settings.epochs):
            for part in usable[torch.randperm(len(usable))].chunk(settings.minibatches):
                before, condition, *old = (column[part] for column in samples)
                adam.zero_grad()
                loss(*agent(before, condition), old, settings).backward()
                nn.utils.clip_grad_norm_(agent.parameters(), settings.max_gradient_norm)
                adam.step()
                if settings.feature_update_rate > 0:
                    agent.follow(settings.feature_update_rate)
        score, step = float(np.mean(world.scores[-128:] or np.nan)), (iteration + 1) * batch
        measures = {"step": step, "bonus": float(rewards[..., 1][real].mean()), "score": score}
        if not image:
            measures["coverage"] = float(world.visited.sum() / world.free.sum())
        print("  ".join(f"{name} {value:.6g}" for name, value in measures.items()), flush=True)
    return measures


if __name__ == "__main__":
    worlds = {"fourroom": Settings(), "atari": ATARI}
    choices = {name: (f"The paper's numbers on {name}.", known) for name, known in worlds.items()}
    train(tyro.extras.overridable_config_cli(choices, description=__doc__))
