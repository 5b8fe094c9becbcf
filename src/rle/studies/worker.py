"""One run of a study, in the process that was started for it."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from pathlib import Path

from rle.config import RunConfig
from rle.errors import UsageError
from rle.machine import SHARE
from rle.runs.directory import CONFIG, RunDirectory
from rle.runs.train import resume, train_config
from rle.runs.trust import code_of_run
from rle.studies.folder import log_of


def work(config: RunConfig, path: Path, share: int) -> None:
    """Train a run, or go on with it, on its share of the cores; what it has to say is in its log."""
    os.environ[SHARE] = str(share)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        opened = log_of(path).open("a", encoding="utf-8")
    except OSError as error:
        print(f"rle: {log_of(path)} cannot be written ({error.strerror}).", file=sys.stderr)
        return
    with (
        opened as log,
        contextlib.redirect_stdout(log),
        contextlib.redirect_stderr(log),
    ):
        try:
            if (path / CONFIG).exists():
                # What the study itself names, its user has chosen; a run that names more is asked about.
                found = RunDirectory.open(path).config()
                resume(path, trust=set(code_of_run(found)) <= set(code_of_run(config)))
            else:
                train_config(config, path)
        except KeyboardInterrupt:
            return
        except UsageError as error:
            print(f"rle: {error}", file=log)
            return
        except Exception:
            traceback.print_exc()
            return
    log_of(path).unlink(missing_ok=True)  # Another study of the same folder may have been quicker.
