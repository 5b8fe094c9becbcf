from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from rle.runs.state import load_state, save_state
from rle.tasks.ballbalance import BallBalance, BallBalanceWorld, Floats
from rle.tasks.base import Continuous, Step, random_actions

LEG_DIRECTIONS = np.array([[1.0, 0.0], [-0.5, 0.75**0.5], [-0.5, -(0.75**0.5)]])
"""From the middle of the plate to where each leg holds it, as (x, y)."""
RISE_AND_ROLL = 25
"""Control steps, half a second."""


@pytest.fixture
def world() -> Iterator[BallBalanceWorld]:
    world = BallBalanceWorld()
    yield world
    world.close()


def with_ball(
    world: BallBalanceWorld, position: tuple[float, float], velocity: tuple[float, float] = (0, 0)
) -> Floats:
    """One state: the ball on the level plate at (x, y), in metres, with this velocity."""
    state = world.rest[None].copy()
    state[0, world.ball_position[:2]] = position
    state[0, world.ball_velocity[:2]] = velocity
    return state


def play(world: BallBalanceWorld, state: Floats, action: list[float], steps: int) -> Floats:
    for _ in range(steps):
        state = world.advance(state, np.array([action]))
    return state


def proportional_derivative(observation: Tensor) -> Tensor:
    """Actions `[N, 3]` that lift the side the ball is on or rolls to."""
    lean = 1.5 * observation[:, 0:2] + 2.0 * observation[:, 3:5]
    return lean @ torch.tensor(LEG_DIRECTIONS.T, dtype=torch.float32)


def assert_same(first: Step, second: Step) -> None:
    for name, expected in first._asdict().items():
        actual = getattr(second, name)
        assert expected is actual is None or torch.equal(expected, actual), name


@pytest.mark.parametrize(
    ("position", "velocity", "expected"),
    [
        ((0.0, 0.0), (0.0, 0.0), 1.0),
        # 0.1 m from the middle halves the reward, and so does a speed of 0.5 m/s.
        ((0.1, 0.0), (0.0, 0.0), 0.5),
        ((0.06, -0.08), (0.0, 0.0), 0.5),
        ((0.0, 0.0), (0.3, 0.4), 0.5),
        ((0.0, -0.1), (0.5, 0.0), 0.25),
        # 1 / ((1 + 2) (1 + 3))
        ((0.2, 0.0), (1.5, 0.0), 1 / 12),
    ],
)
def test_reward_by_hand(
    world: BallBalanceWorld,
    position: tuple[float, float],
    velocity: tuple[float, float],
    expected: float,
) -> None:
    reward = world.reward(with_ball(world, position, velocity))
    assert reward == pytest.approx([expected], abs=1e-12)


def test_a_still_ball_in_the_middle_stays_and_earns_nearly_everything(
    world: BallBalanceWorld,
) -> None:
    state = world.rest[None]
    rewards = []
    for _ in range(50):
        state = world.advance(state, np.zeros((1, 3)))
        rewards.append(world.reward(state)[0])
    # The servos give way by a millimetre under the plate's weight at first.
    assert min(rewards) > 0.9
    assert rewards[-1] == pytest.approx(1.0, abs=1e-4)
    assert np.abs(world.observe(state)).max() < 0.1


def test_observation_by_hand(world: BallBalanceWorld) -> None:
    observation = world.observe(with_ball(world, (0.11, -0.22), (0.25, -1.0)))
    assert observation.dtype == np.float32
    # In plate radii of 0.22 m, and in units of 0.5 m/s; the legs stand still at home.
    expected = [0.5, -1.0, 0.0, 0.5, -2.0, 0.0] + [0.0] * 6
    assert observation[0].tolist() == pytest.approx(expected, abs=1e-6)


def test_servos_go_where_the_action_says(world: BallBalanceWorld) -> None:
    observation = world.observe(play(world, world.rest[None], [1.0, -0.5, 0.0], RISE_AND_ROLL))[0]
    # Proportional control gives way to the weight it carries by some per cent of the reach.
    assert observation[6:9].tolist() == pytest.approx([1.0, -0.5, 0.0], abs=0.12)
    assert np.abs(observation[9:12]).max() < 0.05


def test_actions_beyond_the_bounds_are_clipped(world: BallBalanceWorld) -> None:
    far = play(world, world.rest[None], [7.0, -3.0, -1.5], 5)
    assert np.array_equal(far, play(world, world.rest[None], [1.0, -1.0, -1.0], 5))


