"""How often the host waits for the device in one iteration: where it must, and nowhere else."""

from collections.abc import Iterator

import pytest

from rle.core import transfer
from rle.learn import rollout
from rle.runs.trainer import Trainer
from tests.devices.cases import STEPS, tiny
from tests.devices.pretend import DEVICE, Pretence, pretending


@pytest.fixture
def pretence(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pretence]:
    monkeypatch.setattr(transfer, "PINNING", {DEVICE})
    with pretending() as found:
        yield found


def waits(pretence: Pretence, case: str) -> tuple[list[str], list[str], list[str]]:
    """Of a rollout, of the update on it, and of a whole iteration."""
    trainer = Trainer(tiny(case, DEVICE))
    trainer.start()
    trainer.iterate()
    collecting = pretence.waited(trainer.collect)
    learning = pretence.waited(lambda: trainer.learner.improve(trainer.rollout))
    whole = pretence.waited(trainer.iterate)
    trainer.task.close()
    return collecting, learning, whole


@pytest.mark.parametrize("case", ["none", "rle", "rnd", "noisy", "white noise"])
def test_on_tensors_a_rollout_never_waits_and_an_update_thrice(
    pretence: Pretence, case: str
) -> None:
    collecting, learning, _ = waits(pretence, case)
    assert collecting == []
    # How many episodes ended; what the streams were like; what the gradient steps were like.
    functions = [wait.rpartition("(")[2].rstrip(")") for wait in learning]
    assert functions == ["_look_for_finals", "_describe", "update"]


def test_an_iteration_of_rle_waits_eight_times(pretence: Pretence) -> None:
    *_, whole = waits(pretence, "rle")
    # Beside the update's: z's influence, whether all is finite, scores and ends of episodes, visits.
    assert len(whole) == 3 + 5


@pytest.mark.parametrize("case", ["gym", "gym resets at once", "BallBalance", "Atari"])
def test_environments_of_the_host_are_waited_for_once_a_step(pretence: Pretence, case: str) -> None:
    collecting, learning, _ = waits(pretence, case)
    # The actions, which the environments cannot do without.
    assert len(collecting) == STEPS
    assert {wait.rpartition(" ")[2] for wait in collecting} <= {"(playable)", "(step)"}
    # Which transitions are real: for the bonus, for what is described, and for RND's minibatches.
    assert len(learning) <= 3 + 3


def test_without_pinned_memory_every_copy_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with pretending() as found:
        collecting, *_ = waits(found, "rle")
    # Noise of the policy, and new latents.
    assert len(collecting) == 1 + 1


def test_observations_that_are_looked_at_later_do_not_pile_up(
    pretence: Pretence, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rollout, "LOOKED_FOR_LATER", 4 * 2 * STEPS - 1)
    collecting, learning, _ = waits(pretence, "rle")
    assert len(collecting) == 1
    assert len(learning) == 2
