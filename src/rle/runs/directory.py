"""The run directory: the interface between training and everything that looks at it later.

Every file is either appended line by line or replaced whole, so that a crash at any moment leaves a
readable directory. `docs/run-directory.md` describes every file and field.
"""

from __future__ import annotations

import fcntl
import itertools
import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rle.checks import require
from rle.config import RunConfig
from rle.errors import UsageError
from rle.renamed import present_metrics
from rle.runs.provenance import describe_machine
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
CHANGES = "changes.json"
INITIAL = "initial.safetensors"
EVALUATION = "eval.json"
CHECKPOINTS = "checkpoints"
ARTEFACTS = "artefacts"
LOCK = "lock"


def write_json(path: Path, value: Any, keep_old: bool = False) -> None:
    """Replace `path` with `value` as JSON, whole or not at all.

    `keep_old` gives what stood there, if it was something else, the first free name with a number.
    """
    temporary = path.with_suffix(path.suffix + ".partial")
    temporary.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
    if keep_old and path.exists() and path.read_bytes() != temporary.read_bytes():
        numbered = (path.with_stem(f"{path.stem}-{number}") for number in itertools.count(1))
        path.rename(next(name for name in numbered if not name.exists()))
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
    def create(
        cls,
        path: Path,
        config: RunConfig,
        init_from: dict[str, Any] | None = None,
        initial: State | None = None,
    ) -> RunDirectory:
        """A new run directory at `path`, which must be empty or absent.

        `init_from` describes the run whose agent this one begins with; `initial` is what it begins with.
        """
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            holds = "already holds a run" if (path / CONFIG).exists() else "is not empty"
            advice = f"`rle resume {path}`" if (path / CONFIG).exists() else "an empty folder"
            raise UsageError(
                f"the output folder {path} {holds}: choose another --out, or {advice}."
            )
        make_folder(path, "--out")
        if initial is not None:
            from rle.runs.state import save_state

            save_state(path / INITIAL, initial)
        # The configuration comes first: from then on the run can be resumed, whatever happens.
        write_json(path / CONFIG, to_dict(config))
        described = {} if init_from is None else {"init_from": init_from}
        write_json(path / META, describe_machine(config) | described)
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

    def save_config(self, config: RunConfig) -> None:
        """Let the run be what `config` says from now on."""
        write_json(self.path / CONFIG, to_dict(config))

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

    def changes(self) -> list[dict[str, Any]]:
        """What was changed of the run since it began, the oldest first."""
        path = self.path / CHANGES
        if not path.exists():
            return []
        changes: list[dict[str, Any]] = read_json(path)["changes"]
        return changes

    def save_change(self, change: dict[str, Any], config: RunConfig) -> None:
        """Let the run be what `config` says from now on, and no longer finished."""
        # In this order: a crash in between leaves a run that `rle resume` ends as it was to end.
        write_json(self.path / CHANGES, {"changes": [*self.changes(), change]})
        (self.path / FINISHED).unlink(missing_ok=True)
        self.save_config(config)

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
        save_state(self.checkpoint_path(step), state)

    def latest_checkpoint(self) -> int:
        """The step of the latest checkpoint."""
        steps = self.checkpoint_steps()
        if not steps:
            raise UsageError(f"{self.path} has no checkpoint: train it again from the start.")
        return steps[-1]

    def load_checkpoint(self, step: int | None = None, only: Collection[str] = ()) -> State:
        """The state at `step`, or at the latest checkpoint; `only` some branches of it if named."""
        step = self.latest_checkpoint() if step is None else step
        self.require_checkpoint(step)
        from rle.runs.state import load_state

        return load_state(self.checkpoint_path(step), only)

    def require_checkpoint(self, step: int) -> None:
        """Raise `UsageError` unless there is a checkpoint at `step`."""
        steps = self.checkpoint_steps()
        if step not in steps:
            raise UsageError(
                f"{self.path} has no checkpoint at step {step}: choose one of "
                f"{', '.join(str(present) for present in steps)}."
            )

    def checkpoint_path(self, step: int) -> Path:
        """Where the checkpoint of `step` stands, if there is one."""
        return self.path / CHECKPOINTS / f"{step:012d}.safetensors"

    def load_initial(self) -> State | None:
        """The agent that the run began with, if it was another run's; None if it began anew."""
        if not (self.path / INITIAL).exists():
            return None
        from rle.runs.state import load_state

        return load_state(self.path / INITIAL)

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