@pytest.mark.parametrize("leg", [0, 1, 2])
def test_the_ball_rolls_away_from_the_leg_that_lifts(world: BallBalanceWorld, leg: int) -> None:
    action = [-1.0, -1.0, -1.0]
    action[leg] = 1.0
    state = play(world, world.rest[None], action, RISE_AND_ROLL)
    moved = state[0, world.ball_position[:2]]
    away = -LEG_DIRECTIONS[leg]
    assert moved @ away > 0.05
    # And not sideways, for the mechanism is symmetric.
    assert abs(moved @ np.array([-away[1], away[0]])) < 0.002


def test_a_tilted_plate_accelerates_the_ball_as_physics_says(world: BallBalanceWorld) -> None:
    """A sphere that rolls without slipping on an incline accelerates by 5/7 g sin(tilt)."""
    tilted = play(world, with_ball(world, (0.1, 0.0)), [0.2, -0.2, -0.2], 10)
    later = play(world, tilted, [0.2, -0.2, -0.2], 10)
    quaternion = later[0, 1:][world.model.joint("plate").qposadr[0] + 3 :][:4]
    sine = 2 * np.sqrt(quaternion[1] ** 2 + quaternion[2] ** 2)
    assert 0.02 < sine < 0.08
    change = later[0, world.ball_velocity[0]] - tilted[0, world.ball_velocity[0]]
    assert change / 0.2 == pytest.approx(-5 / 7 * 9.81 * sine, rel=0.1)


def test_episodes_begin_off_the_middle_above_the_plate(world: BallBalanceWorld) -> None:
    states = world.start(np.random.default_rng(0).random((1000, 4)))
    distance = np.hypot(*states[:, world.ball_position[:2]].T)
    speed = np.linalg.norm(states[:, world.ball_velocity], axis=1)
    height = states[:, world.ball_position[2]] - world.rest[world.ball_position[2]]
    assert 0.05 <= distance.min() < 0.055
    assert 0.125 < distance.max() <= 0.13
    assert 0.05 <= speed.min() < 0.055
    assert 0.145 < speed.max() <= 0.15
    assert height == pytest.approx(0.05)
    assert not world.fallen(states).any()


def test_a_ball_past_the_rim_or_below_the_plate_has_fallen(world: BallBalanceWorld) -> None:
    below = world.rest[None].copy()
    below[0, world.ball_position[2]] = 0.05
    states = np.concatenate(
        [with_ball(world, (0.219, 0.0)), with_ball(world, (0.0, -0.221)), below]
    )
    assert world.fallen(states).tolist() == [False, True, True]


def test_the_legs_hold_together_under_violent_actions() -> None:
    task = BallBalance(8, time_limit=10**6, num_threads=1)
    task.reset(0)
    source = torch.Generator().manual_seed(0)
    for _ in range(300):
        action = random_actions(task.spec.action_space, 8, source).sign()
        step = task.step(action)
        assert step.next_observation.isfinite().all()
        # Servo angles overshoot little, so nothing came apart.
        assert step.next_observation[:, 6:9].abs().max() < 1.6
    task.close()


def test_is_a_task_with_twelve_observations_and_three_actions() -> None:
    task = BallBalance(5)
    assert task.spec.observation_shape == (12,)
    assert task.spec.action_space == Continuous((-1.0,) * 3, (1.0,) * 3)
    observation = task.reset(3)
    assert observation.shape == (5, 12)
    assert observation.dtype == torch.float32
    assert torch.equal(task.reset(3), observation)
    assert not torch.equal(task.reset(4), observation)
    # Every environment begins somewhere else.
    assert len(observation[:, 0].unique()) == 5
    task.close()


def test_doing_nothing_loses_every_ball_before_the_time_is_up() -> None:
    task = BallBalance(64)
    task.reset(0)
    fell = torch.zeros(64, dtype=torch.bool)
    for _ in range(499):
        step = task.step(torch.zeros(64, 3))
        assert not step.truncated.any()
        fell |= step.terminated
    assert fell.all()
    task.close()


def test_a_simple_controller_keeps_every_ball_for_a_whole_episode() -> None:
    task = BallBalance(64)
    observation = task.reset(0)
    returns = torch.zeros(64)
    for number in range(1, 501):
        step = task.step(proportional_derivative(observation))
        observation = step.observation
        returns += step.reward
        assert not step.terminated.any()
        assert step.truncated.all() == step.truncated.any() == (number == 500)
    assert returns.min() > 400
    task.close()


