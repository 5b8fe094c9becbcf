"""A report of real, tiny runs: its page stands alone and its pictures are there."""

from __future__ import annotations

import csv
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from rle.config import RunConfig
from rle.report import report
from rle.report.draw.maps import reward_pixels, visit_pixels
from rle.runs.train import train_config
from tests.builders import small_config

VOID = {"meta", "link", "br", "img", "input", "hr"}


def grid_world(explore: str, task: str, seed: int = 0, **settings: int) -> RunConfig:
    """A small run; its episodes are short, so that agents are not watched for long."""
    return small_config(explore, task, seed, environment__time_limit=50, **settings)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    for explore in ("rle", "none"):
        for seed in (0, 1):
            # Checkpoints at a fifth, two fifths, ... of training.
            fifths = grid_world(explore, "fourroom", seed, total_steps=1280, checkpoint_every=256)
            train_config(fifths, root / "fourroom" / explore / str(seed), quiet=True)
    for explore in ("noisy", "rle+rnd", "random"):
        train_config(grid_world(explore, "fourroom"), root / "fourroom" / explore, quiet=True)
    train_config(grid_world("rle", "fourroom-sparse"), root / "sparse", quiet=True)
    train_config(grid_world("rle", "fourroom-noisytv"), root / "tv", quiet=True)
    train_config(small_config("none", "gym/CartPole-v1"), root / "gym", quiet=True)
    return root


