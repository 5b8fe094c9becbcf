"""The pretended device refuses what CUDA refuses, allows what CUDA allows, and sees the host wait."""

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import nn

from tests.devices.pretend import DEVICE, DeviceMismatchError, Pretence, Pretended, pretending


@pytest.fixture
def pretence() -> Iterator[Pretence]:
    with pretending() as found:
        yield found


def there(*shape: int) -> torch.Tensor:
    return torch.ones(shape, device=DEVICE)


def test_tensors_are_where_they_were_put(pretence: Pretence) -> None:
    made = [
        torch.zeros(2, device=DEVICE),
        torch.tensor([1.0, 2.0], device=DEVICE),
        torch.arange(2).to(DEVICE),
        torch.zeros_like(there(2)),
        there(2).new_zeros(2),
        there(2)[None].expand(3, -1).flatten()[:2] + 1,
        torch.cat([there(1), there(1)]),
        nn.Linear(2, 2).to(DEVICE).weight,
    ]
    assert [x.device.type for x in made] == [DEVICE] * len(made)
    assert there(2).cpu().device.type == there(2).to("cpu").device.type == "cpu"
    assert torch.ones(2).device.type == "cpu"


def test_numbers_are_those_of_the_cpu(pretence: Pretence) -> None:
    torch.manual_seed(0)
    layer, inputs = nn.Linear(3, 2), torch.randn(5, 3)
    (own,) = torch.autograd.grad(layer(inputs).square().sum(), [layer.weight])
    layer.to(DEVICE)
    (theirs,) = torch.autograd.grad(layer(inputs.to(DEVICE)).square().sum(), [layer.weight])
    assert isinstance(theirs, Pretended)
    assert torch.equal(theirs.cpu(), own)


def test_views_and_exchanged_data_share_memory(pretence: Pretence) -> None:
    flat, parameter = there(4), nn.Parameter(there(2))
    parameter.data = flat[:2].view_as(parameter)
    flat.add_(1)
    flat[1] = 7.0
    assert parameter.tolist() == [2.0, 7.0]


REFUSED: dict[str, Callable[[], object]] = {
    "sum": lambda: there(2) + torch.ones(2),
    "product": lambda: torch.ones(2, 2) @ there(2),
    "concatenation": lambda: torch.cat([there(2), torch.ones(2)]),
    "stack with a single number": lambda: torch.stack([there(), torch.ones(())]),
    "look-up": lambda: there(3).index_select(0, torch.tensor([0])),
    "index of the device": lambda: torch.ones(3)[torch.tensor([0], device=DEVICE)],
    "mask of the device": lambda: torch.ones(2)[there(2) > 0],
    "assigned values": lambda: there(3).index_put_((torch.tensor([0, 1]),), torch.ones(2)),
    "choice": lambda: torch.where(there(2) > 0, torch.ones(2), 0.0),
    "change on the CPU": lambda: torch.ones(()).add_(there()),
    "network": lambda: nn.Linear(2, 2).to(DEVICE)(torch.ones(2)),
    "network that was not moved": lambda: nn.Linear(2, 2)(there(2)),
    "generator": lambda: torch.rand(2, device=DEVICE, generator=torch.Generator()),
    "generator in place": lambda: there(2).exponential_(generator=torch.Generator()),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_planted_mismatch_is_refused(pretence: Pretence, what: str) -> None:
    with pytest.raises(DeviceMismatchError):
        REFUSED[what]()


ALLOWED: dict[str, Callable[[], torch.Tensor]] = {
    "number": lambda: there(2) + 1,
    "single number of the CPU": lambda: there(2) * torch.tensor(2.0),
    "choice of numbers": lambda: torch.where(there(2) > 0, 1.0, 0.0),
    "index of the CPU": lambda: there(3)[torch.tensor([0, 1])],
    "index as a list": lambda: there(3)[[0, 1]],
    "copy into the device": lambda: there(2).copy_(torch.zeros(2)),
    "assignment": lambda: there(2).fill_(torch.tensor(1.0)),
}


@pytest.mark.parametrize("what", ALLOWED)
def test_what_cuda_allows_is_allowed(pretence: Pretence, what: str) -> None:
    assert ALLOWED[what]().device.type == DEVICE


def test_copies_out_are_allowed(pretence: Pretence) -> None:
    assert torch.zeros(2).copy_(there(2)).tolist() == [1.0, 1.0]


def test_numpy_refuses_a_device(pretence: Pretence) -> None:
    with pytest.raises((TypeError, RuntimeError)):
        there(2).numpy()


WAITED: dict[str, Callable[[], object]] = {
    "item": lambda: there().item(),
    "float": lambda: float(there()),
    "bool": lambda: bool(there() > 0),
    "tolist": lambda: there(2).tolist(),
    "cpu": lambda: there(2).cpu(),
    "copy out": lambda: torch.zeros(2).copy_(there(2)),
    "nonzero": lambda: there(2).nonzero(),
    "mask": lambda: there(2)[there(2) > 0],
    "masked_select": lambda: there(2).masked_select(there(2) > 0),
    "assignment to a mask": lambda: there(2).index_put_((there(2) > 0,), there(2)),
    "equal": lambda: torch.equal(there(2), there(2)),
    "pageable copy in": lambda: torch.ones(2).to(DEVICE),
    "pageable copy in, not waited for": lambda: torch.ones(2).to(DEVICE, non_blocking=True),
    "pinned copy in, waited for": lambda: torch.ones(2).pin_memory().to(DEVICE),
    "numbers of the program": lambda: torch.tensor([1.0, 2.0], device=DEVICE),
    "list of indices": lambda: there(3)[[0, 1]],
}


@pytest.mark.parametrize("what", WAITED)
def test_a_wait_of_the_host_is_seen(pretence: Pretence, what: str) -> None:
    assert len(pretence.waited(WAITED[what])) == 1


UNWAITED: dict[str, Callable[[], object]] = {
    "arithmetic": lambda: (there(2) + 1).sum(),
    "assignment of a number to a mask": lambda: there(2).masked_fill_(there(2) > 0, 3.0),
    "index": lambda: there(3)[torch.zeros(2, dtype=torch.int64, device=DEVICE)],
    "pinned copy in": lambda: torch.ones(2).pin_memory().to(DEVICE, non_blocking=True),
    "copy on the device": lambda: there(2).clone(),
    "on the CPU": lambda: torch.ones(2).nonzero().tolist(),
}


@pytest.mark.parametrize("what", UNWAITED)
def test_nothing_else_is_a_wait(pretence: Pretence, what: str) -> None:
    assert pretence.waited(UNWAITED[what]) == []
