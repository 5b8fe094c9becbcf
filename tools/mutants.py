"""Do the tests notice? Makes small mistakes in the source, one at a time, and runs the tests on each.

    python -m tools.mutants [core learn explore stats base] [--scale 1] [--seed 0] [--out FILE]

Nothing is written into the source: a process that has already imported what the tests import forks one
child for each mistake, and the child imports the changed module in place of the one on the disk. A
mistake is noticed when a test fails, or when the tests take several times as long as they should. What
was found is kept in a file, line by line: the same command goes on where it was stopped, and tries again
only where the mistake, the test that noticed it or, if none did, any of the tests has changed.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import random
import signal
import sys
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from tools.mutations import Mutation, mutations

ROOT = Path(__file__).parent.parent
SMALLEST_SAMPLE = 3
"""Mistakes tried in every file that has as many."""
PATIENCE = 3.0
"""Tests that take this many times as long as they should have noticed something."""
LOOP_TESTS = (
    "tests/runs/test_trainer.py",
    "tests/runs/test_resume.py::test_in_this_process[5-rle+rnd]",
    "tests/runs/test_resume.py::test_other_tasks[gym/CartPole-v1]",
    "tests/runs/test_probes.py::test_does_all_of_it_together",
    "tests/runs/test_probes.py::test_bonus_value_depends_on_z",
    "tests/runs/test_probes.py::test_policy_goes_where_its_latent_points",
)
"""What the whole loop shows of its parts: every mistake that nobody notices runs through all of them."""
OTHERS_STRATEGIES = ("tests/outsider/test_outsiders.py", "tests/test_public_names.py")
"""What strategies of other people and the public names show of the same files."""
NOT_HERE = ("tests/runs/test_trainer.py::test_compiled_update_agrees_with_the_plain_one",)
"""Compiling takes longer than all the rest."""


class Part(NamedTuple):
    """Files of one folder, how many mistakes are tried in them, and the tests that should notice."""

    source: str
    sample: int
    tests: tuple[str, ...]


PARTS = {
    "core": Part(
        "src/rle/core/*.py", 60, ("tests/core/test_*.py", "tests/explore/test_*.py", *LOOP_TESTS)
    ),
    "learn": Part(
        "src/rle/learn/*.py", 95, ("tests/learn/test_*.py", *LOOP_TESTS, *OTHERS_STRATEGIES)
    ),
    "explore": Part(
        "src/rle/explore/*.py", 75, ("tests/explore/test_*.py", *LOOP_TESTS, *OTHERS_STRATEGIES)
    ),
    "stats": Part("src/rle/stats/*.py", 65, ("tests/stats/test_*.py",)),
    "base": Part(
        "src/rle/tasks/base.py",
        15,
        ("tests/tasks/test_base*.py", "tests/tasks/test_probes.py", "tests/tasks/test_fourroom.py"),
    ),
}


class Mutant(NamedTuple):
    """A source file with one mistake in it."""

    path: Path
    mutation: Mutation

    @property
    def source(self) -> str:
        """The file's text with the mistake."""
        return self.mutation.apply(self.path.read_text())

    @property
    def module(self) -> str:
        """The name under which the file is imported."""
        return ".".join(self.path.relative_to(ROOT / "src").with_suffix("").parts)

    def difference(self) -> str:
        """The mistake as lines taken out and put in."""
        before, after = self.path.read_text().splitlines(), self.source.splitlines()
        lines = list(difflib.unified_diff(before, after, lineterm="", n=1))[2:]
        return "\n".join([f"{self.path.relative_to(ROOT)}: {self.mutation.kind}", *lines])


class Outcome(NamedTuple):
    """What the tests said."""

    noticed: bool
    by: str
    """The first test that failed, or why there is none."""
    seconds: float
    """Of processor time."""
    modules: list[str]
    """What was imported."""


