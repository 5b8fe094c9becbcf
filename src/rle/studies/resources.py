"""What one run of a study takes of a machine."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rle.checks import require, require_not_negative, require_positive, short

_UNITS = {unit: 1000**power for power, unit in enumerate(("B", "KB", "MB", "GB", "TB"))} | {
    unit: 1024**power for power, unit in enumerate(("KIB", "MIB", "GIB", "TIB"), start=1)
}


@dataclass(frozen=True)
class Resources:
    """Of each run, wherever it is carried out."""

    cpus: float | None = None
    """None: as many as it has threads."""
    gpus: float = 0.0
    """A fraction shares one."""
    memory: int = 0
    """Bytes; 0: nobody asks."""

    def __post_init__(self) -> None:
        if self.cpus is not None:
            require_positive("cpus-per-run", self.cpus)
            _require_whole("cpus-per-run", self.cpus)
        require_not_negative("gpus-per-run", self.gpus)
        _require_whole("gpus-per-run", self.gpus)

    def __str__(self) -> str:
        memory = f" and {self.memory / 1e9:g} GB of memory" if self.memory else ""
        return f"{self.cpus or 1:g} CPUs, {self.gpus:g} GPUs{memory}"


def _require_whole(label: str, share: float) -> None:
    require(share <= 1 or share % 1 == 0, f"{label} is {share:g}: above 1, give a whole number.")


def parse_memory(text: str) -> int:
    """Bytes of `2GB` (1000³ each) or `2GiB` (1024³ each)."""
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)\s*([KMGT]?I?B)", text.strip().upper(), re.ASCII)
    require(
        found is not None and found[2] in _UNITS and float(found[1]) > 0,
        f"memory-per-run is {short(repr(text))}: give a number and a unit, such as 2GB.",
    )
    assert found is not None
    return int(float(found[1]) * _UNITS[found[2]])