def test_a_fall_terminates_with_the_true_last_observation() -> None:
    task = BallBalance(2)
    observation = task.reset(0)
    action = torch.tensor([[1.0, -1.0, -1.0], [0.0, 0.0, 0.0]])
    for _ in range(100):
        step = task.step(action)
        if step.terminated[0]:
            break
        assert torch.equal(step.observation, step.next_observation)
        observation = step.observation
    assert step.terminated.tolist() == [True, False]
    assert not step.truncated.any()
    # The last observation goes on from the one before and lies past the rim, one radius away;
    # the next to act on is a beginning: off the middle and above the plate.
    last, first = step.next_observation[0], step.observation[0]
    assert last[:2].norm() > 1
    assert (last - observation[0])[:2].norm() < 0.2
    assert 0.05 / 0.22 <= first[:2].norm() <= 0.13 / 0.22
    assert first[2].item() == pytest.approx(0.05 / 0.22)
    assert torch.equal(step.next_observation[1], step.observation[1])
    task.close()


def test_the_time_limit_truncates_with_the_true_last_observation() -> None:
    limited, endless = BallBalance(3, time_limit=20), BallBalance(3)
    assert torch.equal(limited.reset(0), endless.reset(0))
    action = torch.zeros(3, 3)
    for number in range(1, 21):
        cut, uncut = limited.step(action), endless.step(action)
        assert cut.truncated.tolist() == [number == 20] * 3
        assert torch.equal(cut.next_observation, uncut.next_observation)
        assert torch.equal(cut.reward, uncut.reward)
    assert not cut.terminated.any()
    assert not torch.equal(cut.observation, cut.next_observation)
    assert cut.observation[:, 2].tolist() == pytest.approx([0.05 / 0.22] * 3)
    limited.close()
    endless.close()


def test_a_fall_in_the_last_step_is_a_termination() -> None:
    task = BallBalance(1)
    task.reset(0)
    lift = torch.tensor([[1.0, -1.0, -1.0]])
    steps = 1
    while not task.step(lift).terminated:
        steps += 1
    limited = BallBalance(1, time_limit=steps)
    limited.reset(0)
    for _ in range(steps):
        step = limited.step(lift)
    assert step.terminated.all()
    assert not step.truncated.any()
    task.close()
    limited.close()


def test_any_number_of_threads_gives_the_same_bits() -> None:
    tasks = [BallBalance(7, num_threads=threads) for threads in (1, 2, 3)]
    source = torch.Generator().manual_seed(0)
    for task in tasks:
        task.reset(0)
    for _ in range(120):
        action = random_actions(tasks[0].spec.action_space, 7, source)
        first, *others = (task.step(action) for task in tasks)
        for other in others:
            assert_same(first, other)
    for task in tasks:
        task.close()


def test_goes_on_bit_for_bit_from_any_step(tmp_path: Path) -> None:
    task = BallBalance(3, time_limit=60)
    source = torch.Generator().manual_seed(0)
    actions = [random_actions(task.spec.action_space, 3, source) for _ in range(160)]
    task.reset(5)
    steps: list[Step] = []
    for number, action in enumerate(actions):
        save_state(tmp_path / f"{number}.safetensors", task.state_dict())
        steps.append(task.step(action))
    # Episodes ended both ways, so that beginnings were drawn after the states were saved.
    assert any(step.terminated.any() for step in steps)
    assert any(step.truncated.any() for step in steps)
    restored = BallBalance(3, time_limit=60)
    for number in (0, 1, 17, 59, 60, 61, 110):
        restored.load_state_dict(load_state(tmp_path / f"{number}.safetensors"))
        for action, expected in zip(actions[number:], steps[number:], strict=True):
            assert_same(expected, restored.step(action))
    task.close()
    restored.close()


def test_a_saved_state_does_not_change_as_the_task_goes_on() -> None:
    task, restored = BallBalance(2, time_limit=5), BallBalance(2, time_limit=5)
    task.reset(0)
    state = task.state_dict()
    action = torch.full((2, 3), 0.3)
    steps = [task.step(action) for _ in range(12)]
    for _ in range(2):
        restored.load_state_dict(state)
        for expected in steps:
            assert_same(expected, restored.step(action))
    task.close()
    restored.close()
