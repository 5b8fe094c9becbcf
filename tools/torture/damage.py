"""Every file of run directories damaged at random, and every verb tried on what is left.

A verb must end in time, with a sentence if it fails, and write nothing outside its folder. If it says
nothing, what it computes must be what it computes of the undamaged run: `resume` the same rows, records
and tensors, `eval` the same scores, `report` the same summary.
"""

from __future__ import annotations

import json
import random
import re
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.torture.command import Child, Ended, Watch, operations_of, run
from tools.torture.comparison import differences, timeless
from tools.torture.subjects import SUBJECTS
from tools.torture.table import table
from tools.torture.warming import warm_up
from tools.torture.ways import Way, ways_for

PATIENCE = 30.0
"""Seconds after which a verb is said to hang; it takes less than one."""
MEMORY = 4 << 30
"""Bytes that a verb may take for a run of some kilobytes."""
REPORTED = 5
"""One damage in so many is also looked at in a report, which takes longer than all else."""
PROGRESS = re.compile(r"seed \d+: [\d,]+ of [\d,]+ steps")
EPISODES = "6"
STEPS, LONGER = "1536", "1792"
FEW_CHECKPOINTS = ("--total-steps", STEPS, "--checkpoint-every", "256")


@dataclass(frozen=True)
class Run:
    """An undamaged run directory, and what each verb makes of it."""

    name: str
    path: Path
    verbs: dict[str, tuple[str, ...]]
    results: dict[str, Any]
    lines: frozenset[str]
    """What the verbs print of it, without numbers."""


@dataclass(frozen=True)
class Verdict:
    """What became of one verb."""

    verb: str
    kind: str
    """`equal`, `sentence`, `recovered` (exit status 0, with a sentence), or how it failed."""
    detail: str = ""

    @property
    def failed(self) -> bool:
        """Whether it must not be."""
        return self.kind in FAILURES


FAILURES = ("traceback", "no sentence", "hangs", "silently wrong", "wrote outside")
KINDS = ("equal", "sentence", "recovered", *FAILURES)


def damage_all(folder: Path, times: int, seed: int, names: Sequence[str] | None) -> int:
    """Damage every file of every run so many times; prints a table and returns how many cases failed."""
    tasks = [name for name in names or ("fourroom", "cartpole") if name != "study"]
    warm_up(tasks, ("check", "eval", "report"))
    folder.mkdir(parents=True)
    counts: dict[str, Counter[str]] = {}
    failed = cases = 0
    for whole in [one for task in tasks for one in _runs(task, folder)]:
        targets = sorted(path.relative_to(whole.path) for path in whole.path.rglob("*"))
        for number in range(times * len(targets)):
            target = targets[number % len(targets)]
            dice = random.Random(f"{seed} {whole.name} {number}")
            way = dice.choice(ways_for(whole.path / target))
            place = folder / f"{whole.name}-{number}"
            verdicts = try_damage(whole, place, target, way, dice, number % REPORTED == 0)
            cases += 1
            for verdict in verdicts:
                counts.setdefault(f"{whole.name} {verdict.verb}", Counter())[verdict.kind] += 1
            bad = [verdict for verdict in verdicts if verdict.failed]
            failed += bool(bad)
            for verdict in bad:
                where = f"{place.name}, {target}, {way.__name__}"
                print(f"{where}: {verdict.verb} {verdict.kind}: {verdict.detail}", flush=True)
            if not bad:
                shutil.rmtree(place)
    print(f"{cases} damages, {failed} failed")
    print(table(KINDS, {name: [count[kind] for kind in KINDS] for name, count in counts.items()}))
    return failed


