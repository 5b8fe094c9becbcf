"""State trees to and from safetensors files: tensors as tensors, the rest as JSON. No pickle."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
from torch import Tensor

from rle.runs.files import DamagedFileError, write_whole
from rle.tasks.base import State

_TENSOR = "$tensor"


def save_state(path: Path, state: State) -> None:
    """Write a tree of tensors, numbers, strings, lists and dictionaries; atomic."""
    write_whole(path, state_bytes(state))


def state_bytes(state: State) -> bytes:
    """A tree of tensors, numbers, strings, lists and dictionaries as `load_state` reads it."""
    tensors: dict[str, Tensor] = {}
    tree = _strip(state, "", tensors)
    return safetensors.torch.save(tensors, metadata={"tree": json.dumps(tree)})


def bytes_state(data: bytes) -> State:
    """What `state_bytes` made bytes of."""
    length = int.from_bytes(data[:8], "little")
    tree = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["tree"])
    state: State = _restore(tree, "", safetensors.torch.load(data).__getitem__, ())
    return state


def _strip(node: Any, path: str, tensors: dict[str, Tensor]) -> Any:
    if isinstance(node, Tensor):
        # A copy: safetensors refuses tensors that share memory, as flattened parameters do.
        tensors[path] = node.detach().cpu().clone().contiguous()
        return {_TENSOR: path}
    if isinstance(node, dict):
        return {key: _strip(value, f"{path}/{key}", tensors) for key, value in node.items()}
    if isinstance(node, list | tuple):
        return [_strip(value, f"{path}/{index}", tensors) for index, value in enumerate(node)]
    return node


def load_state(path: Path, only: Collection[str] = ()) -> State:
    """Read what `save_state` wrote, or `only` the branches at these places (`learner/network`)."""
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            tree = json.loads((file.metadata() or {})["tree"])
            state = _restore(tree, "", file.get_tensor, only)
    except (
        OSError,
        KeyError,
        ValueError,
        TypeError,
        OverflowError,
        RecursionError,
        safetensors.SafetensorError,
    ) as error:
        reason = " ".join(str(error).split()) or repr(error)
        raise DamagedFileError(path, f"it cannot be read: {reason}") from error
    if not isinstance(state, dict):
        raise DamagedFileError(path, "it cannot be read: it holds no tree")
    return state


def _restore(node: Any, path: str, tensor: Callable[[str], Tensor], only: Collection[str]) -> Any:
    if isinstance(node, dict):
        if _TENSOR in node:
            return tensor(node[_TENSOR])
        return {
            key: _restore(value, f"{path}/{key}", tensor, only)
            for key, value in node.items()
            if not only or any(_on_the_way(f"{path}/{key}", f"/{place}") for place in only)
        }
    if isinstance(node, list):
        return [_restore(value, path, tensor, only) for value in node]
    return node


def _on_the_way(path: str, place: str) -> bool:
    """Whether one of them leads to the other."""
    return f"{place}/".startswith(f"{path}/") or f"{path}/".startswith(f"{place}/")
