"""After training: what a run's log says of how the agent used z, the bonus and the task's reward.

Only files are read: no agent is built, and no environment.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from statistics import mean
from typing import Any

from rle.checkup.returns import judge_returns
from rle.config import RLEConfig, RunConfig
from rle.errors import UsageError
from rle.findings.finding import Finding, by_severity, readable
from rle.findings.following import Remedies, judge_following
from rle.runs.directory import RunDirectory

Lines = Sequence[dict[str, Any]]

ENOUGH_ITERATIONS = 5
"""A fifth of fewer would be none."""
UNFELT, FAINT = 0.01, 0.03
"""Share of the bonus in the advantages: problem, notice. The paper's 0.01 makes 0.01 to 0.03 on Ant and
Humanoid, where RLE neither helped nor cost."""
ALONE = 0.9
"""Share from which on the bonus leaves the task, if it pays, nothing to say."""
UNEXPLAINED = 0.1
"""Explained variance of the bonus's value below which it knows nothing: FourRoom has 0.97 and more."""
MOVES_FAST = 0.25
"""Of its first norm, how far φ may move in the last fifth of a run: F is then another function long
before an agent has learned to follow it."""
FADED = 0.5
"""Share of z that the networks see below which a policy need not follow it: the task's reward leads."""
COLLAPSED = 0.02
"""Share of the largest entropy at which a policy does the same in every state, whatever z."""
STIFF = 0.01
"""Deviation of a continuous action, in units of half its range, at which nothing else is tried."""
REMEDIES = Remedies(
    ignored="raise --rle.coefficient, or train for longer",
    not_followed="train for longer, let a z last longer (--rle.resample-every), or raise "
    "--rle.coefficient",
)


def check_run(run: RunDirectory) -> list[Finding]:
    """Judge a run by its `metrics.jsonl` and `episodes.jsonl`."""
    try:
        return _judge_run(run)
    except UsageError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        raise UsageError(
            f"the files of {run.path} hold something else than a run writes ({error!r}): restore them."
        ) from error


def _judge_run(run: RunDirectory) -> list[Finding]:
    config, lines = run.config(), run.metrics()
    findings = [*_state_of(run, config, lines), *_finite(lines)]
    if len(lines) < ENOUGH_ITERATIONS:
        sentence = f"{len(lines)} iterations are too few to say more: train for longer."
        return by_severity([*findings, Finding("notice", "length", sentence, len(lines))])
    last = last_fifth(lines)
    episodes = run.episodes()
    findings += judge_returns(episodes, lines)
    pays = any(episode["score"] != 0 for episode in episodes)
    felt = _while_felt(config, lines)
    for stream in _streams(last):
        findings += _judge_stream(stream, felt if stream == "rle" else last, pays)
    if config.rle is not None and config.rle.coefficient > 0:
        findings += _judge_following(config.rle, felt, pays)
        findings += _judge_movement(last)
    actions = (run.spec() or {}).get("actions")
    findings += _judge_entropy(actions if isinstance(actions, dict) else {}, lines, last)
    return by_severity(findings)


