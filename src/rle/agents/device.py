"""Where an agent computes."""

from __future__ import annotations

import torch

from rle.errors import UsageError


def resolve_device(name: str) -> torch.device:
    """The PyTorch device that `name` means; `auto` takes a GPU if there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).cpu()  # `meta` has no numbers
    except (RuntimeError, AssertionError) as error:
        raise UsageError(
            f"device {name!r} is not available here: use cpu, or auto to take a GPU if there is one."
        ) from error
    return device
