"""Where and with what a run is made."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from rle.config import RunConfig

_RECORDED_PACKAGES = ("random-latent-exploration", "torch", "numpy", "gymnasium", "safetensors")


def describe_machine(config: RunConfig) -> dict[str, Any]:
    """Where and with what a run is made: enough to explain a difference later."""
    import torch

    versions = {}
    for package in _RECORDED_PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = "unknown"
    return {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor_count": os.cpu_count(),
        "device": config.machine.device,
        "threads": torch.get_num_threads(),
        "versions": versions,
        "git": _git_state(),
    }


def _git_state() -> dict[str, Any] | None:
    """Commit and cleanliness of the source tree, if the package runs from one."""
    here = Path(__file__).parent
    try:
        commit = _git(here, "rev-parse", "HEAD")
        changed = bool(_git(here, "status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.SubprocessError):
        return None
    return {"commit": commit, "changed": changed}


def _git(folder: Path, *arguments: str) -> str:
    result = subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=True, timeout=10
    )
    return result.stdout.strip()
