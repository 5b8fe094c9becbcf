"""The exceptions that mean something to the user, each one sentence that says what to do.

The command line prints the sentence without a traceback, and exits with the exception's status.
"""

from __future__ import annotations

import errno
import signal
from collections.abc import Mapping
from typing import Any


class UsageError(ValueError):
    """Wrong input from the user: this cannot be done as asked."""

    exit_status = 2


class RunError(UsageError):
    """What was asked for was in order, but a run could not go on; it can be resumed.

    Args:
        sentence: what happened, where, and what to do.
        facts: the same for programs, as JSON can hold it.
        tensors: the numbers it happened with, by name.

    """

    exit_status = 1

    def __init__(
        self,
        sentence: str,
        facts: Mapping[str, Any] | None = None,
        tensors: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(sentence)
        self.facts = dict(facts or {})
        self.tensors = dict(tensors or {})


class Interrupted(KeyboardInterrupt):
    """A signal ended a run, or a study, in order: what can go on later is saved."""

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__()
        self.exit_status = 128 + number
        """As shells have it."""


class CompilerError(Exception):
    """PyTorch could not compile something; whoever trains goes on without, so no user sees this."""


_OF_THE_DISK = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
    errno.EIO,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ENAMETOOLONG,
    errno.EMFILE,
    errno.ENFILE,
    errno.ESTALE,
)


def is_of_the_disk(error: OSError) -> bool:
    """Whether the disk, and no mistake of ours, is what kept something from being written or read."""
    return error.errno in _OF_THE_DISK
