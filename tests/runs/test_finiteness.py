"""NaN and infinity stop a run where they first come up, and leave what was good of it."""

import json
import math
from pathlib import Path

import pytest
import torch

from rle.cli import main
from rle.config import RunConfig
from rle.errors import UsageError
from rle.runs.directory import RunDirectory
from rle.runs.evaluate import evaluate
from rle.runs.finiteness import check_iteration
from rle.runs.train import resume, train_config
from rle.runs.trainer import Trainer
from tests.builders import PAPERS_F, small_config
from tests.probes import gymnasium_environments
from tests.probes.gymnasium_environments import Poisoned

gymnasium_environments.register()

TASK = "gym/probe/Poisoned-v0"
NAN, INFINITY = math.nan, math.inf


def config(explore: str = "none", **settings) -> RunConfig:
    """Eight environments, rollouts of 16 steps: 128 agent steps, and a checkpoint, per iteration."""
    return small_config(explore, TASK, checkpoint_every=128, **settings)


def stopped_run(path: Path, **settings) -> RunDirectory:
    with pytest.raises(UsageError):
        train_config(config(**settings), path, quiet=True)
    return RunDirectory.open(path)


@pytest.mark.parametrize("normalise", [True, False])
@pytest.mark.parametrize("number", [NAN, INFINITY, -INFINITY])
@pytest.mark.parametrize("where", ["observation", "reward"])
def test_names_what_and_where(where: str, number: float, normalise: bool, tmp_path: Path) -> None:
    # The 20th step of environment 3, of eight: 160 agent steps were made by then.
    Poisoned.poison(3, 20, where, number)
    sentence = rf"^the {where} in environment 3 of {TASK} is not finite at step 160 .*resume"
    with pytest.raises(UsageError, match=sentence):
        train_config(config(normalise_observations=normalise), tmp_path / "run", quiet=True)


@pytest.mark.parametrize("mode", ["next-step", "same-step"])
@pytest.mark.parametrize(
    ("where", "step"),
    [
        ("last observation", {"next-step": 160, "same-step": 160}),
        # In next-step mode the environment is reset by the call after its end.
        ("first observation", {"next-step": 168, "same-step": 160}),
    ],
)
def test_around_an_episodes_end(
    where: str, step: dict[str, int], mode: str, tmp_path: Path
) -> None:
    Poisoned.poison(3, 20, where, NAN)
    sentence = rf"^the observation in environment 3 .* at step {step[mode]} "
    with pytest.raises(UsageError, match=sentence):
        train_config(config(autoreset=mode), tmp_path / "run", quiet=True)


# Gymnasium looks at the first observation itself.
@pytest.mark.filterwarnings("ignore:.*within the observation space")
def test_in_the_very_first_observation(tmp_path: Path) -> None:
    Poisoned.poison(7, 0, "first observation", NAN)
    with pytest.raises(UsageError, match=r"^the observation in environment 7 .* at step 0 "):
        train_config(config(), tmp_path / "run", quiet=True)


@pytest.mark.parametrize(
    ("call", "when"), [(5, "step 40 of the warm-up"), (16 + 20, r"step 288 \(")]
)
def test_before_and_after_the_warm_up(call: int, when: str, tmp_path: Path) -> None:
    """RLE's features and their statistics have seen it too; the environment is what is named."""
    Poisoned.poison(3, call, "observation", NAN)
    with pytest.raises(UsageError, match=f"^the observation in environment 3 .* at {when}"):
        train_config(config("rle"), tmp_path / "run", quiet=True)


def test_what_was_good_stays_and_the_run_goes_on_from_it(tmp_path: Path) -> None:
    """Mended, it ends exactly where a run without the accident ends."""
    Poisoned.poison(3, 20, "observation", NAN)
    run = stopped_run(tmp_path / "run")
    assert run.finished() is None
    assert run.checkpoint_steps() == [128]
    assert [line["step"] for line in run.metrics()] == [128]
    Poisoned.poison(0, 0, "nothing", NAN)
    whole = train_config(config(), tmp_path / "whole", quiet=True)
    resumed = resume(run.path, quiet=True)
    assert resumed.finished() is not None
    ends = [r.load_checkpoint()["learner"]["network"] for r in (whole, resumed)]
    assert all(torch.equal(ends[0][name], ends[1][name]) for name in ends[0])


def test_the_command_says_it_in_one_sentence_and_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    Poisoned.poison(0, 3, "reward", NAN)
    small = ["--explore=none", "--num-envs=4", "--rollout-steps=8", "--total-steps=64"]
    assert main(["train", TASK, *small, "--out", str(tmp_path / "run")]) == 1
    shown = capsys.readouterr()
    assert shown.err.startswith(
        f"rle: the reward in environment 0 of {TASK} is not finite at step 12"
    )
    assert shown.err.count("\n") == 1
    assert "finished" not in shown.out
    # As with any run that was stopped before its first checkpoint.
    assert main(["eval", str(tmp_path / "run")]) == 2
    assert "has no checkpoint" in capsys.readouterr().err


