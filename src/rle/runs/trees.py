"""Reading the trees that `state` saves, as tensors or, without PyTorch, as NumPy's arrays."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Literal

import safetensors

from rle.runs.files import DamagedFileError

TENSOR = "$tensor"
"""Stands in the JSON of a tree for each tensor, with its name."""


def read_tree(path: Path, kind: Literal["pt", "np"], only: Collection[str] = ()) -> dict[str, Any]:
    """A tree with PyTorch's tensors or NumPy's arrays, or `only` the branches at these places."""
    try:
        with safetensors.safe_open(path, framework=kind) as file:
            tree = json.loads((file.metadata() or {})["tree"])
            state = restore(tree, "", file.get_tensor, only)
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


def restore(node: Any, path: str, tensor: Callable[[str], Any], only: Collection[str]) -> Any:
    """The tree at `path` with its tensors, each of which is asked for by name."""
    if isinstance(node, dict):
        if TENSOR in node:
            return tensor(node[TENSOR])
        return {
            key: restore(value, f"{path}/{key}", tensor, only)
            for key, value in node.items()
            if not only or any(_on_the_way(f"{path}/{key}", f"/{place}") for place in only)
        }
    if isinstance(node, list):
        return [restore(value, path, tensor, only) for value in node]
    return node


def _on_the_way(path: str, place: str) -> bool:
    """Whether one of them leads to the other."""
    return f"{place}/".startswith(f"{path}/") or f"{path}/".startswith(f"{place}/")
