"""Fuzzed command lines and configurations: `tools.fuzz_command_line`, as one of the tortures."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

MODULE = "tools.fuzz_command_line"


def fuzz(lines: int, seed: int) -> int:
    """Returns 1 if it failed, else 0."""
    if importlib.util.find_spec(MODULE) is None:
        print(f"there is no {MODULE}: nothing is fuzzed")
        return 0
    command = ["-m", MODULE, "--lines", str(lines), "--seed", str(seed)]
    return int(subprocess.run([sys.executable, *command], check=False).returncode != 0)
