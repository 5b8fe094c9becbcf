"""The run directory: the interface between training and everything that looks at it later.

Every file is either appended line by line or replaced whole, so that a crash at any moment leaves a
readable directory. `docs/run-directory.md` describes every file and field.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rle.checks import require
from rle.config import RunConfig
from rle.errors import UsageError
from rle.naming import exists, is_file, is_folder
from rle.renamed import present_metrics
from rle.runs.checkpoints import ARTEFACTS, CHECKPOINTS, Checkpoints, Saved
from rle.runs.contents import (
    CHANGES,
    CONFIG,
    EVALUATION,
    FINISHED,
    INCIDENTS,
    INITIAL,
    LOCK,
    META,
    SCHEMA,
    SPEC,
    Contents,
)
from rle.runs.files import DamagedFileError, holding, read_json, sync_folder, write_json
from rle.runs.leftovers import clear_killed_start, is_killed_start
from rle.runs.logs import EPISODES, METRICS, parse_lines
from rle.runs.manifest import MANIFEST, Manifest, Mark
from rle.runs.provenance import describe_machine
from rle.runs.trees import read_tree
from rle.settings import from_dict, to_dict

if TYPE_CHECKING:
    from torch import Tensor

    from rle.tasks.base import State

__all__ = [
    "ARTEFACTS",
    "CHANGES",
    "CHECKPOINTS",
    "CONFIG",
    "EPISODES",
    "EVALUATION",
    "FINISHED",
    "INCIDENTS",
    "INITIAL",
    "LOCK",
    "META",
    "METRICS",
    "SCHEMA",
    "SPEC",
    "RunDirectory",
    "make_folder",
    "read_json",
    "require_folder",
    "write_json",
]


def require_folder(path: Path) -> None:
    """Raise `UsageError` unless `path` is a folder, in which runs may be."""
    require(is_folder(path), f"{path} is not a folder: give a run directory or a folder of runs.")


def make_folder(path: Path, option: str) -> None:
    """Make the output folder that `option` names, unless it is there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(
            f"the output folder {path} cannot be created ({reason}): choose another {option}."
        ) from error


