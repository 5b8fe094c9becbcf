from __future__ import annotations

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.utils.env_checker import check_env

from rle.config import EnvironmentConfig
from rle.environments import ENVIRONMENTS as ALL
from rle.environments import register
from rle.tasks import fourroom, fourroom_map
from rle.tasks.fourroom import FourRoom
from rle.tasks.fourroom_gym import FourRoomEnv
from rle.tasks.gym import GymTask
from tests.tasks import grid
from tests.tasks.grid import DOWN, LEFT, RIGHT, UP

ENVIRONMENTS = [env_id for env_id in ALL if env_id.startswith("rle/FourRoom")]
TO_THE_TELEVISION = [LEFT] * 13 + [DOWN] * 12
AROUND_THE_TELEVISION = [LEFT, RIGHT, RIGHT, DOWN, DOWN, UP, LEFT, UP]
"""Two of these eight steps lead out of it."""


def purposeful_moves(steps: int, seed: int) -> list[int]:
    """Actions that mostly lead to the goal: a random walk would never get there."""
    source = np.random.default_rng(seed)
    to_go = grid.distances(grid.GOAL)
    cell, actions = grid.START, []
    for _ in range(steps):
        best = min(range(4), key=lambda action: to_go[grid.move(cell, action)])
        actions.append(best if source.random() < 0.5 else int(source.integers(4)))
        cell = grid.move(cell, actions[-1])
        if cell == grid.GOAL:
            cell = grid.START
    return actions


def test_importing_the_package_registers_the_environments_once() -> None:
    assert set(ENVIRONMENTS) <= set(gymnasium.registry)
    before = {env_id: gymnasium.registry[env_id] for env_id in ENVIRONMENTS}
    register()
    assert all(gymnasium.registry[env_id] is spec for env_id, spec in before.items())
    assert all(spec.max_episode_steps == fourroom.TIME_LIMIT == 1000 for spec in before.values())


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_passes_gymnasiums_own_checker(env_id: str) -> None:
    # Whatever the checker would warn of is an error in these tests.
    check_env(gymnasium.make(env_id, render_mode="rgb_array").unwrapped)


@pytest.mark.parametrize(
    ("env_id", "variant"),
    [("rle/FourRoom-v0", "fourroom"), ("rle/FourRoomSparse-v0", "fourroom-sparse")],
)
def test_same_trajectories_as_the_tensor_task(env_id: str, variant: str) -> None:
    num_envs, steps = 3, 1500
    config = EnvironmentConfig(num_envs=num_envs, autoreset="same-step")
    tensors, environments = FourRoom(variant, num_envs), GymTask(env_id, config, "cpu")
    assert torch.equal(tensors.reset(0), environments.reset(0))
    moves = [purposeful_moves(steps, 1), purposeful_moves(steps, 2), [DOWN, LEFT] * (steps // 2)]
    ends = torch.zeros(2, num_envs)
    for action in torch.tensor(moves).T:
        expected, actual = tensors.step(action), environments.step(action)
        for name in ("reward", "terminated", "truncated", "next_observation", "observation"):
            assert torch.equal(getattr(expected, name), getattr(actual, name)), name
        ends += torch.stack([expected.terminated, expected.truncated])
    # The comparison saw what it is about: goals reached, and time running out.
    assert bool(ends[0, :2].all()) == (variant == "fourroom-sparse")
    assert bool(ends[1, 2])


def test_same_world_around_the_television() -> None:
    environment = gymnasium.make("rle/FourRoomNoisyTV-v0")
    tensors = FourRoom("fourroom-noisytv", 1)
    environment.reset(seed=0)
    tensors.reset(0)
    inside = outside = 0
    for action in TO_THE_TELEVISION + AROUND_THE_TELEVISION * 10:
        seen, _, _, _, info = environment.step(action)
        also_seen = tensors.step(torch.tensor([action])).observation[0].numpy()
        row, column = info["cell"]
        if row in (12, 13) and column in (37, 38):
            inside += 1
            assert not np.allclose(seen, grid.view((row, column)), atol=1e-6)
            assert np.abs(seen).max() <= 1
        else:
            outside += 1
            assert np.array_equal(seen, also_seen)
    assert inside == 1 + 10 * 6
    assert outside == 24 + 10 * 2


def test_television_noise_follows_the_seed() -> None:
    def watch(seed: int) -> list[float]:
        environment = FourRoomEnv(television=(12, 37))
        environment.reset(seed=seed)
        for action in TO_THE_TELEVISION:
            observation, *_ = environment.step(np.int64(action))
        return list(observation)

    assert watch(1) == watch(1)
    assert watch(1) != watch(2)


def test_reports_the_cell_and_truncates_after_1000_steps() -> None:
    environment = gymnasium.make("rle/FourRoom-v0")
    observation, info = environment.reset(seed=0)
    assert info["cell"] == grid.START
    assert observation.tolist() == [1.0, 1.0]
    cell = grid.START
    for number, action in enumerate(np.random.default_rng(0).integers(0, 4, 1000), start=1):
        _, reward, terminated, truncated, info = environment.step(action)
        cell = grid.move(cell, int(action))
        assert info["cell"] == cell
        assert (reward, terminated, truncated) == (0.0, False, number == 1000)


def centre(picture: np.ndarray, cell: grid.Cell) -> tuple[int, ...]:
    row, column = cell
    return tuple(picture[8 * row + 4, 8 * column + 4].tolist())


def test_pictures_show_what_is_where() -> None:
    environment = FourRoomEnv(goal=True, television=(12, 37), render_mode="rgb_array")
    environment.reset(seed=0)
    picture = environment.render()
    assert picture is not None
    assert picture.shape == (408, 408, 3)
    assert picture.dtype == np.uint8
    assert centre(picture, grid.START) == fourroom_map.AGENT
    assert centre(picture, grid.GOAL) == fourroom_map.GOAL
    for cell in ((12, 37), (12, 38), (13, 37), (13, 38)):
        assert centre(picture, cell) == fourroom_map.TELEVISION
    for cell in ((25, 0), (25, 25), (50, 25)):
        assert centre(picture, cell) == fourroom_map.WALL
    for cell in (*grid.DOORS, (14, 37), (3, 3)):
        assert centre(picture, cell) == fourroom_map.FLOOR


def test_pictures_follow_the_agent() -> None:
    environment = FourRoomEnv(render_mode="rgb_array")
    environment.reset(seed=0)
    for _ in range(3):
        environment.step(np.int64(LEFT))
    picture = environment.render()
    assert picture is not None
    assert centre(picture, (0, 47)) == fourroom_map.AGENT
    assert centre(picture, grid.START) == fourroom_map.START
    assert centre(picture, grid.GOAL) == fourroom_map.FLOOR
    assert FourRoomEnv().render() is None
