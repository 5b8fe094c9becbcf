"""Who follows which z: the pure step by hand, and the object that keeps its state."""

import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from rle.core import Latents, LatentState, stagger, start_latents, step_latents

OLD, FRESH = torch.tensor([[1.0], [2.0], [3.0]]), torch.tensor([[10.0], [20.0], [30.0]])


def flags(*values: int) -> Tensor:
    return torch.tensor(values, dtype=torch.bool)


def test_one_step_by_hand() -> None:
    state = LatentState(OLD, torch.tensor([2, 1, 5]))
    # The first goes on, the second has made its steps, the third's episode ends.
    after, switched = step_latents(state, flags(0, 0, 1), None, FRESH, 7)
    assert after.z.flatten().tolist() == [1, 20, 30]
    assert after.countdown.tolist() == [1, 7, 7]
    assert switched.tolist() == [False, True, True]


def test_the_step_changes_nothing_it_was_given() -> None:
    state = LatentState(OLD.clone(), torch.tensor([2, 1, 5]))
    step_latents(state, flags(0, 0, 1), None, FRESH, 7)
    assert torch.equal(state.z, OLD)
    assert state.countdown.tolist() == [2, 1, 5]


def test_a_call_that_only_resets_is_not_a_step() -> None:
    state = LatentState(OLD, torch.tensor([1, 1, 1]))
    after, switched = step_latents(state, flags(0, 0, 0), flags(1, 0, 1), FRESH, 7)
    assert switched.tolist() == [True, False, True]
    assert after.countdown.tolist() == [7, 1, 7]


def test_a_z_lasts_for_the_period() -> None:
    state, when = start_latents(OLD, 3), []
    for _ in range(7):
        state, switched = step_latents(state, flags(0, 0, 0), None, FRESH, 3)
        when.append(bool(switched.all()))
    assert when == [False, False, True, False, False, True, False]


def test_offsets_shorten_the_first_z_alone() -> None:
    state, when = start_latents(OLD, 3, torch.tensor([0, 1, 2])), []
    for _ in range(6):
        state, switched = step_latents(state, flags(0, 0, 0), None, FRESH, 3)
        when.append(switched.tolist().index(True) if switched.any() else None)
    assert when == [2, 1, 0, 2, 1, 0]


def test_staggered_offsets_leave_at_least_one_step() -> None:
    offsets = stagger(1000, 5, torch.Generator().manual_seed(0))
    assert set(offsets.tolist()) == {0, 1, 2, 3, 4}


class TestLatents:
    def latents(self, seed: int = 0, **settings: object) -> Latents:
        return Latents(4, 3, 2, torch.Generator().manual_seed(seed), **settings)

    def test_keeps_what_the_step_returns(self) -> None:
        latents = self.latents()
        first = latents.z
        torch.testing.assert_close(first.norm(dim=-1), torch.ones(4))
        ended = flags(1, 0, 0, 0)
        assert latents.step(ended).tolist() == [True, False, False, False]
        assert (latents.z != first).any(-1).tolist() == [True, False, False, False]
        assert latents.step(flags(0, 0, 0, 0)).tolist() == [False, True, True, True]

    def test_draws_as_much_whatever_happens(self) -> None:
        first, second = self.latents(), self.latents()
        first.step(flags(1, 1, 1, 1))
        second.step(flags(0, 0, 0, 0))
        for each in (first, second):
            each.step(flags(1, 1, 1, 1))
        assert torch.equal(first.z, second.z)

    def test_steps_in_which_nobody_ended_need_not_say_so(self) -> None:
        def latents() -> Latents:
            return Latents(4, 3, 5, torch.Generator().manual_seed(0), staggered=True)

        said, unsaid = latents(), latents()
        for step in range(17):
            ended = flags(0, step == 6, 0, step == 7)
            switched = said.step(ended)
            assert torch.equal(unsaid.step(ended if ended.any() else None), switched)
            assert torch.equal(unsaid.z, said.z)
            assert torch.equal(unsaid.state_dict()["countdown"], said.state_dict()["countdown"])

    def test_one_saved_between_such_steps_goes_on_where_it_was(self) -> None:
        first, second = (Latents(4, 3, 5, torch.Generator().manual_seed(seed)) for seed in range(2))
        assert not first.step(None).any()
        second.load_state_dict(first.state_dict())
        switches = [bool(second.step(None).all()) for _ in range(8)]
        assert switches == [False, False, False, True, False, False, False, False]

    def test_another_distribution_and_staggering(self) -> None:
        latents = self.latents(distribution=lambda shape, _: torch.full(shape, 7.0), staggered=True)
        assert bool((latents.z == 7).all())
        switches = torch.stack([latents.step(flags(0, 0, 0, 0)) for _ in range(2)])
        assert switches.sum(0).tolist() == [1] * 4
        assert 0 < int(switches[0].sum()) < 4

    def test_a_saved_one_goes_on_where_it_was(self) -> None:
        first, second = self.latents(), self.latents(seed=1)
        first.step(flags(0, 1, 0, 0))
        second.load_state_dict(first.state_dict())
        for _ in range(3):
            assert torch.equal(first.z, second.z)
            ended = flags(0, 0, 1, 0)
            assert torch.equal(first.step(ended), second.step(ended))


def test_the_step_can_be_traced_whole() -> None:
    def step(z: Tensor, countdown: Tensor, ended: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        state, switched = step_latents(LatentState(z, countdown), ended, real, FRESH, 7)
        return state.z, switched

    # Tracing fails where a branch depends on data; what is traced answers for other data too.
    traced = make_fx(step)(OLD, torch.tensor([1, 1, 1]), flags(0, 0, 0), flags(1, 1, 1))
    z, switched = traced(OLD, torch.tensor([2, 1, 1]), flags(0, 0, 0), flags(1, 1, 0))
    assert z.flatten().tolist() == [1, 20, 3]
    assert switched.tolist() == [False, True, False]
