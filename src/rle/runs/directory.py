"""The run directory: the interface between training and everything that looks at it later.

Every file is either appended line by line or replaced whole, so that a crash at any moment leaves a
readable directory. `docs/run-directory.md` describes every file and field.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import subprocess
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rle.checks import require
from rle.config import RunConfig
from rle.errors import UsageError
from rle.renamed import present_metrics
from rle.settings import from_dict, to_dict

if TYPE_CHECKING:
    from torch import Tensor

    from rle.tasks.base import State

CONFIG = "config.json"
META = "meta.json"
SPEC = "spec.json"
METRICS = "metrics.jsonl"
EPISODES = "episodes.jsonl"
FINISHED = "finished.json"
CHECKPOINTS = "checkpoints"
ARTEFACTS = "artefacts"
LOCK = "lock"
_RECORDED_PACKAGES = ("random-latent-exploration", "torch", "numpy", "gymnasium", "safetensors")


def write_json(path: Path, value: Any) -> None:
    """Replace `path` with `value` as JSON, whole or not at all."""
    temporary = path.with_suffix(path.suffix + ".partial")
    temporary.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
    temporary.replace(path)


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file."""
    try:
        result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _damaged(path, error) from error
    return result


def _damaged(path: Path, error: Exception) -> UsageError:
    return UsageError(f"{path} is damaged ({error}): restore it or train the run again.")


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a JSON-lines file; a last line cut short by a crash is left out."""
    if not path.exists():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            if not line.endswith("\n"):
                return
            try:
                yield json.loads(line)
            except ValueError as error:
                raise _damaged(path, error) from error


def require_folder(path: Path) -> None:
    """Raise `UsageError` unless `path` is a folder, in which runs may be."""
    require(path.is_dir(), f"{path} is not a folder: give a run directory or a folder of runs.")


def make_folder(path: Path, option: str) -> None:
    """Make the output folder that `option` names, unless it is there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"the output folder {path} cannot be created ({error.strerror}): choose another {option}."
        ) from error


@dataclass(frozen=True)
class RunDirectory:
    """One run on disk."""

    path: Path

    @classmethod
    def create(cls, path: Path, config: RunConfig) -> RunDirectory:
        """A new run directory at `path`, which must be empty or absent."""
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            holds = "already holds a run" if (path / CONFIG).exists() else "is not empty"
            advice = f"`rle resume {path}`" if (path / CONFIG).exists() else "an empty folder"
            raise UsageError(
                f"the output folder {path} {holds}: choose another --out, or {advice}."
            )
        make_folder(path, "--out")
        # The configuration comes first: from then on the run can be resumed, whatever happens.
        write_json(path / CONFIG, to_dict(config))
        write_json(path / META, describe_machine(config))
        return cls(path)

    @classmethod
    def open(cls, path: Path | str) -> RunDirectory:
        """An existing run directory."""
        path = Path(path)
        if not (path / CONFIG).is_file():
            raise UsageError(
                f"{path} is not a run directory (it has no {CONFIG}): "
                "give the folder that `rle train` printed."
            )
        return cls(path)

    def config(self) -> RunConfig:
        """The run's configuration."""
        try:
            return from_dict(read_json(self.path / CONFIG))
        except (TypeError, AttributeError) as error:
            raise _damaged(self.path / CONFIG, error) from error

    def metrics(self) -> list[dict[str, Any]]:
        """One object per iteration."""
        return [present_metrics(line) for line in read_lines(self.path / METRICS)]

    def episodes(self) -> list[dict[str, Any]]:
        """One object per finished episode."""
        return list(read_lines(self.path / EPISODES))

    def meta(self) -> dict[str, Any]:
        """Versions, machine and code state the run began with."""
        return read_json(self.path / META)

    def spec(self) -> dict[str, Any] | None:
        """What an agent must know of the task; None in runs of versions that did not write it."""
        path = self.path / SPEC
        return read_json(path) if path.exists() else None

    def save_spec(self, values: dict[str, Any]) -> None:
        """Keep what an agent must know of the task."""
        write_json(self.path / SPEC, values)

    def finished(self) -> dict[str, Any] | None:
        """The run's closing record, or None while it is not finished."""
        path = self.path / FINISHED
        if not path.exists():
            return None
        return read_json(path)

    def finish(self, record: dict[str, Any]) -> None:
        """Declare the run finished."""
        write_json(self.path / FINISHED, record)

    def checkpoint_steps(self) -> list[int]:
        """Steps at which checkpoints stand, ascending."""
        return _steps_of(self.path / CHECKPOINTS)

    # Tensors need PyTorch; that a folder holds no run can be said without.

    def save_checkpoint(self, step: int, state: State, artefacts: dict[str, Tensor]) -> None:
        """Write a checkpoint and the suite's own data of the same moment."""
        from rle.runs.state import save_state

        for folder in (CHECKPOINTS, ARTEFACTS):
            (self.path / folder).mkdir(exist_ok=True)
        if artefacts:
            save_state(self.path / ARTEFACTS / f"{step:012d}.safetensors", dict(artefacts))
        save_state(self.path / CHECKPOINTS / f"{step:012d}.safetensors", state)

    def latest_checkpoint(self) -> int:
        """The step of the latest checkpoint."""
        steps = self.checkpoint_steps()
        if not steps:
            raise UsageError(f"{self.path} has no checkpoint: train it again from the start.")
        return steps[-1]

    def load_checkpoint(self, step: int | None = None, only: Collection[str] = ()) -> State:
        """The state at `step`, or at the latest checkpoint; `only` some branches of it if named."""
        step = self.latest_checkpoint() if step is None else step
        steps = self.checkpoint_steps()
        if step not in steps:
            raise UsageError(
                f"{self.path} has no checkpoint at step {step}: choose one of "
                f"{', '.join(str(present) for present in steps)}."
            )
        from rle.runs.state import load_state

        return load_state(self.path / CHECKPOINTS / f"{step:012d}.safetensors", only)

    def artefact_steps(self) -> list[int]:
        """Steps at which the suite's own data stand, ascending."""
        return _steps_of(self.path / ARTEFACTS)

    def load_artefacts(self, step: int | None = None) -> dict[str, Tensor]:
        """The suite's own data at `step`, or the latest; empty if there are none."""
        steps = self.artefact_steps()
        if not steps:
            return {}
        step = steps[-1] if step is None else step
        from rle.runs.state import load_state

        return load_state(self.path / ARTEFACTS / f"{step:012d}.safetensors")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from training the same run; the lock dies with this one."""
        with (self.path / LOCK).open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise UsageError(
                    f"{self.path} is being trained by another process: wait for it or stop it."
                ) from error
            yield

    def truncate_logs(self, iteration: int, step: int) -> None:
        """Drop what was logged after a checkpoint, so that a resumed run logs it once."""
        for name in (METRICS, EPISODES):
            path = self.path / name
            kept = [
                json.dumps(line)
                for line in read_lines(path)
                if line.get("iteration", 0) <= iteration
            ]
            temporary = path.with_suffix(".partial")
            temporary.write_text("".join(line + "\n" for line in kept), encoding="utf-8")
            temporary.replace(path)
        for folder in (CHECKPOINTS, ARTEFACTS):
            for later in _steps_of(self.path / folder):
                if later > step:
                    (self.path / folder / f"{later:012d}.safetensors").unlink()


def _steps_of(folder: Path) -> list[int]:
    return sorted(int(path.stem) for path in folder.glob("*.safetensors"))


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
