"""The rollout's storage: steps of which some only reset an environment."""

import torch

from rle.learn.rollout import Rows


def row(real: torch.Tensor | None) -> Rows:
    numbers, no = torch.zeros(3), torch.zeros(3, dtype=torch.bool)
    return Rows(numbers, None, numbers, numbers, numbers, no, no, numbers, real, None, None, None)


def test_steps_in_which_all_are_real_stand_beside_others() -> None:
    some = torch.tensor([True, False, True])
    for rows in ([row(None), row(some)], [row(some), row(None)]):
        stacked = Rows.stack(rows).real
        assert stacked is not None
        expected = [[True] * 3 if part.real is None else some.tolist() for part in rows]
        assert stacked.tolist() == expected
    assert Rows.stack([row(None), row(None)]).real is None
