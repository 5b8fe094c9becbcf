"""Folder names: those of the package's own tasks as ever, those of users fit for every file system."""

from pathlib import Path

import pytest

from rle.naming import folder_name, folder_within
from rle.presets import preset_config
from rle.runs.train import default_out
from rle.studies import STUDIES


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
        ("con", "con_"),
        ("AUX.v1", "AUX_.v1"),
        ("com7", "com7_"),
        ("gym/con", "gym-con"),
        ("console", "console"),
        ("a" * 100, "a" * 100),
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


def test_long_names_are_cut_and_stay_different() -> None:
    first, second = (folder_name("m" * 200 + end) for end in ("1", "2"))
    assert len(first) == len(second) == 100
    assert first.startswith("m" * 91 + "-")
    assert first != second
    assert folder_name("m" * 200 + "1") == first


def test_what_began_under_an_earlier_name_goes_on_under_it(tmp_path: Path) -> None:
    long = "m" * 200
    assert folder_within(tmp_path, "aux") == "aux_"
    (tmp_path / "aux").mkdir()
    (tmp_path / long).mkdir()
    assert folder_within(tmp_path, "aux") == "aux"
    assert folder_within(tmp_path, long) == long
    assert folder_within(tmp_path, "m" * 300) == folder_name(
        "m" * 300
    )  # longer than the disk allows


def test_the_studies_of_this_package_keep_their_folders() -> None:
    """Their runs are found by them: a name may lose its slash, and nothing else."""
    for study in STUDIES.values():
        for name in (study.name, *study.tasks, *(method.name for method in study.methods)):
            assert folder_name(name) == name.replace("/", "-")
