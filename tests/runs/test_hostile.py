"""Files that are no files of ours: whatever they hold, a sentence, or what can be done without them."""

import contextlib
import copy
import json
import math
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch

import rle
from rle.agents.spec import spec_from_dict
from rle.checkup.after import check_run
from rle.cli import main
from rle.errors import UsageError
from rle.report.read.methods import group_runs
from rle.report.read.records import read_run
from rle.runs.directory import RunDirectory
from rle.runs.train import resume, train_config
from rle.settings import from_dict
from tests.builders import small_config

WRONG: tuple[Any, ...] = (
    *(None, True, "text", "", "a\0b", "\ud800", -1, 0, 1.5, 10**400, -(10**30), math.nan),
    *(math.inf, [], {}, [[]], ["a"], [None], {"a": 1}, [10**400], {"": {"": []}}),
)
"""What may stand where something else is needed."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run as versions wrote it that kept no digests: nothing but its meaning can be checked."""
    path = tmp_path_factory.mktemp("runs") / "run"
    train_config(small_config("rle+rnd", "fourroom", time_limit=30), path, quiet=True)
    (path / "manifest.json").unlink()
    config = json.loads((path / "config.json").read_text())
    config.pop("schema")
    (path / "config.json").write_text(json.dumps(config))
    return path


@pytest.fixture
def copied(run: Path, tmp_path: Path) -> Path:
    shutil.copytree(run, tmp_path / "run")
    return tmp_path / "run"


@contextlib.contextmanager
def only_sentences() -> Iterator[None]:
    """Whatever happens is a `UsageError` of one line, or nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        said = ""
        try:
            yield
        except UsageError as error:
            said = str(error)
    assert "\n" not in said
    assert len(said) < 1000


def places(values: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON value, its outside included."""
    yield path
    if isinstance(values, dict):
        for key, part in values.items():
            yield from places(part, (*path, key))
    elif isinstance(values, list) and values:
        yield from places(values[0], (*path, 0))


