"""The doctor in the plug-ins: what an agent's own steps say of whether RLE can work, and does."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from rle.checks import require
from rle.findings.bonuses import judge_bonus, judge_proportion, return_deviation
from rle.findings.features import judge_features
from rle.findings.finding import Finding, by_severity
from rle.findings.following import Remedies, judge_following
from rle.findings.observations import judge_observations
from rle.plugins.observations import LATENT

if TYPE_CHECKING:
    from rle.plugins.latent_bonus import LatentBonus

EVERY, KEPT, ENVIRONMENTS = 16, 64, 16
"""One step of so many is kept, so many of them, and of so many environments: a thousand states of the
last thousand steps."""
PERIODS, ENOUGH = 64, 4
"""Commits whose F is remembered, and how many it takes to tell following z from chance."""
REWARDS = 1024
"""Steps whose task rewards are remembered."""
LATENTS = 64
"""Under how many z states are judged: then the spread of F over z is known to a tenth."""
NORMALISE = "normalise them underneath the wrapper"
REMEDIES = Remedies(
    ignored="raise coefficient, or train for longer",
    not_followed="train for longer, let a z last longer (resample_every), or raise coefficient",
)
PROPORTION = "change coefficient, or scale the task's reward underneath"


class Recent:
    """What was seen lately."""

    def __init__(self) -> None:
        self._steps = 0
        self._observations: deque[Any] = deque(maxlen=KEPT)
        self._features: deque[Tensor] = deque(maxlen=KEPT)
        self._earned: deque[tuple[float, float]] = deque(maxlen=PERIODS)
        self._rewards: deque[tuple[Tensor, ...]] = deque(maxlen=REWARDS)

    def take(self, observation: Any, features: Tensor) -> None:
        """Remember what an action led to, a tree of tensors `[N, ...]`, and its φ `[N, d]`."""
        if self._steps % EVERY == 0:
            # Copies: an environment may write its next observation into the same place.
            leaves = _leaves(observation)
            self._observations.append({key: leaf[:ENVIRONMENTS].clone() for key, leaf in leaves})
            self._features.append(features[:ENVIRONMENTS])
        self._steps += 1

    def take_bonus(self, bonus: Tensor) -> None:
        """Remember F of all steps between two commits."""
        if bonus.numel() > 1:
            self._earned.append((float(bonus.mean()), float(bonus.std())))

    def take_reward(self, reward: Any, ended: Any) -> None:
        """Remember the task's rewards `[N]` of a step, and bool `[N]`: whose episode ended."""
        kept = (torch.as_tensor(each[:ENVIRONMENTS]).clone() for each in (reward, ended))
        self._rewards.append(tuple(kept))

    def findings(self, bonus: LatentBonus, sensitivity: float | None) -> list[Finding]:
        """Judge all of it, the worst first."""
        require(
            len(self._features) > 0,
            "nothing was seen yet, or the coefficient is 0: check after some steps of training.",
        )
        features = torch.cat(tuple(self._features))
        found = [*self._judge_observations(), *judge_features(features)]
        if bonus.ready:
            z = bonus.draw(LATENTS, torch.Generator().manual_seed(0))
            found += judge_bonus(bonus.reward(features, z[:, None]))
        pays = any(bool((reward != 0).any()) for reward, _ in self._rewards)
        if len(self._earned) >= ENOUGH:
            earned, spread = map(list, zip(*self._earned, strict=True))
            lately = slice(-max(len(earned) // 5, ENOUGH), None)
            found += judge_following(earned[lately], spread[lately], sensitivity, pays, REMEDIES)
        if pays and bonus.settings.scale_bonus:
            found += self._judge_proportion(bonus.settings.coefficient, bonus.settings.discount)
        return by_severity(found)

    def _judge_observations(self) -> Iterator[Finding]:
        for key in self._observations[0]:
            sample = torch.cat([kept[key] for kept in self._observations])
            for finding in judge_observations(sample, NORMALISE):
                place = f"{finding.subject} of {key}" if key else finding.subject
                yield Finding(finding.level, place, finding.sentence, finding.number)

    def _judge_proportion(self, bonus: float, discount: float) -> list[Finding]:
        rewards, ended = map(torch.stack, zip(*self._rewards, strict=True))
        task = return_deviation(rewards.float(), ended, discount)
        # The bonus is divided by the deviation of its own return, so that the coefficient is left of it.
        return [judge_proportion(task, bonus, PROPORTION)] if task > 0 else []


def _leaves(observation: Any, key: str = "") -> Iterator[tuple[str, Tensor]]:
    """The tensors of a tree and where they stand in it; z is no part of what is observed."""
    if isinstance(observation, Tensor):
        yield key, observation
        return
    named = observation.items() if hasattr(observation, "items") else enumerate(observation)
    for name, part in named:
        if name != LATENT:
            yield from _leaves(part, f"{key}.{name}" if key else str(name))
