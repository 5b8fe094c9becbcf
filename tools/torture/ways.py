"""Ways to damage a file: those of disks, of power cuts, of copying, of people, and of ill will."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

Way = Callable[[Path, random.Random, Path], None]
"""Damages a file; the last is a file outside the run directory, which must stay as it is."""


def flip_a_bit(path: Path, dice: random.Random, outside: Path) -> None:
    """As a disk or a memory does."""
    data = bytearray(path.read_bytes())
    if data:
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    path.write_bytes(data)


def flip_a_bit_at_the_start(path: Path, dice: random.Random, outside: Path) -> None:
    """Where a header is."""
    data = bytearray(path.read_bytes())
    if data:
        data[dice.randrange(min(64, len(data)))] ^= 1 << dice.randrange(8)
    path.write_bytes(data)


def overwrite_a_stretch(path: Path, dice: random.Random, outside: Path) -> None:
    """Some bytes in a row become others."""
    data = bytearray(path.read_bytes())
    start = dice.randrange(len(data) + 1)
    stretch = dice.randbytes(dice.randint(1, 64))
    data[start : start + len(stretch)] = stretch
    path.write_bytes(data)


def truncate(path: Path, dice: random.Random, outside: Path) -> None:
    """As a full disk does."""
    data = path.read_bytes()
    path.write_bytes(data[: dice.randrange(len(data) or 1)])


def empty(path: Path, dice: random.Random, outside: Path) -> None:
    """As a power cut does where nothing was flushed."""
    path.write_bytes(b"")


def zeros(path: Path, dice: random.Random, outside: Path) -> None:
    """As a power cut does where the length was written and the data was not."""
    path.write_bytes(bytes(path.stat().st_size))


def garbage(path: Path, dice: random.Random, outside: Path) -> None:
    """All bytes become others."""
    path.write_bytes(dice.randbytes(dice.choice((path.stat().st_size, dice.randint(1, 5000)))))


def append_garbage(path: Path, dice: random.Random, outside: Path) -> None:
    """Something follows the end."""
    path.write_bytes(path.read_bytes() + dice.randbytes(dice.randint(1, 200)))


def delete(path: Path, dice: random.Random, outside: Path) -> None:
    """Gone."""
    _remove(path)


def become_a_folder(path: Path, dice: random.Random, outside: Path) -> None:
    """Empty, or with something in it."""
    _remove(path)
    path.mkdir()
    if dice.random() < 0.5:
        (path / "inner").write_text("x")


def become_another_file(path: Path, dice: random.Random, outside: Path) -> None:
    """As whoever copies to the wrong name does; often of the same kind, if there is one."""
    root = next(parent for parent in path.parents if (parent / "config.json").exists())
    others = [other for other in sorted(root.rglob("*")) if other.is_file() and other != path]
    alike = [other for other in others if other.suffix == path.suffix]
    path.write_bytes(dice.choice(alike if alike and dice.random() < 0.7 else others).read_bytes())


def link_to_a_copy(path: Path, dice: random.Random, outside: Path) -> None:
    """As whoever moves data to a larger disk does."""
    target = outside.with_name(f"copy-{path.name}")
    path.rename(target)
    path.symlink_to(target)


def link_to_nowhere(path: Path, dice: random.Random, outside: Path) -> None:
    """The larger disk is not there."""
    _remove(path)
    path.symlink_to(dice.choice((outside.with_name("absent"), path)))


def link_outside(path: Path, dice: random.Random, outside: Path) -> None:
    """A link to a file that has nothing to do with the run, and must not be written."""
    _remove(path)
    path.symlink_to(outside)


def link_beside(path: Path, dice: random.Random, outside: Path) -> None:
    """The file itself is whole; where it would be written before it is renamed is a link."""
    name = dice.choice((f"{path.name}.partial", f"{path.stem}.partial"))
    beside = path.with_name(name)
    if beside.exists():
        _remove(beside)
    beside.symlink_to(outside)


def lose_lines(path: Path, dice: random.Random, outside: Path) -> None:
    """One or more lines, often the first."""
    lines = path.read_bytes().splitlines(keepends=True)
    start = dice.choice((0, dice.randrange(len(lines) or 1)))
    del lines[start : start + dice.choice((1, 1, 5, 100))]
    path.write_bytes(b"".join(lines))


def repeat_lines(path: Path, dice: random.Random, outside: Path) -> None:
    """As a log does that is written by two."""
    lines = path.read_bytes().splitlines(keepends=True)
    start = dice.randrange(len(lines) or 1)
    lines[start:start] = lines[start : start + dice.choice((1, 5, 100))]
    path.write_bytes(b"".join(lines))


def swap_lines(path: Path, dice: random.Random, outside: Path) -> None:
    """Two lines change places."""
    lines = path.read_bytes().splitlines(keepends=True)
    if lines:
        first, second = dice.randrange(len(lines)), dice.randrange(len(lines))
        lines[first], lines[second] = lines[second], lines[first]
    path.write_bytes(b"".join(lines))


STRANGE: tuple[Any, ...] = (
    *(None, True, "", "text", "\u0000", [], {}, [1, [2]], {"a": {"b": None}}, -1, 0, 1e308, 2**63),
    *(float("nan"), float("inf"), "../..", "9" * 400),
)
"""Values that nobody expects where they stand."""


def change_a_value(path: Path, dice: random.Random, outside: Path) -> None:
    """One value of an object, of any line, becomes another, often of another type; or is not there."""
    texts = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
    number = dice.randrange(len(texts) or 1)
    try:
        value = json.loads(texts[number])
    except (ValueError, IndexError):
        return
    texts[number] = json.dumps(_changed(value, dice))
    path.write_text("".join(f"{text}\n" for text in texts))


def nest_deeply(path: Path, dice: random.Random, outside: Path) -> None:
    """Valid JSON that no recursive reader survives."""
    path.write_text("[" * 200_000 + "]" * 200_000 + "\n")


def _changed(value: Any, dice: random.Random) -> Any:
    inner = (
        value
        if isinstance(value, dict)
        else dict(enumerate(value))
        if isinstance(value, list)
        else {}
    )
    if not inner or dice.random() < 0.1:
        return dice.choice(STRANGE)
    key = dice.choice(list(inner))
    if dice.random() < 0.15:
        del inner[key]
    else:
        deeper = isinstance(inner[key], dict | list) and dice.random() < 0.8
        inner[key] = _changed(inner[key], dice) if deeper else dice.choice(STRANGE)
    return inner if isinstance(value, dict) else list(inner.values())


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


ANY: tuple[Way, ...] = (
    *(flip_a_bit, flip_a_bit, flip_a_bit_at_the_start, overwrite_a_stretch, truncate, empty, zeros),
    *(garbage, append_garbage, delete, become_a_folder, become_another_file),
    *(link_to_a_copy, link_to_nowhere, link_outside, link_beside),
)
OF_LINES: tuple[Way, ...] = (*(lose_lines, repeat_lines, swap_lines) * 2, *(change_a_value,) * 3)
OF_JSON: tuple[Way, ...] = (*(change_a_value,) * 8, nest_deeply)
OF_FOLDERS: tuple[Way, ...] = (delete, link_to_a_copy, link_to_nowhere, link_outside, link_beside)


def ways_for(path: Path) -> tuple[Way, ...]:
    """Ways to damage this file or folder; one that stands there twice is twice as likely."""
    if path.is_dir():
        return OF_FOLDERS
    return ANY + {".jsonl": OF_LINES, ".json": OF_JSON}.get(path.suffix, ())