def test_reports_take_it_for_an_interrupted_run(tmp_path: Path) -> None:
    from rle.report.read.records import read_run

    Poisoned.poison(3, 20, "reward", NAN)
    run = stopped_run(tmp_path / "run")
    record = read_run(run.path, "run")
    assert not record.finished
    assert any("not finished" in note for note in record.notes)


def test_evaluation(tmp_path: Path) -> None:
    Poisoned.poison(0, 0, "nothing", NAN)
    run = train_config(config(time_limit=10, total_steps=128), tmp_path / "run", quiet=True)
    # Loading the agent makes no environment, evaluating it four.
    Poisoned.poison(2, 5, "observation", NAN)
    with pytest.raises(
        UsageError, match=r"^the observation in environment 2 .* step 20 of the eval"
    ):
        evaluate(run.path, episodes=4)


@pytest.mark.parametrize("task", ["gym/CartPole-v1", "gym/Pendulum-v1"])
def test_a_learning_rate_that_diverges(task: str, tmp_path: Path) -> None:
    diverging = small_config("none", task, learning_rate=1e30)
    with pytest.raises(
        UsageError, match=r"^the loss is not finite in the update at step 128 .*lower"
    ):
        train_config(diverging, tmp_path / "run", quiet=True)
    assert RunDirectory.open(tmp_path / "run").finished() is None
    assert RunDirectory.open(tmp_path / "run").checkpoint_steps() == []


def bottomless(observation_shape: tuple[int, ...], dimension: int) -> torch.nn.Module:
    """φ that is NaN where the first number of an observation is above 2."""

    class Root(torch.nn.Module):
        def forward(self, observation: torch.Tensor) -> torch.Tensor:
            return (2 - observation[..., :1]).sqrt().expand(*observation.shape[:-1], dimension)

    return Root()


def test_a_bonus_of_ones_own(tmp_path: Path) -> None:
    """Standardised by nothing, so that the accident stays in one place until it is found."""
    settings = {**PAPERS_F, "rle__feature_network": bottomless, "rle__standardise": False}
    Poisoned.poison(0, 0, "nothing", NAN)
    trainer = Trainer(config("rle", normalise_observations=False, **settings))
    trainer.start()
    with pytest.raises(UsageError) as caught:
        all(trainer.iterate() for _ in range(8))
    place = (trainer.rollout.next_observation()[..., 0] > 2).nonzero()[0]
    step = trainer.step + (int(place[0]) + 1) * 8
    assert str(caught.value).startswith(
        f"the bonus in environment {int(place[1])} of {TASK} is not finite at step {step:,} "
    )


class TestCheck:
    @pytest.fixture
    def trainer(self) -> Trainer:
        Poisoned.poison(0, 0, "nothing", NAN)
        trainer = Trainer(config())
        trainer.start()
        trainer.iterate()
        return trainer

    def check(self, trainer: Trainer, **metrics: float) -> None:
        check_iteration("a task", trainer.rollout, trainer.learner, metrics, 1000)

    def test_large_numbers_are_finite(self, trainer: Trainer) -> None:
        trainer.rollout.reward[:] = 3e38
        trainer.rollout.observation[:] = -3e38
        assert not trainer.rollout.reward.sum().isfinite()
        self.check(trainer, policy_loss=1e300)

    def test_a_reward_that_was_none_does_not_matter(self, trainer: Trainer) -> None:
        trainer.rollout.reward[2, 1] = NAN
        trainer.rollout._all_real = False
        trainer.rollout._real[2, 1] = False
        self.check(trainer)
        trainer.rollout._real[2, 1] = True
        with pytest.raises(UsageError, match=r"the reward in environment 1 of a task .* 1,024 "):
            self.check(trainer)

    def test_the_cause_is_named_and_not_what_follows_from_it(self, trainer: Trainer) -> None:
        rollout = trainer.rollout
        rollout.observation[5:, 2] = rollout.policy_output[5:, 2] = rollout.reward[5:, 2] = NAN
        with pytest.raises(UsageError, match=r"^the observation in environment 2 .* step 1,040 "):
            self.check(trainer, policy_loss=NAN)
        rollout.policy_output[4, 6] = INFINITY
        with pytest.raises(
            UsageError, match=r"^the policy's output in environment 6 .* step 1,032 "
        ):
            self.check(trainer, policy_loss=NAN)

    def test_losses_and_parameters(self, trainer: Trainer) -> None:
        with pytest.raises(UsageError, match=r"1,128 .value_loss_rle is inf"):
            self.check(trainer, policy_loss=0.0, value_loss_rle=INFINITY)
        self.check(trainer, explained_variance_task=NAN)
        trainer.learner.optimiser.flat[3] = NAN
        with pytest.raises(UsageError, match=r"^the networks' parameters .* step 1,128"):
            self.check(trainer, policy_loss=0.0)


def test_metrics_of_a_run_are_json(tmp_path: Path) -> None:
    """Strictly: Python would also write and read NaN, which nobody else does."""
    Poisoned.poison(3, 20, "reward", NAN)
    run = stopped_run(tmp_path / "run")

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    for line in (run.path / "metrics.jsonl").read_text().splitlines():
        json.loads(line, parse_constant=refuse)
