"""A device that is not there: real numbers on the CPU, which PyTorch believes to be elsewhere.

A GPU refuses operations on tensors of which some are on the CPU, and the host waits for it whenever it
wants to know a number. Neither shows on a machine without one. Here every operation goes through a
dispatch mode that knows where each tensor is said to be: it raises what CUDA would refuse, and notes
where the host would wait. The arithmetic is the CPU's, so that a run comes out as it does there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten

DEVICE = "pretended"

COPIES = {aten.copy_.default, aten._to_copy.default}
"""The only operations with one tensor here and the other there."""
INDEXING = {
    aten.index.Tensor,
    aten.index_put.default,
    aten.index_put_.default,
    aten._unsafe_index.Tensor,
    aten._unsafe_index_put.default,
}
"""Their indices may be on the CPU."""
TAKING_SCALARS = {aten.fill_.Tensor, aten.masked_fill.Tensor, aten.masked_fill_.Tensor}
"""Beside what is elementwise: operations that take a single number from the CPU."""
WAITING = {
    aten._local_scalar_dense.default,
    aten.nonzero.default,
    aten.masked_select.default,
    aten.equal.default,
    aten.bincount.default,
    aten._unique2.default,
    aten.unique_dim.default,
    aten.unique_consecutive.default,
    aten.repeat_interleave.Tensor,
}
"""What gives the host a number, or a tensor whose size only the device knows."""


class DeviceMismatchError(RuntimeError):
    """An operation that CUDA would refuse."""


class Pretended(torch.Tensor):
    """A tensor that is said to be on `DEVICE`; its numbers are `held` on the CPU."""

    held: Tensor

    @staticmethod
    def __new__(cls, held: Tensor) -> Pretended:
        made: Pretended = torch.Tensor._make_wrapper_subclass(
            cls,
            held.size(),
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            layout=held.layout,
            device=torch.device(DEVICE, 0),
        )
        return made

    def __init__(self, held: Tensor) -> None:
        self.held = held

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        raise AssertionError(f"{function} outside of pretending()")

    def tolist(self) -> Any:
        # PyTorch has none for classes like this one; of a device, it copies first.
        return self.cpu().tolist()

    # PyTorch would exchange all but what this class has added.
    @property
    def data(self) -> Tensor:
        return self.detach()

    @data.setter
    def data(self, value: Tensor) -> None:
        assert isinstance(value, Pretended)
        assert value.shape == self.shape
        self.held = value.held


class Pretence(TorchDispatchMode):
    """Where every tensor is said to be, and what the host has waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[str] = []
        """What each was, and the line of the program that asked for it."""
        self.operations = 0
        """How many there were on the device."""
        self._pinned: set[int] = set()
        """Where the memory is that the device reads by itself."""

    def waited(self, call: Callable[[], Any]) -> list[str]:
        """The waits of one call."""
        before = len(self.waits)
        call()
        return self.waits[before:]

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if function is aten._pin_memory.default:
            return self._pin(args[0])
        if function is aten.is_pinned.default:
            return args[0].untyped_storage().data_ptr() in self._pinned
        tensors = [x for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
        there = [x for x in tensors if isinstance(x, Pretended)]
        goal = kwargs.get("device")
        goes_there = bool(there) if goal is None else torch.device(goal).type == DEVICE
        if function in COPIES:
            goes_there = self._copy(function, args, kwargs, goes_there)
        elif there:
            _require_one_place(function, args, tensors)
            self._note_waits(function, args)
        if there or goes_there:
            self.operations += 1
            _require_generator_there(function, kwargs)
        if goal is not None:
            kwargs["device"] = torch.device("cpu")
        result = function(*_held(args), **_held(kwargs))
        return _returned(function, args, result, goes_there)

    def _pin(self, values: Tensor) -> Tensor:
        assert not isinstance(values, Pretended), "only memory of the host can be pinned"
        copy = values.clone()
        self._pinned.add(copy.untyped_storage().data_ptr())
        return copy

    def _copy(self, function: Any, args: Any, kwargs: Any, goes_there: bool) -> bool:
        """Note whether the host waits for a copy; returns whether its result is there."""
        source = args[1] if function is aten.copy_.default else args[0]
        if function is aten.copy_.default:
            goes_there = isinstance(args[0], Pretended)
            non_blocking = args[2] if len(args) > 2 else kwargs.get("non_blocking", False)
        else:
            non_blocking = kwargs.get("non_blocking", False)
        comes_from_there = isinstance(source, Pretended)
        if comes_from_there == goes_there:
            return goes_there
        direction = "to the device" if goes_there else "to the host"
        # From the device nobody may read before it is over; to it, only pinned memory goes by itself.
        pinned = goes_there and source.untyped_storage().data_ptr() in self._pinned
        if not (pinned and non_blocking):
            self.waits.append(f"copy {direction} {_line()}")
        return goes_there

    def _note_waits(self, function: Any, args: Any) -> None:
        by_mask = function in INDEXING and any(
            index is not None and index.dtype in (torch.bool, torch.uint8) for index in args[1]
        )
        # One number for all that a mask names is filled in without looking how many those are.
        filled = by_mask and len(args) > 2 and args[2].numel() == 1
        if function in WAITING or (by_mask and not filled):
            self.waits.append(f"{function} {_line()}")


def _require_one_place(function: Any, args: Any, tensors: Sequence[Tensor]) -> None:
    """Raise unless CUDA would take these tensors together; some of them are there."""
    here = [x for x in tensors if not isinstance(x, Pretended)]
    if not here:
        return
    if function in INDEXING and isinstance(args[0], Pretended):
        indices = [index for index in args[1] if index is not None]
        here = [x for x in here if all(x is not index for index in indices)]
        if all(x.dim() == 0 for x in here):
            return
    elementwise = torch.Tag.pointwise in function.tags or function in TAKING_SCALARS
    written = [x for x in (args[0],) if function._schema.name.endswith("_")]
    changes_here = any(isinstance(x, Tensor) and not isinstance(x, Pretended) for x in written)
    if elementwise and not changes_here and all(x.dim() == 0 for x in here):
        return
    shapes = ", ".join(f"{x.device.type} {tuple(x.shape)}" for x in tensors)
    raise DeviceMismatchError(f"{function} on {shapes} {_line()}")


def _require_generator_there(function: Any, kwargs: Any) -> None:
    source = kwargs.get("generator")
    if source is not None and source.device.type != DEVICE:
        raise DeviceMismatchError(f"{function} with a generator of the CPU {_line()}")


def _held(tree: Any) -> Any:
    return pytree.tree_map_only(Pretended, lambda x: x.held, tree)


@cache
def _changed(function: Any) -> tuple[int | None, ...]:
    """Which argument each result is, if it is one that was changed in place."""
    names = [
        next(iter(argument.alias_info.before_set), None)
        if argument.alias_info is not None and argument.alias_info.is_write
        else None
        for argument in function._schema.arguments
    ]
    return tuple(
        names.index(next(iter(result.alias_info.before_set)))
        if result.alias_info is not None and result.alias_info.is_write
        else None
        for result in function._schema.returns
    )


def _returned(function: Any, args: Any, result: Any, there: bool) -> Any:
    if not there:
        return result
    changed = _changed(function)
    if len(changed) == 1 and changed[0] is not None and changed[0] < len(args):
        same = args[changed[0]]
        assert same.shape == result.shape, f"{function} changes a shape in place"
        return same
    assert not any(place is not None for place in changed), f"{function} is not known here"
    return pytree.tree_map_only(Tensor, Pretended, result)


def _line() -> str:
    """The innermost line of the package that led here."""
    frame: Any = sys._getframe()
    while frame is not None:
        name = frame.f_code.co_filename.replace("\\", "/")
        if "/rle/" in name and "/tests/" not in name and "site-packages" not in name:
            return f"at {name.rpartition('/rle/')[2]}:{frame.f_lineno} ({frame.f_code.co_name})"
        frame = frame.f_back
    return "at a line of a test"


@cache
def _registered() -> bool:
    """Let PyTorch know the device, once for the process; False: it is too old for that."""
    from torch.utils import backend_registration

    register = getattr(backend_registration, "_setup_privateuseone_for_python_backend", None)
    if register is None:
        return False
    register(DEVICE)
    # For the rest of the process, whoever asks finds an accelerator, and may wait for it.
    getattr(torch, DEVICE).synchronize = lambda device=None: None
    return True


@contextmanager
def pretending() -> Iterator[Pretence]:
    """While there is a device called `DEVICE`."""
    if not _registered():
        pytest.skip("this PyTorch cannot pretend a device")
    threads = torch.autograd.is_multithreading_enabled()
    lifting = torch._C._only_lift_cpu_tensors()
    try:
        # Gradients are computed in this thread, where the mode is.
        torch.autograd.set_multithreading_enabled(False)
        # torch.tensor(..., device=...) then copies from the CPU where the mode sees it.
        torch._C._set_only_lift_cpu_tensors(True)
        with Pretence() as pretence:
            yield pretence
    finally:
        torch._C._set_only_lift_cpu_tensors(lifting)
        torch.autograd.set_multithreading_enabled(threads)
