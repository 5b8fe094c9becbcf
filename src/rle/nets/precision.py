"""Which number format images are computed in."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch

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
    half = resolved(precision, device) == "bfloat16"
    return torch.autocast(device.type, torch.bfloat16) if half else nullcontext()
