"""What is wrong with the files of a run that goes on: said, recorded, and put right where it can be.

Nothing is made up: a log that has lost lines goes on without them.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from rle.runs.checkpoints import ARTEFACTS, CHECKPOINTS, Checkpoints, checkpoint_name
from rle.runs.directory import CONFIG, INCIDENTS, INITIAL, RunDirectory
from rle.runs.files import (
    ASIDE,
    DamagedFileError,
    free_name,
    read_whole,
    require_no_link,
    write_whole,
)
from rle.runs.leftovers import clear_partial
from rle.runs.logs import LOGS, METRICS, Lines, parse_lines
from rle.runs.manifest import Manifest, Mark

if TYPE_CHECKING:
    from rle.tasks.base import State

Line = tuple[bytes, dict[str, Any]]
"""Of a log: as it stands there, and what it says."""


def state_to_go_on_from(run: RunDirectory) -> tuple[State | None, list[str]]:
    """The latest good checkpoint, and what is wrong with those after it.

    None: there is none, and the run starts again from its beginning, which computes the same.
    """
    for name in (CHECKPOINTS, ARTEFACTS, *LOGS):
        require_no_link(run.path / name)
    checkpoints = Checkpoints(run.path)
    if not checkpoints.any():
        return None, []
    try:
        found = checkpoints.load_latest()
    except DamagedFileError as error:
        return None, [f"{error.why}: the run starts again from its beginning."]
    sentence = found.sentence()
    return found.state, [] if sentence is None else [sentence]


def mend(run: RunDirectory, iteration: int, step: int, problems: list[str]) -> None:
    """Bring the files of a run to the moment it goes on from; record `problems` and all others.

    What was logged and saved after that moment is dropped, so that a resumed run logs it once.
    """
    clear_partial(run.path)
    begins_again = bool(problems) and iteration == 0
    unchecked, damaged = run.unchecked(), run.damaged()
    logs = _look_at_logs(run, iteration)
    # Recorded before anything is put right: what a crash then repeats is recorded twice, not never.
    if INCIDENTS in damaged:
        run.set_aside(INCIDENTS)
    for sentence in (
        *problems,
        *([] if unchecked is None else [unchecked]),
        *(
            f"{name} is damaged ({why}): it is kept as {name}{ASIDE}."
            for name, why in damaged.items()
        ),
        *(look.problem for look in logs if look.problem is not None),
    ):
        run.record(sentence, step)
    for name in damaged.keys() - {INCIDENTS}:
        run.set_aside(name)
    for look in logs:
        _cut(run, look, keep_whole=begins_again)
    checkpoints = Checkpoints(run.path)
    checkpoints.set_aside([later for later in checkpoints.steps() if later > step])
    checkpoints.drop_after(step)
    _adopt(run)


def _adopt(run: RunDirectory) -> None:
    """From now on the manifest knows every file: those of earlier versions are taken as they are."""
    manifest, checkpoints = Manifest.read(run.path), Checkpoints(run.path)
    names = [CONFIG, INITIAL, *map(checkpoint_name, checkpoints.steps())]
    found = [name for name in names if (run.path / name).exists() and not manifest.mark(name)]
    gone = checkpoints.gone(manifest)
    if found or gone:
        manifest.forget(gone)
        manifest.announce({name: Mark.of(read_whole(run.path / name)) for name in found})
        manifest.write()


class _Look(NamedTuple):
    """A log as it is, and as it was when the run's checkpoint was written."""

    name: str
    data: bytes
    kept: bytes
    """What was logged up to then."""
    problem: str | None


