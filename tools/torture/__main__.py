"""The command: torture what is named, print tables, and end with status 1 if anything failed."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

PARTS = ("kills", "damage", "fuzz")


def main(arguments: list[str]) -> int:
    """Returns the exit status: 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m tools.torture", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all")
    parser.add_argument("--kills", type=int, default=20, help="of each subject")
    parser.add_argument("--damages", type=int, default=5, help="of each file of each run")
    parser.add_argument("--lines", type=int, default=1000, help="command lines to fuzz")
    parser.add_argument("--subjects", nargs="+", metavar="NAME", help="only these are tortured")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("build/torture"), help="a new folder")
    known = parser.parse_args(arguments)
    if unknown := set(known.parts) - set(PARTS):
        parser.error(f"there is no part {unknown.pop()!r}: choose of {', '.join(PARTS)}.")
    if known.out.exists():
        parser.error(
            f"{known.out} is there already, with what failed: delete it, or choose another."
        )
    known.out.mkdir(parents=True)
    failed = 0
    for part in known.parts or PARTS:
        started = time.monotonic()
        failed += PART_OF[part](known)
        print(f"{part}: {time.monotonic() - started:.0f} s\n", flush=True)
    print(f"FAILED: {failed} cases, see {known.out}" if failed else "PASSED", flush=True)
    return 1 if failed else 0


def _kills(known: argparse.Namespace) -> int:
    from tools.torture.kills import cases, uninterrupted
    from tools.torture.subjects import SUBJECTS
    from tools.torture.table import table
    from tools.torture.warming import warm_up

    failed, counts = 0, {}
    names = known.subjects or list(SUBJECTS)
    warm_up(names)
    for name in names:
        subject, folder = SUBJECTS[name], known.out / "kills"
        whole = uninterrupted(subject, folder / f"{name}-whole")
        made = []
        for case in cases(subject, whole, folder, known.kills, known.seed):
            made.append(case)
            for failure in case.failures:
                print(f"{name}, case {len(made)}: {failure}", flush=True)
        bad = [case for case in made if case.failures]
        failed += len(bad)
        counts[name] = (
            len(made),
            sum(case.kills for case in made),
            sum(case.while_saving for case in made),
            sum(case.kills for case in made if case.true_command),
            sum(any("rows of" in failure for failure in case.failures) for case in bad),
            sum(any("other tensors" in failure for failure in case.failures) for case in bad),
            len(bad),
            f"{max(case.outlived for case in made):.1f} s",
        )
    head = ("runs", "kills", "while saving", "of the true command", "lost or doubled rows")
    print(table((*head, "other bits", "failed runs", "a worker went on for"), counts))
    return failed


def _damage(known: argparse.Namespace) -> int:
    from tools.torture.damage import damage_all

    return damage_all(known.out / "damage", known.damages, known.seed, known.subjects)


def _fuzz(known: argparse.Namespace) -> int:
    from tools.torture.fuzz import fuzz

    return fuzz(known.lines, known.seed)


PART_OF = {"kills": _kills, "damage": _damage, "fuzz": _fuzz}

if __name__ == "__main__":
    # Before PyTorch is imported: a fork takes no threads along, and must not need any.
    os.environ["OMP_NUM_THREADS"] = "1"
    sys.exit(main(sys.argv[1:]))
