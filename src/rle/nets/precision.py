"""Which number format images are computed in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from rle.config import Precision


def bfloat16_is_native(device: torch.device) -> bool:
    """Whether `device` multiplies bfloat16 in hardware; elsewhere it is emulated, and far slower."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device.type == "cpu":
        # PyTorch names its processor checks with an underscore, but has no others.
        return torch.cpu._is_amx_tile_supported() or torch.cpu._is_avx512_bf16_supported()
    return False


def resolved(precision: Precision, device: torch.device) -> Precision:
    """`auto` made definite for a device."""
    if precision != "auto":
        return precision
    return "bfloat16" if bfloat16_is_native(device) else "float32"


def computing_in(precision: Precision, device: torch.device) -> AbstractContextManager[object]:
    """A context in which products are computed in `precision`; sums and parameters stay float32."""
    if resolved(precision, device) == "float32":
        return nullcontext()
    if bfloat16_is_native(device):
        return torch.autocast(device.type, torch.bfloat16)
    return RoundedProducts()


class RoundedProducts(TorchFunctionMode):
    """What bfloat16 hardware computes, on hardware without it: factors and products are rounded.

    Such hardware multiplies exactly and adds in float32, so between the roundings float32 does the
    same. PyTorch's own bfloat16 is 13 times slower than float32 where a processor lacks it.
    """

    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if function not in (functional.conv2d, functional.linear):
            return function(*args, **kwargs)
        factors = [_rounded(arg) if isinstance(arg, Tensor) else arg for arg in args]
        return _rounded(function(*factors, **kwargs))


def _rounded(x: Tensor) -> Tensor:
    """float32 numbers that bfloat16 can hold; the gradient on its way back is rounded too."""
    return x.bfloat16().float()