def _look_at_logs(run: RunDirectory, iteration: int) -> list[_Look]:
    manifest = Manifest.read(run.path)
    upto = _checked_part(run, manifest, iteration)
    looks = []
    ended: Counter[int] = Counter()
    for name in LOGS:
        path = run.path / name
        data = read_whole(path) if path.exists() else b""
        lines = parse_lines(data if upto is None else data[: upto[name]])
        logged = [each for each in lines.whole if each[1].get("iteration", 0) <= iteration]
        kept = _once(logged, None if name == METRICS else ended)
        values = [value for _, value in kept]
        if name == METRICS:
            lacks = _lacking_iterations(values, iteration)
            ended = _ended_episodes(values)
        else:
            lacks = _lacking_episodes(values, ended)
        wrong = manifest.check_log(name, data)
        problem = None
        # What a log is known to be it may have lost before: that was recorded then.
        if wrong is not None or manifest.mark(name) is None:
            problem = _sentence(name, lines, lacks) or wrong
        if len(kept) < len(logged):
            doubled = f"{name} has {len(logged) - len(kept)} doubled lines, which are left out."
            problem = doubled if problem is None else f"{doubled} {problem}"
        looks.append(_Look(name, data, b"".join(line + b"\n" for line, _ in kept), problem))
    return looks


def _checked_part(run: RunDirectory, manifest: Manifest, iteration: int) -> dict[str, int] | None:
    """How many bytes of each log are known to be as they were written; None: not all that is needed.

    What comes after them was logged after every checkpoint: it goes, and whether a bit of it was flipped
    need not be told, nor may it make a line look as if it were an earlier one.
    """
    marks = {name: manifest.mark(name) for name in LOGS}
    sizes = {name: mark.size for name, mark in marks.items() if mark is not None}
    if len(sizes) < len(LOGS):
        return None
    for name, size in sizes.items():
        path = run.path / name
        data = read_whole(path)[:size] if path.exists() else b""
        if manifest.check_log(name, data) is not None:
            return None
        if name == METRICS:
            values = [value for _, value in parse_lines(data).whole]
            if _lacking_iterations(values, iteration) is not None:
                return None
    return sizes


def _once(logged: list[Line], ended: Counter[int] | None) -> list[Line]:
    """Every iteration's line of metrics once; of `ended` episodes, as many as its metrics say."""
    found: Counter[int] = Counter()
    kept = []
    for line in logged:
        at = line[1].get("iteration", 0)
        found[at] += 1
        # Of an iteration whose metrics are lost, all episodes are taken.
        most = 1 if ended is None else ended.get(at, found[at])
        if found[at] <= most:
            kept.append(line)
    return kept


def _cut(run: RunDirectory, look: _Look, keep_whole: bool) -> None:
    """Leave what was logged up to the checkpoint; what was damaged is kept beside it as it was."""
    path = run.path / look.name
    if look.data and (look.problem is not None or keep_whole):
        write_whole(free_name(path), look.data)
    manifest = Manifest.read(run.path)
    manifest.announce({look.name: Mark.of(look.kept)})
    manifest.write()
    if look.kept != look.data or not path.exists():
        write_whole(path, look.kept)


def _sentence(name: str, lines: Lines, lacks: str | None) -> str | None:
    wrong = []
    if lines.damaged:
        wrong.append(f"has {lines.damaged} damaged lines, which are left out")
    if lacks is not None:
        wrong.append(f"lacks {lacks}, which are lost")
    return f"{name} {' and '.join(wrong)}." if wrong else None


def _lacking_iterations(values: list[dict[str, Any]], iteration: int) -> str | None:
    """Every iteration has one line of metrics."""
    missing = iteration - len({value.get("iteration") for value in values})
    return f"{missing} of {iteration} iterations" if missing > 0 else None


def _ended_episodes(values: list[dict[str, Any]]) -> Counter[int]:
    """How many episodes ended in each iteration, as its metrics say."""
    counts = {value.get("iteration", 0): value.get("episodes") for value in values}
    return Counter({at: count for at, count in counts.items() if isinstance(count, int)})


def _lacking_episodes(values: list[dict[str, Any]], ended: Counter[int]) -> str | None:
    """Every episode that ended has a line."""
    found = Counter(value.get("iteration", 0) for value in values)
    missing = sum((ended - found).values())
    return f"{missing} of {sum(ended.values())} episodes" if missing > 0 else None
