"""What was computed of an agent, kept beside its run: the next report reads it, without PyTorch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rle.errors import UsageError
from rle.report.measure.plan import RULES, SEED
from rle.report.read.records import RunRecord
from rle.runs.files import digest_of, digest_of_file, require_no_link
from rle.runs.trees import read_tree

FOLDER = "trajectories"


def kept_file(run: RunRecord, step: int, name: str) -> Path:
    """Where something of the agent of a checkpoint is kept."""
    return run.directory.path / FOLDER / f"{step:012d}-{name}.safetensors"


def key_of(run: RunRecord, step: int) -> dict[str, Any]:
    """What must be the same for a kept file to be of use."""
    checkpoint = digest_of_file(run.directory.checkpoint_path(step))
    return {"seed": SEED, "rules": RULES, "checkpoint": checkpoint}


def read_kept(file: Path, key: dict[str, Any], name: str) -> dict[str, Any] | None:
    """The array that was kept as `name`, and what is beside it; None if it is not what `key` says."""
    if not file.exists():
        return None
    try:
        state = read_tree(file, "np")
        as_kept = state["key"] == key and state["sha256"] == digest_of(state[name].tobytes())
    except (UsageError, KeyError, TypeError, AttributeError):
        return None
    return state if as_kept else None


def keep(
    file: Path, key: dict[str, Any], name: str, array: npt.NDArray[np.generic], **beside: Any
) -> None:
    """Nobody is told if this fails: a run in a folder that cannot be written to is shown as well."""
    # Whatever is kept was just computed with PyTorch.
    import torch
    from safetensors import SafetensorError

    from rle.runs.state import save_state

    state = {
        "key": key,
        name: torch.from_numpy(array),
        "sha256": digest_of(array.tobytes()),
        **beside,
    }
    try:
        require_no_link(file.parent)
        file.parent.mkdir(exist_ok=True)
        save_state(file, state)
    except (OSError, SafetensorError, UsageError):
        return
