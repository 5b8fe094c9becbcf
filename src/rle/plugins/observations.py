"""How z stands beside an observation, whatever space that is from."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium import spaces

from rle.errors import UsageError

OBSERVATION, LATENT = "observation", "latent"


class LatentObservation:
    """Puts z `[d]` beside observations of `space`.

    It goes to the end of vectors of real numbers, and is the entry `latent` of dictionaries; anything
    else, images too, becomes the entry `observation` of one. `join` takes single observations and
    batches alike, of arrays or of tensors.
    """

    def __init__(self, space: spaces.Space[Any], dimension: int, largest: float) -> None:
        """`largest` bounds the entries of z; infinity where nothing does."""
        self.original = space
        self._size = dimension
        latent = spaces.Box(-largest, largest, (dimension,), np.float32)
        self.space: spaces.Space[Any]
        """What one observation with its z is from."""
        self._appends = (
            isinstance(space, spaces.Box)
            and len(space.shape) == 1
            and np.issubdtype(space.dtype, np.floating)
        )
        self._adds = isinstance(space, spaces.Dict)
        if self._appends:
            assert isinstance(space, spaces.Box)
            low = np.concatenate([space.low, latent.low.astype(space.dtype)])
            high = np.concatenate([space.high, latent.high.astype(space.dtype)])
            self.space = spaces.Box(low, high, dtype=space.dtype.type)
        elif isinstance(space, spaces.Dict):
            if LATENT in space.spaces:
                raise UsageError(
                    f"the observations have an entry {LATENT!r} already, where z goes: rename it, or "
                    "wrap the environment only once."
                )
            self.space = spaces.Dict({**space.spaces, LATENT: latent})
        else:
            self.space = spaces.Dict({OBSERVATION: space, LATENT: latent})

    def join(self, observation: Any, z: Any) -> Any:
        """`observation` with `z` `[..., d]`, of the same kind and with the same leading dimensions."""
        if not self._appends:
            return (
                {**observation, LATENT: z} if self._adds else {OBSERVATION: observation, LATENT: z}
            )
        if isinstance(observation, torch.Tensor):
            return torch.cat([observation, z.to(observation.dtype)], -1)
        observation = np.asarray(observation)
        return np.concatenate([observation, z.astype(observation.dtype, copy=False)], -1)

    def split(self, joined: Any) -> tuple[Any, Any]:
        """What `join` was given."""
        if self._appends:
            return joined[..., : -self._size], joined[..., -self._size :]
        if self._adds:
            return {key: part for key, part in joined.items() if key != LATENT}, joined[LATENT]
        return joined[OBSERVATION], joined[LATENT]


def as_tensors(observation: Any, device: torch.device | str = "cpu") -> Any:
    """A tree of arrays as a tree of tensors; real numbers become float32."""
    if isinstance(observation, dict):
        return {key: as_tensors(part, device) for key, part in observation.items()}
    if isinstance(observation, tuple):
        return tuple(as_tensors(part, device) for part in observation)
    tensor = torch.as_tensor(np.asarray(observation), device=device)
    return tensor.float() if tensor.is_floating_point() else tensor
