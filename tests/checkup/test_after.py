"""Logs written by hand, and what is found in them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import rle
from rle.checkup.after import check_run
from rle.cli import main
from rle.errors import UsageError
from rle.findings import Finding
from rle.runs.directory import RunDirectory
from tests.builders import PAPERS_F, small_config

HEALTHY: dict[str, Any] = {
    "bonus_rle_mean": 0.1,
    "bonus_rle_std": 0.5,
    "advantage_share_task": 0.8,
    "advantage_share_rle": 0.2,
    "explained_variance_rle": 0.9,
    "latent_sensitivity": 0.4,
    "entropy": 0.7,
}
ITERATIONS = 50


def run_with(
    path: Path, score: Any = lambda share: 1.0 + share, explore: str = "rle", **fields: Any
) -> RunDirectory:
    """A finished run of 50 iterations of 100 steps; functions are of the share that is made."""

    def value(given: Any, share: float) -> Any:
        return given(share) if callable(given) else given

    settings = fields.pop("settings", PAPERS_F if explore == "rle" else {})
    settings = {"total_steps": 100 * ITERATIONS, **settings}
    run = RunDirectory.create(path, small_config(explore, "gym/CartPole-v1", **settings))
    metrics, episodes = [], []
    for number in range(1, ITERATIONS + 1):
        share = number / ITERATIONS
        line = {name: value(field, share) for name, field in (HEALTHY | fields).items()}
        line = {name: field for name, field in line.items() if field is not None}
        metrics.append({"iteration": number, "step": 100 * number, "episodes": 2} | line)
        for shift in (-0.1, 0.1):  # episodes are not all alike
            episode = {"iteration": number, "step": 100 * number, "env": 0, "length": 100}
            episodes.append(episode | {"score": value(score, share) * (1 + shift)})
    for name, lines in (("metrics", metrics), ("episodes", episodes)):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (path / f"{name}.jsonl").write_text(text)
    run.save_spec({"actions": {"n": 2}})
    run.finish({"step": 5000})
    return run


def found(run: RunDirectory, subject: str) -> Finding:
    (finding,) = (finding for finding in check_run(run) if finding.subject == subject)
    return finding


def test_a_healthy_run(tmp_path: Path) -> None:
    findings = check_run(run_with(tmp_path / "run"))
    assert {finding.level for finding in findings} == {"fine"}
    # 0.1 is a fifth of 0.5.
    (followed,) = (finding for finding in findings if finding.subject == "z")
    assert followed.number == pytest.approx(0.2)
    assert "follows z" in followed.sentence


@pytest.mark.parametrize(
    ("fields", "subject", "level", "words"),
    [
        ({"latent_sensitivity": 0.0}, "z", "problem", "ignores z"),
        ({"bonus_rle_mean": 0.0}, "z", "notice", "listens to z and does not follow"),
        # Its end counts, and not how it began.
        ({"bonus_rle_mean": lambda share: 0.1 * (share > 0.7)}, "z", "fine", "follows z"),
        ({"advantage_share_rle": 0.002}, "share", "problem", "raise --rle.coefficient"),
        ({"advantage_share_rle": 0.02}, "share", "notice", "raise --rle.coefficient"),
        ({"advantage_share_rle": 0.97}, "share", "notice", "lower --rle.coefficient"),
        ({"advantage_share_rle": 0.97, "score": 0.0}, "share", "fine", "97.0%"),
        ({"explained_variance_rle": 0.01}, "value", "notice", "--rle.resample-every"),
        ({"rle_feature_movement": lambda share: 4 * share}, "φ", "notice", "feature-update-rate"),
        ({"rle_feature_movement": 0.5}, "φ", "fine", "0.50 of its norm"),
        ({"entropy": 0.001}, "entropy", "notice", "--entropy-coefficient"),
        ({"score": 0.0}, "score", "notice", "paid nothing in 100 episodes"),
        (
            {"score": lambda share: 2 - share, "bonus_rle_mean": lambda share: 0.2 * share},
            "score",
            "problem",
            "lower --rle.coefficient",
        ),
        ({"score": lambda share: 2 - share}, "score", "notice", "--learning-rate"),
        (
            {"entropy": lambda share: float("nan") if share > 0.5 else 0.7},
            "finite",
            "problem",
            "entropy is nan at step 2,600",
        ),
    ],
)
def test_what_is_found(
    fields: dict[str, Any], subject: str, level: str, words: str, tmp_path: Path
) -> None:
    finding = found(run_with(tmp_path / "run", **fields), subject)
    assert finding.level == level, finding
    assert words in finding.sentence


def test_what_follows_by_chance_does_not_follow(tmp_path: Path) -> None:
    """F of 0.06 deviations on average, in ten iterations of which each may be anything."""
    scattered = {"bonus_rle_mean": lambda share: 0.03 + (0.5 if round(share * 50) % 2 else -0.5)}
    assert found(run_with(tmp_path / "run", **scattered), "z").level == "notice"


WHITENED = {**PAPERS_F, "rle__whitened_features": 8, "rle__rarity": 1.0}


@pytest.mark.parametrize(("following", "level"), [(0.2, "fine"), (0.0, "notice")])
def test_where_rarity_pays_too_following_has_a_field_of_its_own(
    following: float, level: str, tmp_path: Path
) -> None:
    """F pays 2 of its deviations under every z."""
    fields = {"bonus_rle_mean": 1.0, "rle_following": following, "settings": WHITENED}
    finding = found(run_with(tmp_path / "run", **fields), "z")
    assert finding.level == level
    assert finding.number == pytest.approx(following)


@pytest.mark.parametrize(("shown", "level"), [(0.04, "fine"), (0.9, "problem")])
def test_a_policy_need_not_follow_a_z_that_has_faded(
    shown: float, level: str, tmp_path: Path
) -> None:
    ignored = {"latent_sensitivity": 0.001, "rle_following": 0.0, "settings": WHITENED}
    finding = found(run_with(tmp_path / "run", **ignored, rle_latent_shown=shown), "z")
    assert finding.level == level
    assert ("4% of z" in finding.sentence) == (level == "fine")


def test_rare_states_that_pay_more_are_no_reason_for_a_score_that_fell(tmp_path: Path) -> None:
    fell = {"score": lambda share: 2 - share, "bonus_rle_mean": lambda share: 0.2 * share}
    still = run_with(tmp_path / "still", **fell, rle_following=0.1, settings=WHITENED)
    assert "--learning-rate" in found(still, "score").sentence
    risen = run_with(
        tmp_path / "risen", **fell, rle_following=lambda share: 0.1 * share, settings=WHITENED
    )
    assert "lower --rle.coefficient" in found(risen, "score").sentence


def test_an_annealed_bonus_is_judged_where_half_of_it_is_left(tmp_path: Path) -> None:
    """In the end it is not to be felt, nor z to be followed."""
    settings = {**PAPERS_F, "rle__anneal": True}
    annealed = {
        "advantage_share_rle": lambda share: 0.2 if share <= 0.5 else 0.0,
        "latent_sensitivity": lambda share: 0.4 if share <= 0.5 else 0.0,
        "bonus_rle_mean": lambda share: 0.1 if share <= 0.5 else 0.0,
        "explained_variance_rle": lambda share: 0.9 if share <= 0.5 else 0.0,
    }
    run = run_with(tmp_path / "well", **annealed, settings=settings)
    assert {finding.level for finding in check_run(run)} == {"fine"}
    # Its beginning does not count either.
    late = {"advantage_share_rle": lambda share: 0.2 if share <= 0.4 else 0.0}
    assert found(run_with(tmp_path / "ill", **late, settings=settings), "share").level == "problem"


def test_the_entropy_of_continuous_actions_is_a_deviation(tmp_path: Path) -> None:
    run = run_with(tmp_path / "run", entropy=1.4189385)  # ln √(2πe): a deviation of 1
    run.save_spec({"actions": {"low": [-1.0], "high": [1.0]}})
    assert found(run, "entropy").number == pytest.approx(1)
    stiff = run_with(tmp_path / "stiff", entropy=1.4189385 - 5)  # e⁻⁵ = 0.0067
    stiff.save_spec({"actions": {"low": [-1.0], "high": [1.0]}})
    assert found(stiff, "entropy").level == "notice"


def test_a_run_without_rle(tmp_path: Path) -> None:
    gone = dict.fromkeys((name for name in HEALTHY if "rle" in name), None)
    run = run_with(tmp_path / "run", explore="none", **gone)
    assert {finding.subject for finding in check_run(run)} == {"score", "entropy"}


def test_a_run_that_has_just_begun(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path / "run", small_config("rle"))
    first, second = check_run(run)
    assert "not finished" in first.sentence
    assert "too few" in second.sentence


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_with(tmp_path / "well")
    run_with(tmp_path / "ill", latent_sensitivity=0.0)
    assert main(["check", str(tmp_path / "well")]) == 0
    shown = capsys.readouterr().out
    assert re.match(r"fine +score +the mean score", shown)
    assert shown.endswith("0 problems, 0 notices, 5 fine\n")
    assert main(["check", str(tmp_path / "ill")]) == 1
    shown = capsys.readouterr().out
    assert shown.startswith("problem  z        the policy ignores z")
    assert shown.endswith("1 problem, 0 notices, 4 fine\n")
    assert main(["check", str(tmp_path / "ill"), "--rle.dimension", "8"]) == 2
    assert "leave out --rle.dimension" in capsys.readouterr().err
    assert main(["check", str(tmp_path / "ill"), "--explore", "none"]) == 2
    assert "leave out --explore" in capsys.readouterr().err
    assert main(["check", str(tmp_path)]) == 2
    assert "is not a run directory" in capsys.readouterr().err


def test_in_python(tmp_path: Path) -> None:
    run = run_with(tmp_path / "run")
    assert rle.check(run) == rle.check(run.path) == rle.check(str(run.path)) == check_run(run)
    with pytest.raises(UsageError, match="leave them out"):
        rle.check(run, rle__dimension=8)
