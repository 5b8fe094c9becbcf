"""Old names of settings, studies, metrics, parameters and functions still work; so do both spellings."""

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

import rle
from rle import core
from rle.cli import main
from rle.config import RunConfig
from rle.errors import UsageError
from rle.presets import preset_config
from rle.renamed import RENAMED, RENAMED_PARAMETERS
from rle.report.read.records import read_run
from rle.runs.directory import RunDirectory
from rle.runs.manifest import MANIFEST
from rle.runs.train import resume, train_config
from rle.settings import from_dict, locate, replace, to_dict, with_defaults
from rle.studies import Method, find_study
from tests.builders import small_config
from tests.runs.test_resume import assert_same_tree, stop_after

VALUES = {
    "rle.law": "normal",
    "network.initial_action_deviation": 0.5,
    "noisy.initial_deviation": 2,
}
METRICS = {"bonus_rle_std": "bonus_rle_deviation", "noisy_std": "noisy_deviation"}
TINY = "--num-envs 4 --rollout-steps 8 --minibatches 1 --total-steps 64 --compile off"


def every_section() -> RunConfig:
    return preset_config("gym/Pendulum-v1", "rle+noisy")


def as_written_before(config: RunConfig) -> dict[str, Any]:
    """What `config.json` held before the settings had their present names."""
    values = json.loads(json.dumps(to_dict(config)))
    for old, new in RENAMED.items():
        (section, key), (_, now) = old.split("."), new.split(".")
        values[section][key] = values[section].pop(now)
    return values


