"""What is wrong with the files of a run that goes on: said, recorded, and put right where it can be.

Nothing is made up: a log that has lost lines goes on without them.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from rle.errors import UsageError
from rle.runs.checkpoints import ARTEFACTS, CHECKPOINTS, Checkpoints, checkpoint_name
from rle.runs.directory import CONFIG, INITIAL, RunDirectory
from rle.runs.files import (
    ASIDE,
    DamagedFileError,
    free_name,
    read_whole,
    require_no_link,
    write_whole,
)
from rle.runs.logs import LOGS, METRICS, Lines, parse_lines
from rle.runs.manifest import Manifest, Mark

if TYPE_CHECKING:
    from rle.tasks.base import State


def state_to_go_on_from(run: RunDirectory) -> tuple[State | None, list[str]]:
    """The latest good checkpoint, and what is wrong with those after it.

    None: there is none, and the run starts again from its beginning, which computes the same.
    """
    for name in (CHECKPOINTS, ARTEFACTS, *LOGS):
        require_no_link(run.path / name)
    checkpoints = Checkpoints(run.path)
    if not checkpoints.steps():
        return None, []
    try:
        found = checkpoints.load_latest()
    except DamagedFileError as error:
        return None, [f"{error.why}: the run starts again from its beginning."]
    sentence = found.sentence()
    return found.state, [] if sentence is None else [sentence]


def initial_state(run: RunDirectory, needed: bool) -> State | None:
    """The agent of another run that this one began with; one that is damaged may not be `needed`."""
    try:
        return run.load_initial()
    except DamagedFileError as error:
        if not needed:
            return None
        raise UsageError(
            f"{error.path} is damaged ({error.why}) and the run has no good checkpoint: train it again."
        ) from error


def mend(run: RunDirectory, iteration: int, step: int, problems: list[str]) -> None:
    """Bring the files of a run to the moment it goes on from; record `problems` and all others.

    What was logged and saved after that moment is dropped, so that a resumed run logs it once.
    """
    run.clear_leftovers()
    begins_again = bool(problems) and iteration == 0
    unchecked = run.unchecked()
    problems = problems if unchecked is None else [*problems, unchecked]
    for name, why in run.damaged().items():
        run.set_aside(name)
        problems = [*problems, f"{name} is damaged ({why}): it is kept as {name}{ASIDE}."]
    problems = [*problems, *_cut_logs(run, iteration, begins_again)]
    checkpoints = Checkpoints(run.path)
    checkpoints.set_aside([later for later in checkpoints.steps() if later > step])
    checkpoints.drop_after(step)
    _adopt(run)
    for sentence in problems:
        run.record(sentence, step)


def _adopt(run: RunDirectory) -> None:
    """From now on the manifest knows every file: those of earlier versions are taken as they are."""
    manifest = Manifest.read(run.path)
    steps = Checkpoints(run.path).steps()
    names = [CONFIG, INITIAL, *(checkpoint_name(step) for step in steps)]
    found = [name for name in names if (run.path / name).exists() and not manifest.mark(name)]
    if found:
        manifest.announce({name: Mark.of(read_whole(run.path / name)) for name in found})
        manifest.write()


def _cut_logs(run: RunDirectory, iteration: int, keep_whole: bool) -> list[str]:
    """Leave of each log what was logged up to `iteration`; returns what is wrong with it.

    A log that was damaged is kept beside as it was, and so are all if `keep_whole` says so.
    """
    manifest = Manifest.read(run.path)
    problems = []
    ended: Counter[int] = Counter()
    for name in LOGS:
        path = run.path / name
        data = read_whole(path) if path.exists() else b""
        lines = parse_lines(data)
        kept = [each for each in lines.whole if each[1].get("iteration", 0) <= iteration]
        values = [value for _, value in kept]
        if name == METRICS:
            lacks = _lacking_iterations(values, iteration)
            ended = _ended_episodes(values)
        else:
            lacks = _lacking_episodes(values, ended)
        wrong = _sentence(name, lines, lacks) or manifest.check_log(name, data)
        if wrong is not None:
            problems.append(wrong)
        if data and (wrong is not None or keep_whole):
            write_whole(free_name(path), data)
        _replace_log(run, manifest, name, b"".join(line + b"\n" for line, _ in kept))
    return problems


def _replace_log(run: RunDirectory, manifest: Manifest, name: str, data: bytes) -> None:
    manifest.announce({name: Mark.of(data)})
    manifest.write()
    write_whole(run.path / name, data)


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
    counts = {value.get("iteration", 0): value.get("episodes", 0) for value in values}
    return Counter({at: count for at, count in counts.items() if isinstance(count, int)})


def _lacking_episodes(values: list[dict[str, Any]], ended: Counter[int]) -> str | None:
    """Every episode that ended has a line."""
    found = Counter(value.get("iteration", 0) for value in values)
    missing = sum((ended - found).values())
    return f"{missing} of {sum(ended.values())} episodes" if missing > 0 else None
