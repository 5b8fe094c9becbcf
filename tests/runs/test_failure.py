"""What goes wrong while a run goes on: one sentence with environment and step, and all that is needed
to find the cause and to go on."""

import errno
import json
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import safetensors.torch
import torch
from gymnasium.vector import SyncVectorEnv

from rle.checkup.check import check
from rle.cli import main
from rle.config import RunConfig
from rle.errors import RunError, UsageError
from rle.runs import manifest
from rle.runs.callbacks import Callback
from rle.runs.directory import RunDirectory
from rle.runs.evaluate import evaluate
from rle.runs.sinks.jsonl import JsonLines
from rle.runs.train import resume, train, train_config
from tests.builders import small_config
from tests.probes import gymnasium_environments
from tests.probes.gymnasium_environments import Misbehaving, Poisoned

gymnasium_environments.register()

TASK = "gym/probe/Misbehaving-v0"
ROOT = Path(__file__).parents[2]


def config(explore: str = "none", **settings) -> RunConfig:
    """Eight environments, rollouts of 16 steps: 128 agent steps, and a checkpoint, per iteration."""
    return small_config(explore, TASK, checkpoint_every=128, **settings)


def failed_run(path: Path, sentence: str, **settings) -> RunDirectory:
    with pytest.raises(RunError, match=sentence):
        train_config(config(**settings), path, quiet=True)
    run = RunDirectory.open(path)
    assert run.finished() is None
    return run


class TestWhatIsKept:
    """The 20th step of environment 3, of eight: 160 agent steps were made by then."""

    def test_numbers_that_are_not_finite(self, tmp_path: Path) -> None:
        Poisoned.made = 0
        Misbehaving.poison(3, 20, "reward", float("nan"))
        run = failed_run(tmp_path / "run", r"environment 3 .* step 160 .*000000000160.safetensors")
        record = json.loads((run.path / "failures" / "000000000160.json").read_text())
        assert record["what"] == "reward"
        assert (record["step"], record["environment"]) == (160, 3)
        assert record["sentence"].startswith("the reward in environment 3")
        kept = safetensors.torch.load_file(run.path / "failures" / "000000000160.safetensors")
        # Four rows of the second rollout were over, the last of them with the reward that was NaN.
        assert kept["/reward"].shape == (4,)
        assert kept["/reward"].isnan().tolist() == [False, False, False, True]
        assert kept["/action"].shape == (4, 1)
        assert kept["/observation"].shape == (5, 2)
        assert torch.equal(kept["/observation"][1:], kept["/next_observation"])

    def test_z_is_among_them(self, tmp_path: Path) -> None:
        Misbehaving.poison(3, 16 + 20, "observation", float("inf"))
        run = failed_run(tmp_path / "run", "the observation", explore="rle")
        kept = safetensors.torch.load_file(run.path / "failures" / "000000000288.safetensors")
        assert kept["/latent"].shape == (5, 4)
        assert kept["/bonus"].shape == (4, 1)

    def test_in_the_warm_up(self, tmp_path: Path) -> None:
        Misbehaving.poison(3, 5, "observation", float("nan"))
        run = failed_run(tmp_path / "run", "step 40 of the warm-up", explore="rle")
        kept = safetensors.torch.load_file(run.path / "failures" / "000000000040.safetensors")
        assert set(kept) == {"/observation", "/action", "/next_observation", "/reward"}
        assert kept["/next_observation"].isnan().tolist() == [False, True]

    def test_a_long_rollout_is_kept_in_part(self, tmp_path: Path) -> None:
        Misbehaving.poison(3, 14, "reward", float("nan"))
        run = failed_run(tmp_path / "run", "step 112")
        kept = safetensors.torch.load_file(run.path / "failures" / "000000000112.safetensors")
        assert kept["/reward"].shape == (8,)

    def test_a_score_that_is_not_the_reward(self, tmp_path: Path) -> None:
        from rle.runs.finiteness import check_iteration
        from rle.runs.trainer import Trainer

        Misbehaving.poison(0, 0, "nothing", 0.0)
        trainer = Trainer(config())
        trainer.start()
        trainer.iterate()
        trainer.rollout.score[2, 1] = torch.inf
        with pytest.raises(RunError, match=r"^the score in environment 1 of x .* step 24 "):
            check_iteration("x", trainer.rollout, trainer.learner, {}, 0)

    # Gymnasium puts observations into arrays of single precision itself.
    @pytest.mark.filterwarnings("ignore:overflow encountered in cast")
    @pytest.mark.parametrize(
        ("where", "what"), [("too large", "observation"), ("too much", "reward")]
    )
    def test_what_is_infinite_in_single_precision(
        self, where: str, what: str, tmp_path: Path
    ) -> None:
        Misbehaving.poison(3, 20, where, 0.0)
        failed_run(tmp_path / "run", f"^the {what} in environment 3 .* step 160 ")


