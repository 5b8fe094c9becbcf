"""z of every environment, φ, its statistics and the bonus: what every plug-in holds.

All arithmetic is `rle.core`'s; this says in which order it happens, which is that of the training loop
of this package.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from rle.checks import require
from rle.core.bonus import RandomReward
from rle.core.distributions import LATENT_DISTRIBUTIONS, LatentDistribution
from rle.core.latents import Latents
from rle.core.running_mean_std import Pool
from rle.core.scaling import RewardScaler
from rle.core.whitening import WhitenedReward
from rle.errors import UsageError
from rle.findings.finding import Finding
from rle.plugins.doctor import Recent
from rle.plugins.settings import BonusSettings
from rle.randomness import derive_seed, generator

AHEAD = 64
"""Steps that z is drawn for at once."""


class Paid(NamedTuple):
    """One step of N environments."""

    bonus: Tensor
    """F `[N]`; 0 where nothing is paid."""
    added: Tensor
    """What the reward gains `[N]`: the scaled bonus times the coefficient."""
    switched: Tensor
    """bool `[N]`: this was the last step under its z, and the bonus return is cut after it."""


class _Seen(NamedTuple):
    """One step that the next `commit` takes in."""

    features: Tensor
    z: Tensor
    bonus: Tensor
    switched: Tensor
    real: Tensor


class DrawnAhead:
    """A distribution that draws for several steps at once, which is faster."""

    def __init__(self, distribution: LatentDistribution) -> None:
        self._distribution = distribution
        self.left: deque[Tensor] = deque()
        """What was drawn and not used yet."""

    def __call__(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        if not self.left:
            self.left.extend(self._distribution((AHEAD, *shape), generator).unbind(0))
        return self.left.popleft()


class LatentBonus:
    """Who follows which z, and what reaching an observation under it earns."""

    def __init__(
        self,
        num_envs: int,
        settings: BonusSettings,
        features: nn.Module,
        seed: int = 0,
        fixed: Tensor | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        """`fixed` `[d]` is followed by all environments instead of latents that are drawn."""
        self.settings = settings
        self.device = torch.device(device)
        self.features = features.requires_grad_(False).to(self.device)
        self.adds_bonus = True
        """False: a learner with a value head for the bonus takes it, and the reward is the task's."""
        self.commits_itself = True
        """False: whoever knows where a rollout ends calls `commit`."""
        self.pool: Pool | None = None
        """Makes what this process saw to what all ranks saw; None: there is only this one."""
        self.last_features: Tensor | None = None
        """φ `[N, d]`, or `[N, m]` if m features are whitened, of the last step."""
        self._num_envs = num_envs
        self._nothing = torch.zeros(num_envs, device=self.device)
        self._everywhere = torch.ones(num_envs, dtype=torch.bool, device=self.device)
        self._distribution = _distribution(settings, fixed)
        self.recent = Recent()
        """What the doctor judges."""
        self._seed = seed
        self.reseed(seed)
        self.restart_statistics()
        self._steps = 0

    def reseed(self, seed: int) -> None:
        """Draw z from `seed` on, for all environments."""
        settings = self.settings
        self._drawn = DrawnAhead(self._distribution)
        self.latents = Latents(
            self._num_envs,
            settings.dimension,
            settings.resample_every,
            torch.Generator().manual_seed(derive_seed(seed, _stream())),
            self._drawn,
            settings.stagger,
            self.device,
        )

    def restart_statistics(self) -> None:
        """Forget what was seen: φ is another one."""
        settings = self.settings
        self.random_reward = _random_reward(settings, self._seed, self.device)
        discount = torch.tensor([settings.discount], device=self.device)
        self._scaler = RewardScaler(self._num_envs, discount)
        self._committed = False
        self._std: float | None = None
        """What bonuses are divided by; None: not known yet."""
        self._seen: list[_Seen] = []

    @property
    def z(self) -> Tensor:
        """`[N, d]`, under which the next actions are taken."""
        return self.latents.z

    @property
    def ready(self) -> bool:
        """Whether there is F: its statistics, if it needs any, have been committed once."""
        return self._committed or not self.settings.standardise

    @property
    def pays(self) -> bool:
        """Whether F is paid: its scale, if it needs one, is known too."""
        return self.ready and (self._std is not None or not self.settings.scale_bonus)

    def step(self, next_observation: Any, ended: Tensor | None, real: Tensor | None = None) -> Paid:
        """Pay for a step of all environments and go on to the z of the next.

        Args:
            next_observation: what the actions led to, as tensors `[N, ...]`: the last observation of an
                episode that ended, never the first of the next.
            ended: bool `[N]`, by termination or by a time limit; None: nobody's did, and all are real.
            real: bool `[N]`: False where the call only reset an environment; None: all are real.

        """
        z = self.z
        switched = self.latents.step(ended, real)
        bonus = added = self._nothing
        if self.settings.coefficient > 0:
            features = self.last_features = self.features(next_observation)
            self.recent.take(next_observation, features)
            if self.ready:
                bonus = self.reward(features, z)
                bonus = bonus if real is None else torch.where(real, bonus, 0.0)
            # Statistics are gathered in one go by `commit`: a step is for what it cannot do without.
            known = self._everywhere if real is None else real
            self._seen.append(_Seen(features, z, bonus, switched, known))
            if self.adds_bonus and self.pays:
                added = bonus * (self.settings.coefficient / (self._std or 1.0))
        self._steps += 1
        if self.commits_itself and self._steps % self.settings.commit_every == 0:
            self.commit()
        return Paid(bonus, added, switched)

    def reward(self, features: Tensor, z: Tensor) -> Tensor:
        """F `[...]` of φ(s') `[..., d or m]` under z `[..., d]`; changes nothing."""
        return self.random_reward.reward(features, z)

    def scale(self, bonus: Tensor) -> Tensor:
        """Scale bonuses as rewards are now; changes nothing."""
        return bonus if self._std is None else bonus / self._std

    def scale_rollout(self, bonus: Tensor, switched: Tensor) -> Tensor:
        """Scale a rollout's `[T, N]` bonuses, all by the deviation that they are part of."""
        if not (self.settings.scale_bonus and self.ready):
            return bonus
        scaled = self._scaler(bonus[..., None], switched[..., None], pool=self.pool)[..., 0]
        self._std = float(self._scaler.std())
        return scaled

    @contextmanager
    def handed_over(self) -> Iterator[None]:
        """For a rollout of a learner with a value head for the bonus: the reward is the task's.

        It takes F from `Paid` and scales it by `scale_rollout`; statistics are used after the rollout.
        """
        self.adds_bonus = self.commits_itself = False
        try:
            yield
            self.commit()
        finally:
            self.adds_bonus = self.commits_itself = True

    @torch.no_grad()
    def commit(self) -> None:
        """Use all that was seen so far, from now on."""
        if not self._seen:
            return
        seen = _Seen(*map(torch.stack, zip(*self._seen, strict=True)))
        self._seen.clear()
        if self.ready:
            # Rarity pays under every z: whether z is followed shows in the rest.
            directed = (self.random_reward.standardised(seen.features) * seen.z).sum(-1)
            self.recent.take_bonus(directed[seen.real])
        bonus, was_ready = seen.bonus, self.ready
        self.random_reward.observe(seen.features, seen.real)
        self.random_reward.commit(self.pool)
        self._committed = True
        if not (self.adds_bonus and self.settings.scale_bonus):
            return
        if not was_ready:
            bonus = torch.where(seen.real, self.reward(seen.features, seen.z), 0.0)
        self._scaler(bonus[..., None], seen.switched[..., None], seen.real, self.pool)
        self._std = float(self._scaler.std())

    def renew(self, mask: Tensor) -> None:
        """Give a new z to the environments of `mask`, bool `[N]`: they were reset from outside."""
        self.latents.step(mask, torch.zeros_like(mask))

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """`[count, d]` latents of the same distribution, from a generator of the caller's."""
        return self._distribution((count, self.settings.dimension), generator).to(self.device)

    def check(self, sensitivity: float | None = None) -> list[Finding]:
        """What keeps RLE from working here, judged by what was seen lately; the worst first.

        `sensitivity` is how far a policy's actions under two z differ, in nats, if that is known.
        """
        return self.recent.findings(self, sensitivity)

    def state_dict(self) -> dict[str, Any]:
        """All that is needed to go on exactly from here: tensors and numbers."""
        return {
            "dimension": self.settings.dimension,
            "whitened_features": self.settings.whitened_features,
            "features": dict(self.features.state_dict()),
            "latents": self.latents.state_dict(),
            "drawn": list(self._drawn.left),
            "random_reward": self.random_reward.state_dict(),
            "scaler": self._scaler.state_dict(),
            "committed": self._committed,
            "deviation": self._std,
            "seen": [list(step) for step in self._seen],
            "steps": self._steps,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a state of `state_dict`.

        For another number of environments, F goes on and every environment starts with a new z.
        """
        dimension = self.settings.dimension
        require(
            state["dimension"] == dimension,
            f"the saved z has {state['dimension']} dimensions and this one {dimension}: wrap the "
            f"environment with dimension={state['dimension']}.",
        )
        # States from before features could be whitened do not say so.
        whitened, here = state.get("whitened_features", 0), self.settings.whitened_features
        require(
            whitened == here,
            f"the saved F whitens {whitened} features and this one {here}: wrap the environment with "
            f"whitened_features={whitened}.",
        )
        try:
            self.features.load_state_dict(state["features"])
        except RuntimeError as error:
            raise UsageError(
                "the saved φ is another network than this one: give the same features or, where φ "
                "followed a network, call follow with it before loading."
            ) from error
        self.random_reward.load_state_dict(state["random_reward"])
        self._committed, self._std = state["committed"], state["deviation"]
        self._seen = [_Seen(*(part.to(self.device) for part in step)) for step in state["seen"]]
        self._steps = state["steps"]
        latents, scaler = dict(state["latents"]), dict(state["scaler"])
        if len(latents["z"]) != self._num_envs:
            own = self.latents.state_dict()
            latents["z"], latents["countdown"] = own["z"], own["countdown"]
            scaler["carry"] = torch.zeros(self._num_envs, 1)
            self._seen.clear()
            self._drawn.left.clear()
        else:
            self._drawn.left = deque(state["drawn"])
        self.latents.load_state_dict(latents)
        self._scaler.load_state_dict(scaler)


def _random_reward(
    settings: BonusSettings, seed: int, device: torch.device
) -> RandomReward | WhitenedReward:
    """F as the settings ask for it."""
    if settings.whitened_features:
        return WhitenedReward(
            settings.whitened_features,
            settings.dimension,
            settings.rarity,
            generator(seed, "mixture"),
            device,
        )
    return RandomReward(settings.dimension, settings.standardise, settings.unit_norm, device)


def _distribution(settings: BonusSettings, fixed: Tensor | None) -> LatentDistribution:
    if fixed is None:
        return (
            LATENT_DISTRIBUTIONS[settings.distribution]
            if isinstance(settings.distribution, str)
            else settings.distribution
        )
    require(
        tuple(fixed.shape) == (settings.dimension,),
        f"the fixed latent has the shape {tuple(fixed.shape)}: give one of ({settings.dimension},).",
    )
    followed = fixed.float().cpu()

    def always(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        return followed.expand(shape).clone()

    return always


def _stream() -> str:
    """The purpose that z is drawn for: φ is the same on every rank, z is not."""
    distributed = torch.distributed
    ranked = distributed.is_available() and distributed.is_initialized()
    rank = distributed.get_rank() if ranked else 0
    return f"latents of rank {rank}" if rank else "latents"


def fixed_latent(latent: Sequence[float] | Tensor | None) -> Tensor | None:
    """What users give as a fixed z, as a tensor."""
    return None if latent is None else torch.as_tensor(latent, dtype=torch.float32)