@pytest.fixture(scope="module")
def page(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report([runs], tmp_path_factory.mktemp("out"))


class Checker(HTMLParser):
    """Every element is closed, every reference stays inside the page or its folder."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.identities: list[str] = []
        self.references: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attributes:
            if name == "id":
                self.identities.append(value or "")
            if name in ("src", "href", "xlink:href", "data", "action", "poster"):
                self.references.append(value or "")

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_page_is_whole_and_stands_alone(page: Path) -> None:
    text = page.read_text()
    checker = Checker()
    checker.feed(text)
    checker.close()
    assert checker.open == []
    assert len(checker.identities) == len(set(checker.identities))
    for reference in checker.references:
        if reference.startswith("#"):
            assert reference[1:] in checker.identities
        elif not reference.startswith("data:"):
            assert (page.parent / reference).is_file(), reference
    assert re.search(r"https?://", text) is None
    assert all(name in checker.identities for name in re.findall(r"url\(#?([^)]*)\)", text))
    assert "@import" not in text
    assert len(text) < 15e6


def test_the_first_lines_say_that_shares_have_other_intervals(page: Path) -> None:
    first = page.read_text().partition("Contents")[0]
    assert "expanded for the small number of seeds" in first
    assert "scales with two ends have limits of their own, see the last section" in first


def test_figures_are_there_as_svg_and_png(page: Path) -> None:
    figures = page.parent / "figures"
    names = {path.stem for path in figures.iterdir()}
    assert {
        "fourroom-environment",
        "fourroom-coverage",
        "fourroom-visitation-entropy",
        "fourroom-visitation",
        "fourroom-visitation-every-seed",
        "fourroom-visitation-throughout",
        "fourroom-trajectories",
        "fourroom-trajectories-middle",
        "fourroom-trajectories-rle",
        "fourroom-trajectories-ppo",
        "fourroom-trajectories-noisynet",
        "fourroom-trajectories-random-actions",
        "fourroom-reward-maps",
        "fourroom-sparse-success",
        "fourroom-noisytv-trajectories",
        "gym-cartpole-v1-score",
    } <= names
    assert "fourroom-success" not in names
    # One moment of the television's run was recorded: there is nothing to see throughout training.
    assert "fourroom-noisytv-visitation-throughout" not in names
    for name in names:
        assert (figures / f"{name}.svg").read_text().startswith("<?xml")
        assert (figures / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert f"figures/{name}.svg" in page.read_text()


def test_numbers_are_those_of_the_runs(runs: Path, page: Path) -> None:
    summary = json.loads((page.parent / "summary.json").read_text())
    assert sorted(summary["tasks"]) == [
        "fourroom",
        "fourroom-noisytv",
        "fourroom-sparse",
        "gym/CartPole-v1",
    ]
    methods = {m["label"]: m for m in summary["tasks"]["fourroom"]["methods"]}
    assert list(methods) == ["RLE", "PPO", "NoisyNet", "Random actions", "RLE + RND"]
    for seed in (0, 1):
        record = json.loads((runs / f"fourroom/rle/{seed}/finished.json").read_text())
        by_seed = methods["RLE"]["measures"]["coverage"]["by_seed"]
        assert by_seed[str(seed)] == pytest.approx(record["measures"]["coverage"])
    for label, has_draws in (
        ("RLE", True),
        ("PPO", False),
        ("NoisyNet", True),
        ("Random actions", False),
        ("RLE + RND", True),
    ):
        assert ("diversity_between" in methods[label]["measures"]) == has_draws
        assert 0 <= methods[label]["measures"]["diversity_within"]["mean"] <= 1
    cartpole = summary["tasks"]["gym/CartPole-v1"]["methods"][0]["measures"]
    assert cartpole.keys() == {"score", "steps_per_second"}


def test_reach_of_trajectories_is_in_page_table_and_summary(page: Path) -> None:
    task = json.loads((page.parent / "summary.json").read_text())["tasks"]["fourroom"]
    rle = next(m for m in task["methods"] if m["label"] == "RLE")["trajectories"]
    assert list(rle) == ["20 %", "60 %", "end"]
    assert rle["60 %"]["steps"] == {"0": 768, "1": 768}
    rows = {
        (row["method"], row["moment"]): row
        for row in csv.DictReader(
            (page.parent / "tables" / "fourroom-rooms.csv").read_text().splitlines()
        )
    }
    for moment, found in rle.items():
        row = rows["RLE", moment]
        for key in ("rooms", "cells"):
            by_seed = found[key]["by_seed"]
            assert by_seed.keys() == {"0", "1"}
            assert float(row[key]) == found[key]["mean"] == sum(by_seed.values()) / 2
        all_rooms = sum(rooms == 4 for rooms in found["rooms"]["by_seed"].values())
        assert int(row["seeds_with_all_rooms"]) == found["seeds_with_all_rooms"] == all_rooms
    assert (
        "A room is reached if any of them enters a cell of it"
        in task["definitions"]["trajectories"]
    )
    assert "Rooms that trajectories reach" in page.read_text()


def test_same_runs_same_figures(runs: Path, page: Path, tmp_path: Path) -> None:
    again = report([runs / "tv"], tmp_path)
    for kind in ("trajectories", "visitation", "reward-maps", "coverage"):
        name = f"figures/fourroom-noisytv-{kind}.svg"
        assert (page.parent / name).read_bytes() == (again.parent / name).read_bytes()


def test_a_checkpoint_that_cannot_be_read_costs_only_its_pictures(
    runs: Path, tmp_path: Path
) -> None:
    shutil.copytree(runs / "fourroom" / "rle" / "0", tmp_path / "run")
    for checkpoint in (tmp_path / "run" / "checkpoints").iterdir():
        checkpoint.write_bytes(b"damaged")
    text = report([tmp_path]).read_text()
    assert "No trajectory diversity, no trajectories, no reward maps of run, because" in text
    assert "Where the agents have been" in text
    assert "Where each z leads" not in text


def test_visits_are_coloured_by_their_logarithm() -> None:
    counts = np.array([[1.0, 10.0, 100.0, 0.0]])
    pixels = visit_pixels(counts, 100.0)
    middle = visit_pixels(np.array([[10.0]]), 100.0)
    assert (pixels[0, 1] == middle[0, 0]).all()
    assert (pixels[0, 3] == 0).all()
    assert len({tuple(pixel) for pixel in pixels[0]}) == 4


def test_no_reward_is_white() -> None:
    pixels = reward_pixels(np.zeros((51, 51)), 1.0)
    assert (pixels[0, 0, :3] > 240).all()
    assert pixels[25, 0, 3] == 0
