"""Environments that are each sick in one way, and what is found in them."""

from typing import Any

import gymnasium
import pytest

import rle
from rle.checkup.check import check
from rle.errors import UsageError
from rle.findings import Finding, has_problem
from tests.builders import PAPERS_F
from tests.checkup import sick

SMALL = {"steps": 1024, "rle__feature_hidden": (16, 16)}


def found(env: Any, subject: str, **settings: Any) -> Finding:
    findings = check(env, **SMALL | settings)
    (finding,) = (finding for finding in findings if finding.subject == subject)
    return finding


def test_a_healthy_environment() -> None:
    findings = rle.check(lambda: sick.Walk(), **SMALL)
    assert {finding.level for finding in findings} == {"fine"}, "\n".join(map(str, findings))
    # 1024 steps are 128 of each of eight environments, one in 21 of which only resets.
    (episodes,) = (finding for finding in findings if finding.subject == "episodes")
    assert episodes.number == 20
    (period,) = (finding for finding in findings if finding.subject == "z")
    assert period.number == 20 / 128


@pytest.mark.parametrize("task", ["gym/CartPole-v1", "fourroom"])
def test_healthy_tasks(task: str) -> None:
    assert not has_problem(check(task, steps=1024))


@pytest.mark.parametrize(
    ("kind", "settings", "subject", "level", "words"),
    [
        ("Uneven", {"normalise_observations": False}, "scale", "problem", "--normalise-obs"),
        ("Uneven", {}, "scale", "fine", ""),
        ("Blind", {}, "observation", "problem", "none of the 2 components"),
        ("Blind", {"normalise_observations": False}, "φ", "problem", "all 128 outputs"),
        ("Broken", {}, "finite", "problem", "component 1"),
        ("BrokenReward", {}, "reward", "problem", "NaN or infinite"),
        ("Generous", {"scale_reward": False}, "proportion", "problem", "--scale-reward True"),
        ("Generous", {}, "proportion", "fine", ""),
        # Not enlarged unless one asks for it.
        ("Stingy", {}, "proportion", "problem", "--enlarge-reward True"),
        ("Stingy", {"enlarge_reward": True}, "proportion", "fine", ""),
        ("Endless", {}, "episodes", "notice", "--time-limit"),
        ("Unseeded", {}, "seed", "notice", "the seed that reset is given"),
        ("Walk", {"num_envs": 4}, "environments", "notice", "--num-envs"),
        ("Walk", {"rle__resample_every": 4096}, "horizon", "notice", "--rle.discount"),
    ],
)
def test_what_is_found(
    kind: str, settings: dict[str, Any], subject: str, level: str, words: str
) -> None:
    finding = found(lambda: getattr(sick, kind)(), subject, **settings)
    assert finding.level == level, finding
    assert words in finding.sentence


def test_what_is_not_finite_is_said_once() -> None:
    """The rest is judged as if it were not there."""
    findings = check(lambda: sick.Broken(), **SMALL)
    assert [f.subject for f in findings if f.level == "problem"] == ["finite"]


def test_images() -> None:
    findings = check(lambda: sick.Seen(), steps=256, embedding=(16,))
    assert not has_problem(findings), "\n".join(map(str, findings))
    assert {"observation", "φ", "units", "bonus"} <= {finding.subject for finding in findings}


def test_a_bonus_that_does_not_vary_over_states() -> None:
    """Far from zero, and neither normalised nor standardised, φ sees one direction."""
    kind = type("Far", (sick.Walk,), {"observe": lambda self: sick.Walk.observe(self) + 1e5})
    settings = {
        "normalise_observations": False,
        "rle__standardise": False,
        **PAPERS_F,
    }
    assert found(lambda: kind(), "bonus", **settings).level == "problem"
    assert found(lambda: kind(), "centre", **settings).level == "problem"


@pytest.mark.parametrize(
    ("said", "subject", "level", "words"),
    [
        ("last", "auto-reset", "fine", "an observation of their own"),
        ("first", "auto-reset", "problem", "look like first ones"),
        ("next", "auto-reset", "problem", "look like first ones"),
        ("nothing", "task", "problem", "final_obs"),
    ],
)
def test_auto_reset(said: str, subject: str, level: str, words: str) -> None:
    walks = sick.Walks(said)
    finding = found(walks, subject)
    assert finding.level == level, finding
    assert words in finding.sentence
    assert not walks.was_closed


def test_a_single_environment_is_checked_and_left_open() -> None:
    env = gymnasium.make("CartPole-v1")
    findings = rle.check(env, steps=256)
    assert not has_problem(findings)
    assert "environments" not in {finding.subject for finding in findings}
    env.reset(seed=0)
    env.step(0)


def test_other_strategies_are_checked_without_a_latent() -> None:
    subjects = {finding.subject for finding in check("gym/CartPole-v1", "none", steps=256)}
    assert "observation" in subjects
    assert subjects.isdisjoint({"φ", "bonus", "z", "proportion"})


def test_bad_input_is_a_sentence() -> None:
    with pytest.raises(UsageError, match="did you mean 'fourroom'"):
        check("fourrom")
    with pytest.raises(UsageError, match="steps is 0"):
        check("fourroom", steps=0)
    with pytest.raises(UsageError, match="it is for gym/ tasks"):
        check("fourroom", steps=64, autoreset="same-step")