def sampled(part: Part, scale: float, seed: int) -> list[Mutant]:
    """A random sample of the mistakes in each file, in proportion to how many can be made there."""
    possible = {path: mutations(path.read_text()) for path in sorted(ROOT.glob(part.source))}
    total = sum(len(found) for found in possible.values())
    result = []
    for path, found in possible.items():
        count = max(SMALLEST_SAMPLE, round(scale * part.sample * len(found) / total))
        # A generator per file, and the first of an order: a change in one file, or a larger sample,
        # leaves what was chosen in the others chosen.
        random.Random(f"{seed} {path.relative_to(ROOT)}").shuffle(found)
        chosen = sorted(found[:count], key=lambda mutation: mutation.start)
        result += [Mutant(path, mutation) for mutation in chosen]
    return result


def relevant_tests(part: Part, path: Path | None) -> list[str]:
    """The part's tests, those that bear the name of the file first: they notice soonest."""
    found = []
    for pattern in part.tests:
        name, _, test = pattern.partition("::")
        files = [str(file.relative_to(ROOT)) for file in sorted(ROOT.glob(name))]
        found += [f"{file}::{test}" if test else file for file in files]
    if path is not None:
        found.sort(key=lambda test: f"test_{path.stem}." not in test)
    return found


class _Changed(importlib.abc.MetaPathFinder, importlib.machinery.SourceFileLoader):
    """Imports one module from a text instead of from its file."""

    def __init__(self, mutant: Mutant) -> None:
        super().__init__(mutant.module, str(mutant.path))
        self._source = mutant.source

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.name:
            return None
        return importlib.util.spec_from_file_location(fullname, self.path, loader=self)

    def get_code(self, fullname: str) -> Any:
        return compile(self._source, self.path, "exec", dont_inherit=True)


class _FirstFailure:
    """Remembers which test failed first."""

    name = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.name:
            self.name = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.name:
            self.name = f"cannot import {report.nodeid}"


def run_tests(tests: list[str], mutant: Mutant | None, limit: float | None) -> Outcome:
    """Run tests in a child process, up to the first failure or `limit` seconds of processor time."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            _run_as_child(tests, mutant, limit, writing)
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading) as answer:
        said = answer.read()
    _, status, usage = os.wait4(child, 0)
    seconds = usage.ru_utime + usage.ru_stime
    if os.WIFSIGNALED(status):
        in_time = os.WTERMSIG(status) not in (signal.SIGPROF, signal.SIGALRM)
        reason = signal.Signals(os.WTERMSIG(status)).name if in_time else "out of time"
        return Outcome(True, reason, seconds, [])
    if not said:
        return Outcome(True, "the tests stopped without a word", seconds, [])
    code, by, modules = json.loads(said)
    return Outcome(code != pytest.ExitCode.OK, by, seconds, modules)


def _run_as_child(
    tests: list[str], mutant: Mutant | None, limit: float | None, writing: int
) -> None:
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    if limit is not None:
        # Processor time, because the machine may be busy; and a clock, for what waits for ever.
        signal.setitimer(signal.ITIMER_PROF, limit)
        signal.alarm(int(20 * limit))
    if mutant is not None:
        sys.meta_path.insert(0, _Changed(mutant))
    first = _FirstFailure()
    left_out = [f"--deselect={test}" for test in NOT_HERE]
    options = ["-x", "-m", "not slow", "-p", "no:cacheprovider", *left_out]
    code = int(pytest.main([*options, *tests], plugins=[first]))
    with os.fdopen(writing, "w") as answer:
        json.dump([code, first.name, list(sys.modules)], answer)
    os._exit(0)


def prepare(tests: list[str]) -> float:
    """See that the tests pass as they are, and import what they import; returns their seconds."""
    _import(run_tests(tests, None, None).modules)
    outcome = run_tests(tests, None, None)
    if outcome.noticed:
        raise SystemExit(f"the tests fail as they are, first {outcome.by}: mend them first.")
    return outcome.seconds


def _import(modules: list[str]) -> None:
    # Not what is being tested: every child imports that afresh, changed. Nor pytest's own plug-ins.
    plugins = {plugin.module.partition(".")[0] for plugin in entry_points(group="pytest11")}
    apart = plugins | {"rle", "tests", "_pytest", "__main__", "__mp_main__"}
    for name in modules:
        if name.partition(".")[0] not in apart:
            # Some names stand for no file: the module that made them makes them again.
            with contextlib.suppress(Exception):
                importlib.import_module(name)


class Record:
    """Results kept in a file; the last one of a mutant counts."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text().splitlines() if path.exists() else []
        self._known = {line["mutant"]: line for line in map(json.loads, lines)}

    def result(self, mutant: Mutant, tests: list[str], limit: float) -> dict[str, Any]:
        """What the tests said of a mutant, now or the last time they were asked."""
        key = _digest(mutant.source.encode())
        known = self._known.get(key)
        if known is None or known["proof"] != _proof(tests, known["by"]):
            outcome = run_tests(tests, mutant, limit)
            known = {
                "mutant": key,
                "file": str(mutant.path.relative_to(ROOT)),
                "line": mutant.mutation.line,
                "difference": mutant.difference(),
                "noticed": outcome.noticed,
                "by": outcome.by,
                "proof": _proof(tests, outcome.by),
                "seconds": round(outcome.seconds, 1),
            }
            self._known[key] = known
            with self._path.open("a") as file:
                file.write(json.dumps(known) + "\n")
        return known


