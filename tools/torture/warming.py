"""Let this process import what its forks will need, by running the commands once."""

from __future__ import annotations

import contextlib
import io
import tempfile
import threading
from collections.abc import Iterable
from pathlib import Path

import torch

from rle import cli
from tools.torture.subjects import SUBJECTS

ONE_ITERATION = ("--total-steps", "128", "--checkpoint-every", "128")


def warm_up(names: Iterable[str], verbs: Iterable[str] = ()) -> None:
    """Train the subjects of these names for an iteration, and do the `verbs` with the first of them."""
    torch.set_num_threads(1)
    trained = [SUBJECTS[name].train or SUBJECTS["fourroom"].train for name in names]
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        for number, train in enumerate(dict.fromkeys(trained)):
            cli.main([*train, *ONE_ITERATION, "--out", str(Path(folder) / str(number))])
        for verb in verbs:
            cli.main([verb, str(Path(folder) / "0")])
    if threading.active_count() > 1:
        raise SystemExit("there are threads, which a fork does not take along.")
