"""State trees to and from safetensors files: tensors as tensors, the rest as JSON. No pickle."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import safetensors.torch
from torch import Tensor

from rle.runs.files import write_whole
from rle.runs.trees import TENSOR, read_tree, restore
from rle.tasks.base import State


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
    state: State = restore(tree, "", safetensors.torch.load(data).__getitem__, ())
    return state


def _strip(node: Any, path: str, tensors: dict[str, Tensor]) -> Any:
    if isinstance(node, Tensor):
        # A copy: safetensors refuses tensors that share memory, as flattened parameters do.
        tensors[path] = node.detach().cpu().clone().contiguous()
        return {TENSOR: path}
    if isinstance(node, dict):
        return {key: _strip(value, f"{path}/{key}", tensors) for key, value in node.items()}
    if isinstance(node, list | tuple):
        return [_strip(value, f"{path}/{index}", tensors) for index, value in enumerate(node)]
    return node


def load_state(path: Path, only: Collection[str] = ()) -> State:
    """Read what `save_state` wrote, or `only` the branches at these places (`learner/network`)."""
    return read_tree(path, "pt", only)
