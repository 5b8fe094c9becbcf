"""How far trajectories reach, against trajectories drawn by hand and against the task's own counts."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from rle.randomness import generator
from rle.report.measure.plan import SEED, TRAJECTORIES
from rle.report.measure.play import load_for_pictures
from rle.report.measure.reach import distinct_cells, measure_reach, rooms_reached
from rle.report.measure.watched import Look, Looks, look_at_all
from rle.report.read.methods import TaskGroup, group_runs
from rle.report.read.moments import Problems
from rle.report.read.records import read_run
from rle.report.write.tables import to_csv
from rle.report.write.task_tables import room_table
from rle.runs.evaluate import trajectories
from rle.runs.train import train_config
from rle.stats import DEFAULT_BOOTSTRAP, mean_interval
from rle.tasks import fourroom, fourroom_plan
from tests.builders import small_config
from tests.report.folders import write_run

START = (0, 50)
# Beside the doors: through (25, 35) from the start room to the one below it, through (20, 25) to the
# one on its left, and from there through (25, 15) to the room of the goal.
BELOW = [START, (24, 35), (25, 35), (26, 35)]
LEFT = [START, (20, 26), (20, 25), (20, 24)]
FAR = [START, (20, 24), (25, 15), (26, 15)]


def cells(*paths: list[tuple[int, int]]) -> Any:
    return np.array([[fourroom.cell_index(*cell) for cell in path] for path in paths]).T


def test_a_room_is_reached_when_a_cell_of_it_is_entered() -> None:
    assert rooms_reached(cells([START] * 4)) == 1
    # In the door is not yet in the room behind it.
    assert rooms_reached(cells([START, (24, 35), (25, 35), (25, 35)])) == 1
    assert rooms_reached(cells([START, (20, 26), (20, 25), (20, 25)])) == 1
    assert rooms_reached(cells(BELOW)) == 2
    assert rooms_reached(cells(LEFT)) == 2
    assert rooms_reached(cells(FAR)) == 3
    # Together: no single trajectory has to reach them all.
    assert rooms_reached(cells(BELOW, LEFT)) == 3
    assert rooms_reached(cells(BELOW, FAR)) == 4


def test_every_free_cell_but_the_doors_lies_in_a_room_of_625() -> None:
    free = fourroom.free_cells().flatten().nonzero().flatten().tolist()
    beside_start = [
        rooms_reached(np.array([[fourroom.cell_index(*START)], [cell]])) for cell in free
    ]
    doors = [free.index(fourroom.cell_index(*door)) for door in fourroom_plan.DOORS]
    assert all(beside_start[door] == 1 for door in doors)
    assert beside_start.count(1) == 625 + 4
    assert beside_start.count(2) == 3 * 625


def test_distinct_cells_are_counted_once() -> None:
    # START four times over, and three cells of each of the others, none of them shared.
    assert distinct_cells(cells([START] * 4, BELOW, LEFT)) == 1 + 3 + 3


def group_of(root: Path, seeds: dict[str, int]) -> TaskGroup:
    """Runs by hand; their names are `strategy-seed`."""
    records = [
        read_run(write_run(root / f"{explore}-{seed}", explore, seed=seed), f"{explore}-{seed}")
        for explore, number in seeds.items()
        for seed in range(number)
    ]
    [group] = group_runs(records)
    return group


def test_reach_of_methods_by_hand(tmp_path: Path) -> None:
    group = group_of(tmp_path, {"rle": 3, "none": 1})
    far_and_below = cells(FAR, BELOW)  # 4 rooms; START, 3 of each: 7 cells
    far = cells(FAR, FAR)  # 3 rooms, 4 cells
    left = cells(LEFT, LEFT)  # 2 rooms, 4 cells
    found = {
        ("rle-0", 0.6): Look(600, far_and_below),
        ("rle-1", 0.6): Look(640, far),
        ("rle-0", None): Look(1000, far_and_below),
        ("rle-1", None): Look(1000, far_and_below),
        ("rle-2", None): Look(1000, left),
        ("none-0", None): Look(1000, left),
    }
    reaches = measure_reach(group.methods, Looks((0.6, None), found), DEFAULT_BOOTSTRAP)
    # PPO has no look at 60 %, and so no row.
    assert [(r.method, r.moment) for r in reaches] == [("RLE", 0.6), ("RLE", None), ("PPO", None)]
    middle, end, ppo = reaches
    assert middle.rooms == {0: 4, 1: 3}
    assert middle.cells == {0: 7, 1: 4}
    assert (middle.all_rooms, end.all_rooms, ppo.all_rooms) == (1, 2, 0)
    assert end.mean_rooms == pytest.approx((4 + 4 + 2) / 3)
    assert end.mean_cells == mean_interval([7.0, 7.0, 4.0], (1.0, 2504.0))
    assert ppo.mean_cells.low is None

    table = room_table(reaches)
    assert table is not None
    texts = [[cell.text for cell in row] for row in table.rows]
    assert texts[0][:5] == ["RLE", "60 %", "600 to 640", "2", "1 of 2"]
    assert texts[1][:5] == ["RLE", "end", "1\u00a0k", "3", "2 of 3"]
    rows = list(csv.DictReader(io.StringIO(to_csv(table))))
    assert float(rows[1]["cells"]) == pytest.approx((7 + 7 + 4) / 3)
    assert rows[2]["seeds_with_all_rooms"] == "0"


def test_no_agent_watched_no_table(tmp_path: Path) -> None:
    group = group_of(tmp_path, {"rle": 1})
    looks = look_at_all(group, Problems())
    assert looks.found == {}
    assert room_table(measure_reach(group.methods, looks, DEFAULT_BOOTSTRAP)) is None


@pytest.mark.parametrize("explore", ["rle", "none", "random"])
def test_what_is_watched_is_what_the_task_counts(tmp_path: Path, explore: str) -> None:
    config = small_config(
        explore, "fourroom", total_steps=1280, checkpoint_every=256, environment__time_limit=300
    )
    train_config(config, tmp_path / "run", quiet=True)
    run = read_run(tmp_path / "run", "run")
    [group] = group_runs([run])
    problems = Problems()
    looks = look_at_all(group, problems)
    assert problems.found == []
    # Three moments: a fifth, three fifths, and all of the 1280 steps.
    assert {moment: look.step for (_, moment), look in looks.found.items()} == {
        0.2: 256,
        0.6: 768,
        None: 1280,
    }
    look = looks.of(run, 0.6)
    assert look is not None
    assert look.cells.shape == (300 + 1, TRAJECTORIES)
    assert (look.cells[0] == fourroom.cell_index(*START)).all()

    agent = load_for_pictures(run, 768)
    latents = None
    if agent.latent_dimension:
        latents = agent.sample_latents(TRAJECTORIES, generator(SEED, "report latents"))
    task, _ = trajectories(agent, latents, 300, TRAJECTORIES, SEED)
    assert isinstance(task, fourroom.FourRoom)
    visited = task.visits().reshape(fourroom.SIZE, fourroom.SIZE) > 0
    visited[START] = True
    assert distinct_cells(look.cells) == int(visited.sum())
    quarters = [
        visited[r, c] for r in (slice(25), slice(26, 51)) for c in (slice(25), slice(26, 51))
    ]
    assert rooms_reached(look.cells) == sum(bool(torch.any(quarter)) for quarter in quarters)
