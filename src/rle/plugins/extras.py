"""What is said when the library that a plug-in is for is not installed."""

from __future__ import annotations


def missing(plugin: str, library: str, extra: str) -> ImportError:
    """The exception to raise: one sentence with the command that installs `library`."""
    return ImportError(
        f"{plugin} needs {library}: pip install 'random-latent-exploration[{extra}]'"
    )
