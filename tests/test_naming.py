"""Folder names: those of the package's own tasks as ever, those of users fit for every file system."""

import pytest

from rle.naming import folder_name
from rle.presets import preset_config
from rle.runs.train import default_out


@pytest.mark.parametrize(
    ("text", "folder"),
    [
        ("fourroom-sparse", "fourroom-sparse"),
        ("gym/CartPole-v1", "gym-CartPole-v1"),
        ("rle+rnd", "rle+rnd"),
        ("gym/my_module:make", "gym-my_module-make"),
        ("gym/<lambda>", "gym-lambda"),
        ('a\\b|c?d*e"f', "a-b-c-d-e-f"),
        ("φ = 3.", "=-3"),
        ("???", "unnamed"),
    ],
)
def test_names(text: str, folder: str) -> None:
    assert folder_name(text) == folder


def test_the_folders_of_runs() -> None:
    assert str(default_out(preset_config("fourroom", "rle+rnd", seed=3))) == (
        "runs/fourroom-rle+rnd-seed3"
    )
    assert str(default_out(preset_config("gym/mymaze:MyMaze-v0", "none"))) == (
        "runs/gym-mymaze-MyMaze-v0-none-seed0"
    )