class TestSettings:
    @pytest.mark.parametrize("old", RENAMED)
    def test_are_taken_with_one_notice(self, old: str) -> None:
        assert set(VALUES) == set(RENAMED)
        new, config = RENAMED[old], every_section()
        expected = replace(config, {new: VALUES[old]})
        assert expected != config
        with pytest.warns(FutureWarning, match="is now called") as said:
            assert replace(config, {old: VALUES[old]}) == expected
        assert len(said) == 1
        assert locate(config, old) == locate(config, new)  # silently: it has been said before

    @pytest.mark.parametrize(
        ("given", "sentence"),
        [
            ("rle.law", "rle.law is now called rle.distribution."),
            ("rle__law", "rle__law is now called rle__distribution."),
            ("--rle.law", "--rle.law is now called --rle.distribution."),
            (
                "initial_action_deviation",
                "initial_action_deviation is now called initial_action_std.",
            ),
            (
                "--noisy.initial-deviation",
                "--noisy.initial-deviation is now called --noisy.initial-std.",
            ),
        ],
    )
    def test_the_notice_spells_the_name_as_it_was_given(self, given: str, sentence: str) -> None:
        value = "normal" if "law" in given else 0.5
        with pytest.warns(FutureWarning) as said:
            replace(every_section(), {given: value})
        assert [str(warning.message) for warning in said] == [sentence]

    def test_both_names_at_once_are_refused(self) -> None:
        both = {"rle.law": "normal", "rle.distribution": "uniform"}
        with pytest.raises(UsageError, match=r"both are given: leave 'rle\.law' out"):
            replace(every_section(), both)

    def test_of_a_strategy_that_is_not_used(self) -> None:
        with (
            pytest.warns(FutureWarning),
            pytest.raises(UsageError, match="--explore none does not use"),
        ):
            replace(preset_config("fourroom", "none"), {"rle.law": "normal"})

    def test_on_the_command_line(self, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
        path = tmp_path / "run"
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            command = f"train fourroom --rle.law=normal {TINY} --out {path}"
            assert main(command.split()) == 0
        said = [line for line in capsys.readouterr().err.splitlines() if "warning" in line]
        assert said == ["warning: --rle.law is now called --rle.distribution."]
        assert json.loads((path / "config.json").read_text())["rle"]["distribution"] == "normal"

    def test_in_python(self, tmp_path: Path) -> None:
        settings = {"num_envs": 4, "rollout_steps": 8, "minibatches": 1, "compile": "off"}
        with pytest.warns(FutureWarning) as said:
            run = rle.train(
                "fourroom",
                total_steps=64,
                quiet=True,
                out=tmp_path / "run",
                rle__law="normal",
                **settings,
            )
        assert len(said) == 1
        config = run.config()
        assert config.rle is not None
        assert config.rle.distribution == "normal"

    def test_in_a_study_of_a_file(self, tmp_path: Path) -> None:
        path = tmp_path / "mine.toml"
        path.write_text(
            'name = "mine"\ntasks = ["fourroom", "fourroom-sparse"]\nseeds = 2\n'
            '[[methods]]\nname = "a"\nexplore = "rle"\nsettings = { "rle.law" = "normal" }\n'
        )
        with pytest.warns(FutureWarning, match=r"rle\.law is now called rle\.dist") as said:
            study = find_study(path)
        assert len(said) == 1
        runs = study.runs()  # silently
        assert study.methods == (Method("a", "rle", {"rle.distribution": "normal"}),)
        assert {run.rle.distribution for run in runs.values() if run.rle} == {"normal"}

    def test_of_earlier_runs_are_read_without_a_notice(self) -> None:
        config = replace(every_section(), {RENAMED[old]: VALUES[old] for old in RENAMED})
        earlier = as_written_before(config)
        before = json.dumps(earlier)
        assert from_dict(earlier) == config
        assert with_defaults(earlier) == json.loads(json.dumps(to_dict(config)))
        assert json.dumps(earlier) == before

    def test_that_are_gone_are_read_where_they_changed_nothing_and_refused_elsewhere(self) -> None:
        config = every_section()
        earlier = to_dict(config)
        earlier["network"]["policy_latent_scale"] = 1.0
        assert from_dict(earlier) == config
        assert "policy_latent_scale" not in with_defaults(earlier)["network"]
        earlier["network"]["policy_latent_scale"] = 0.1
        with pytest.raises(
            UsageError, match="the policy always sees all of z: use the version that"
        ):
            from_dict(earlier)
        # A report still says so.
        assert with_defaults(earlier)["network"]["policy_latent_scale"] == 0.1


@pytest.mark.parametrize(
    "name",
    [
        "normalize_observations",
        "--normalize-observations",
        "environment.normalize_observations",
        "learner__normalize_advantages",
        "normalize-advantages",
        "rle.standardize",
        "rle__standardise",
    ],
)
def test_both_spellings_are_taken_silently(name: str) -> None:
    # Whitened features would have to be standardised.
    config = replace(every_section(), {"rle.whitened_features": 0, "rle.rarity": 0.0})
    path = locate(config, name.replace("ize", "ise"))
    section, key = path
    turned = not getattr(getattr(config, section), key)
    after = replace(config, {name: turned})
    assert getattr(getattr(after, section), key) is turned


def test_both_spellings_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    path = tmp_path / "run"
    command = f"train fourroom --normalize-advantages False {TINY} --out {path}"
    assert main(command.split()) == 0
    assert "warning" not in capsys.readouterr().err
    assert RunDirectory.open(path).config().learner.normalise_advantages is False


def make_old(path: Path, config: RunConfig) -> None:
    """Turn a run directory into what was written before names changed, when there was no manifest."""
    (path / MANIFEST).unlink()
    (path / "config.json").write_text(json.dumps(as_written_before(config)))
    run = RunDirectory.open(path)
    step, state = run.latest_checkpoint(), run.load_checkpoint()
    network, old_names = state["learner"]["network"], {v: k for k, v in RENAMED_PARAMETERS.items()}
    for name in list(network):
        module, dot, last = name.rpartition(".")
        network[module + dot + old_names.get(last, last)] = network.pop(name)
    assert {"log_deviation", "policy_head.weight_deviation"} < set(network)
    run.save_checkpoint(step, state, {})
    (path / MANIFEST).unlink()


def test_earlier_runs_go_on_bit_for_bit(tmp_path: Path) -> None:
    config = small_config("rle+noisy", "gym/Pendulum-v1", rle__distribution="normal")
    whole = train_config(config, tmp_path / "whole", quiet=True)
    stop_after(config, tmp_path / "stopped", 3)
    make_old(tmp_path / "stopped", config)
    assert rle.load(tmp_path / "stopped").network.log_std is not None
    resumed = resume(tmp_path / "stopped", quiet=True)
    assert_same_tree(whole.load_checkpoint(), resumed.load_checkpoint())


def test_metrics_of_earlier_runs_are_read_by_their_present_names(tmp_path: Path) -> None:
    config = small_config("rle+noisy", total_steps=256)
    run = train_config(config, tmp_path / "run", quiet=True)
    present, curves = run.metrics(), read_run(run.path, "run").curves
    assert set(METRICS) < set(present[0])
    file = run.path / "metrics.jsonl"
    text = file.read_text()
    for now, old in METRICS.items():
        text = text.replace(now, old)
    file.write_text(text)
    (run.path / MANIFEST).unlink()
    assert run.metrics() == present
    assert read_run(run.path, "run").curves.keys() == curves.keys()


def test_a_study_goes_on_in_its_folder() -> None:
    with pytest.warns(FutureWarning, match="atari-latent-law is now called atari-latent-dist"):
        old = find_study("atari-latent-law")
    new = find_study("atari-latent-distribution")
    assert (old.name, old.methods, old.tasks) == ("atari-latent-law", new.methods, new.tasks)


def test_names_of_the_core() -> None:
    for old, new in core._RENAMED.items():
        with pytest.warns(FutureWarning, match=f"rle.core.{old} is now called {new}"):
            assert getattr(core, old) is getattr(core, new)
    with pytest.raises(AttributeError, match="has no attribute 'Lawz'"):
        core.Lawz  # noqa: B018
