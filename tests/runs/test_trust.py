"""Code that a run names is imported only by whoever trusts it; reports import none of it."""

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rle
from rle.cli import VERBS, main
from rle.completion import answer
from rle.errors import UsageError
from rle.modules import installed
from rle.runs.directory import RunDirectory
from rle.runs.train import resume, train_config
from rle.runs.trust import code_of_run
from rle.settings import from_dict, to_dict
from rle.studies import Method, Study, study
from tests.builders import SMALL, small_config

MODULE = """
import pathlib
pathlib.Path("imported").touch()
import torch
from rle.tasks.suite import Suite

def signs(shape, generator):
    return torch.randint(0, 2, shape, generator=generator) * 2.0 - 1.0

def network(observation_shape, dimension):
    return torch.nn.Linear(observation_shape[0], dimension)

def make():
    import gymnasium
    return gymnasium.make("CartPole-v1")

def wrapper(environment):
    return environment

class Sink:
    def __init__(self, run, config): pass
    def on_start(self, run, trainer): pass
    def on_iteration(self, trainer, metrics, episodes): pass
    def on_end(self, run, trainer): pass

SUITE = Suite({"a": "nothing"}, build=None)
"""
NAMING: dict[str, dict[str, Any]] = {
    "rle.distribution": {"rle.distribution": "theirs:signs"},
    "rle.feature_network": {"rle.feature_network": "theirs:network"},
    "sinks": {"machine.sinks": ["theirs:Sink"]},
    "wrappers": {"environment.wrappers": ["theirs:wrapper"]},
    "env_kwargs": {"environment.env_kwargs": {"deep": [{"env_id": "theirs:Maze-v0"}]}},
    "task": {"task": "gym/theirs:make"},
    "task of a suite": {"task": "theirs:SUITE/a"},
    "explore": {"explore": "theirs:Strategy"},
    "own": {"explore": "mine", "own": {"mine": {"strategy": "theirs:Strategy"}}},
}
"""What a run may name, as changes of its `config.json` by dotted names."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working folder with a module that leaves a trace when it is imported."""
    (tmp_path / "theirs.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    yield tmp_path
    sys.modules.pop("theirs", None)


@pytest.fixture(scope="module")
def harmless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that names nothing."""
    config = small_config("rle", "fourroom", time_limit=30)
    return train_config(config, tmp_path_factory.mktemp("runs") / "run", quiet=True).path


def received(harmless: Path, place: Path, changes: dict[str, Any]) -> Path:
    """A run of somebody else's, whose configuration has `changes`."""
    shutil.copytree(harmless, place)
    config = json.loads((place / "config.json").read_text())
    for name, value in changes.items():
        *sections, key = name.split(".")
        part = config
        for section in sections:
            part = part[section]
        part[key] = value
    write_config(place, config)
    return place


def write_config(run: Path, config: dict[str, Any]) -> None:
    """As a version wrote it that did not keep its digest."""
    config.pop("schema", None)
    (run / "manifest.json").unlink(missing_ok=True)
    (run / "config.json").write_text(json.dumps(config))


def was_imported() -> bool:
    return Path("imported").exists()


@pytest.mark.parametrize("naming", NAMING)
@pytest.mark.parametrize(
    "command",
    [
        ["eval", "run"],
        ["eval", "run", "--video", "clips"],
        ["resume", "run", "--total-steps", "1e6"],
    ],
    ids=lambda command: " ".join(command[::2]),
)
def test_the_command_asks_before_it_imports(
    naming: str, command: list[str], harmless: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    received(harmless, Path("run"), NAMING[naming])
    assert main(command) == 2
    complaint = capsys.readouterr().err
    assert "theirs:" in complaint
    assert naming.partition(" ")[0].replace("own", "explore") in complaint
    assert "--trust" in complaint
    assert not was_imported()


@pytest.mark.parametrize("naming", ["rle.distribution", "rle.feature_network", "explore", "own"])
def test_an_agent_is_not_loaded_before_it_is_asked(naming: str, harmless: Path) -> None:
    received(harmless, Path("run"), NAMING[naming])
    with pytest.raises(UsageError, match=r"theirs:.*--trust"):
        rle.load("run")
    with pytest.raises(UsageError, match=r"theirs:.*--trust"):
        rle.train("fourroom", init_from="run", out="new", quiet=True, **SMALL)
    assert not was_imported()


def test_a_task_is_not_asked_about_where_it_is_not_played(harmless: Path) -> None:
    """The agent alone is built of what the run recorded of its task."""
    received(harmless, Path("run"), {"task": "gym/theirs:make"})
    assert rle.load("run").latent_dimension == 4
    Path("run/spec.json").unlink()
    with pytest.raises(UsageError, match=r"task 'gym/theirs:make'.*--trust"):
        rle.load("run")
    assert not was_imported()


@pytest.mark.parametrize("naming", NAMING)
def test_a_report_and_a_check_import_nothing(naming: str, harmless: Path) -> None:
    received(harmless, Path("runs/a"), NAMING[naming])
    assert main(["report", "runs"]) == 0
    assert main(["check", "runs/a"]) in (0, 1)
    assert not was_imported()


def test_completion_imports_nothing_that_a_file_names() -> None:
    Path("theirs.toml").write_text(
        'name = "x"\nseeds = 1\ntasks = ["gym/theirs:make", 3]\n'
        '[[methods]]\nname = "a"\nexplore = "theirs:Strategy"\n'
    )
    for option, offered in (("--tasks", "gym/theirs:make"), ("--methods", "a")):
        assert answer(["study", "theirs.toml", option, ""], VERBS).split() == [offered]
    assert not was_imported()


def test_a_report_says_once_what_it_leaves_out(harmless: Path) -> None:
    for name in ("a", "b"):
        received(harmless, Path("runs") / name, NAMING["rle.distribution"] | {"seed": ord(name)})
    assert main(["report", "runs"]) == 0
    notes = json.loads(Path("runs/report/summary.json").read_text())["tasks"]["fourroom"]["notes"]
    said = [note for note in notes if "does not run code" in note]
    assert len(said) == 1
    assert "rle.distribution 'theirs:signs'" in said[0]
    assert "trajectories" in said[0]
    assert "of a, b, because a report" in said[0]
    assert not was_imported()
    # Nor where it is trusted elsewhere: who looks at runs has not asked for code to be run.
    assert main(["eval", "runs/a", "--episodes", "1", "--trust"]) == 0
    Path("imported").unlink()
    sys.modules.pop("theirs")
    assert main(["report", "runs"]) == 0
    assert not was_imported()


def test_asked_once(harmless: Path) -> None:
    received(harmless, Path("run"), NAMING["rle.distribution"])
    assert main(["eval", "run", "--episodes", "1", "--trust"]) == 0
    assert was_imported()
    assert main(["eval", "run", "--episodes", "1"]) == 0
    rle.load("run")
    # From anywhere on this machine, and for longer.
    resume(Path("run").resolve(), quiet=True, total_steps=128 * 9)
    rle.load("run")
    # What came from somebody else does not say of itself that it is trusted.
    assert not [path for path in Path("run").rglob("*") if "trust" in path.name]


@pytest.mark.parametrize(
    "change",
    [
        {"rle.distribution": "theirs:network"},
        {"machine.sinks": ["theirs:Sink"]},
        {"environment.env_kwargs": {"command": "another"}},
    ],
)
def test_another_name_or_argument_is_asked_about_again(
    change: dict[str, Any], harmless: Path
) -> None:
    received(harmless, Path("first"), NAMING["rle.distribution"])
    rle.load("first", trust=True)
    shutil.rmtree("first")
    received(harmless, Path("first"), NAMING["rle.distribution"])
    rle.load("first")
    shutil.rmtree("first")
    received(harmless, Path("first"), NAMING["rle.distribution"] | change)
    with pytest.raises(UsageError, match="--trust"):
        rle.load("first")


def test_another_run_is_asked_about_of_itself(harmless: Path) -> None:
    received(harmless, Path("first"), NAMING["rle.distribution"])
    rle.load("first", trust=True)
    shutil.copytree("first", "second")
    with pytest.raises(UsageError, match="second names code"):
        rle.load("second")


def test_what_was_trained_here_is_trusted_from_its_start() -> None:
    config = small_config("rle", "gym/theirs:make", rle__distribution="theirs:signs", time_limit=30)
    run = train_config(config, Path("run"), quiet=True)
    assert rle.load(run.path).config == run.config()
    assert len(rle.evaluate(run.path, 1).scores) == 1


def test_an_object_that_is_handed_over_is_the_callers_own() -> None:
    import theirs

    config = small_config("rle", "gym/theirs:make", time_limit=30)
    run = train_config(config, Path("run"), quiet=True)
    shutil.move("run", "moved")
    assert len(rle.evaluate("moved", 1, env=theirs.make).scores) == 1
    with pytest.raises(UsageError, match="--trust"):
        rle.evaluate("moved", 1)
    assert run.path == Path("run")


def test_without_a_place_to_remember_one_is_asked_each_time(
    harmless: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    received(harmless, Path("run"), NAMING["rle.distribution"])
    Path("file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", "file")
    rle.load("run", trust=True)
    with pytest.raises(UsageError, match="--trust"):
        rle.load("run")


def test_a_study_trusts_what_it_declares_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {k: v for k, v in SMALL.items() if k != "total_steps"}
    settings |= {"rle.distribution": "theirs:signs", "time_limit": 30}
    declared = Study("mine", "", ("fourroom",), (Method("rle", "rle", settings),), 1, 512)

    def again() -> tuple[str, ...]:
        return study(declared, out="runs", workers=1, quiet=True).failed

    ((folder, config),) = declared.runs().items()
    run = train_config(config, Path("runs") / folder, quiet=True).path
    # Begun elsewhere: nothing is remembered of it, and the study's user has named its code.
    shutil.rmtree("state")
    (run / "finished.json").unlink()
    assert again() == ()
    shutil.rmtree("state")
    (run / "finished.json").unlink()
    values = json.loads((run / "config.json").read_text())
    values["machine"]["sinks"] = ["theirs:Sink"]
    write_config(run, values)
    Path("imported").unlink()
    assert again() == (folder,)
    assert "theirs:Sink" in run.with_name("seed-0-log.txt").read_text()
    assert not was_imported()


def test_what_an_installed_package_brings_is_the_users_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it is installed, but not if it only lies in the working folder."""
    described = folder / "site" / "strange-1.0.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: strange\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text("[rle.strategies]\nmine = theirs:Strategy\n")
    monkeypatch.syspath_prepend(str(folder / "site"))
    values = to_dict(small_config("rle")) | NAMING["own"]
    installed.cache_clear()
    try:
        assert code_of_run(from_dict(values)) == []
        monkeypatch.chdir(folder / "site")
        installed.cache_clear()
        assert [code.name for code in code_of_run(from_dict(values))] == ["theirs:Strategy"]
    finally:
        installed.cache_clear()


def test_our_own_runs_name_nothing() -> None:
    for explore, task in (("rle+rnd", "gym/CartPole-v1"), ("noisy", "atari/Alien")):
        assert code_of_run(small_config(explore, task)) == []


def test_trust_without_another_run_means_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "fourroom", "--trust"]) == 2
    assert "--trust is of the run that --init-from names" in capsys.readouterr().err


def test_nothing_is_remembered_of_a_run_that_names_nothing(harmless: Path) -> None:
    shutil.copytree(harmless, "run")
    rle.load("run", trust=True)
    assert not Path("state").exists()
    assert RunDirectory.open("run").config().rle is not None