def _runs(task: str, folder: Path) -> list[Run]:
    """A finished run with all files that a run can have, and one that was killed on its way."""
    train, start = SUBJECTS[task].train, folder / f"{task}-origin"
    _must(run([*train, *FEW_CHECKPOINTS, "--out", str(start)], folder / "origin.log", PATIENCE))
    begin = [*train, *FEW_CHECKPOINTS, "--init-from", str(start), "--seed", "1"]
    finished, log = folder / f"{task}-finished", folder / "finished.log"
    watch = Watch(finished)
    _must(run([*begin, "--out", str(finished)], log, PATIENCE, watch=watch))
    killed = folder / f"{task}-killed"
    # Two thirds through its file operations, some checkpoints are there and some are not.
    child = Child(
        [*begin, "--out", str(killed)], log, watch=Watch(killed, operations_of(log) * 2 // 3)
    )
    child.wait(PATIENCE)
    child.kill()
    child.ended(PATIENCE)
    for verb in (
        ("resume", str(finished), "--total-steps", LONGER),
        ("eval", str(finished), "--episodes", EPISODES),
        ("report", str(finished), "--out", str(folder / "report")),
    ):
        _must(run(verb, log, PATIENCE))
    longer = ("resume", "run", "--total-steps", str(int(LONGER) + 256))
    return [
        _undamaged(f"{task}-finished", finished, longer),
        _undamaged(f"{task}-killed", killed, ("resume", "run")),
    ]


def _must(ended: Ended) -> None:
    if ended.status != 0:
        raise SystemExit(f"what is to be damaged does not run as it is: {ended.complained}")


def _undamaged(name: str, path: Path, resume: tuple[str, ...]) -> Run:
    verbs = {
        "list": ("list", "runs", "."),
        "check": ("check", "run"),
        "report": ("report", "run", "--out", "report"),
        "eval": ("eval", "run", "--episodes", EPISODES),
        "resume": resume,
    }
    place = path.with_name(f"{name}-undamaged")
    place.mkdir()
    shutil.copytree(path, place / "run")
    results, lines = {}, set()
    for verb, arguments in verbs.items():
        ended = run(arguments, place / f"{verb}.log", PATIENCE, place)
        lines |= _lines(ended)
        results[verb] = _result(verb, place)
    return Run(name, path, verbs, results, frozenset(lines))


def _lines(ended: Ended) -> set[str]:
    """What was said, without numbers and progress."""
    lines = (ended.said + ended.complained).splitlines()
    return {
        re.sub(r"[\d.,]+", "0", line).strip()
        for line in lines
        if line.strip() and not PROGRESS.search(line)
    }


def _result(verb: str, place: Path) -> Any:
    """What a verb computed: for `resume`, where it is to be compared."""
    if verb == "eval":
        return json.loads((place / "run" / "eval.json").read_text())
    if verb == "report":
        summary = timeless(json.loads((place / "report" / "summary.json").read_text()))
        return {key: value for key, value in summary.items() if key != "made"}
    return place / "run" if verb == "resume" else None


def try_damage(
    whole: Run, place: Path, target: Path, way: Way, dice: random.Random, with_report: bool
) -> list[Verdict]:
    """Damage a copy of a run in one way, and try every verb on it."""
    place.mkdir()
    shutil.copytree(whole.path, place / "run", symlinks=True)
    outside = place / "outside.txt"
    outside.write_text("precious\n")
    way(place / "run" / target, dice, outside)
    verdicts = []
    for verb, arguments in whole.verbs.items():
        if verb == "report" and not with_report:
            continue
        ended = run(arguments, place / f"{verb}.log", PATIENCE, place, memory=MEMORY)
        verdicts.append(_judge(whole, verb, ended, place))
        if outside.read_text() != "precious\n":
            verdicts.append(Verdict(verb, "wrote outside", "through a link"))
            outside.write_text("precious\n")
    return verdicts


def _judge(whole: Run, verb: str, ended: Ended, place: Path) -> Verdict:
    complaints = [line for line in ended.complained.splitlines() if line.strip()]
    last = complaints[-1] if complaints else "nothing"
    unusual = _lines(ended) - whole.lines
    if ended.traceback or (ended.status or 0) < 0:
        return Verdict(verb, "traceback", f"status {ended.status}: {last}")
    if ended.status is None:
        # Going on for longer than asked, if it says why, is what was asked for.
        return Verdict(verb, "recovered" if unusual else "hangs", last)
    if ended.status != 0:
        sentences = [line for line in complaints if not line.startswith("warning:")]
        if verb == "check" and ended.status == 1 and not sentences:
            # It has found something in the run's numbers, and said so.
            return Verdict(verb, "recovered" if unusual else "equal")
        one = len(sentences) == 1 and sentences[0].startswith("rle: ")
        said = " / ".join(complaints)[-300:]
        return Verdict(verb, "sentence" if one else "no sentence", f"status {ended.status}: {said}")
    wrong = _wrong(whole, verb, place)
    if unusual:
        return Verdict(verb, "recovered", last)
    return Verdict(verb, "silently wrong", wrong) if wrong else Verdict(verb, "equal")


def _wrong(whole: Run, verb: str, place: Path) -> str:
    """What a verb computed that it did not of the undamaged run; a report's own notes are words."""
    expected = whole.results[verb]
    if expected is None:
        return ""
    if verb == "resume":
        return "; ".join(differences(expected, place / "run"))
    try:
        found = _result(verb, place)
    except (OSError, ValueError) as error:
        return f"its result cannot be read ({error})"
    if verb == "report" and _notes(found) != _notes(expected):
        return ""
    return "" if found == expected else f"another {verb}: {_first_difference(expected, found)}"


def _notes(summary: Any) -> list[str]:
    """All that a summary says in words, wherever it stands."""
    if isinstance(summary, dict):
        own = [str(value) for key, value in summary.items() if key in ("note", "notes")]
        return own + [note for value in summary.values() for note in _notes(value)]
    return (
        [note for value in summary for note in _notes(value)] if isinstance(summary, list) else []
    )


def _first_difference(expected: Any, found: Any, path: str = "") -> str:
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in expected | found:
            if expected.get(key) != found.get(key):
                return _first_difference(expected.get(key), found.get(key), f"{path}/{key}")
    return f"{path} is {str(found)[:80]}, not {str(expected)[:80]}"
