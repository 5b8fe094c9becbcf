"""z in hindsight."""

import torch

from rle import core


def test_by_hand() -> None:
    features = torch.tensor([[[1.0, 0.0], [0.0, 2.0]], [[0.0, 1.0], [9.0, 9.0]]])
    lived = torch.tensor([[True, True], [True, False]])
    z = core.hindsight_latents(features, lived, 0.75, torch.tensor([1.0, 3.0]))
    # (1, 0) + 0.75 (0, 1) has the length 1.25; the second trajectory ends after its first step.
    torch.testing.assert_close(z, torch.tensor([[0.8, 0.6], [0.0, 3.0]]))


def test_no_other_z_earns_more() -> None:
    source = torch.Generator().manual_seed(0)
    features = torch.randn(5, 1, 4, generator=source)
    lived = torch.ones(5, 1, dtype=torch.bool)
    best = core.hindsight_latents(features, lived, 0.9, torch.ones(1))
    others = core.sphere((1000, 4), source)
    powers = 0.9 ** torch.arange(5)
    earned = lambda z: (powers[:, None] * (features[:, 0] @ z.T)).sum(0)  # noqa: E731
    assert earned(best).item() > earned(others).max().item()
