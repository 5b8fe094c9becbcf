"""Which runs are compared, under which names, and what the reader is told about them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rle.errors import UsageError
from rle.report import report
from rle.report.draw.style import LineStyle, assign_styles
from rle.report.read.methods import group_runs, reference_of
from rle.report.read.records import find_runs, read_run
from rle.report.read.words import number_text, steps_text
from tests.report.folders import write_run


def labels(root: Path) -> list[str]:
    groups = group_runs([read_run(path, name) for path, name in find_runs([root])])
    return [method.label for group in groups for method in group.methods]


def notes_of(page: Path) -> str:
    summary = json.loads((page.parent / "summary.json").read_text())
    notes = [
        *summary["notes"],
        *(note for task in summary["tasks"].values() for note in task["notes"]),
    ]
    text = page.read_text()
    for note in notes:
        # What is in the summary is also visible in the page.
        assert note.split(":")[0][:20] in text
    return "\n".join(notes)


def test_strategies_have_their_names(tmp_path: Path) -> None:
    for explore in ("white-noise", "noisy", "rnd", "none", "rle", "rle+rnd"):
        write_run(tmp_path / explore, explore)
    expected = ["RLE", "PPO", "RND", "NoisyNet", "White noise", "RLE + RND"]
    assert labels(tmp_path) == expected


def test_one_setting_that_varies_is_in_every_label(tmp_path: Path) -> None:
    for dimension in (16, 2, 8):
        write_run(tmp_path / str(dimension), rle__dimension=dimension)
    assert labels(tmp_path) == ["RLE, d=2", "RLE, d=8", "RLE, d=16"]


def test_settings_go_by_their_names_on_the_command_line(tmp_path: Path) -> None:
    for activation in ("tanh", "elu"):
        write_run(tmp_path / activation, network__activation=activation)
    assert labels(tmp_path) == ["RLE, activation=elu", "RLE, activation=tanh"]


def test_one_thing_changed_at_a_time_leaves_the_method_its_name(tmp_path: Path) -> None:
    write_run(tmp_path / "a")
    write_run(tmp_path / "b", rle__dimension=8)
    write_run(tmp_path / "c", rle__distribution="normal")
    write_run(tmp_path / "d", rle__condition=False)
    expected = ["RLE", "RLE, d=8", "RLE, distribution=normal", "RLE, no z-conditioning"]
    assert labels(tmp_path) == expected


def test_the_presets_own_settings_are_the_unchanged_ones(tmp_path: Path) -> None:
    unscaled = {"learner__scale_reward": False, "learner__reward_clip": None}
    # Found first, and as common as the other: neither makes it the method that has no addition.
    write_run(tmp_path / "a", "none", "control/Ant", **unscaled)
    write_run(tmp_path / "b", "none", "control/Ant")
    assert labels(tmp_path)[0] == "PPO"
    [group] = group_runs([read_run(path, name) for path, name in find_runs([tmp_path])])
    assert [method.unchanged for method in group.methods] == [True, False]
    assert group.methods[0].runs[0].name == "b"


def test_others_are_compared_with_the_presets_own_features(tmp_path: Path) -> None:
    for name, hidden in (("a", (64,)), ("b", (128, 128)), ("c", None)):
        write_run(tmp_path / name, "rle", "control/Ant", rle__feature_hidden=hidden)
    assert sorted(labels(tmp_path)) == ["RLE, φ (128, 128)", "RLE, φ (64)", "RLE, φ in V's shape"]
    [group] = group_runs([read_run(path, name) for path, name in find_runs([tmp_path])])
    reference = reference_of(group.methods)
    assert reference is not None
    assert reference.label == "RLE, φ (128, 128)"


def test_a_setting_that_has_come_since_makes_no_method(tmp_path: Path) -> None:
    write_run(tmp_path / "new", seed=0)
    old = write_run(tmp_path / "old", seed=1) / "config.json"
    config = json.loads(old.read_text())
    del config["network"]["latent_encoder"]
    del config["rle"]["stagger"]
    del config["machine"]["threads"]
    old.write_text(json.dumps(config))
    assert labels(tmp_path) == ["RLE"]
    # One that is gone may have meant anything.
    config["rle"]["no_longer_there"] = 3
    old.write_text(json.dumps(config))
    assert len(labels(tmp_path)) == 2


def test_settings_of_the_machine_make_no_method(tmp_path: Path) -> None:
    write_run(tmp_path / "a", seed=0, machine__threads=1)
    write_run(
        tmp_path / "b",
        seed=1,
        machine__threads=2,
        machine__checkpoint_every=7,
        machine__precision="bfloat16",
    )
    assert labels(tmp_path) == ["RLE"]


def test_no_runs(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no run below"):
        report([tmp_path])
    with pytest.raises(UsageError, match="is not a folder"):
        report([tmp_path / "nowhere"])
    with pytest.raises(UsageError, match="no folder"):
        report([])
    assert not (tmp_path / "report").exists()


def test_one_seed_is_told(tmp_path: Path) -> None:
    page = report([write_run(tmp_path / "a")])
    assert "One seed only for RLE" in notes_of(page)
    coverage = json.loads((page.parent / "summary.json").read_text())["tasks"]["fourroom"]
    assert coverage["methods"][0]["measures"]["coverage"]["low"] is None


def test_a_run_that_has_just_begun(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a", finished=False)
    for name in ("metrics.jsonl", "episodes.jsonl", "meta.json"):
        (run / name).unlink()
    page = report([tmp_path])
    assert "RLE, seed 0: has no metrics yet." in notes_of(page)
    assert "No run has a result yet." in page.read_text()


def test_an_unfinished_run_is_included_and_told(tmp_path: Path) -> None:
    write_run(tmp_path / "a", seed=0, total_steps=2000, coverage=(0.1, 0.2, 0.3, 0.4))
    write_run(tmp_path / "b", seed=1, total_steps=2000, coverage=(0.1, 0.2), finished=False)
    page = report([tmp_path])
    assert "RLE, seed 1: not finished: 1\u00a0k of 2\u00a0k steps so far." in notes_of(page)
    text = page.read_text()
    assert "not finished</td>" in text
    assert "RLE: 1 of 2 runs end early" in text


def test_a_truncated_last_line_is_left_out(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a")
    with (run / "metrics.jsonl").open("a") as file:
        file.write('{"iteration": 3, "step": 1500, "cov')
    page = report([run])
    method = json.loads((page.parent / "summary.json").read_text())["tasks"]["fourroom"]["methods"][
        0
    ]
    assert method["steps"] == 1000
    assert method["measures"]["coverage"]["mean"] == 0.5
    assert "RLE, seed 0: the last line of metrics.jsonl is cut short and left out." in notes_of(
        page
    )


def test_a_damaged_run_is_left_out_and_named(tmp_path: Path) -> None:
    write_run(tmp_path / "good")
    damaged = write_run(tmp_path / "bad", seed=1)
    (damaged / "metrics.jsonl").write_text('{"iteration": 1\n{"iteration": 2}\n')
    broken = write_run(tmp_path / "worse", seed=2)
    (broken / "config.json").write_text("{")
    notes = notes_of(report([tmp_path]))
    assert "bad is left out" in notes
    assert "worse is left out" in notes
    with pytest.raises(UsageError, match="no run can be read"):
        report([damaged, broken])


def test_nan_is_told(tmp_path: Path) -> None:
    write_run(tmp_path / "a", coverage=(0.5, float("nan")))
    notes = notes_of(report([tmp_path]))
    assert "1 of 2 recorded values of coverage are NaN or infinite and left out" in notes


def test_a_repeated_seed_counts_once(tmp_path: Path) -> None:
    write_run(tmp_path / "a", coverage=(0.5, 0.9))
    write_run(tmp_path / "copy", coverage=(0.5, 0.9))
    page = report([tmp_path])
    assert "repeats" in notes_of(page)
    method = json.loads((page.parent / "summary.json").read_text())["tasks"]["fourroom"]["methods"][
        0
    ]
    assert method["seeds"] == [0]


def test_unequal_seeds_and_lengths_are_told(tmp_path: Path) -> None:
    write_run(tmp_path / "a", seed=0)
    write_run(tmp_path / "b", seed=1)
    write_run(tmp_path / "c", "none", coverage=(0.1, 0.2, 0.3))
    notes = notes_of(report([tmp_path]))
    assert "different numbers of seeds: RLE 2, PPO 1" in notes
    assert "different numbers of steps: RLE 1\u00a0k, PPO 1.5\u00a0k" in notes


def test_a_run_given_twice_is_read_once(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a")
    assert len(find_runs([tmp_path, run])) == 1


def test_styles_are_stable_and_distinct() -> None:
    names = ["RLE", "PPO", *(f"RLE, d={d}" for d in range(20))]
    styles = assign_styles(names)
    assert styles["RLE"] == assign_styles(["PPO", "RLE"])["RLE"]
    assert len({(style.colour, style.dashes) for style in styles.values()}) == len(names)
    assert all(isinstance(style, LineStyle) for style in styles.values())


def test_numbers_as_people_write_them() -> None:
    assert [steps_text(s) for s in (0, 999, 1000, 503_808, 2_502_656)] == [
        "0",
        "999",
        "1\u00a0k",
        "504\u00a0k",
        "2.5\u00a0M",
    ]
    assert number_text(-0.0004, 3) == "0.000"
    assert number_text(-12345.6, 1) == "−12\u202f345.6"
    assert number_text(None, 2) == "–"
