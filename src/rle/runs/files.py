"""Files of a run directory: replaced whole, on the disk before they count, never through a link.

A run directory may come from anybody and may have been left by a crash: what stands where a file is to
be written is removed or refused, and nothing that a link leads to is touched.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import itertools
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

from rle.errors import UsageError

PARTIAL = ".partial"
"""What is added to a name while its file is being written."""
ASIDE = ".damaged"
"""What is added to the name of a file that is damaged, and that the run goes on without."""
_OPEN = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class DamagedFileError(UsageError):
    """A file is not what was written, or cannot be read."""

    def __init__(self, path: Path, why: object, advice: str = "") -> None:
        self.path, self.why = path, str(why)
        end = f": {advice}" if advice else "."
        super().__init__(f"{path} is damaged ({self.why}){end}")


def digest_of(data: bytes) -> str:
    """SHA-256, as hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def read_whole(path: Path) -> bytes:
    """The content of a file; raises `DamagedFileError` if there is none to be read."""
    with reading(path) as file:
        return file.read()


def digest_of_file(path: Path) -> str:
    """SHA-256 of a file of any size."""
    with reading(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def reading(path: Path) -> Iterator[BufferedReader]:
    """A file opened to be read; raises `DamagedFileError` if that is not possible."""
    try:
        # Without waiting: where a file should be there may be a pipe.
        opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(_regular(opened, path), "rb") as file:
            yield file
    except OSError as error:
        raise DamagedFileError(path, error.strerror or error) from error


def parse_object(path: Path, data: bytes) -> dict[str, Any]:
    """The JSON object that the file at `path` holds."""
    try:
        value = json.loads(data.decode("utf-8"))
    # Deeply nested brackets end in a RecursionError, digits without end in a ValueError.
    except (ValueError, RecursionError) as error:
        raise DamagedFileError(path, error, "restore it or train the run again.") from error
    if not isinstance(value, dict):
        raise DamagedFileError(path, "no object", "restore it or train the run again.")
    return value


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file."""
    return parse_object(path, read_whole(path))


def to_json(value: Any) -> bytes:
    """JSON as it stands in files."""
    return (json.dumps(value, indent=2) + "\n").encode("utf-8")


def write_json(path: Path, value: Any, keep_old: bool = False) -> None:
    """Replace `path` with `value` as JSON, whole or not at all.

    `keep_old` gives what stood there, if it was something else, the first free name with a number.
    """
    data = to_json(value)
    stage(path, data)
    if keep_old and path.exists() and not (path.is_file() and path.read_bytes() == data):
        path.rename(free_name(path))
    settle(path)


def free_name(path: Path) -> Path:
    """The first free name with a number, for what stands at `path`."""
    numbered = (path.with_stem(f"{path.stem}-{number}") for number in itertools.count(1))
    return next(name for name in numbered if not os.path.lexists(name))


def write_whole(path: Path, data: bytes) -> None:
    """Replace `path`, whole or not at all; when this returns it is on the disk."""
    stage(path, data)
    settle(path)


def stage(path: Path, data: bytes) -> None:
    """Bring `data` to the disk beside `path`, which `settle` then replaces."""
    partial = partial_of(path)
    remove_leftover(partial)
    file = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OPEN, 0o666)
    try:
        with os.fdopen(file, "wb") as opened:
            opened.write(data)
            opened.flush()
            os.fsync(opened.fileno())
    except BaseException:
        # On a full disk, half a file is in the way of a whole one.
        partial.unlink(missing_ok=True)
        raise


def settle(*paths: Path) -> None:
    """Let what was staged take the place of `paths`, in this order."""
    for path in paths:
        partial_of(path).replace(path)
    for folder in dict.fromkeys(path.parent for path in paths):
        sync_folder(folder)


def partial_of(path: Path) -> Path:
    """Where a file is while it is being written."""
    return path.with_name(path.name + PARTIAL)


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk: until then, a rename may be forgotten."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno != errno.EINVAL:  # Some network disks cannot, and need not.
            raise
    finally:
        os.close(opened)


def require_no_link(path: Path) -> None:
    """Raise `UsageError` if `path` is a link: what it leads to is not part of the run."""
    if path.is_symlink():
        raise _link(path)


def remove_leftover(partial: Path) -> None:
    """What a crash left, or a link that somebody put there: the name is removed, not its target."""
    if partial.is_dir() and not partial.is_symlink():
        raise UsageError(f"{partial} is a folder where a file is to be written: remove it.")
    partial.unlink(missing_ok=True)


def open_to_append(path: Path) -> BinaryIO:
    """A log, opened at its end."""
    try:
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _OPEN, 0o666)
        return os.fdopen(_regular(opened, path), "ab")
    except OSError as error:
        raise _not_a_file(path, error) from error


@contextmanager
def holding(path: Path, refusal: str | None) -> Iterator[None]:
    """Hold a lock at `path`, which dies with this process.

    If another one holds it, `refusal` is said; without one, it is waited for.
    """
    try:
        opened = _regular(os.open(path, os.O_RDWR | os.O_CREAT | _OPEN, 0o666), path)
    except OSError as error:
        raise _not_a_file(path, error) from error
    try:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | (0 if refusal is None else fcntl.LOCK_NB))
        except BlockingIOError as error:
            raise UsageError(refusal) from error
        yield
    finally:
        os.close(opened)


def is_held(path: Path) -> bool:
    """Whether a process holds the lock at `path`."""
    try:
        opened = _regular(os.open(path, os.O_RDONLY | _OPEN), path)
    except OSError:
        return False
    try:
        fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(opened)
    return False


def _regular(opened: int, path: Path) -> int:
    """`opened`, unless it is a pipe, a device or a folder."""
    if stat.S_ISREG(os.fstat(opened).st_mode):
        return opened
    os.close(opened)
    raise OSError(errno.EINVAL, "it is not a regular file", str(path))


def _not_a_file(path: Path, error: OSError) -> Exception:
    """What to say of a file that cannot be opened; errors of the disk stay what they are."""
    if error.errno == errno.ELOOP:
        return _link(path)
    if error.errno in (errno.EINVAL, errno.EISDIR, errno.ENXIO):
        return UsageError(f"{path} is not a file of this program: remove it.")
    return error


def _link(path: Path) -> UsageError:
    return UsageError(f"{path} is a symbolic link, and what it leads to is not touched: remove it.")
