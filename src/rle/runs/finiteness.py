"""NaN and infinity end a run, with a sentence that says where they came from.

Whatever is learned from one such number is lost, and the run would go on to its end without a word.
A sum is enough to see that there is one, since it survives every addition; only then is it looked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from rle.errors import RunError
from rle.learn.base import Learner
from rle.learn.rollout import Rollout
from rle.tasks.base import Step
from rle.world import ALONE, World

LOSSES = ("value_loss_", "policy_loss", "gradient_norm")
"""How the names of those metrics begin that are nothing but finite while an agent learns."""

_MEND = "mend the environment; `rle resume RUN` then goes on from the last checkpoint."
_ADVICE = {
    "observation": _MEND,
    "reward": _MEND,
    "score": _MEND,
    "bonus": "let your own features and distributions of z be finite, or lower --learning-rate.",
    "policy's output": "train again with a lower --learning-rate.",
}
"""What to do, by what is not finite, in the order in which one causes the other."""

KEPT_ROWS = 8
"""How many rows of a rollout are kept for whoever looks for the cause, the last of them at fault."""


class _Part(NamedTuple):
    """Some numbers of a rollout."""

    name: str
    values: Tensor
    """`[rows, N, ...]`."""
    rows_before: int
    """How many rows of the rollout were over when the first of these came up."""
    counts: Tensor | None = None
    """bool `[rows, N]`: which of them are made use of; None: all."""

    def first_not_finite(self) -> tuple[int, int] | None:
        """Row and environment."""
        wrong = ~self.values.isfinite().reshape(*self.values.shape[:2], -1).all(-1)
        if self.counts is not None:
            wrong = wrong & self.counts
        places = wrong.nonzero()
        return (int(places[0, 0]), int(places[0, 1])) if len(places) else None


def check_iteration(
    task: str,
    rollout: Rollout,
    learner: Learner,
    metrics: Mapping[str, float],
    first_step: int,
    world: World = ALONE,
) -> None:
    """Raise `RunError` unless a rollout and the update on it came out finite.

    Args:
        task: its name.
        rollout: with its bonuses.
        learner: after the update.
        metrics: of the update.
        first_step: agent steps made before the iteration.
        world: which of the run's environments these are.

    """
    losses = {name: value for name, value in metrics.items() if name.startswith(LOSSES)}
    finals = rollout.finals()
    sums = [rollout.policy_output, rollout.reward, rollout.score]
    if rollout.floating_observations:
        sums.append(rollout.observation)
    sums += [rollout.bonus, learner.parameters] + ([] if finals is None else [finals.observation])
    if _finite_sums(sums) and all(map(math.isfinite, losses.values())):
        return
    cause = _first_cause(rollout)
    if cause is not None:
        rows, name, env = cause
        step = first_step + rows * world.all_of(rollout.reward.shape[1])
        number = world.first_env + env
        sentence = _sentence(task, name, number, f"step {step:,}")
        raise RunError(sentence, _facts(name, step, number), _last_rows(rollout, rows, env))
    step = first_step + world.all_of(rollout.reward.numel())
    for name, value in losses.items():
        if not math.isfinite(value):
            raise RunError(
                f"the loss is not finite in the update at step {step:,} ({name} is {value}): train "
                "again with a lower --learning-rate, or with --scale-reward True if rewards are large.",
                _facts(name, step),
            )
    if not bool(learner.parameters.isfinite().all()):
        raise RunError(
            f"the networks' parameters are not finite after the update at step {step:,}: train again "
            "with a lower --learning-rate.",
            _facts("parameters", step),
        )


def check_step(
    task: str, step: Step, made: int, of: str, taken: Mapping[str, Tensor] | None = None
) -> None:
    """Raise `RunError` unless the true next observations and rewards of one step are finite.

    Args:
        task: its name.
        step: what came of the actions.
        made: agent steps `of` what is going on, this one included.
        of: what that is, in words.
        taken: what led to it, each `[N, ...]`, to be kept for whoever looks for the cause.

    """
    if _finite_sums([step.next_observation, step.reward]):
        return
    real = None if step.real is None else step.real[None]
    for name, values in (("observation", step.next_observation), ("reward", step.reward)):
        place = _Part(name, values[None], 0, real).first_not_finite()
        if place is not None:
            env = place[1]
            came = {"next_observation": step.next_observation, "reward": step.reward}
            raise RunError(
                _sentence(task, name, env, f"step {made:,} of {of}"),
                _facts(name, made, env) | {"of": of},
                {key: part[env] for key, part in {**(taken or {}), **came}.items()},
            )


def _finite_sums(parts: Iterable[Tensor]) -> bool:
    sums = [part.sum() for part in parts if part.is_floating_point()]
    return bool(torch.stack(sums).isfinite().all())


def _first_cause(rollout: Rollout) -> tuple[int, str, int] | None:
    """What was first not finite: after how many rows, what, and in which environment.

    An observation counts in rows that are no transitions too: it goes through the network there.
    """
    real = rollout.real
    parts = [
        _Part("policy's output", rollout.policy_output, 0),
        _Part("reward", rollout.reward, 1, real),
        _Part("score", rollout.score, 1, real),
        _Part("bonus", rollout.bonus, 1, real),
    ]
    if rollout.floating_observations:
        parts.append(_Part("observation", rollout.observation, 0))
        parts.append(_Part("observation", rollout.next_observation(), 1, real))
    found = [(part, part.first_not_finite()) for part in parts]
    causes = [(part.rows_before + at[0], part.name, at[1]) for part, at in found if at is not None]
    order = list(_ADVICE)
    return min(causes, key=lambda cause: (cause[0], order.index(cause[1])), default=None)


def _sentence(task: str, name: str, env: int, when: str) -> str:
    return (
        f"the {name} in environment {env} of {task} is not finite at {when} "
        f"(NaN or infinity): {_ADVICE[name]}"
    )


def _facts(what: str, step: int, env: int | None = None) -> dict[str, Any]:
    return {"what": what, "step": step, "environment": env}


def _last_rows(rollout: Rollout, rows: int, env: int) -> dict[str, Tensor]:
    """What happened in one environment up to the state after `rows` rows, each `[rows kept, ...]`."""
    first = max(rows - KEPT_ROWS, 0)
    states, steps = slice(first, rows + 1), slice(first, rows)
    num_envs = rollout.reward.shape[1]
    flat = torch.arange(first, rows, device=rollout.reward.device) * num_envs + env
    kept = {
        "observation": rollout.observation[states, env],
        "policy_output": rollout.policy_output[states, env],
        "latent": rollout.latent[states, env],
        "action": rollout.action[steps, env],
        "reward": rollout.reward[steps, env],
        "bonus": rollout.bonus[steps, env],
        "next_observation": rollout.next_observation_at(flat),
        "ended": (rollout.terminated | rollout.truncated)[steps, env],
    }
    return {name: part for name, part in kept.items() if part.numel()}