def _digest(*texts: bytes) -> str:
    return hashlib.sha256(b"\0".join(texts)).hexdigest()


def _proof(tests: list[str], by: str) -> str:
    """What a result rests on: the file of the test that noticed, or else all tests."""
    files = [ROOT / test.partition("::")[0] for test in tests]
    noticed_by = ROOT / by.partition("::")[0]
    if noticed_by in files:
        return _digest(noticed_by.read_bytes())
    return _digest(*(file.read_bytes() for file in files))


def _score(results: list[dict[str, Any]]) -> str:
    noticed = sum(result["noticed"] for result in results)
    return f"{noticed:4d} of {len(results):3d}  {noticed / len(results):5.0%}"


def main() -> None:
    """Try the mistakes and print the score, file by file, and every mistake that went unnoticed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all")
    parser.add_argument("--scale", type=float, default=1.0, help="sample this many times as much")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "mutants.jsonl")
    arguments = parser.parse_args()
    unknown = set(arguments.parts) - set(PARTS)
    if unknown:
        parser.error(f"there is no part {unknown.pop()!r}: choose of {', '.join(PARTS)}.")
    # Before anything starts threads, which a fork does not take along.
    os.environ["OMP_NUM_THREADS"] = "1"
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT / "src"))
    record = Record(arguments.out)
    results: dict[str, list[dict[str, Any]]] = {}
    for name in arguments.parts or PARTS:
        part = PARTS[name]
        seconds = prepare(relevant_tests(part, None))
        print(f"{name}: the tests take {seconds:.0f} s of processor time", flush=True)
        results[name] = []
        for mutant in sampled(part, arguments.scale, arguments.seed):
            result = record.result(mutant, relevant_tests(part, mutant.path), PATIENCE * seconds)
            results[name].append(result)
            what = f"noticed by {result['by']}" if result["noticed"] else "NOT NOTICED"
            print(f"{result['file']}:{result['line']} {what}", flush=True)
    _report(results)


def _report(results: dict[str, list[dict[str, Any]]]) -> None:
    for result in (result for part in results.values() for result in part):
        if not result["noticed"]:
            print(f"\n{result['difference']}")
    print("\nnoticed")
    for name, part in results.items():
        files = sorted({result["file"] for result in part})
        for file in files:
            print(_score([result for result in part if result["file"] == file]), file)
        print(_score(part), f"{name} together\n")
    print(_score([result for part in results.values() for result in part]), "in all")


if __name__ == "__main__":
    main()
