"""DeepSea, by hand and against the rules written once more, one diver at a time."""

import itertools

import pytest
import torch

from rle.tasks.sparse.deepsea import deep_sea
from rle.tasks.sparse.table_world import TableWorld


def dive(size: int, actions: list[int]) -> tuple[float, float, list[list[float]]]:
    """Return, success and observations of one episode."""
    task = TableWorld(deep_sea(size), 1)
    seen = [task.reset(0)[0].tolist()]
    reward = score = 0.0
    for number, action in enumerate(actions):
        step = task.step(torch.tensor([action]))
        assert step.score is not None
        reward += float(step.reward)
        score += float(step.score)
        seen.append(step.next_observation[0].tolist())
        assert bool(step.terminated) is (number == size - 1)
        assert not bool(step.truncated)
    return reward, score, seen


def right_actions(size: int) -> list[int]:
    """What moves right in each cell of the diagonal."""
    moves = deep_sea(size).moves
    return [
        next(a for a in (0, 1) if int(moves[row * size + row, a]) != (row + 1) * size + row - 1)
        for row in range(1, size - 1)
    ]


def test_of_all_sequences_of_actions_one_finds_the_chest() -> None:
    """2^-N for random actions; the best return is 1 - N · 0.01 / N, all others are not above 0."""
    for size in (2, 3, 5, 7):
        outcomes = [dive(size, list(actions)) for actions in itertools.product((0, 1), repeat=size)]
        found = [reward for reward, success, _ in outcomes if success]
        assert found == [pytest.approx(0.99, abs=1e-6)]
        others = [reward for reward, success, _ in outcomes if not success]
        assert len(others) == 2**size - 1
        # The next best moves left all the way, for nothing.
        assert max(others) == 0.0
        # The dearest moves right in all steps but one: (N - 1) · 0.01 / N.
        assert min(others) == pytest.approx(-0.01 * (size - 1) / size, abs=1e-6)


def test_the_diver_sinks_a_row_with_each_step_and_is_seen_as_a_one_among_zeros() -> None:
    size = 4
    for actions in itertools.product((0, 1), repeat=size):
        _, _, seen = dive(size, list(actions))
        for row, observation in enumerate(seen[:-1]):
            assert sum(observation) == 1.0
            place = observation.index(1.0)
            assert place // size == row
            assert place % size <= row
        assert seen[-1] == [0.0] * size**2


def test_neither_action_is_right_everywhere() -> None:
    assert {0, 1} <= set(right_actions(20))
    # And it is the same sea each time.
    assert torch.equal(deep_sea(20).moves, deep_sea(20).moves)


def test_many_divers_at_once_dive_like_one() -> None:
    size, divers = 6, 5
    source = torch.Generator().manual_seed(3)
    actions = torch.randint(0, 2, (2 * size, divers), generator=source)
    task = TableWorld(deep_sea(size), divers)
    task.reset(0)
    steps = [task.step(row) for row in actions]
    for diver in range(divers):
        for episode in range(2):
            rows = slice(episode * size, (episode + 1) * size)
            reward, _, seen = dive(size, actions[rows, diver].tolist())
            alone = torch.tensor(seen[1:])
            together = torch.stack([step.next_observation[diver] for step in steps[rows]])
            assert torch.equal(alone, together)
            total = sum(float(step.reward[diver]) for step in steps[rows])
            assert total == pytest.approx(reward, abs=1e-6)
    # Whoever has come down begins again on top, without a step in between.
    assert steps[size - 1].observation[:, 0].tolist() == [1.0] * divers
