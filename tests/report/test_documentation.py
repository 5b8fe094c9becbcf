"""`docs/run-directory.md` names every file and field that a run writes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from rle.config import NoisyConfig, RLEConfig, RNDConfig, RunConfig, WhiteNoiseConfig
from rle.runs.evaluate import evaluate
from rle.runs.train import resume, train_config
from rle.settings import to_dict
from tests.builders import small_config

DOCUMENT = Path(__file__).parents[2] / "docs" / "run-directory.md"
STREAMS = "task|rle|rnd|white-noise"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With everything that a run may have: another's agent, a later end, several evaluations."""
    folder = tmp_path_factory.mktemp("runs")
    other = train_config(small_config("none", total_steps=128), folder / "other", quiet=True)
    path = folder / "run"
    config = small_config("rle+rnd", environment__time_limit=50)
    train_config(config, path, quiet=True, init_from=other.path)
    resume(path, quiet=True, total_steps=config.total_steps + 1)
    for episodes in (4, 8):
        evaluate(path, episodes=episodes)
    return path


def described() -> set[str]:
    return set(re.findall(r"`([^`\n]+)`", DOCUMENT.read_text()))


def keys(node: Any) -> set[str]:
    if isinstance(node, list):
        return {key for value in node for key in keys(value)}
    if not isinstance(node, dict):
        return set()
    return set(node) | {key for value in node.values() for key in keys(value)}


def test_every_setting() -> None:
    config = RunConfig(
        rle=RLEConfig(), rnd=RNDConfig(), noisy=NoisyConfig(), white_noise=WhiteNoiseConfig()
    )
    assert keys(to_dict(config)) - described() == set()


def test_every_file(run: Path) -> None:
    text = DOCUMENT.read_text()
    assert all(path.name in text for path in run.iterdir())


@pytest.mark.parametrize("name", ["meta.json", "finished.json", "eval.json", "changes.json"])
def test_every_field_of_objects(run: Path, name: str) -> None:
    assert keys(json.loads((run / name).read_text())) - described() == set()


@pytest.mark.parametrize("name", ["metrics.jsonl", "episodes.jsonl"])
def test_every_field_of_lines(run: Path, name: str) -> None:
    fields = {key for line in (run / name).read_text().splitlines() for key in json.loads(line)}
    general = {re.sub(rf"(?<=_)({STREAMS})(?=_|$)", "<stream>", field) for field in fields}
    assert fields
    assert general - described() == set()
