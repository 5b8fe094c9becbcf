"""Transitions are gathered when asked for, once, and only then."""

import torch
from torch import Tensor

from rle.explore.transitions import Transitions, joined
from rle.runs.trainer import Trainer
from tests.builders import small_config


class Counting:
    """Gives a field, and counts how often."""

    def __init__(self, field: Tensor) -> None:
        self.field = field
        self.times = 0

    def __call__(self) -> Tensor:
        self.times += 1
        return self.field


ROWS = torch.arange(6.0)[:, None]


def counted() -> tuple[Transitions, list[Counting]]:
    fields = [Counting(ROWS + shift) for shift in (0, 10, 20)]
    latent = Counting(torch.arange(24.0).view(6, 4))
    return Transitions(*fields, latent), [*fields, latent]


def test_a_field_is_gathered_when_asked_for_and_once() -> None:
    transitions, fields = counted()
    view = transitions.columns(1, 3)
    assert [field.times for field in fields] == [0, 0, 0, 0]
    for _ in range(2):
        assert torch.equal(view.next_observation, ROWS + 20)
        assert torch.equal(transitions.next_observation, ROWS + 20)
    assert [field.times for field in fields] == [0, 0, 1, 0]
    assert view.latent.tolist() == [[1 + 4 * row, 2 + 4 * row] for row in range(6)]
    assert transitions.columns(2, 2).latent is None


def test_what_is_named_is_gathered_at_once() -> None:
    transitions, fields = counted()
    assert transitions.gathered(("action", "latent")) is transitions
    assert [field.times for field in fields] == [0, 1, 0, 1]


def test_pieces_are_the_whole() -> None:
    transitions, _ = counted()
    pieces = list(transitions.split(4))
    assert [len(piece) for piece in pieces] == [4, 2]
    for name in ("observation", "action", "next_observation", "latent"):
        found = torch.cat([getattr(piece, name) for piece in pieces])
        assert torch.equal(found, getattr(transitions, name)), name
    assert list(transitions.split(None)) == [transitions]
    together = joined(pieces)
    for name in ("observation", "action", "next_observation"):
        assert torch.equal(getattr(together, name), getattr(transitions, name)), name
    assert together.latent is None


def test_the_order_tells_steps_environments_and_episodes_apart() -> None:
    """Of 5-step episodes in a rollout of 8, the sixth step is the next one's first."""
    trainer = Trainer(small_config("rle", task="fourroom", time_limit=5))
    trainer.start()
    trainer.collect()
    steps, envs = trainer.rollout.reward.shape
    order = trainer.rollout.transitions().order
    assert order is not None
    assert order.shape == (steps, envs)
    assert order.row.tolist() == [row for row in range(steps) for _ in range(envs)]
    assert order.env.tolist() == list(range(envs)) * steps
    assert order.episode.tolist() == [row // 5 for row in range(steps) for _ in range(envs)]
    index = torch.tensor([envs * 6 + 1, 2])
    some = trainer.rollout.transitions(index)
    assert some.order.row.tolist() == [6, 0]
    assert some.order.env.tolist() == [1, 2]
    piece = next(iter(some.columns(0, 1).split(1))).order
    assert [part.tolist() for part in piece[:3]] == [[6], [1], [1]]
    assert counted()[0].order is None


def test_a_rollouts_transitions_are_what_happened() -> None:
    """All of them, and some of them, against what the task was asked and answered."""
    trainer = Trainer(small_config("rle", task="fourroom", time_limit=5))
    step, happened = trainer.task.step, []
    trainer.start()

    def write_down(action: Tensor):
        outcome = step(action)
        happened.append((action.clone(), outcome.next_observation.clone()))
        return outcome

    trainer.task.step = write_down
    trainer.collect()
    rollout = trainer.rollout
    actions, led_to = (torch.stack(column).flatten(0, 1) for column in zip(*happened, strict=True))
    index = torch.tensor([3, 77, 40, 127])
    for rows in (slice(None), index):
        transitions = rollout.transitions(None if rows is not index else index)
        assert torch.equal(transitions.action, actions[rows])
        assert torch.equal(transitions.next_observation, led_to[rows])
        assert torch.equal(transitions.observation, rollout.observation[:-1].flatten(0, 1)[rows])
        assert torch.equal(transitions.latent, rollout.latent[:-1].flatten(0, 1)[rows])
    # Images would be too large to copy.
    whole = rollout.transitions()
    assert whole.observation.data_ptr() == rollout.observation.data_ptr()
    assert whole.action.data_ptr() == rollout.action.data_ptr()
    assert Trainer(small_config("rnd")).rollout.transitions().latent is None


def test_the_warm_up_shows_whole_transitions_that_are_real() -> None:
    trainer = Trainer(
        small_config("rle", task="gym/CartPole-v1", time_limit=6, rle__standardise=True)
    )
    seen: list[Transitions] = []
    trainer.strategy.warm_up = lambda rollout, transitions: seen.append(transitions)
    step, rows, now = trainer.task.step, [], []
    reset = trainer.task.reset

    def write_down(action: Tensor):
        outcome = step(action)
        for n in range(8):
            if outcome.real is None or bool(outcome.real[n]):
                rows.append((now[-1][n], action[n], outcome.next_observation[n].clone()))
        now.append(outcome.observation.clone())
        return outcome

    trainer.task.step = write_down
    trainer.task.reset = lambda seed: now.append(reset(seed)) or now[-1]
    trainer.start()
    (made,) = seen
    assert 0 < len(made) < 128
    columns = [torch.stack(column) for column in zip(*rows, strict=True)]
    for name, expected in zip(("observation", "action", "next_observation"), columns, strict=True):
        assert torch.equal(getattr(made, name), expected), name
    assert made.latent is None
    trainer.task.close()