class TestAnEnvironmentThatFails:
    @pytest.mark.parametrize("mode", ["next-step", "same-step"])
    @pytest.mark.parametrize("normalise", [True, False])
    def test_by_an_exception(self, mode: str, normalise: bool, tmp_path: Path) -> None:
        Misbehaving.poison(3, 20, "exception", 0.0)
        sentence = (
            rf"^environment 3 of {TASK} raised LookupError \(the dice are lost\) at step 160: mend it; "
            r"`rle resume .*run` then goes on from the last checkpoint \(traceback: .*160\.txt\)\.$"
        )
        settings = {"autoreset": mode, "normalise_observations": normalise}
        run = failed_run(tmp_path / "run", sentence, **settings)
        assert run.checkpoint_steps() == [128]
        traceback = (run.path / "failures" / "000000000160.txt").read_text()
        assert 'raise LookupError("the dice are\\nlost")' in traceback
        record = json.loads((run.path / "failures" / "000000000160.json").read_text())
        assert (record["step"], record["environment"]) == (160, 3)
        assert record["exception"] == "LookupError"

    @pytest.mark.parametrize(("mode", "step"), [("next-step", 168), ("same-step", 160)])
    def test_in_a_reset(self, mode: str, step: int, tmp_path: Path) -> None:
        Misbehaving.poison(3, 20, "exception in reset", 0.0)
        failed_run(tmp_path / "run", f"^environment 3 .* at step {step}:", autoreset=mode)

    def test_in_the_first_reset(self, tmp_path: Path) -> None:
        Misbehaving.poison(5, 0, "exception in reset", 0.0)
        run = failed_run(tmp_path / "run", "^environment 5 .* at step 0:")
        assert run.checkpoint_steps() == []

    def test_in_the_warm_up(self, tmp_path: Path) -> None:
        Misbehaving.poison(5, 3, "exception", 0.0)
        failed_run(tmp_path / "run", "^environment 5 .* at step 24:", explore="rle")

    def test_mended_it_ends_where_a_run_without_the_accident_ends(self, tmp_path: Path) -> None:
        Misbehaving.poison(3, 20, "exception", 0.0)
        run = failed_run(tmp_path / "run", "LookupError")
        Misbehaving.poison(0, 0, "nothing", 0.0)
        whole = train_config(config(), tmp_path / "whole", quiet=True)
        resumed = resume(run.path, quiet=True)
        ends = [r.load_checkpoint()["learner"]["network"] for r in (whole, resumed)]
        assert all(torch.equal(ends[0][name], ends[1][name]) for name in ends[0])

    def test_while_it_is_played_again(self, tmp_path: Path) -> None:
        """The run is resumed by playing its episodes again: not to be taken for a damaged file."""
        Misbehaving.poison(3, 20, "exception", 0.0)
        run = failed_run(tmp_path / "run", "LookupError")
        Misbehaving.poison(2, 7, "exception", 0.0)
        with pytest.raises(RunError, match=r"^environment 2 .* raised LookupError .* at step 128:"):
            resume(run.path, quiet=True)

    @pytest.mark.parametrize(
        ("where", "what"),
        [
            ("shape", r"showed something of the shape \(3,\) where its space has \(2,\)"),
            ("text", r"showed something of the shape \(\) where its space has \(2,\)"),
            ("complex", "showed numbers of the type complex64 where its space has float32"),
            ("ragged", "showed something that is no array"),
            ("no reward", "returned a NoneType for a reward"),
            ("rewards", "returned a ndarray for a reward"),
            ("many ends", "returned .* for whether its episode ended"),
            ("old", "returned a tuple of 4 from step instead of"),
        ],
    )
    def test_by_what_it_gives(self, where: str, what: str, tmp_path: Path) -> None:
        Misbehaving.poison(3, 20, where, 0.0)
        failed_run(tmp_path / "run", f"^environment 3 of {TASK} {what}.* at step 160: mend it")

    def test_the_command(self, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
        Misbehaving.poison(0, 3, "exception", 0.0)
        small = ["--explore=none", "--num-envs=4", "--rollout-steps=8", "--total-steps=64"]
        assert main(["train", TASK, *small, "--out", str(tmp_path / "run")]) == 1
        shown = capsys.readouterr()
        assert shown.err.startswith(f"rle: environment 0 of {TASK} raised LookupError")
        assert shown.err.count("\n") == 1
        Misbehaving.poison(0, 0, "nothing", 0.0)
        assert main(["resume", str(tmp_path / "run")]) == 0


class Half(gymnasium.vector.VectorEnv):
    """Two environments at once; from the second step on, it gives half of something."""

    num_envs = 2
    metadata = {"autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(self, half: str) -> None:
        self.single_observation_space = gymnasium.spaces.Box(-1.0, 1.0, (4,), np.float32)
        self.single_action_space = gymnasium.spaces.Discrete(2)
        self.action_space = gymnasium.spaces.MultiDiscrete([2, 2])
        self.observation_space = gymnasium.spaces.Box(-1.0, 1.0, (2, 4), np.float32)
        self.half, self.calls = half, 0

    def reset(self, *, seed=None, options=None):
        return np.zeros((2, 4), np.float32), {}

    def step(self, actions):
        self.calls += 1
        outcome = [np.zeros((2, 4), np.float32), np.zeros(2), np.zeros(2, bool), np.zeros(2, bool)]
        if self.calls > 1:
            names = ["observations", "rewards", "terminations"]
            outcome[names.index(self.half)] = outcome[names.index(self.half)][..., :1]
        return (*outcome, {})


class TestVectorsOfTheUsers:
    @pytest.mark.parametrize("half", ["observations", "rewards", "terminations"])
    def test_half_of_something(self, half: str, tmp_path: Path) -> None:
        settings = {"rollout_steps": 4, "minibatches": 1, "compile": "off", "total_steps": 64}
        with pytest.raises(RunError, match=rf"^an environment of .* {half} .* at step 4:"):
            train(Half(half), "none", out=tmp_path / "run", quiet=True, **settings)

    def test_a_synchronous_one_knows_who_it_was(self, tmp_path: Path) -> None:
        Misbehaving.poison(3, 20, "exception", 0.0)
        vector = SyncVectorEnv([Misbehaving] * 8)
        settings = {"rollout_steps": 16, "compile": "off", "total_steps": 1024}
        with pytest.raises(RunError, match=r"^environment 3 of gym/<SyncVectorEnv> raised .* 160:"):
            train(vector, "none", out=tmp_path / "run", quiet=True, **settings)


class TestTheDisk:
    def test_full_while_a_line_is_written(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Misbehaving.poison(0, 0, "nothing", 0.0)
        written = JsonLines.on_iteration

        def full(self: JsonLines, trainer, metrics, episodes) -> None:
            if trainer.iteration == 3:
                raise OSError(errno.ENOSPC, "No space left on device")
            written(self, trainer, metrics, episodes)

        monkeypatch.setattr(JsonLines, "on_iteration", full)
        run = failed_run(tmp_path / "run", r"\(No space left on device\): make room .*resume")
        assert run.checkpoint_steps() == [128, 256]
        monkeypatch.undo()
        assert resume(run.path, quiet=True).finished() is not None

    def test_a_limit_on_the_size_of_files(self, tmp_path: Path) -> None:
        """A checkpoint of this run has 60 kB; the system lets no file have more than 40."""
        out = tmp_path / "run"
        command = [sys.executable, "-m", "rle", "train", "fourroom-sparse", "--explore=none"]
        command += ["--num-envs=8", "--rollout-steps=16", "--total-steps=512", "--compile=off"]
        command += ["--checkpoint-every=128", f"--out={out}"]
        result = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000)),
        )
        assert result.returncode == 1, result.stderr
        assert "cannot be written or read (File too large)" in result.stderr
        assert "Traceback" not in result.stderr
        assert resume(out, quiet=True).finished() is not None

    def test_a_folder_that_cannot_be_written(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
    ) -> None:
        Misbehaving.poison(0, 0, "nothing", 0.0)

        def refuse(path: Path, *_, **__) -> None:
            raise OSError(errno.EROFS, "Read-only file system", str(path))

        monkeypatch.setattr(manifest, "write_json", refuse)
        small = ["--explore=none", "--num-envs=4", "--rollout-steps=8", "--total-steps=64"]
        assert main(["train", TASK, *small, "--out", str(tmp_path / "run")]) == 1
        error = capsys.readouterr().err
        assert "(Read-only file system)" in error
        assert "choose another --out" in error
        assert error.count("\n") == 1

    def test_an_error_that_is_not_the_disks_is_not_hidden(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Misbehaving.poison(0, 0, "nothing", 0.0)

        def missing(*_) -> None:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", "mine")

        monkeypatch.setattr(JsonLines, "on_iteration", missing)
        with pytest.raises(FileNotFoundError):
            train_config(config(), tmp_path / "run", quiet=True)

    def test_other_verbs(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
    ) -> None:
        import rle

        def full(*_, **__) -> None:
            raise OSError(errno.ENOSPC, "No space left on device", "there/eval.json")

        Misbehaving.poison(0, 0, "nothing", 0.0)
        run = train_config(config(total_steps=128), tmp_path / "run", quiet=True)
        monkeypatch.setattr(rle, "eval", full)
        assert main(["eval", str(run.path)]) == 1
        assert capsys.readouterr().err.startswith("rle: there/eval.json cannot be written")


def test_what_failed_is_told_where_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rle.runs import failure

    def full(*_, **__) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(failure, "write_json", full)
    Misbehaving.poison(3, 20, "exception", 0.0)
    failed_run(tmp_path / "run", r"^environment 3 .*from the last checkpoint\.$")


def test_it_is_a_usage_error_for_programs_that_know_no_other() -> None:
    assert issubclass(RunError, UsageError)
    assert (UsageError.exit_status, RunError.exit_status) == (2, 1)


class TestOtherVerbs:
    def test_an_evaluation(self, tmp_path: Path) -> None:
        Misbehaving.poison(0, 0, "nothing", 0.0)
        run = train_config(config(time_limit=10, total_steps=128), tmp_path / "run", quiet=True)
        Misbehaving.poison(2, 5, "exception", 0.0)
        sentence = (
            r"^environment 2 .* raised LookupError .* at step 20: mend it \(traceback: .*txt\)"
        )
        with pytest.raises(RunError, match=sentence):
            evaluate(run.path, episodes=4)
        assert (run.path / "failures" / "000000000020.txt").exists()

    def test_the_doctor_takes_it_for_a_problem(self) -> None:
        Misbehaving.poison(2, 5, "exception", 0.0)
        (finding,) = (f for f in check(TASK, "none", steps=256) if f.level == "problem")
        assert "environment 2 of gym/probe/Misbehaving-v0 raised LookupError" in finding.sentence


def test_a_folder_that_is_removed_on_the_way(tmp_path: Path) -> None:
    class Removing(Callback):
        def on_iteration(self, trainer, metrics, episodes) -> None:
            shutil.rmtree(tmp_path / "run")

    Misbehaving.poison(0, 0, "nothing", 0.0)
    with pytest.raises(RunError, match=r"run.* cannot be written or read \(No such file or dir"):
        train_config(config(), tmp_path / "run", quiet=True, callbacks=[Removing()])
