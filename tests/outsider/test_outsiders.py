"""Strategies that users bring, each in one file of a folder of theirs, through the command."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import rle
from rle.cli import main
from rle.errors import UsageError
from rle.explore import Transitions
from rle.explore.registry import make_strategy, strategy_names
from rle.own import own_strategy
from rle.presets import preset_config
from rle.runs.directory import RunDirectory
from rle.runs.train import resume, train_config
from rle.runs.trainer import Trainer
from rle.settings import from_dict, replace, to_dict
from rle.tasks.base import Discrete, TaskSpec
from tests.builders import SMALL, into, small_config
from tests.runs.test_resume import assert_same_tree, stop_after

HERE = Path(__file__).parent
COUNT, ICM = "count_bonus:CountBonus", "icm:ICM"
SHORT = (
    *("--num-envs", "8", "--rollout-steps", "16", "--total-steps", "512", "--compile", "off"),
    *("--policy-hidden", "16", "--value-hidden", "16"),
)
CPU = torch.device("cpu")
SPEC = TaskSpec(8, (2,), torch.float32, Discrete(4))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working folder with two modules of the user's, as `rle` finds it."""
    for name in ("count_bonus", "icm"):
        (tmp_path / f"{name}.py").write_text((HERE / f"{name}.py").read_text())
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in ("count_bonus", "icm", "mine"):
        sys.modules.pop(name, None)


def test_trained_evaluated_and_resumed_by_the_command_in_processes_of_their_own(
    folder: Path,
) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "rle", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    settings = ("--count.coefficient", "0.5", "--count.cells=10")
    trained = run("train", "fourroom", "--explore", COUNT, *settings, *SHORT, "--out", "run")
    assert trained.returncode == 0, trained.stderr
    directory = RunDirectory.open("run")
    assert json.loads(Path("run/config.json").read_text())["own"] == {
        "count": {"strategy": COUNT, "coefficient": 0.5, "discount": 0.99, "cells": 10.0}
    }
    last = directory.metrics()[-1]
    assert last["count_cells"] > 1
    assert 0 < last["bonus_count_min"] < last["bonus_count_max"] <= 1
    assert main(["eval", "run", "--episodes", "1"]) == 0
    # Without the user's folder, one sentence says what is missing.
    (folder / "count_bonus.py").unlink()
    refused = run("eval", "run", "--episodes", "1")
    assert refused.returncode == 2
    assert "there is no module 'count_bonus'" in refused.stderr
    # To look at a run's settings nobody needs the module.
    assert directory.config().own is not None


@pytest.mark.parametrize(
    ("explore", "task"),
    [(COUNT, "fourroom"), (ICM, "gym/CartPole-v1"), (f"rle+{ICM}+{COUNT}+rnd", "gym/Pendulum-v1")],
)
def test_resumed_bit_for_bit(explore: str, task: str, tmp_path: Path) -> None:
    config = small_config(explore, task=task, time_limit=37)
    whole = train_config(config, tmp_path / "whole", quiet=True)
    stop_after(config, tmp_path / "stopped", 3)
    resumed = resume(tmp_path / "stopped", quiet=True, trust=True)
    assert_same_tree(whole.load_checkpoint(), resumed.load_checkpoint())
    assert whole.metrics()[-1].keys() == resumed.metrics()[-1].keys()
    for name in ("count_cells", "icm_forward_error"):
        assert (name in whole.metrics()[-1]) == (name.partition("_")[0] in explore)


def test_shown_in_the_report(folder: Path) -> None:
    """With whatever they measure, and under the names they have."""
    for explore, name in ((COUNT, "a"), (ICM, "b")):
        assert (
            main(["train", "fourroom", "--explore", explore, *SHORT, "--out", f"runs/{name}"]) == 0
        )
    assert main(["report", "runs"]) == 0
    page = Path("runs/report/report.html").read_text()
    for shown in ("count_cells", "icm_forward_error", COUNT, ICM):
        assert shown in page, shown


