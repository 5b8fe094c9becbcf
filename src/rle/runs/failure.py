"""What is left of a run that failed: a sentence, the facts, the numbers, and whose traceback it was."""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from safetensors import SafetensorError

from rle.errors import RunError, is_of_the_disk
from rle.runs.directory import CONFIG, write_json
from rle.runs.state import save_state

FAILURES = "failures"
RESUME = "`rle resume RUN`"
"""How sentences that do not know the run's folder speak of it."""


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Whatever ends the run in the folder `path` does so with one sentence.

    A disk that does not take what is written is a failure like any other.
    """
    try:
        with kept(path):
            yield
    except OSError as error:
        # Where the folder is gone, files in it are not found.
        if not is_of_the_disk(error) and path.exists():
            raise
        raise _not_written(path, error) from error
    except SafetensorError as error:
        # It names the number of what the system said in a text of its own.
        found = re.search(r"os error (\d+)|code: (\d+)", str(error))
        if found is None:
            raise
        number = int(found[1] or found[2])
        raise _not_written(path, OSError(number, os.strerror(number))) from error


@contextmanager
def kept(path: Path) -> Iterator[None]:
    """Keep in the folder `path` what is known of a failure of its run; the sentence names the file."""
    try:
        yield
    except RunError as error:
        raise _kept(path, error) from error.__cause__


def _kept(path: Path, error: RunError) -> RunError:
    """The same failure, after what is known of it was written down, with the file in its sentence."""
    sentence = str(error).replace(RESUME, f"`rle resume {path}`")
    place = path / FAILURES / f"{error.facts.get('step', 0):012d}"
    seen = ""
    try:
        place.parent.mkdir(exist_ok=True)
        if error.tensors:
            save_state(place.with_suffix(".safetensors"), error.tensors)
            seen = f"numbers: {place}.safetensors"
        if error.__cause__ is not None:
            # Made anew, so that nothing outside is written to if a link stands there.
            place.with_suffix(".txt").unlink(missing_ok=True)
            with place.with_suffix(".txt").open("x", encoding="utf-8") as file:
                file.writelines(traceback.format_exception(error.__cause__))
            seen = f"traceback: {place}.txt"
        now = datetime.now(UTC).isoformat(timespec="seconds")
        record = {"time": now, "sentence": sentence, **error.facts}
        write_json(place.with_suffix(".json"), record)
    except (OSError, SafetensorError):
        # What went wrong is worth more than where it was to be written down.
        seen = ""
    if seen:
        sentence = f"{sentence.removesuffix('.')} ({seen})."
    return RunError(sentence, error.facts, error.tensors)


def _not_written(path: Path, error: OSError) -> RunError:
    begun = (path / CONFIG).exists()
    advice = (
        f"`rle resume {path}` then goes on from the last checkpoint"
        if begun
        else "or choose another --out"
    )
    return RunError(
        f"{error.filename or path} cannot be written or read ({error.strerror}): make room there and "
        f"let it be written{'; ' if begun else ', '}{advice}."
    )
