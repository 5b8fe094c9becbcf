"""The rollout's storage: where every number goes, and what is said of steps that only reset."""

import pytest
import torch

from rle.learn.rollout import Rollout, Rows
from rle.nets.distributions import distribution_for
from rle.tasks.base import Discrete, TaskSpec


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


SPEC = TaskSpec(2, (3,), torch.float32, Discrete(4))


def numbered(first: int, count: int, **changes: torch.Tensor | None) -> Rows:
    """Consecutive rows in which every number says where it belongs: 100 · row + 10 · environment."""
    place = (100.0 * torch.arange(first, first + count)[:, None] + 10 * torch.arange(2))[..., None]
    no = torch.zeros(count, 2, dtype=torch.bool)
    rows = Rows(
        observation=place + torch.tensor([0.1, 0.2, 0.3]),
        latent=place + torch.tensor([0.4, 0.5]),
        policy_output=place + torch.tensor([0.6, 0.7, 0.8, 0.9]),
        action=place[..., 0].long() + 1,
        reward=place[..., 0] + 2,
        terminated=no,
        truncated=no,
        next_observation=place + torch.tensor([5.1, 5.2, 5.3]),
        real=None,
        score=None,
        episode_over=None,
        bonus_cut=None,
    )
    return rows._replace(**changes)


def filled(*parts: Rows) -> Rollout:
    steps = sum(len(rows.reward) for rows in parts)
    rollout = Rollout(steps, SPEC, distribution_for(SPEC.action_space), 2, 1, torch.device("cpu"))
    write(rollout, *parts)
    return rollout


def write(rollout: Rollout, *parts: Rows) -> None:
    rollout.begin()
    first = 0
    for rows in parts:
        rollout.write(first, rows)
        first += len(rows.reward)
    last = numbered(first, 1)
    rollout.write_last(last.observation[0], last.latent[0])


def flags(*rows: tuple[int, int]) -> torch.Tensor:
    return torch.tensor(rows, dtype=torch.bool)


def test_everything_stands_where_it_was_written() -> None:
    rollout = filled(numbered(0, 2), numbered(2, 1))
    whole = numbered(0, 4)
    assert torch.equal(rollout.observation, whole.observation)
    assert torch.equal(rollout.latent, whole.latent)
    for name in ("action", "policy_output", "reward", "terminated", "truncated"):
        assert torch.equal(getattr(rollout, name), getattr(whole, name)[:3]), name
    # Where a step does not say otherwise, the score is the reward and no bonus return is cut.
    assert torch.equal(rollout.score, whole.reward[:3])
    assert not bool(rollout.episode_over.any())
    assert not bool(rollout.bonus_cut.any())
    assert rollout.real is None
    assert rollout.values is None
    assert rollout.finals() is None
    assert torch.equal(rollout.next_observation(), whole.observation[1:])


