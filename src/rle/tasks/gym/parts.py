"""Which parts of an observation networks can take, and whether they are a vector or an image."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from rle.checks import require
from rle.config import EnvironmentConfig
from rle.errors import UsageError
from rle.tasks.gym.names import one_line
from rle.tasks.images import ImageView

Space = spaces.Space[Any]
FITTING = (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)
"""What is a number of numbers; of the rest, dictionaries and tuples are taken apart."""
USUAL_CHANNELS = (1, 3, 4)
"""Grey, colour, and colour with opacity."""
LARGEST_PART = 36
"""Rows or columns from which on an image is too large to be a few numbers beside others."""
LARGEST_VECTOR = 1_000_000
BY_WRAPPER = "with a wrapper of yours (--wrappers module:name)"


@dataclass(frozen=True)
class Parts:
    """The parts of an observation that networks can take."""

    paths: tuple[tuple[Any, ...], ...]
    """Where each is: keys of dictionaries and places in tuples, from the outside to the inside."""
    space: Space
    """The only part, or a tuple of all."""
    left_out: tuple[str, ...] = ()
    """Names of parts that fit neither a vector nor an image."""

    @property
    def is_image(self) -> bool:
        """Whether they are one image, and nothing else."""
        return is_image(self.space)

    def pick(self, observed: Any) -> Any:
        """The part, or the tuple of them, of what one environment shows, or all at once."""
        picked = tuple(_at(observed, path) for path in self.paths)
        return picked[0] if len(picked) == 1 else picked


def _at(observed: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        observed = observed[key]
    return observed


def _leaves(space: Space, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Space]]:
    """Parts that have no parts, in the order in which Gymnasium flattens them."""
    if isinstance(space, spaces.Dict):
        for key, part in space.spaces.items():
            yield from _leaves(part, (*path, key))
    elif isinstance(space, spaces.Tuple):
        for index, part in enumerate(space.spaces):
            yield from _leaves(part, (*path, index))
    else:
        yield path, space


def _name(path: tuple[Any, ...]) -> str:
    return ".".join(map(str, path))


def parts_of(task: str, space: Space) -> Parts:
    """The parts of `space` that networks can take; raises `UsageError` where that is not enough."""
    leaves = list(_leaves(space))
    fitting = [(path, leaf) for path, leaf in leaves if isinstance(leaf, FITTING)]
    require(
        bool(fitting),
        f"{task} has observations in {one_line(space)}, which fit neither a vector nor an image: Box, "
        "Discrete, MultiDiscrete, MultiBinary, Dict and Tuple observations are supported; make one of "
        f"them {BY_WRAPPER}.",
    )
    paths, kept = zip(*fitting, strict=True)
    if len(kept) > 1:
        _refuse_large_images(task, fitting)
    found = Parts(
        paths,
        kept[0] if len(kept) == 1 else spaces.Tuple(kept),
        tuple(_name(path) for path, leaf in leaves if not isinstance(leaf, FITTING)),
    )
    size = spaces.flatdim(found.space)
    require(
        size > 0 and (size <= LARGEST_VECTOR or found.is_image),
        f"{task} has observations of {size:,} numbers: give it some, and no more than "
        f"{LARGEST_VECTOR:,}, {BY_WRAPPER}.",
    )
    return found


def _refuse_large_images(task: str, parts: Iterable[tuple[tuple[Any, ...], Space]]) -> None:
    for path, part in parts:
        if is_image(part) and min(_view(part).size) >= LARGEST_PART:
            rows, columns = _view(part).size
            raise UsageError(
                f"{task} shows an image of {rows} x {columns} pixels ({_name(path)}) beside other "
                f"parts, and networks take either: choose one {BY_WRAPPER}, or flatten all with "
                "--wrappers gymnasium.wrappers:FlattenObservation."
            )


def tell_of_losses(task: str, parts: Parts) -> None:
    """Warn of what the networks are not shown, or not shown as it is."""
    if parts.left_out:
        warnings.warn(
            f"{task} shows {', '.join(parts.left_out)}, which fit neither a vector nor an image and "
            f"are left out: put them into numbers {BY_WRAPPER} if the agent is to see them.",
            stacklevel=2,
        )
    space = parts.space
    if isinstance(space, spaces.Box) and len(space.shape) == 3 and not is_image(space):
        warnings.warn(
            f"{task} shows {space.dtype} arrays of the shape {space.shape}, which are flattened into "
            "one vector: for the networks for images, make bytes (uint8) from 0 to 255 of them "
            f"{BY_WRAPPER}.",
            stacklevel=2,
        )


def is_image(space: Space) -> bool:
    """Whether they are bytes from 0 to 255 with rows and columns, and perhaps channels."""
    return (
        isinstance(space, spaces.Box)
        and space.dtype == np.uint8
        and len(space.shape) in (2, 3)
        and 0 not in space.shape
        and bool(np.all(space.low == 0) and np.all(space.high == 255))
        and (len(space.shape) == 2 or _channels_last(space.shape) is not None)
    )


def _channels_last(shape: tuple[int, ...]) -> bool | None:
    """Whether the channels come last or first; None: there is no telling that these are images."""
    first, _, last = shape
    for channels, is_last in ((last, True), (first, False)):
        if channels in USUAL_CHANNELS:
            return is_last
    if last < min(shape[:2]):
        return True
    return False if first < min(shape[1:]) else None


def _view(space: Space) -> ImageView:
    assert isinstance(space, spaces.Box)
    return ImageView(space.shape, len(space.shape) == 2 or bool(_channels_last(space.shape)))


def view_of(task: str, space: Space, config: EnvironmentConfig) -> ImageView:
    """How images of `space` are seen, as `config` asks for it."""
    plain = _view(space)
    shape = plain.shape
    if len(shape) == 3 and {shape[0], shape[-1]} <= set(USUAL_CHANNELS):
        warnings.warn(
            f"{task} shows images of the shape {shape}, whose channels may come first or last: the "
            f"last are taken for them; if it is the first, move them {BY_WRAPPER}.",
            stacklevel=2,
        )
    require(
        not config.grayscale or plain.channels == 3,
        f"grayscale is for images of three channels, and {task} shows {plain.channels}: leave it out.",
    )
    return ImageView(
        shape, plain.channels_last, config.grayscale, config.resize, config.frame_stack
    )


class PartsOnly(gymnasium.ObservationWrapper[Any, Any, Any]):
    """Shows what networks can take of an observation: an image, or one vector of all parts."""

    def __init__(self, env: gymnasium.Env[Any, Any], parts: Parts) -> None:
        super().__init__(env)
        self.parts = parts
        self.observation_space = (
            parts.space if parts.is_image else spaces.flatten_space(parts.space)
        )

    def observation(self, observation: Any) -> Any:
        picked = self.parts.pick(observation)
        return picked if self.parts.is_image else spaces.flatten(self.parts.space, picked)
