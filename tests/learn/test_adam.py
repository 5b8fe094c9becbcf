"""The flat Adam against PyTorch's own."""

import torch
from torch import nn

from rle.learn.adam import Adam


def test_same_steps_as_torch() -> None:
    torch.manual_seed(0)
    ours, theirs = nn.Linear(5, 3), nn.Linear(5, 3)
    theirs.load_state_dict(ours.state_dict())
    flat = Adam(list(ours.parameters()), learning_rate=0.01, epsilon=1e-5, max_norm=0.5)
    reference = torch.optim.Adam(theirs.parameters(), lr=0.01, eps=1e-5)
    for step in range(20):
        x = torch.randn(7, 5) * (10 if step % 2 else 0.01)  # clipped, and not clipped
        theirs(x).square().mean().backward()
        norm = nn.utils.clip_grad_norm_(theirs.parameters(), 0.5)
        reference.step()
        reference.zero_grad()
        gradients = torch.autograd.grad(ours(x).square().mean(), tuple(ours.parameters()))
        ours_norm = flat.step(torch.cat([gradient.reshape(-1) for gradient in gradients]))
        torch.testing.assert_close(ours_norm, norm)
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(mine, other)


def test_parameters_stay_views_of_the_vector() -> None:
    layer = nn.Linear(2, 2)
    flat = Adam(list(layer.parameters()), 0.1, 1e-5, 1.0)
    flat.flat.fill_(3.0)
    assert bool((layer.weight == 3).all())
    assert bool((layer.bias == 3).all())
