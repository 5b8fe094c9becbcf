"""rsl_rl's PPO with RLE: z as an observation, two value heads, two discounts, cuts at a change of z."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from rsl_rl.algorithms import PPO
from rsl_rl.utils import resolve_callable, resolve_obs_groups
from torch import Tensor

from rle.checks import require, require_fraction
from rle.core.returns import advantages
from rle.errors import UsageError
from rle.findings.finding import Finding
from rle.plugins.latent_bonus import LatentBonus
from rle.plugins.rsl_rl.features import LATENT, CriticFeatures
from rle.plugins.rsl_rl.ranks import give_to_all, pooled, take_from_first_rank, with_own_latents
from rle.plugins.settings import WHITENED as WHITENED_OF_ALL
from rle.plugins.settings import BonusSettings
from rle.plugins.wrapping import settings_of
from rle.randomness import generator

PAPER: dict[str, Any] = {
    "dimension": 32,
    "coefficient": 0.01,
    "resample_every": 16,
    "unit_norm": False,
    "feature_update_rate": 0.005,
    "seed": 0,
}
"""What `rle_cfg` is where it says nothing: the paper's numbers for Isaac Gym."""
WHITENED: dict[str, Any] = WHITENED_OF_ALL | {"feature_update_rate": 0.0}
"""The F of this package's own trainer, whose φ stays as it is."""


