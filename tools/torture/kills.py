"""SIGKILL at random moments, saving included, until a run is finished; then it is compared.

A moment is a time, or a file operation: then the process is killed just before it, or up to some
milliseconds after it began, while files are written. Of a study, its own process or a worker is killed.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tools.torture.command import Child, Ended, Watch, operations_of, run
from tools.torture.comparison import differences, missing_or_left
from tools.torture.subjects import Subject

MOST = 8
"""Kills of one run."""
PATIENCE = 120.0
"""Seconds after which a command is said to hang."""
AFTER = 0.005
"""Seconds after the beginning of a file operation within which it may hit."""
OUTLIVING = 30.0
"""Seconds that a study's workers may take to save and end when it was killed."""
BEGINNING = 12
"""File operations in which a run directory is made, more or less."""
TRUE_COMMAND = 10
"""One case in so many runs the true command."""


@dataclass(frozen=True)
class Whole:
    """The run without interruption."""

    path: Path
    seconds: float
    operations: int
    true_command: bool = False
    """Whether `seconds` are those of the true command, imports included."""


@dataclass
class Case:
    """One run, from its beginning through its kills to its end."""

    kills: int = 0
    while_saving: int = 0
    """Kills that left a file half written, or written and not yet renamed."""
    true_command: bool = False
    failures: list[str] = field(default_factory=list)
    history: list[str] = field(default_factory=list)
    outlived: float = 0.0
    """Seconds for which a worker went on after its study was killed."""


def uninterrupted(subject: Subject, folder: Path, true_command: bool = False) -> Whole:
    """Train it once as it is to be; see how long that takes, and in how many file operations."""
    folder.mkdir(parents=True)
    out, log = folder / "run", folder / "whole.log"
    started = time.monotonic()
    ended = run(subject.command(out), log, PATIENCE, watch=Watch(out), true_command=true_command)
    if ended.status != 0:
        raise SystemExit(f"{subject.name} does not run as it is: {ended.complained}")
    # A study's operations are its workers'.
    watched = not (subject.is_study or true_command)
    operations = operations_of(log) if watched else 60
    return Whole(out, time.monotonic() - started, operations, true_command)


def cases(subject: Subject, whole: Whole, folder: Path, kills: int, seed: int) -> Iterator[Case]:
    """Runs that are killed, until there were so many kills; the folders of failed ones are kept."""
    made = number = 0
    while made < kills:
        number += 1
        place = folder / f"{subject.name}-{number}"
        place.mkdir()
        if number == TRUE_COMMAND:
            true_whole = uninterrupted(subject, folder / f"{subject.name}-true", true_command=True)
        case = torment(
            subject,
            true_whole if number % TRUE_COMMAND == 0 else whole,
            place,
            random.Random(f"{seed} {subject.name} {number}"),
            most=min(MOST, kills - made),
        )
        made += case.kills
        if case.failures:
            (place / "history.txt").write_text("\n".join(case.history + case.failures) + "\n")
        else:
            shutil.rmtree(place)
        yield case


def torment(
    subject: Subject,
    whole: Whole,
    folder: Path,
    dice: random.Random,
    most: int,
) -> Case:
    """Kill one run up to `most` times; returns what came out."""
    case, out = Case(true_command=whole.true_command), folder / "run"
    for attempt in range(2 * most):
        if case.kills >= most or case.failures:
            break
        if _killed_once(subject, whole, out, folder / f"{attempt}.log", dice, case):
            break
    else:
        attempt = 2 * most
    if not case.failures:
        _finish(subject, out, folder / f"{attempt + 1}.log", case)
    if not case.failures:
        for one in subject.runs(whole.path):
            place = out / one.relative_to(whole.path)
            wrong = differences(one, place) + missing_or_left(one, place)
            case.failures += [f"{place.name}: {sentence}" for sentence in wrong]
    return case


def _killed_once(
    subject: Subject, whole: Whole, out: Path, log: Path, dice: random.Random, case: Case
) -> bool:
    """Start or go on, and kill; returns whether it ended before."""
    begins = not any(out.rglob("config.json"))
    operation, after = _moment(whole, dice, begins)
    # A worker that stands still cannot end when its study was killed.
    pause = 0.0 if after or subject.is_study else 0.5
    watch = None if operation is None else Watch(out, operation, pause)
    command = subject.command(out)
    child = Child(command, log, watch=watch, true_command=case.true_command)
    stands = child.wait(PATIENCE if operation is not None else after)
    if operation is not None and stands:
        time.sleep(after)
    when = f"operation {operation} + " if operation is not None else ""
    case.history.append(f"rle {' '.join(command)}: {when}{1000 * after:.1f} ms")
    if stands == 0:
        _judge(subject, child.ended(PATIENCE), case)
        return True
    victim = _victim(subject, child, stands or child.pid, dice)
    try:
        os.kill(victim, signal.SIGKILL)
    except ProcessLookupError:  # it has just ended
        victim = 0
    case.kills += victim != 0
    case.history.append(f"  killed {'it' if victim == child.pid else 'a worker'}")
    if victim == child.pid:
        child.ended(PATIENCE)
        _bury(child, case)
    else:
        _judge(subject, child.ended(PATIENCE), case)
    left = any(out.rglob("*.partial")) if out.exists() else False
    case.while_saving += left
    return False


def _moment(whole: Whole, dice: random.Random, begins: bool) -> tuple[int | None, float]:
    """A file operation, or None; and seconds after it, or after the start."""
    if whole.true_command:
        # Imports take most of its time: it is killed there too, and more often later.
        return None, whole.seconds * dice.choice((dice.random(), dice.uniform(0.6, 1)))
    kind = dice.random()
    if kind < 0.4:
        return None, dice.uniform(0, 0.7 * whole.seconds)
    # A run begins but once: half of these kills hit while its folder is made.
    first_ones = begins and dice.random() < 0.5
    operation = dice.randint(1, BEGINNING if first_ones else whole.operations)
    return operation, 0.0 if kind < 0.7 else dice.uniform(0, AFTER)


def _victim(subject: Subject, child: Child, stands: int, dice: random.Random) -> int:
    if not subject.is_study:
        return child.pid
    workers = child.members()
    if not workers or dice.random() < 0.5:
        return child.pid
    return stands if stands in workers else dice.choice(workers)


def _bury(child: Child, case: Case) -> None:
    """Wait for the workers of a study that was killed."""
    killed = time.monotonic()
    while members := child.members():
        if time.monotonic() - killed > OUTLIVING:
            case.failures.append(f"a worker outlived its study by {OUTLIVING:.0f} s")
            for member in members:
                os.kill(member, signal.SIGKILL)
            break
        time.sleep(0.01)
    case.outlived = max(case.outlived, time.monotonic() - killed)


def _finish(subject: Subject, out: Path, log: Path, case: Case) -> None:
    command = subject.command(out)
    case.history.append(f"rle {' '.join(command)}: to its end")
    ended = run(command, log, PATIENCE, true_command=case.true_command)
    if subject.is_study and ended.status == 2 and not ended.traceback:
        ended = run(command, log, PATIENCE)
    _judge(subject, ended, case, last=True)


def _judge(subject: Subject, ended: Ended, case: Case, last: bool = False) -> None:
    words = ended.complained.strip().splitlines()
    said = words[-1] if words else "nothing"
    if ended.status is None:
        case.failures.append(f"it hangs: {said}")
    elif ended.traceback:
        case.failures.append(f"a traceback: {said}")
    elif ended.status != 0 and (last or not subject.is_study):
        # A study one of whose workers was killed three times says so, and is started again.
        case.failures.append(f"exit status {ended.status}: {said}")
