"""What an agent must know of its task, as JSON: with it, an agent is built without any environment."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from rle.tasks.base import Continuous, Discrete, TaskSpec
from rle.tasks.images import ImageView

_DTYPES = {"float32": torch.float32, "uint8": torch.uint8}


def spec_to_dict(spec: TaskSpec, as_is: Tensor | None) -> dict[str, Any]:
    """A JSON-ready dictionary of one environment, and of what normalisation leaves `as_is`."""
    space = spec.action_space
    actions: dict[str, Any] = {"n": space.n} if isinstance(space, Discrete) else {}
    if isinstance(space, Continuous):
        actions = {"low": list(space.low), "high": list(space.high)}
    return {
        "observation_shape": list(spec.observation_shape),
        "observation_dtype": str(spec.observation_dtype).removeprefix("torch."),
        "actions": actions,
        "stacked_frames": spec.stacked_frames,
        "image": None if spec.image is None else dataclasses.asdict(spec.image),
        "as_is": None if as_is is None else as_is.tolist(),
    }


def spec_from_dict(values: Mapping[str, Any], num_envs: int) -> tuple[TaskSpec, Tensor | None]:
    """The inverse of `spec_to_dict`, for `num_envs` environments."""
    actions = values["actions"]
    spec = TaskSpec(
        num_envs,
        tuple(values["observation_shape"]),
        _DTYPES[values["observation_dtype"]],
        Discrete(actions["n"])
        if "n" in actions
        else Continuous(tuple(actions["low"]), tuple(actions["high"])),
        values["stacked_frames"],
        _view(values.get("image")),
    )
    as_is = values["as_is"]
    return spec, None if as_is is None else torch.tensor(as_is, dtype=torch.bool)


def _view(values: Mapping[str, Any] | None) -> ImageView | None:
    if values is None:
        return None
    # JSON has lists where settings have tuples.
    known: Any = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
    return ImageView(**known)
