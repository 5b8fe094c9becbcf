"""Observation normalisation: what is shown, what is learned from, and what a checkpoint keeps."""

import pytest
import torch

from rle.config import EnvironmentConfig
from rle.tasks.base import Step
from rle.tasks.normalise import NormalisedTask
from rle.tasks.registry import make_task
from tests.probes.environments import ObservationReward

DEVICE = torch.device("cpu")
CONFIG = EnvironmentConfig(num_envs=4, time_limit=50, normalise_observations=True)
PLAIN = EnvironmentConfig(num_envs=4, time_limit=50)


def walk(task, steps: int) -> list:
    source = torch.Generator().manual_seed(0)
    return [task.step(torch.randint(0, 4, (4,), generator=source)) for _ in range(steps)]


def test_shows_standardised_observations_of_everything_seen() -> None:
    shown, plain = make_task("fourroom", CONFIG, DEVICE), make_task("fourroom", PLAIN, DEVICE)
    shown.reset(0)
    plain.reset(0)
    last = walk(shown, 120)[-1]
    truth = walk(plain, 120)
    everything = torch.cat([step.next_observation for step in truth]).double()
    mean, std = everything.mean(0), everything.std(0, correction=0)
    expected = ((truth[-1].next_observation - mean) / std).float()
    torch.testing.assert_close(last.next_observation, expected, atol=1e-4, rtol=1e-4)


def test_clips() -> None:
    config = EnvironmentConfig(
        num_envs=4, time_limit=50, normalise_observations=True, observation_clip=0.5
    )
    task = make_task("fourroom", config, DEVICE)
    task.reset(0)
    assert float(walk(task, 100)[-1].next_observation.abs().max()) <= 0.5


def test_statistics_travel_with_the_checkpoint() -> None:
    first, second = (make_task("fourroom", CONFIG, DEVICE) for _ in range(2))
    for task in (first, second):
        task.reset(0)
    walk(first, 30)
    second.load_state_dict(first.state_dict())
    for one, other in zip(walk(first, 20), walk(second, 20), strict=True):
        assert torch.equal(one.observation, other.observation)


def test_a_call_that_only_reset_an_environment_does_not_count() -> None:
    task = make_task("control/Ant", EnvironmentConfig(4, 5, normalise_observations=True), DEVICE)
    task.reset(0)
    steps = [task.step(torch.zeros(4, 8)) for _ in range(6)]
    # Five steps to the time limit, and one call that resets all four.
    assert steps[-1].real is not None
    assert not steps[-1].real.any()
    assert float(task.normaliser.moments.count) == 20
    task.close()


class Spoilt(ObservationReward):
    """Shows 9 at every end, except for the second environment, which shows `number` at the third."""

    number = torch.nan
    made = 0

    def step(self, action: torch.Tensor) -> Step:
        step = super().step(action)
        self.made += 1
        if self.made == 3:
            step.next_observation[1] = self.number
        return step


@pytest.mark.parametrize("number", [torch.nan, torch.inf, -torch.inf])
def test_what_is_not_finite_is_shown_as_nan_where_it_is_and_spoils_nothing_else(
    number: float,
) -> None:
    task = NormalisedTask(Spoilt(4), 10.0, DEVICE)
    task.shown.number = number
    task.reset(0)
    action = torch.zeros(4, dtype=torch.int64)
    seen = [task.step(action).next_observation for _ in range(5)]
    wrong = torch.stack(seen).isnan().nonzero()
    assert wrong.tolist() == [[2, 1, 0]]
    assert bool(task.normaliser.moments.std.isfinite().all())
