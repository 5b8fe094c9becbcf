"""Whether a state that was read from a file has the form of the one it is to replace."""

from __future__ import annotations

from typing import Any

from torch import Tensor


def require_form(own: Any, given: Any, place: str = "") -> None:
    """Raise `ValueError` where tensors or numbers of `given` are not of the kind that `own` has there.

    What only one of them has is left to whoever loads it: earlier versions knew more or fewer names.
    """
    if isinstance(own, dict):
        _require(isinstance(given, dict), place, "is no table")
        for name in filter(given.__contains__, own):
            require_form(own[name], given[name], f"{place}/{name}" if place else name)
    elif isinstance(own, Tensor):
        _require(isinstance(given, Tensor), place, "is no tensor")
        _require(
            own.shape == given.shape and own.dtype == given.dtype,
            place,
            f"has the shape {tuple(given.shape)} and the type {given.dtype}, where "
            f"{tuple(own.shape)} and {own.dtype} are needed",
        )
    elif isinstance(own, int):
        _require(isinstance(given, int), place, "is no whole number")
    elif isinstance(own, float):
        _require(isinstance(given, int | float), place, "is no number")


def _require(condition: bool, place: str, what: str) -> None:
    if not condition:
        raise ValueError(f"{place or 'it'} {what}")