class RLEPPO(PPO):  # type: ignore[misc]
    """PPO on the sum of two advantages, the task's and `coefficient` times the bonus's.

    Every environment's z is the observation group `latent`, which actor and critic see last of their
    groups. The environment is left alone, and so is the reward that the runner reports.
    """

    def __init__(
        self,
        actor: Any,
        critic: Any,
        storage: Any,
        *args: Any,
        rle_cfg: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Build it; `construct_algorithm` does so from a runner's configuration.

        Args:
            actor: sees the group `latent`.
            critic: sees it too, and has two outputs.
            storage: has it.
            *args: as for `PPO`.
            rle_cfg: settings of `rle.plugins.settings.BonusSettings`; `feature_update_rate`, the τ
                of φ ← τ V + (1-τ) φ after every gradient step; `seed` of φ and z. What is missing is
                the paper's for Isaac Gym.
            **kwargs: as for `PPO`.

        """
        settings, rate, seed = _settings(rle_cfg)
        require(
            not critic.is_recurrent,
            "φ has the critic's layers and no memory: choose a critic that is not recurrent.",
        )
        require(
            kwargs.get("symmetry_cfg") is None,
            "symmetry_cfg teaches that mirrored states are worth the same, which is not so under one z: "
            "leave it out.",
        )
        super().__init__(actor, critic, storage, *args, **kwargs)
        self._leader = self.critic
        self._features = CriticFeatures(self.critic, settings.features, generator(seed, "features"))
        self.bonus = LatentBonus(
            storage.num_envs, settings, self._features, seed, device=self.device
        )
        """z, φ, its statistics, and F."""
        self.bonus.adds_bonus = self.bonus.commits_itself = False
        self.bonus.pool = pooled if self.is_multi_gpu else None
        self.evaluation_latent: Tensor | None = None
        """z `[d]` or `[N, d]` that is followed where observations have none; None: random ones."""
        self._make_room()
        self.actor.register_forward_pre_hook(self._show_latent)
        if rate > 0:
            self.optimizer.register_step_post_hook(
                lambda *_: self._features.follow(self._leader, rate)
            )

    def _make_room(self) -> None:
        storage = self.storage
        shape = storage.num_transitions_per_env, storage.num_envs
        storage.values = torch.zeros(*shape, 2, device=self.device)
        storage.returns = torch.zeros(*shape, 2, device=self.device)
        self._bonuses = torch.zeros(shape, device=self.device)
        self._switched = torch.zeros(shape, dtype=torch.bool, device=self.device)
        self._limits = torch.zeros(shape, dtype=torch.bool, device=self.device)
        self._limit_values = torch.zeros(shape, device=self.device)
        """What the task's return goes on with at a time limit."""

    def act(self, obs: Any) -> Tensor:
        return super().act(self._with_latent(obs))

    def _with_latent(self, obs: Any) -> Any:
        shown = obs.copy()
        shown[LATENT] = self.bonus.z
        return shown

    def process_env_step(
        self, obs: Any, rewards: Tensor, dones: Tensor, extras: dict[str, Any]
    ) -> None:
        step = self.storage.step
        ended = dones > 0
        limits = ended & extras.get("time_outs", torch.zeros_like(ended)).to(ended)
        reached = self._reached(obs, ended, extras.get("final_obs"))
        self._limits[step] = limits
        self._limit_values[step] = self.transition.values[:, 0]
        if "final_obs" in extras and bool(limits.any()):
            self._limit_values[step] = self.critic(reached)[:, 0].detach()
        self.bonus.recent.take_reward(rewards, ended)
        paid = self.bonus.step(reached, ended)
        self._bonuses[step] = paid.bonus
        self._switched[step] = paid.switched
        # PPO would add the value to the reward at a time limit; `compute_returns` adds the task's there.
        others = {name: part for name, part in extras.items() if name != "time_outs"}
        super().process_env_step(self._with_latent(obs), rewards, dones, others)

    def _reached(self, obs: Any, ended: Tensor, final: Any) -> Any:
        """What the actions led to, with the z it was reached under.

        Environments reset themselves at once, and most of them do not show the last observation of an
        episode. The one before stands in for it then, as in rsl_rl's own bootstrapping at a time limit.
        """
        lived = self.transition.observations
        reached = lived.copy()
        for group, now in obs.items():
            last = lived[group] if final is None else final[group].to(self.device)
            mask = ended.reshape(-1, *(1 for _ in now.shape[1:]))
            reached[group] = torch.where(mask, last, now)
        return reached

    def compute_returns(self, obs: Any) -> None:
        storage, settings = self.storage, self.bonus.settings
        last = self.critic(self._with_latent(obs)).detach()
        next_values = torch.cat([storage.values[1:], last[None]])
        next_values[..., 0] = torch.where(self._limits, self._limit_values, next_values[..., 0])
        ended = storage.dones[..., 0] > 0
        cut = torch.stack([ended & ~self._limits, self._switched], -1)
        stop = torch.stack([ended, self._switched], -1)
        bonuses = self.bonus.scale_rollout(self._bonuses, self._switched)
        both = advantages(
            torch.stack([storage.rewards[..., 0], bonuses], -1),
            storage.values,
            next_values,
            cut,
            stop,
            torch.tensor([self.gamma, settings.discount], device=self.device),
            self.lam,
        )
        storage.returns.copy_(both + storage.values)
        total = both[..., :1] + settings.coefficient * both[..., 1:]
        if not self.normalize_advantage_per_mini_batch:
            total = (total - total.mean()) / (total.std() + 1e-8)
        storage.advantages.copy_(total)
        # Old values serve to clip the values' loss only. Clipped around its target, the bonus's is not.
        storage.values[..., 1] = storage.returns[..., 1]
        # Statistics change between rollouts only: within one, F is one function.
        self.bonus.commit()

    def check(self) -> list[Finding]:
        """What keeps RLE from working here, judged by the last steps of training; the worst first."""
        return self.bonus.check()

    def update(self) -> dict[str, float]:
        measured = super().update()
        first = not self._features.normalised
        normalisation = self._features.normalise_as(self._leader)
        if self.is_multi_gpu:
            # In rsl_rl 4, each rank normalises by what that rank saw.
            give_to_all(normalisation)
        if first:
            # What φ made of observations as they are says nothing of what it makes of normalised ones.
            self.bonus.restart_statistics()
        return {**measured, "rle_mean_bonus": float(self._bonuses.mean())}

    def broadcast_parameters(self) -> None:
        super().broadcast_parameters()
        take_from_first_rank(self.bonus)

    def save(self) -> dict[str, Any]:
        return {**super().save(), "rle_state_dict": self.bonus.state_dict()}

    def load(
        self, loaded_dict: dict[str, Any], load_cfg: dict[str, Any] | None, strict: bool
    ) -> bool:
        everything = load_cfg is None or load_cfg.get("rle", False)
        if everything and "rle_state_dict" not in loaded_dict:
            raise UsageError(
                "the checkpoint was trained without RLE and knows no z: load one of RLEPPO, or load it "
                "by PPO."
            )
        result: bool = super().load(loaded_dict, load_cfg, strict)
        if everything:
            state = loaded_dict["rle_state_dict"]
            first = self.gpu_global_rank == 0
            self.bonus.load_state_dict(state if first else with_own_latents(state, self.bonus))
        return result

    def _show_latent(self, actor: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Let the actor follow a z where it is watched in environments that show none."""
        obs, *others = arguments
        if LATENT in obs:
            return None
        count = obs.batch_size[0]
        z = self.evaluation_latent
        if z is None or (z.dim() == 2 and len(z) != count):
            z = self.bonus.draw(count, torch.Generator().manual_seed(count))
            self.evaluation_latent = z
        shown = obs.copy()
        shown[LATENT] = z.expand(count, -1).to(obs.device)
        return (shown, *others)

    @staticmethod
    def construct_algorithm(obs: Any, env: Any, cfg: dict[str, Any], device: str) -> RLEPPO:
        """As PPO's, with z among the observations and a critic of two outputs."""
        settings, _, _ = _settings(cfg["algorithm"].get("rle_cfg"))
        require(
            LATENT not in obs,
            f"the observations have a group {LATENT!r} already, where z goes: rename it.",
        )
        with_latent = obs.copy()
        with_latent[LATENT] = torch.zeros(env.num_envs, settings.dimension, device=obs.device)
        groups = resolve_obs_groups(obs, cfg["obs_groups"], ["actor", "critic"])
        # Copies, as the runner writes its configuration to its logs.
        critic = {**cfg["critic"], "class_name": _two_outputs(cfg["critic"]["class_name"])}
        with_z = {name: [*groups[name], LATENT] for name in ("actor", "critic")}
        own = {**cfg, "critic": critic, "obs_groups": {**groups, **with_z}}
        algorithm: RLEPPO = PPO.construct_algorithm(with_latent, env, own, device)
        return algorithm


def _settings(rle_cfg: dict[str, Any] | None) -> tuple[BonusSettings, float, int]:
    """Those of the bonus, the rate at which φ follows, and the seed."""
    given = {**PAPER, **(rle_cfg or {})}
    rate, seed = given.pop("feature_update_rate"), given.pop("seed")
    require_fraction("feature_update_rate", rate)
    return settings_of(given.pop("dimension"), given.pop("coefficient"), given), rate, seed


def _two_outputs(critic_class: Any) -> Callable[..., Any]:
    """Builds a critic with a value for the task and one for the bonus."""

    def build(obs: Any, obs_groups: Any, obs_set: str, _: int, **critic_cfg: Any) -> Any:
        return resolve_callable(critic_class)(obs, obs_groups, obs_set, 2, **critic_cfg)

    return build
