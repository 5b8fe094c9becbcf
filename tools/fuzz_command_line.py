"""Command lines, configurations and studies by the thousand, each of which must end in a sentence.

    python -m tools.fuzz_command_line --lines 10000 --seed 0

Nothing is trained, played or drawn: a line goes as far as that, within this process. What is asked for
is exit status 0, 1 or 2, one sentence where it is not 0, no traceback, and no more than some seconds.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, NoReturn
from unittest import mock

from rle.cli import main as rle_main
from rle.errors import UsageError
from rle.runs import handed_over
from rle.runs.train import train_config
from rle.settings import replace
from tools import fuzz_words

SECONDS = 300
"""That one line may take: no measure, but an end to what hangs. The first to compile imports much."""
SMALL_RUN = {
    "num_envs": 4,
    "rollout_steps": 8,
    "policy_hidden": (8,),
    "value_hidden": (8,),
    "rle.feature_hidden": (8,),
    "total_steps": 256,
    "checkpoint_every": 128,
    "compile": "off",
}


class Failure(NamedTuple):
    """A line that did not end as it should."""

    line: list[str]
    what: str


class TookTooLong(BaseException):
    """Not an error that anything catches."""


def main(lines: int, seed: int) -> list[Failure]:
    """Try so many lines; returns those that failed."""
    source = random.Random(seed)
    failures = []
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        # Some folders down: a line may well say `..`.
        work = Path(folder) / "a" / "b" / "c"
        work.mkdir(parents=True)
        state = mock.patch.dict(
            os.environ, {"XDG_STATE_HOME": str(work / "state"), "NO_COLOR": "1"}
        )
        os.chdir(work)
        sys.path.insert(0, str(work))
        try:
            with state, warnings.catch_warnings():
                warnings.simplefilter("always")
                fuzz_words.prepare(work)
                _train_small_run(work)
                with _nothing_long():
                    for number in range(lines):
                        line = _next_line(work, source, number)
                        what = _tried(line)
                        if what is not None:
                            failures.append(Failure(line, what))
        finally:
            sys.path.remove(str(work))
            os.chdir(here)
    return failures


def _train_small_run(work: Path) -> None:
    from rle.presets import preset_config

    config = replace(preset_config("fourroom", "rle"), SMALL_RUN)
    train_config(config, work / "run", quiet=True)


def _next_line(work: Path, source: random.Random, number: int) -> list[str]:
    """A line, or a file to damage with a command that reads it."""
    if number % 50 == 0:
        shutil.rmtree(work / "runs", ignore_errors=True)
    kind = source.random()
    if kind < 0.7:
        return fuzz_words.line(source)
    if kind < 0.8:
        (work / "damaged.toml").write_text(fuzz_words.damaged_study(source), errors="surrogatepass")
        return ["study", "damaged.toml"]
    shutil.rmtree(work / "damaged", ignore_errors=True)
    shutil.copytree(work / "run", work / "damaged")
    # As of a version that kept no digests: else all that is found is that something has changed.
    (work / "damaged" / "manifest.json").unlink(missing_ok=True)
    name = source.choice(("config.json", "config.json", "spec.json", "meta.json", "finished.json"))
    values: Any = json.loads((work / "run" / "config.json").read_text())
    values.pop("schema", None)
    (work / "damaged" / "config.json").write_text(json.dumps(values))
    if name != "config.json":
        values = json.loads((work / "damaged" / name).read_text())
    text = fuzz_words.damaged_json(values, source)
    (work / "damaged" / name).write_text(text, errors="surrogatepass")
    return [
        *source.choice(
            (
                *(["check", "damaged"], ["eval", "damaged"], ["resume", "damaged"]),
                *(["report", "damaged"], ["list", "runs", "damaged"]),
                *(["resume", "damaged", "--total-steps", "512"], ["eval", "damaged", "--trust"]),
                ["train", "fourroom", "--init-from", "damaged"],
            )
        )
    ]


@contextlib.contextmanager
def _nothing_long() -> Iterator[None]:
    """Where training, playing and drawing would begin, a line is over."""
    build: Callable[..., Any] = handed_over.trainer_of

    def trainer_of(config: Any, env: Any = None) -> Any:
        if not fuzz_words.small(config):
            raise UsageError("too large to be tried.")
        return build(config, env)

    def over(*_: object, **__: object) -> NoReturn:
        raise UsageError("the line is over.")

    with contextlib.ExitStack() as patches:
        patches.enter_context(mock.patch("rle.runs.train.trainer_of", trainer_of))
        for place in (
            "rle.runs.trainer.Trainer.start",
            "rle.runs.train._run",
            "rle.runs.evaluate._play_episodes",
            "rle.runs.film.filmed",
            "rle.runs.bench._measure",
            "rle.runs.bench._spec_of",
            "rle.checkup.before.check_task",
            "rle.studies.running.run_all",
            "rle.report.build._sections",
        ):
            patches.enter_context(mock.patch(place, over))
        yield


def _tried(line: list[str]) -> str | None:
    """What is wrong with how a line ended; None if nothing is."""
    out, err = io.StringIO(), io.StringIO()
    before = signal.signal(signal.SIGALRM, _alarm)
    signal.alarm(SECONDS)
    show = warnings.showwarning
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = rle_main(line)
    except SystemExit as error:
        # The parser ends the program where it shows its help.
        status = error.code if isinstance(error.code, int) else 0
    except TookTooLong:
        return f"took more than {SECONDS} seconds"
    except BaseException:
        return traceback.format_exc()
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        warnings.showwarning = show
    return _wrong(status, out.getvalue(), err.getvalue())


def _alarm(*_: object) -> NoReturn:
    raise TookTooLong


def _wrong(status: int, out: str, err: str) -> str | None:
    said = [text for text in err.splitlines() if text and not text.startswith("warning:")]
    if status not in (0, 1, 2):
        return f"exit status {status}"
    if "Traceback" in out + err:
        return "a traceback"
    if status == 2 and (len(said) != 1 or not said[0].startswith("rle: ")):
        return f"not one sentence: {err!r}"
    if status == 2 and len(said[0]) < 20:
        return f"no sentence: {err!r}"
    return None


def _command() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    known = parser.parse_args()
    started = time.monotonic()
    failures = main(known.lines, known.seed)
    for failure in failures:
        print([word[:200] for word in failure.line], failure.what, sep="\n")
    seconds = time.monotonic() - started
    print(f"{known.lines} lines in {seconds:.0f} s, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(_command())
