"""What a task is when it says nothing else, and random actions in every kind of direction."""

import math

import pytest
import torch
from torch import Tensor

from rle.errors import UsageError
from rle.tasks.base import Continuous, Discrete, State, Step, Task, TaskSpec, random_actions


class Still(Task):
    """A task that overrides only what it must."""

    spec = TaskSpec(2, (1,), torch.float32, Discrete(2))

    def reset(self, seed: int) -> Tensor:
        return torch.zeros(2, 1)

    def step(self, action: Tensor) -> Step:
        never = torch.zeros(2, dtype=torch.bool)
        return Step(torch.zeros(2), never, never, torch.zeros(2, 1), torch.zeros(2, 1))

    def state_dict(self) -> State:
        return {}

    def load_state_dict(self, state: State) -> None:
        pass


def test_a_task_that_says_nothing_else() -> None:
    task = Still()
    assert task.traceable is False
    assert task.restarted is False
    assert task.steps_per_second == 15.0
    assert task.measures() == {}
    assert task.artefacts() == {}
    with pytest.raises(UsageError, match="Still has no pictures"):
        task.picture()


def test_a_step_is_real_and_scored_as_rewarded_unless_it_says_otherwise() -> None:
    step = Still().step(torch.zeros(2))
    assert step.real is None
    assert step.score is None
    assert step.episode_over is None


def test_images_have_three_dimensions_and_show_one_frame_unless_told() -> None:
    image = TaskSpec(1, (4, 84, 84), torch.uint8, Discrete(2))
    assert image.is_image
    assert image.stacked_frames == 1
    for shape in ((4,), (4, 84), (4, 84, 84, 1)):
        assert not TaskSpec(1, shape, torch.float32, Discrete(2)).is_image


def test_a_continuous_action_has_as_many_numbers_as_bounds() -> None:
    assert Continuous((-1.0, -2.0, 0.0), (1.0, 2.0, 3.0)).size == 3


def test_random_actions_number_by_number() -> None:
    """Bounded: low + (high - low) · u. Unbounded on one side or both: standard normal."""
    low, high = (-3.0, 2.0, -math.inf, -math.inf, 0.0), (1.0, 2.5, math.inf, 1.0, math.inf)
    found = random_actions(Continuous(low, high), 6, torch.Generator().manual_seed(7))
    source = torch.Generator().manual_seed(7)
    uniform = torch.rand(6, 5, generator=source).tolist()
    normal = torch.randn(6, 5, generator=source).tolist()
    for n in range(6):
        expected = [
            low[k] + (high[k] - low[k]) * uniform[n][k] if k < 2 else normal[n][k] for k in range(5)
        ]
        assert found[n].tolist() == pytest.approx(expected, abs=1e-6)
