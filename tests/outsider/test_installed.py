"""What an installed package brings by entry points: strategies, distributions of z, φ and sinks."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from rle.errors import UsageError
from rle.explore.latents import latent_distribution
from rle.explore.registry import strategy_names
from rle.modules import installed
from rle.presets import preset_config
from rle.runs.sinks import find_sink
from rle.runs.trainer import Trainer
from rle.settings import replace

HERE = Path(__file__).parent
MODULE = """
import torch

def corners(shape, generator):
    return torch.randint(0, 2, shape, generator=generator) * 2.0 - 1.0

def doubled(observation_shape, dimension):
    return torch.nn.Linear(observation_shape[0], dimension)
"""
ENTRY_POINTS = """
[rle.strategies]
visits = count_bonus:CountBonus
[rle.distributions]
corners = strange_things:corners
gone = strange_things:nothing
[rle.laws]
corners = strange_things:doubled
edges = strange_things:corners
[rle.features]
doubled = strange_things:doubled
[rle.sinks]
csv = csv_sink:CsvSink
broken = csv_sink:NoSuch
"""


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package as pip leaves it."""
    described = tmp_path / "strange-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: strange\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text(ENTRY_POINTS)
    (tmp_path / "strange_things.py").write_text(MODULE)
    for name in ("count_bonus.py", "csv_sink.py"):
        shutil.copy(HERE / name, tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    installed.cache_clear()
    yield
    installed.cache_clear()


def test_a_strategy() -> None:
    assert strategy_names()["visits"] == "from count_bonus:CountBonus"
    config = preset_config("fourroom", "visits")
    assert config.own is not None
    assert config.own["count"]["strategy"] == "count_bonus:CountBonus"


def test_a_distribution_and_features() -> None:
    small = {"num_envs": 2, "rollout_steps": 8, "total_steps": 32, "minibatches": 1}
    config = replace(
        preset_config("fourroom", "rle"),
        small | {"rle.distribution": "corners", "rle.feature_network": "doubled", "compile": "off"},
    )
    trainer = Trainer(config)
    trainer.start()
    assert torch.equal(trainer.strategy.latent().abs(), torch.ones(2, 4))
    assert isinstance(trainer.strategy.features, torch.nn.Linear)


def test_a_distribution_by_the_groups_old_name() -> None:
    drawn = latent_distribution("edges", 2)((3, 2), torch.Generator())
    assert torch.equal(drawn.abs(), torch.ones(3, 2))


def test_a_sink() -> None:
    assert find_sink("csv").__name__ == "CsvSink"


def test_what_is_broken_or_misspelt_is_one_sentence() -> None:
    with pytest.raises(UsageError, match=r"'csv_sink:NoSuch', but csv_sink has no function"):
        find_sink("broken")
    with pytest.raises(
        UsageError, match=r"rle.distribution is 'strange_things:nothing', but strange_things"
    ):
        latent_distribution("gone", 2)
    with pytest.raises(UsageError, match=r"rle.distribution is 'cornrs': did you mean 'corners'\?"):
        replace(preset_config("fourroom", "rle"), {"rle.distribution": "cornrs"})