@dataclass(frozen=True)
class RunDirectory(Contents):
    """One run on disk."""

    @classmethod
    def create(
        cls,
        path: Path,
        config: RunConfig,
        init_from: dict[str, Any] | None = None,
        initial: State | None = None,
    ) -> RunDirectory:
        """A new run directory at `path`, which must be absent or empty but for a start that was killed.

        `init_from` describes the run whose agent this one begins with; `initial` is what it begins with.
        """
        run = cls(path)
        if exists(path) and not is_killed_start(path):
            holds = "already holds a run" if (path / CONFIG).exists() else "is not empty"
            advice = f"`rle resume {path}`" if (path / CONFIG).exists() else "an empty folder"
            raise UsageError(
                f"the output folder {path} {holds}: choose another --out, or {advice}."
            )
        make_folder(path, "--out")
        sync_folder(path.parent)
        with run.locked():
            clear_killed_start(path)
            described = {} if init_from is None else {"init_from": init_from}
            if initial is not None:
                from rle.runs.state import state_bytes

                run._save(INITIAL, state_bytes(initial | described))
            # The configuration comes first: from then on the run can be resumed, whatever happens.
            run.save_config(config)
            run._save_json(META, describe_machine(config) | described)
        return run

    @classmethod
    def open(cls, path: Path | str) -> RunDirectory:
        """An existing run directory."""
        path = Path(path)
        if not is_file(path / CONFIG):
            raise UsageError(
                f"{path} is not a run directory (it has no {CONFIG}): "
                "give the folder that `rle train` printed."
            )
        return cls(path)

    def settings(self) -> dict[str, Any]:
        """The run's configuration as JSON has it, of whichever version of the program."""
        self._schema()
        try:
            values = self._read(CONFIG)
        except DamagedFileError as error:
            raise DamagedFileError(
                error.path,
                error.why,
                f"restore it, or delete {MANIFEST} if you have changed it yourself.",
            ) from error
        values.pop("schema", None)
        return values

    def config(self) -> RunConfig:
        """The run's configuration."""
        values = self.settings()
        try:
            return from_dict(values)
        except UsageError:
            raise
        except (TypeError, AttributeError, LookupError, ValueError, ArithmeticError) as error:
            raise DamagedFileError(
                self.path / CONFIG, error, "restore it or train the run again."
            ) from error

    def save_config(self, config: RunConfig) -> None:
        """Let the run be what `config` says from now on."""
        self._save_json(CONFIG, {"schema": SCHEMA} | to_dict(config))

    def metrics(self) -> list[dict[str, Any]]:
        """One object per iteration."""
        return [present_metrics(line) for line in self._lines(METRICS)]

    def episodes(self) -> list[dict[str, Any]]:
        """One object per finished episode."""
        return self._lines(EPISODES)

    def _lines(self, name: str) -> list[dict[str, Any]]:
        """The objects of a log; what is wrong with it is said."""
        manifest = Manifest.read(self.path)
        data = self._log(name)
        lines = parse_lines(data)
        wrong = manifest.check_log(name, data)
        if wrong is None and lines.damaged:
            wrong = f"{name} has {lines.damaged} damaged lines, which are left out."
        if wrong is not None:
            warnings.warn(f"{self.path}: {wrong}", stacklevel=3)
        return [value for _, value in lines.whole]

    def meta(self) -> dict[str, Any]:
        """Versions, machine and code state the run began with; empty if that is lost."""
        return self._read_if_good(META) or self._described_by_initial()

    def _described_by_initial(self) -> dict[str, Any]:
        """Whose agent the run began with, which is more than information."""
        try:
            origin = (self.load_initial() or {}).get("init_from")
        except DamagedFileError:
            return {}
        return {} if origin is None else {"init_from": origin}

    def keep_meta(self, config: RunConfig) -> None:
        """Describe the machine of a run that was killed before it could, or whose record was damaged."""
        if self._read_if_good(META) is None:
            self._save_json(META, describe_machine(config) | {"resumed": True} | self.meta())

    def spec(self) -> dict[str, Any] | None:
        """What an agent must know of the task; None in runs of versions that did not write it."""
        return self._read_if_good(SPEC)

    def save_spec(self, values: dict[str, Any]) -> None:
        """Keep what an agent must know of the task."""
        if self.spec() != values:
            self._save_json(SPEC, values)

    def finished(self) -> dict[str, Any] | None:
        """The run's closing record, or None while it is not finished."""
        return self._read_if_good(FINISHED)

    def finish(self, record: dict[str, Any]) -> None:
        """Declare the run finished."""
        self._save_json(FINISHED, record)

    def changes(self) -> list[dict[str, Any]]:
        """What was changed of the run since it began, the oldest first."""
        return self._list(CHANGES, "changes")

    def incidents(self) -> list[dict[str, Any]]:
        """What went wrong with the run's files, and what was done then, the oldest first."""
        return self._list(INCIDENTS, "incidents")

    def _list(self, name: str, key: str) -> list[dict[str, Any]]:
        held = (self._read_if_good(name) or {}).get(key)
        return [each for each in held if isinstance(each, dict)] if isinstance(held, list) else []

    def record(self, sentence: str, step: int) -> None:
        """Say what is wrong with the run, and keep it with the run."""
        warnings.warn(f"{self.path}: {sentence}", stacklevel=2)
        incident = {
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "step": step,
            "what": sentence,
        }
        self._save_json(INCIDENTS, {"incidents": [*self.incidents(), incident]})

    def save_change(self, change: dict[str, Any], config: RunConfig) -> None:
        """Let the run be what `config` says from now on, and no longer finished."""
        # In this order: a crash in between leaves a run that `rle resume` ends as it was to end.
        self._save_json(CHANGES, {"changes": [*self.changes(), change]})
        (self.path / FINISHED).unlink(missing_ok=True)
        self.save_config(config)

    # Checkpoints, and the suite's own data of the same moments.

    @property
    def _checkpoints(self) -> Checkpoints:
        return Checkpoints(self.path)

    def checkpoint_steps(self) -> list[int]:
        """Steps at which checkpoints stand, ascending."""
        return self._checkpoints.steps()

    def save_checkpoint(
        self,
        step: int,
        state: State,
        artefacts: Mapping[str, Tensor],
        logs: Mapping[str, Mark] | None = None,
        how: Saved | None = None,
    ) -> None:
        """Write a checkpoint and the suite's own data of the same moment.

        `logs` are what the logs now are; `how` says how long the checkpoint is kept.
        """
        self._checkpoints.save(step, state, artefacts, logs or {}, how or Saved())

    def latest_checkpoint(self) -> int:
        """The step of the latest checkpoint that is good."""
        return self._checkpoints.latest()

    def load_checkpoint(self, step: int | None = None, only: Collection[str] = ()) -> State:
        """The state at `step`, or at the latest checkpoint; `only` some branches of it if named."""
        if step is None:
            return self.load_latest(only)[1]
        self.require_checkpoint(step)
        try:
            return self._checkpoints.load(step, only)
        except DamagedFileError as error:
            advice = "choose another step, or none for the latest that is good."
            raise DamagedFileError(error.path, error.why, advice) from error

    def load_latest(self, only: Collection[str] = ()) -> tuple[int, State]:
        """Step and state of the latest checkpoint that is good; that others are not is said."""
        found = self._checkpoints.load_latest(only)
        for sentence in (self.unchecked(), found.sentence()):
            if sentence is not None:
                warnings.warn(f"{self.path}: {sentence}", stacklevel=3)
        return found.step, found.state

    def require_checkpoint(self, step: int) -> None:
        """Raise `UsageError` unless there is a checkpoint at `step`."""
        steps = self.checkpoint_steps()
        if step not in steps:
            raise UsageError(
                f"{self.path} has no checkpoint at step {step}: choose one of "
                f"{', '.join(str(present) for present in steps)}."
            )

    def check_checkpoint(self, step: int) -> None:
        """Raise `DamagedFileError` unless the checkpoint at `step` is as it was written."""
        self._checkpoints.check(step)

    def checkpoint_path(self, step: int) -> Path:
        """Where the checkpoint of `step` stands, if there is one."""
        return self._checkpoints.file(step)

    def load_initial(self) -> State | None:
        """The agent that the run began with, if it was another run's; None if it began anew."""
        if not (self.path / INITIAL).exists():
            return None
        from rle.runs.state import load_state

        try:
            Manifest.read(self.path).check_file(INITIAL)
            return load_state(self.path / INITIAL)
        except DamagedFileError as error:
            raise DamagedFileError(error.path, error.why, "train the run again.") from error

    def lost_checkpoints(self) -> list[int]:
        """Steps of checkpoints that were written and that somebody removed, ascending."""
        return sorted(self._checkpoints.lost() | self._checkpoints.lost(ARTEFACTS))

    def artefact_steps(self) -> list[int]:
        """Steps at which the suite's own data stand, ascending."""
        return self._checkpoints.steps(ARTEFACTS)

    def check_artefacts(self, step: int) -> None:
        """Raise `DamagedFileError` unless the suite's own data at `step` are as they were written."""
        self._checkpoints.check(step, ARTEFACTS)

    def load_artefacts(self, step: int | None = None) -> dict[str, Tensor]:
        """The suite's own data at `step`, or the latest that are good; empty if there are none."""
        if not self.artefact_steps():
            return {}
        if step is None:
            return self._checkpoints.load_latest(folder=ARTEFACTS).state
        return self._checkpoints.load(step, folder=ARTEFACTS)

    def artefact_arrays(self, step: int) -> dict[str, Any]:
        """The suite's own data at `step` as NumPy's arrays, read without PyTorch."""
        self.check_artefacts(step)
        return read_tree(self._checkpoints.file(step, ARTEFACTS), "np")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from training the same run; the lock dies with this one."""
        refusal = f"{self.path} is being trained by another process: wait for it or stop it."
        with holding(self.path / LOCK, refusal):
            yield
