"""What is moved to a device: pinned there, untouched here."""

import numpy as np
import pytest
import torch

from rle.core import transfer
from rle.core.transfer import moved
from tests.devices.pretend import DEVICE, pretending


def test_on_the_cpu_nothing_is_copied() -> None:
    values = torch.ones(3)
    assert moved(values, torch.device("cpu")) is values


@pytest.mark.parametrize("pinning", [True, False])
def test_the_source_may_be_written_over_at_once(
    pinning: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "PINNING", {DEVICE} if pinning else set())
    array = np.arange(24, dtype=np.uint8).reshape(1, 2, 3, 4)
    with pretending() as pretence:
        there = moved(torch.from_numpy(array).permute(0, 3, 1, 2), torch.device(DEVICE))
        assert len(pretence.waits) == (0 if pinning else 1)
        array[:] = 0
        assert there.device.type == DEVICE
        assert there.shape == (1, 4, 2, 3)
        assert there[0, 1].flatten().tolist() == [1, 5, 9, 13, 17, 21]


def test_what_is_there_stays_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "PINNING", {DEVICE})
    with pretending():
        values = torch.ones(3, device=DEVICE)
        assert moved(values, values.device) is values