def last_fifth(lines: Lines) -> Lines:
    """The end of a log, over which numbers are averaged: one iteration says little."""
    return lines[-max(len(lines) // 5, 1) :]


def _while_felt(config: RunConfig, lines: Lines) -> Lines:
    """The lines by which RLE's bonus is judged: an annealed one is not to be felt in the end."""
    if config.rle is None or not config.rle.anneal:
        return last_fifth(lines)
    # Up to where half of it is left.
    return last_fifth([line for line in lines if line["step"] <= config.total_steps / 2] or lines)


def values(lines: Lines, name: str) -> list[float]:
    """A field's numbers, where it has a meaning and is finite."""
    return [line[name] for line in lines if name in line and math.isfinite(line[name])]


def _streams(lines: Lines) -> list[str]:
    names = (re.fullmatch("advantage_share_(.+)", name) for name in lines[-1])
    return [found[1] for found in names if found and found[1] != "task"]


def _state_of(run: RunDirectory, config: RunConfig, lines: Lines) -> list[Finding]:
    if run.finished() is not None:
        return []
    made = int(lines[-1]["step"]) if lines else 0
    sentence = (
        f"the run is not finished: {made:,} of {config.total_steps:,} steps are made, and "
        f"`rle resume {run.path}` goes on."
    )
    return [Finding("notice", "length", sentence, made / config.total_steps)]


def _finite(lines: Lines) -> list[Finding]:
    for line in lines:
        for name, value in line.items():
            if isinstance(value, float) and not math.isfinite(value):
                sentence = (
                    f"{name} is {value} at step {line['step']:,}: train again with a lower "
                    "--learning-rate."
                )
                return [Finding("problem", "finite", sentence, value)]
    return []


def _judge_stream(stream: str, last: Lines, pays: bool) -> list[Finding]:
    """Whether a bonus is felt, and known by its value."""
    share = mean(values(last, f"advantage_share_{stream}") or [0.0])
    seen = f"the bonus of {stream} makes {share:.1%} of the advantages"
    option = f"--{stream}.coefficient"
    if share < FAINT:
        sentence = (
            f"{seen}, too little to be felt: raise {option}, by a factor of ten to begin with."
        )
        finding = Finding("problem" if share < UNFELT else "notice", "share", sentence, share)
    elif share > ALONE and pays:
        sentence = f"{seen} although the task pays: lower {option}."
        finding = Finding("notice", "share", sentence, share)
    else:
        finding = Finding("fine", "share", f"{seen}.", share)
    findings = [finding]
    explained = values(last, f"explained_variance_{stream}")
    if explained and mean(explained) < UNEXPLAINED:
        sentence = (
            f"the value of {stream} explains {mean(explained):.0%} of its returns' variance, so what is "
            "paid cannot be foreseen: let a z last longer (--rle.resample-every), or keep what only "
            "flickers out of the observations."
        )
        findings.append(Finding("notice", "value", sentence, mean(explained)))
    elif explained:
        sentence = f"the value of {stream} explains {mean(explained):.0%} of its returns' variance."
        findings.append(Finding("fine", "value", sentence, mean(explained)))
    return findings


def _judge_following(rle: RLEConfig, felt: Lines, pays: bool) -> list[Finding]:
    """Whether the policy ignores z, listens to it, or follows it."""
    heard = values(felt, "latent_sensitivity")
    earned = values(felt, "bonus_rle_mean")
    spread = values(felt, "bonus_rle_std")
    if rle.rarity > 0:
        # F pays for rare states under every z.
        earned = values(felt, "rle_following")
        spread = [1.0] * len(earned)
    if not (heard and earned and spread):
        return []
    if not rle.condition:
        sentence = "the policy does not see z, as rle.condition asks."
        return [Finding("fine", "z", sentence, 0.0)]
    shown = values(felt, "rle_latent_shown")
    if shown and mean(shown) < FADED:
        sentence = (
            f"the task's reward leads, so the networks see {mean(shown):.0%} of z, as "
            "rle.fade asks."
        )
        return [Finding("fine", "z", sentence, mean(shown))]
    return judge_following(earned, spread, mean(heard), pays, REMEDIES)


def _judge_movement(last: Lines) -> list[Finding]:
    """How far φ moved, if it follows the value network."""
    moved = values(last, "rle_feature_movement")
    if not moved:
        return []
    lately = abs(moved[-1] - moved[0])
    distance = (
        f"φ has moved by {moved[-1]:.2f} of its norm, by {lately:.2f} in the last fifth of the run"
    )
    if lately <= MOVES_FAST:
        return [Finding("fine", "φ", f"{distance}.", moved[-1])]
    sentence = f"{distance}, so F changes while it is learned: lower --rle.feature-update-rate."
    return [Finding("notice", "φ", sentence, lately)]


def _judge_entropy(actions: dict[str, Any], lines: Lines, last: Lines) -> list[Finding]:
    """Whether the policy still tries anything."""
    measured = values(last, "entropy")
    if not measured:
        return []
    entropy = mean(measured)
    advice = "raise --entropy-coefficient if the task is not solved"
    if "low" in actions:
        size = len(actions["low"])
        deviation = math.exp(entropy / size) / math.sqrt(2 * math.pi * math.e)
        seen = f"actions deviate by {readable(deviation)}"
        if deviation < STIFF * _half_range(actions):
            sentence = f"{seen}, next to nothing of their range: {advice}."
            return [Finding("notice", "entropy", sentence, deviation)]
        return [Finding("fine", "entropy", f"{seen}.", deviation)]
    largest = _largest_entropy(actions) or max(values(lines, "entropy"))
    share = entropy / largest if largest > 0 else 0.0
    seen = f"the policy's entropy is {readable(entropy)} nats, {share:.0%} of the largest"
    if share < COLLAPSED:
        return [Finding("notice", "entropy", f"{seen}: {advice}.", share)]
    return [Finding("fine", "entropy", f"{seen}.", share)]


def _largest_entropy(actions: dict[str, Any]) -> float | None:
    """In nats, of discrete actions; None if the run did not record them."""
    if "n" in actions:
        return math.log(actions["n"])
    if "sizes" in actions:
        return sum(math.log(size) for size in actions["sizes"])
    return None


def _half_range(actions: dict[str, Any]) -> float:
    widths = [
        (high - low) / 2
        for low, high in zip(actions["low"], actions["high"], strict=True)
        if math.isfinite(high - low)
    ]
    return mean(widths) if widths else 1.0
