"""What an agent must know of its task, as JSON: with it, an agent is built without any environment."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from rle.checks import LARGEST
from rle.errors import UsageError
from rle.tasks.base import ActionSpace, Continuous, Discrete, MultiDiscrete, TaskSpec
from rle.tasks.images import ImageView

MOST_ACTIONS = 1_000_000
_DTYPES = {"float32": torch.float32, "uint8": torch.uint8}


def spec_to_dict(spec: TaskSpec, as_is: Tensor | None) -> dict[str, Any]:
    """A JSON-ready dictionary of one environment, and of what normalisation leaves `as_is`."""
    return {
        "observation_shape": list(spec.observation_shape),
        "observation_dtype": str(spec.observation_dtype).removeprefix("torch."),
        "actions": dataclasses.asdict(spec.action_space),
        "stacked_frames": spec.stacked_frames,
        "image": None if spec.image is None else dataclasses.asdict(spec.image),
        "as_is": None if as_is is None else as_is.tolist(),
    }


def spec_from_dict(values: Mapping[str, Any], num_envs: int) -> tuple[TaskSpec, Tensor | None]:
    """The inverse of `spec_to_dict`, for `num_envs` environments."""
    try:
        return _spec_from_dict(values, num_envs)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise UsageError(
            f"the run's spec.json does not describe a task ({error!r}): delete it, and the task itself "
            "is asked."
        ) from error


def _spec_from_dict(values: Mapping[str, Any], num_envs: int) -> tuple[TaskSpec, Tensor | None]:
    _require_sizes(values["observation_shape"], (1, 3))
    _require_sizes([values["stacked_frames"]], (1, 1))
    spec = TaskSpec(
        num_envs,
        tuple(values["observation_shape"]),
        _DTYPES[values["observation_dtype"]],
        _action_space(values["actions"]),
        values["stacked_frames"],
        _view(values.get("image")),
    )
    as_is = values["as_is"]
    return spec, None if as_is is None else torch.tensor(as_is, dtype=torch.bool)


def _action_space(values: Mapping[str, Any]) -> ActionSpace:
    """Which kind it is tells the one field that no other kind has; earlier versions wrote fewer."""
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }
    if "n" in fields:
        _require_sizes([fields["n"]], (1, 1))
        return Discrete(**fields)
    if "sizes" in fields:
        _require_sizes(fields["sizes"], (1, MOST_ACTIONS))
        return MultiDiscrete(**fields)
    space = Continuous(**fields)
    bounds = torch.tensor([space.low, space.high], dtype=torch.float64)
    if bounds.dim() != 2 or not 0 < bounds.shape[1] <= MOST_ACTIONS:
        raise ValueError("bounds of actions are two lists of numbers")
    return space


def _require_sizes(sizes: Any, length: tuple[int, int]) -> None:
    """Raise `ValueError` unless they are whole numbers above 0, and neither fewer nor more than that."""
    whole = all(type(size) is int and 0 < size < LARGEST for size in sizes)
    if not whole or not length[0] <= len(sizes) <= length[1]:
        raise ValueError(f"{sizes} are no sizes")


def _view(values: Mapping[str, Any] | None) -> ImageView | None:
    if values is None:
        return None
    # JSON has lists where settings have tuples.
    known: Any = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
    return ImageView(**known)
