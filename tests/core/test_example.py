"""The agent of `examples/core_ppo.py` explores, and by RLE."""

import importlib.util
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "core_ppo.py"
SEEDS = (0, 1, 2, 3)
STEPS = 32_768


def test_rle_covers_more_than_ppo_alone() -> None:
    spec = importlib.util.spec_from_file_location("core_ppo", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    with_rle = [example.explore(STEPS, seed, True) for seed in SEEDS]
    without = [example.explore(STEPS, seed, False) for seed in SEEDS]
    assert sum(with_rle) > sum(without) + 0.05 * len(SEEDS), (with_rle, without)


def test_it_needs_the_core_alone_of_this_package() -> None:
    source = EXAMPLE.read_text()
    assert [line for line in source.splitlines() if "rle" in line and "import" in line] == [
        "from rle import core"
    ]
    assert len(source.splitlines()) <= 120
    result = subprocess.run(
        [sys.executable, EXAMPLE, "--no-rle", "--steps", "4096"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stdout.startswith("PPO visited "), result.stderr