def with_value(values: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    changed = copy.copy(values)
    changed[path[0]] = with_value(values[path[0]], path[1:], value)
    return changed


def each_wrong(values: Any) -> Iterator[Any]:
    for path in places(values):
        for wrong in WRONG:
            yield with_value(values, path, wrong)


def test_configurations(run: Path) -> None:
    config = json.loads((run / "config.json").read_text())
    taken = 0
    wrongs = [wrong for wrong in each_wrong(config) if isinstance(wrong, dict)]
    for wrong in wrongs:
        with only_sentences():
            from_dict(wrong)
            taken += 1
    assert 0 < taken < len(wrongs) / 4


@pytest.mark.parametrize(
    ("place", "wrong", "sentence"),
    [
        ("environment.num_envs", "8", r"environment.num_envs is '8': give a whole number"),
        ("environment.num_envs", 8.5, r"environment.num_envs is 8.5: give a whole number"),
        ("environment.television", [3], r"environment.television is \[3\]: give whole numbers"),
        ("environment.wrappers", "a:b", "environment.wrappers is 'a:b': give names"),
        ("learner.learning_rate", True, "learner.learning_rate is True: give a number"),
        ("learner.learning_rate", 10**400, "learner.learning_rate is 10+: give a number"),
        ("learner.epochs", 2**63, "epochs is 9223372036854775808: give at most"),
        ("machine.micro_batch", 2**63, "micro-batch is 9223372036854775808: give at most"),
        ("rle.condition", 1, "rle.condition is 1: give True or False"),
        ("rle", [], r"rle is \[\]: give its settings"),
        ("machine", None, "machine is None: give its settings"),
        ("seed", 2**128, "seed is 3402.*: give 0 or a number of up to 38 digits"),
        ("own", {"mine": {}}, "own is .*module:NAME"),
        ("own", [1], "own is .*module:NAME"),
    ],
)
def test_what_is_said_of_a_configuration(run: Path, place: str, wrong: Any, sentence: str) -> None:
    config = json.loads((run / "config.json").read_text())
    with pytest.raises(UsageError, match=sentence):
        from_dict(with_value(config, tuple(place.split(".")), wrong))


def test_large_seeds_are_seeds() -> None:
    """NumPy's SeedSequence gives 128 bits."""
    assert small_config("none", seed=2**128 - 1).seed == 2**128 - 1


def test_specs(run: Path) -> None:
    spec = json.loads((run / "spec.json").read_text())
    several = [
        spec | {"actions": {"sizes": [2, 3], "start": None, "shape": None, "dtype": "int64"}},
        spec | {"actions": {"low": [-1.0], "high": [1.0], "shape": None, "dtype": "float32"}},
        spec | {"image": {"shape": [4, 4, 3], "resize": [2, 2]}},
    ]
    for values in (spec, *several):
        spec_from_dict(values, 8)
        for wrong in each_wrong(values):
            if isinstance(wrong, dict):
                with only_sentences():
                    spec_from_dict(wrong, 8)


@pytest.mark.parametrize("name", ["config.json", "meta.json", "finished.json", "spec.json"])
def test_reports_and_checks(name: str, copied: Path) -> None:
    """Only what is needed is needed: these are shown whatever is in a file that only informs."""
    values = json.loads((copied / name).read_text())
    if name == "meta.json":
        origin = {"run": "a", "step": 3, "task": "fourroom", "explore": "rle"}
        values = {"started": values["started"], "init_from": origin}
    # Of a configuration's sections, one stands for all.
    shown = ("task", "explore", "preset", "seed", "total_steps", "environment")
    parts = {key: values[key] for key in shown} if name == "config.json" else values
    for wrong in each_wrong(parts):
        whole = values | wrong if name == "config.json" and isinstance(wrong, dict) else wrong
        (copied / name).write_text(json.dumps(whole))
        with only_sentences():
            check_run(RunDirectory.open(copied))
        if name == "config.json":
            with only_sentences():
                group_runs([read_run(copied, "run")])
        else:
            group_runs([read_run(copied, "run")])


@pytest.mark.parametrize("name", ["metrics.jsonl", "episodes.jsonl"])
def test_logs(name: str, copied: Path) -> None:
    lines = [json.loads(line) for line in (copied / name).read_text().splitlines()]
    last = lines[-1]
    # Of an iteration's numbers, some stand for all.
    few = {key: last[key] for key in last if len(key) < 10 or "rle" in key}
    for wrong in each_wrong(few):
        whole = last | wrong if isinstance(wrong, dict) else wrong
        text = "".join(json.dumps(line) + "\n" for line in [*lines[:-1], whole])
        (copied / name).write_text(text)
        with only_sentences():
            group_runs([read_run(copied, "run")])
        with only_sentences():
            check_run(RunDirectory.open(copied))


Damage = Callable[[Path], object]


def as_folder(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()


def as_file(path: Path) -> None:
    shutil.rmtree(path)
    path.write_text("a file")


DAMAGE: dict[str, Damage] = {
    "empty": lambda path: path.write_bytes(b""),
    "not UTF-8": lambda path: path.write_bytes(b"\xff\xfe{"),
    "NUL": lambda path: path.write_bytes(b"\0" * 64),
    "deep": lambda path: path.write_text("[" * 100_000),
    "deep object": lambda path: path.write_text('{"a":' * 100_000),
    "digits": lambda path: path.write_text('{"seed": ' + "9" * 5000 + "}"),
    "list": lambda path: path.write_text("[]\n"),
    "folder": as_folder,
}
FILES = (
    *("config.json", "meta.json", "spec.json", "finished.json", "changes.json", "eval.json"),
    *("metrics.jsonl", "episodes.jsonl"),
)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_files(
    name: str, damage: str, copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    DAMAGE[damage](copied / name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for command in (
            ["check", str(copied)],
            ["eval", str(copied), "--episodes", "1"],
            ["resume", str(copied), "--total-steps", "1152"],
        ):
            assert main(command) in (0, 1, 2)
        with only_sentences():
            group_runs([read_run(copied, "run")])
    complaints = [line for line in capsys.readouterr().err.splitlines() if line.startswith("rle:")]
    assert len(complaints) <= 3


def test_a_run_without_what_only_informs_is_reported(copied: Path) -> None:
    for name in ("meta.json", "finished.json", "eval.json", "changes.json", "spec.json"):
        (copied / name).write_text("[1, 2")
    assert main(["report", str(copied), "--out", str(copied.parent / "report")]) == 0
    summary = json.loads((copied.parent / "report" / "summary.json").read_text())
    assert len(summary["tasks"]["fourroom"]["methods"]) == 1


@pytest.mark.parametrize("name", ["checkpoints", "artefacts"])
def test_folders_with_something_else(name: str, copied: Path) -> None:
    folder = copied / name
    for stranger in ("foo", "1", "-00000000001", "０００００００００００１", "1e6"):
        (folder / f"{stranger}.safetensors").write_bytes(b"nothing")
    (folder / "000000000999.safetensors").mkdir()
    group_runs([read_run(copied, "run")])
    assert rle.load(copied).trained_steps == 1024
    (folder / "000000000999.safetensors").rmdir()
    assert main(["resume", str(copied), "--total-steps", "1152"]) == 0


@pytest.mark.parametrize("name", ["checkpoints", "artefacts"])
def test_a_file_in_the_place_of_a_folder(name: str, copied: Path) -> None:
    as_file(copied / name)
    group_runs([read_run(copied, "run")])
    assert main(["eval", str(copied), "--episodes", "1"]) == (2 if name == "checkpoints" else 0)
    with only_sentences():
        resume(copied, quiet=True, total_steps=1152)


class TestCheckpoints:
    """What stands in a file that is whole."""

    @staticmethod
    def rewrite(run: Path, change: Callable[[dict[str, Any], dict[str, Any]], object]) -> None:
        path = run / "checkpoints" / "000000001024.safetensors"
        tensors = safetensors.torch.load_file(path)
        with safetensors.safe_open(path, "pt") as file:
            tree = json.loads(file.metadata()["tree"])
        change(tree, tensors)
        text = {"tree": tree if isinstance(tree, str) else json.dumps(tree)}
        safetensors.torch.save_file(tensors, path, metadata=text)
        # Earlier ones would be used instead.
        for earlier in sorted(path.parent.iterdir())[:-1]:
            earlier.unlink()

    @pytest.mark.parametrize(
        ("change", "sentence"),
        [
            (lambda tree, tensors: tree["learner"]["network"].clear(), "does not fit"),
            (lambda tree, tensors: tree.update(learner=[]), "learner is no table"),
            (lambda tree, tensors: tree["learner"].update(network=3), "network is no table"),
            (lambda tree, tensors: tree.update(strategy={"rle": 1}), "strategy/rle is no table"),
            (
                lambda tree, tensors: tree["strategy"]["rle"].update(latent="z"),
                "strategy/rle/latent is no tensor",
            ),
            (
                lambda tree, tensors: tensors.update(
                    {"/strategy/rle/latent": torch.zeros(3, 4, dtype=torch.float32)}
                ),
                r"strategy/rle/latent has the shape \(3, 4\)",
            ),
            (
                lambda tree, tensors: tensors.update(
                    {
                        "/learner/network/policy_head.weight": tensors[
                            "/learner/network/policy_head.weight"
                        ].double()
                    }
                ),
                "policy_head.weight has the shape .* torch.float64",
            ),
            (lambda tree, tensors: tensors.pop("/strategy/rle/latent"), "/strategy/rle/latent"),
        ],
    )
    def test_of_an_agent(self, change: Any, sentence: str, copied: Path) -> None:
        self.rewrite(copied, change)
        with pytest.raises(UsageError, match=sentence):
            rle.load(copied)

    @pytest.mark.parametrize(
        ("change", "sentence"),
        [
            (lambda tree, tensors: tree.update(iteration="8"), "iteration is no whole number"),
            (lambda tree, tensors: tree.update(iteration=math.nan), "iteration is no whole number"),
            (
                lambda tree, tensors: tensors.update({"/observation": torch.zeros(8, 3)}),
                r"observation has the shape \(8, 3\)",
            ),
            (
                lambda tree, tensors: tensors.update({"/task/position": torch.zeros(8)}),
                "position has the shape .* torch.float32",
            ),
            (
                lambda tree, tensors: tree["learner"]["optimiser"].update(count="many"),
                "learner/optimiser/count is no whole number",
            ),
            (
                lambda tree, tensors: tensors.update({"/episodes/score": torch.zeros(8)}),
                "episodes/score has the shape",
            ),
        ],
    )
    def test_of_a_run(self, change: Any, sentence: str, copied: Path) -> None:
        self.rewrite(copied, change)
        with pytest.raises(UsageError, match=sentence):
            resume(copied, quiet=True, total_steps=1152)