def test_the_count_bonus_by_hand() -> None:
    config = small_config(COUNT, count__cells=1.0)
    strategy = make_strategy(config, SPEC, CPU)
    places = into(torch.tensor([[0.1, 0.0], [3.2, 1.0], [-0.2, 0.4]]))
    assert strategy.bonus(places).flatten().tolist() == [1, 1, 1]
    strategy.observe(places)
    assert strategy.bonus(places).flatten().tolist() == [1, 1, 1]
    strategy.after_rollout()
    # The first and the last fall into one cell, seen twice by now: 1 / √3.
    expected = torch.tensor([3.0, 2.0, 3.0]).rsqrt()
    torch.testing.assert_close(strategy.bonus(places).flatten(), expected)


@pytest.mark.parametrize(("share", "falls_to"), [(0.0, 0.8), (1.0, 0.5)])
def test_each_model_of_icm_learns(share: float, falls_to: float) -> None:
    """Share 0 trains the inverse model and the features, share 1 the forward model on fixed ones."""
    settings = {"icm__forward_share": share, "learning_rate": 3e-3, "time_limit": 20}
    trainer = Trainer(small_config(ICM, task="gym/CartPole-v1", **settings))
    trainer.start()
    trainer.collect()
    rows = trainer.rollout.transitions()
    seen = Transitions(
        *(part.clone() for part in (rows.observation, rows.action)), rows.next_observation.clone()
    )
    before = float(trainer.strategy.auxiliary_loss(seen).detach())
    for _ in range(8):
        trainer.iterate()
    trainer.task.close()
    assert float(trainer.strategy.auxiliary_loss(seen).detach()) < falls_to * before


class TestSettings:
    def test_by_name_in_python(self, tmp_path: Path) -> None:
        settings = {**SMALL, "total_steps": 128, "count__coefficient": 1, "quiet": True}
        run = rle.train("fourroom", f"rle+{COUNT}", out=tmp_path / "run", **settings)
        own = run.config().own
        assert own is not None
        assert own["count"]["coefficient"] == 1.0
        assert isinstance(own["count"]["coefficient"], float)
        strategy = make_strategy(run.config(), SPEC, CPU)
        assert [stream.coefficient for stream in strategy.streams] == [0.1, 1.0]

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"count__coeficient": 0.5}, "did you mean 'count__coefficient'"),
            ({"count__coefficient": "much"}, "count__coefficient is 'much': give a number"),
            (
                {"count__coefficient": float("inf")},
                "count.coefficient is inf: give a finite number",
            ),
            ({"count__cells": float("nan")}, "count.cells is nan: give a finite number"),
            ({"count.strategy": "a:b"}, "there is no setting 'count.strategy'"),
            ({"own": {}}, "there is no setting 'own'"),
            ({"icm.features": 4}, "there is no setting 'icm.features'"),
        ],
    )
    def test_wrong_ones_are_explained(self, settings: dict[str, object], message: str) -> None:
        with pytest.raises(UsageError, match=message):
            replace(preset_config("fourroom", COUNT), settings)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("--count.coeficient", "1"), "did you mean '--count.coefficient'?"),
            (("--count.cells", "many"), "--count.cells is 'many': give a number."),
            (("--count.cells", "1e999"), "count.cells is inf: give a finite number."),
        ],
    )
    def test_wrong_ones_are_explained_by_the_command(
        self, arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["train", "fourroom", "--explore", COUNT, *arguments]) == 2
        assert message in capsys.readouterr().err

    def test_are_listed_by_the_command(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["train", "fourroom", "--explore", COUNT, "--help"]) == 0
        shown = capsys.readouterr().out
        assert "--count.coefficient" in shown
        assert "Cells per unit of an observation" in " ".join(shown.split())

    def test_survive_json(self) -> None:
        config = replace(preset_config("fourroom", f"{ICM}+{COUNT}"), {"icm.features": 5})
        assert from_dict(json.loads(json.dumps(to_dict(config)))) == config