def test_blocks_that_waited_stand_where_the_others_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether they were stored one by one, some at a time, or all at the end."""
    some = flags((1, 0), (1, 1))
    parts = [
        numbered(0, 2, terminated=flags((0, 1), (0, 0))),
        numbered(2, 2, real=some),
        numbered(4, 1, truncated=flags((1, 0))),
        numbered(5, 2),
    ]
    for most in (0, 20, 1000):
        monkeypatch.setattr("rle.learn.rollout.MOST_WAITING", most)
        rollout = filled(*parts)
        whole = numbered(0, 8)
        assert torch.equal(rollout.observation, whole.observation)
        assert torch.equal(rollout.latent, whole.latent)
        for name in ("action", "policy_output", "reward"):
            assert torch.equal(getattr(rollout, name), getattr(whole, name)[:7]), name
        assert rollout.real.tolist() == [[True] * 2, [True] * 2, *some.tolist(), *[[True] * 2] * 3]
        finals = rollout.finals()
        assert (finals.row.tolist(), finals.env.tolist()) == ([0, 4], [1, 0])
        assert torch.equal(finals.observation[1], numbered(4, 1).next_observation[0, 0])


def test_scores_ends_and_cuts_of_a_steps_own() -> None:
    cut = flags((1, 0), (0, 0), (0, 1))[..., None]
    rollout = filled(
        numbered(
            0,
            3,
            score=torch.arange(6.0).view(3, 2),
            terminated=flags((0, 1), (0, 0), (0, 0)),
            episode_over=flags((0, 0), (1, 0), (0, 0)),
            bonus_cut=cut,
        )
    )
    assert rollout.score.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert rollout.episode_over.tolist() == [[0, 0], [1, 0], [0, 0]]
    assert torch.equal(rollout.bonus_cut, cut)


def test_an_episode_is_over_at_either_end() -> None:
    rollout = filled(
        numbered(0, 2, terminated=flags((0, 1), (0, 0)), truncated=flags((0, 0), (1, 0)))
    )
    assert rollout.episode_over.tolist() == [[False, True], [True, False]]


def test_true_next_observations_where_episodes_ended() -> None:
    # Environment 1 ends at row 0 and environment 0 at rows 2 and 3, in three separate writes.
    rollout = filled(
        numbered(0, 2, terminated=flags((0, 1), (0, 0))),
        numbered(2, 1, truncated=flags((1, 0))),
        numbered(3, 1, terminated=flags((1, 0))),
    )
    finals = rollout.finals()
    assert finals.row.tolist() == [0, 2, 3]
    assert finals.env.tolist() == [1, 0, 0]
    observation, true_next = numbered(0, 5).observation, numbered(0, 4).next_observation
    expected = [
        true_next[t, n] if (t, n) in ((0, 1), (2, 0), (3, 0)) else observation[t + 1, n]
        for t in range(4)
        for n in range(2)
    ]
    torch.testing.assert_close(rollout.next_observation().flatten(0, 1), torch.stack(expected))
    # In any order, and the same one twice.
    index = [6, 1, 1, 0, 7, 4]
    found = rollout.next_observation_at(torch.tensor(index))
    torch.testing.assert_close(found, torch.stack([expected[i] for i in index]))
    # The storage itself stays as it was.
    assert torch.equal(rollout.observation, observation)


def test_which_rows_are_real() -> None:
    rollout = filled(numbered(0, 1, real=flags((1, 0))), numbered(1, 2))
    assert rollout.real.tolist() == [[True, False], [True, True], [True, True]]
    write(rollout, numbered(0, 3))
    assert rollout.real is None


def test_a_new_rollout_knows_nothing_of_the_one_before() -> None:
    values = torch.arange(6.0).view(3, 2, 1)
    rollout = filled(numbered(0, 3, terminated=flags((1, 1), (0, 0), (0, 0)), values=values))
    write(rollout, numbered(0, 3))
    assert rollout.finals() is None
    assert rollout.values is None


def test_values_that_came_while_acting_are_kept_in_order() -> None:
    values = torch.arange(8.0).view(4, 2, 1)
    rollout = Rollout(3, SPEC, distribution_for(SPEC.action_space), 2, 1, torch.device("cpu"))
    rollout.begin()
    rollout.write(0, numbered(0, 2, values=values[:2]))
    rollout.write(2, numbered(2, 1, values=values[2:3]))
    rollout.write_last(torch.zeros(2, 3), torch.zeros(2, 2), values[3])
    assert torch.equal(rollout.values, values)


def test_stacked_rows_are_the_rows_one_after_the_other() -> None:
    whole = numbered(0, 3, bonus_cut=flags((1, 0), (0, 0), (0, 1))[..., None])
    single = [Rows(*(None if part is None else part[t] for part in whole)) for t in range(3)]
    for found, expected in ((Rows.stack(single), whole), (Rows.stack(single[:1]), numbered(0, 1))):
        assert torch.equal(found.observation, expected.observation)
        assert torch.equal(found.reward, expected.reward)
        assert found.score is None
    assert torch.equal(Rows.stack(single).bonus_cut, whole.bonus_cut)
