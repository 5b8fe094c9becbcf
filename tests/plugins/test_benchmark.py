"""The worlds that `benchmarks/plugins_*.py` train in are those they name; lines and resuming."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from benchmarks import plugins_cost, plugins_fourroom, plugins_offpolicy
from benchmarks.plugins_fourroom import FourRoomVecEnv, agent, lines_of, run

import rle  # noqa: F401


def test_fourroom_is_the_registered_one() -> None:
    vector, single = FourRoomVecEnv(2), gymnasium.make("rle/FourRoom-v0")
    np.testing.assert_array_equal(vector.reset()[0], single.reset()[0])
    source = np.random.default_rng(0)
    for time in range(1, 1010):
        actions = source.integers(4, size=2)
        seen, _, dones, infos = vector.step(actions)
        expected, _, _, truncated, _ = single.step(actions[0])
        assert dones[0] == truncated == (time == 1000)
        if truncated:
            np.testing.assert_array_equal(infos[0]["terminal_observation"], expected)
            expected, _ = single.reset()
        np.testing.assert_array_equal(seen[0], expected)


@pytest.mark.parametrize("method", ["ppo", "wrapper-near-zero", "rleppo", "rleppo-whitened"])
def test_an_agents_line(method: str) -> None:
    line = run((method, 0, 4096))
    assert line["steps"] == 4096
    assert 0 < line["coverage"] < 1


def test_near_zero_is_the_start_of_the_value_alone() -> None:
    (plain, _), (small, _) = agent("ppo", 0), agent("ppo-near-zero", 0)
    for (name, one), (_, other) in zip(
        plain.policy.named_parameters(), small.policy.named_parameters(), strict=True
    ):
        share = 0.01 if name == "value_net.weight" else 1.0
        torch.testing.assert_close(other, share * one, msg=name)


LEFT, RIGHT, UP, DOWN = range(4)
WAY_TO_THE_GOAL = [LEFT] * 15 + [DOWN] * 30 + [LEFT] * 35 + [DOWN] * 20
"""Through the doors at row 25, column 35, and row 30, column 25."""


def test_the_goal_ends_an_episode() -> None:
    vector = FourRoomVecEnv(2, "fourroom-sparse")
    vector.reset()
    for action in WAY_TO_THE_GOAL[:-1]:
        _, reward, dones, _ = vector.step(np.array([action, UP]))
        assert not dones.any()
        assert not reward.any()
    seen, reward, dones, infos = vector.step(np.array([DOWN, UP]))
    np.testing.assert_array_equal(reward, [1, 0])
    np.testing.assert_array_equal(dones, [True, False])
    np.testing.assert_array_equal(seen, [[1, 1], [1, 1]])
    np.testing.assert_array_equal(infos[0]["terminal_observation"], [-1, -1])
    assert infos[0]["TimeLimit.truncated"] is False
    assert infos[1] == {}
    for time in range(101, 1001):
        _, reward, dones, infos = vector.step(np.array([UP, UP]))
        np.testing.assert_array_equal(dones, [False, time == 1000])
        assert not reward.any()
    np.testing.assert_array_equal(infos[1]["terminal_observation"], [1, 1])
    assert infos[1]["TimeLimit.truncated"] is True


def test_success_by_part_of_training() -> None:
    counted = plugins_offpolicy.Success(1000)

    def step(at: int, *ends: str) -> None:
        infos = [{"TimeLimit.truncated": end == "late"} if end else {} for end in ends]
        counted.num_timesteps = at
        counted.locals = {"dones": np.array([bool(end) for end in ends]), "infos": infos}
        counted._on_step()

    step(50, "", "")
    step(100, "late", "")
    step(102, "late", "goal")
    step(200, "late", "late")
    step(1001, "goal", "goal")
    assert counted.shares() == [0, 0.25, *[None] * 7, 1]
    assert counted.first == 102


@pytest.mark.parametrize(
    ("task", "steps"), [("fourroom-goal", 320), ("mountain-car-continuous", 80)]
)
def test_lines_of_off_policy_agents(
    task: str, steps: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contest = plugins_offpolicy.CONTESTS[task]
    monkeypatch.setitem(contest.numbers, "learning_starts", steps // 2)
    monkeypatch.setattr(plugins_offpolicy, "EPISODES", 2)
    # Episodes are longer than this training, and not much longer.
    monkeypatch.setattr(plugins_fourroom, "TIME_LIMIT", 50)
    monkeypatch.setattr(gymnasium.spec("MountainCarContinuous-v0"), "max_episode_steps", 50)
    file = tmp_path / "results.csv"
    common = [str(file), "--task", task, "--steps", str(steps), "--workers", "1", "--seeds"]
    plugins_offpolicy.main([*common, "1", "--methods", "plain", "fresh+hindsight"])
    first = lines_of(file)
    assert [line["method"] for line in first] == ["plain", "fresh+hindsight"]
    for line in first:
        assert tuple(line) == plugins_offpolicy.FIELDS
        assert (line["task"], line["seed"], line["steps"]) == (task, "0", str(steps))
        assert {line[part] for part in plugins_offpolicy.PART_FIELDS} == {""}
        assert line["final"] == "0.0"
        assert line["first_success"] == ""
    asked: list[Any] = []
    monkeypatch.setattr(plugins_offpolicy, "run", lambda job: asked.append(job) or first[0])
    plugins_offpolicy.main([*common, "2", "--methods", "plain", "stored"])
    assert asked == [
        (task, "stored", 0, steps),
        (task, "plain", 1, steps),
        (task, "stored", 1, steps),
    ]


def test_success_is_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shares = {"plain": "0.0", "hindsight": "0.5"}
    file, picture = tmp_path / "results.csv", tmp_path / "curves.png"
    rows = [
        ["fourroom-goal", method, str(seed), "1000", "", *[share] * 9, share, "", "1.0"]
        for method, share in shares.items()
        for seed in range(3)
    ]
    content = [plugins_offpolicy.FIELDS, *rows]
    file.write_text("\n".join(map(",".join, content)) + "\n")
    figure = plugins_offpolicy.success_figure("fourroom-goal", lines_of(file))
    assert [series.label for series in figure.series] == ["plain", "hindsight"]
    assert figure.series[1].steps.tolist() == [200.0 + 100 * part for part in range(9)]
    assert figure.series[1].values.tolist() == [0.5] * 9
    methods = ["--methods", *shares]
    plugins_offpolicy.main(
        [str(file), "--seeds", "3", *methods, "--workers", "1", "--figure", str(picture)]
    )
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "0 of  3" in capsys.readouterr().out


def test_a_ratio_of_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    # The first round is not counted.
    spent = iter([9.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    learned = []

    def seconds(model: Any, steps: int) -> float:
        learned.append((model, steps))
        return next(spent)

    monkeypatch.setattr(plugins_cost, "seconds", seconds)
    comparison = plugins_cost.Comparison("", lambda: "plain", lambda: "explored", 7, 1.1)
    assert plugins_cost.ratios(comparison, 2) == [1.5, 1.25]
    assert learned == [("plain", 7), ("explored", 7)] * 3