OWN = """
from dataclasses import dataclass
from rle.explore import Strategy, Stream

@dataclass(frozen=True)
class Settings:
    sizes: tuple[int, ...] = (3, 4)
    kind: str = "a"

class TwoWords(Strategy):
    settings = Settings
    preset = {"learner.entropy_coefficient": 0.5, "two_words.kind": "b"}

    def __init__(self, config, settings, spec, device):
        self.given = settings

class Taken(Strategy):
    name = "rle"

class Loose(Strategy):
    @dataclass
    class settings:
        a: int = 1

class Bare(Strategy):
    @dataclass(frozen=True)
    class settings:
        a: int

class Spaced(Strategy):
    name = "two words"

class Flat(Strategy):
    def __init__(self, config, settings, spec, device):
        self.streams = (Stream("flat", 1.0, 0.9, 0.5, scale=False),)

    def bonus(self, transitions):
        return transitions.next_observation[:, 0]

class Short(Strategy):
    def __init__(self, config):
        pass

number = 3
"""


class TestFinding:
    @pytest.fixture(autouse=True)
    def mine(self, folder: Path) -> None:
        (folder / "mine.py").write_text(OWN)

    def test_a_class_is_called_by_its_name_and_may_bring_a_preset(self) -> None:
        config = preset_config("fourroom", "mine:TwoWords")
        assert config.learner.entropy_coefficient == 0.5
        config = from_dict(json.loads(json.dumps(to_dict(config))))
        strategy = make_strategy(replace(config, {"two_words__sizes": [7]}), SPEC, CPU)
        assert strategy.given.kind == "b"
        assert strategy.given.sizes == (7,)

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("Taken", "is called 'rle', which means something else here"),
            ("Loose", "must be a frozen dataclass"),
            ("Bare", "the setting 'a' of mine:Bare has no default"),
            ("Spaced", "lower-case letters"),
            ("Short", "calls mine:Short(config, settings, spec, device), which it does not allow"),
            ("number", "neither a StrategyRecord nor a subclass of Strategy"),
            ("TwoWord", "did you mean 'TwoWords'?"),
            ("", "give module:NAME"),
        ],
    )
    def test_what_cannot_be_a_strategy_is_explained(
        self, name: str, message: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["train", "fourroom", "--explore", f"mine:{name}"]) == 2
        assert message in capsys.readouterr().err

    def test_a_bonus_of_the_wrong_shape_is_explained(self) -> None:
        trainer = Trainer(small_config("mine:Flat"))
        trainer.start()
        shape = r"Flat pays bonuses of the shape \(128,\) .* return one of the shape \(128, 1\)"
        with pytest.raises(UsageError, match=shape):
            trainer.iterate()

    def test_one_twice_is_refused(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["train", "fourroom", "--explore", "mine:TwoWords+mine:TwoWords"]) == 2
        assert "must name different strategies" in capsys.readouterr().err

    def test_an_installed_package_brings_its_strategies_by_name(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        found = {"two-words": "mine:TwoWords", "rle": "mine:TwoWords"}
        monkeypatch.setattr("rle.own.installed_strategies", lambda: found)
        monkeypatch.setattr("rle.explore.registry.installed_strategies", lambda: found)
        config = preset_config("fourroom", "rle+two-words")
        assert config.own is not None
        assert config.own["two_words"]["strategy"] == "mine:TwoWords"
        assert list(make_strategy(config, SPEC, CPU).parts) == ["rle", "two-words"]
        assert strategy_names()["two-words"] == "from mine:TwoWords"
        assert strategy_names()["rle"].startswith("Random Latent Exploration")
        assert own_strategy("rle") is None
        # A run goes on where the package is gone and the module is there.
        found.clear()
        assert list(make_strategy(config, SPEC, CPU).parts) == ["rle", "two-words"]


def test_an_unused_settings_section_of_a_newer_version_is_explained() -> None:
    config = to_dict(preset_config("fourroom", COUNT))
    config["own"]["count"]["gone"] = 1
    with pytest.raises(UsageError, match="has no setting 'gone'"):
        make_strategy(from_dict(config), SPEC, CPU)
