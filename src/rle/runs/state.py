"""State trees to and from safetensors files: tensors as tensors, the rest as JSON. No pickle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from rle.errors import UsageError
from rle.tasks.base import State

_TENSOR = "$tensor"


def save_state(path: Path, state: State) -> None:
    """Write a tree of tensors, numbers, strings, lists and dictionaries; atomic."""
    tensors: dict[str, Tensor] = {}
    tree = _strip(state, "", tensors)
    temporary = path.with_suffix(".partial")
    safetensors.torch.save_file(tensors, temporary, metadata={"tree": json.dumps(tree)})
    temporary.replace(path)


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


def load_state(path: Path) -> State:
    """Read what `save_state` wrote."""
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        tree = json.loads(metadata["tree"])
    except (OSError, KeyError, ValueError, safetensors.SafetensorError) as error:
        raise UsageError(
            f"the checkpoint {path} cannot be read ({error}): delete it to go on from an earlier one."
        ) from error
    state: State = _restore(tree, tensors)
    return state


def _restore(node: Any, tensors: dict[str, torch.Tensor]) -> Any:
    if isinstance(node, dict):
        if _TENSOR in node:
            return tensors[node[_TENSOR]]
        return {key: _restore(value, tensors) for key, value in node.items()}
    if isinstance(node, list):
        return [_restore(value, tensors) for value in node]
    return node
