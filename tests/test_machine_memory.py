"""Memory that tensors free is kept: asked of the process itself, in pages that are mapped anew."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import resource, sys, torch
from rle.machine import keep_memory
if sys.argv[1] == "keep":
    assert keep_memory()
for _ in range(20):
    torch.ones(2**24)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    torch.ones(2**24)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's")
def test_large_tensors_are_not_mapped_anew() -> None:
    def faults(how: str) -> int:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, how], capture_output=True, text=True, check=True
        )
        return int(done.stdout)

    assert faults("keep") < 0.5 * faults("leave")
