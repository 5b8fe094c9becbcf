"""Does a run hold what another one holds? Everything but the clock must be equal, bit for bit."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from safetensors import safe_open

LOGS = ("metrics.jsonl", "episodes.jsonl")
RECORDS = ("spec.json", "finished.json")
TENSORS = ("checkpoints", "artefacts")
CLOCKS = ("second", "started", "time")
"""Parts of the names of fields that tell when something was, and how long it took."""


def differences(whole: Path, run: Path) -> list[str]:
    """How the numbers of a finished run differ from those of another one, one sentence each."""
    try:
        found = [sentence for name in LOGS for sentence in _of_rows(whole / name, run / name)]
        found += [f"{name} differs" for name in RECORDS if _read(whole / name) != _read(run / name)]
        return found + [sentence for name in TENSORS for sentence in _of_last(whole, run, name)]
    except (OSError, ValueError, KeyError) as error:
        return [f"unreadable: {type(error).__name__}: {error}"]


def missing_or_left(whole: Path, run: Path) -> list[str]:
    """Files that a finished run should have as another one has, and those that should be gone."""
    names = [{path.name for path in folder.iterdir()} for folder in (whole, run)]
    lacking = [f"there is no {name}" for name in sorted(names[0] - names[1])]
    left = sorted(str(path.relative_to(run)) for path in run.rglob("*.partial"))
    return lacking + [f"{name} was left over" for name in left]


def timeless(value: Any) -> Any:
    """A value without its clocks."""
    if isinstance(value, dict):
        return {
            key: timeless(inner)
            for key, inner in value.items()
            if not any(clock in key for clock in CLOCKS)
        }
    return [timeless(inner) for inner in value] if isinstance(value, list) else value


def rows(path: Path) -> list[str]:
    """The lines of a log without their clocks; NaN equals NaN, as a text."""
    return [json.dumps(timeless(json.loads(line))) for line in path.read_text().splitlines()]


def _read(path: Path) -> Any:
    return timeless(json.loads(path.read_text()))


def _of_rows(whole: Path, run: Path) -> list[str]:
    expected, found = rows(whole), rows(run)
    if expected == found:
        return []
    lost, more = Counter(expected) - Counter(found), Counter(found) - Counter(expected)
    doubled = sum(count for row, count in more.items() if row in expected)
    parts = {"lost": lost.total(), "doubled": doubled, "different": more.total() - doubled}
    told = ", ".join(f"{count} {what}" for what, count in parts.items() if count)
    return [f"rows of {run.name}: {told or 'another order'}"]


def _of_last(whole: Path, run: Path, folder: str) -> list[str]:
    """The tensors, and the tree they stand in, of the last file of a folder."""
    files = [sorted((each / folder).glob("*.safetensors")) for each in (whole, run)]
    if not files[0]:
        return []
    if not files[1] or files[0][-1].name != files[1][-1].name:
        return [f"there is no {folder}/{files[0][-1].name}"]
    expected, found = (_content(each[-1]) for each in files)
    wrong = [name for name in expected | found if expected.get(name) != found.get(name)]
    return [f"{len(wrong)} other tensors in {folder}, such as {wrong[0]}"] if wrong else []


def _content(path: Path) -> dict[str, bytes]:
    with safe_open(path, framework="np") as file:
        metadata = file.metadata() or {}
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    tree = json.dumps(timeless(json.loads(metadata["tree"])))
    return {name: tensor.tobytes() for name, tensor in tensors.items()} | {"tree": tree.encode()}
