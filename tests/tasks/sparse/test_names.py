"""Which names the suite has, and what is said of others."""

from pathlib import Path

import pytest

from rle.errors import UsageError
from rle.presets import preset_config
from rle.tasks.registry import check_task_name, task_names
from rle.tasks.suites.sparse import ABOUT, NAMES, about


def test_every_name_is_one_and_has_its_numbers() -> None:
    for name in NAMES:
        check_task_name(f"sparse/{name}")
        for explore in ("none", "noisy", "rnd", "rle", "rle+rnd", "random"):
            config = preset_config(f"sparse/{name}", explore)
            assert config.total_steps == about(name).steps
            assert config.preset == "desktop"


def test_all_strategies_learn_with_the_same_numbers() -> None:
    for name in NAMES:
        learners = [
            preset_config(f"sparse/{name}", explore).learner
            for explore in ("none", "noisy", "rnd", "rle", "rle+rnd")
        ]
        assert all(learner == learners[0] for learner in learners), name


def test_they_are_listed() -> None:
    listed = [name for name in task_names() if name.startswith("sparse/")]
    assert len(listed) == len(ABOUT)
    assert "sparse/DeepSea-<N>" in listed
    assert "sparse/Maze-<size>-<seed>" in listed


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("DeepSea", "did you mean"),
        ("DeepSea-1", "from 2 to 64"),
        ("DeepSea-65", "from 2 to 64"),
        ("DeepSea-010", "no task"),
        ("Maze-11", "no task"),
        ("Maze-10-0", "odd size"),
        ("Maze-103-0", "odd size"),
        ("DorKey-8x8", "DoorKey-8x8"),
    ],
)
def test_others_are_refused_in_a_sentence(name: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        check_task_name(f"sparse/{name}")


def test_the_page_says_what_each_task_is_trained_for() -> None:
    lines = (Path(__file__).parents[3] / "docs" / "sparse.md").read_text("utf-8").splitlines()
    for name, task in ABOUT.items():
        [row] = [line for line in lines if line.startswith(f"| `sparse/{name}`")] or [
            line for line in lines if line.startswith(f"| `sparse/{name}-<")
        ]
        assert row.split("|")[6].strip() == f"{task.steps:,}"
