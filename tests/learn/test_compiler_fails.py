"""A compiler that fails: the run goes on without it, says so once, and is recorded as what it is."""

from pathlib import Path

import gymnasium
import pytest
import torch
from gymnasium.vector import SyncVectorEnv
from torch._inductor.exc import CppCompileError

from rle.errors import CompilerError
from rle.learn import compilation
from rle.runs.directory import RunDirectory
from rle.runs.train import resume, train, train_config
from rle.settings import replace
from tests.builders import small_config
from tests.runs.test_stopping import SendingAt


def failing(*_, **__) -> object:
    def call(*_) -> None:
        raise CppCompileError(["g++"], "no space for\nanything")

    return call


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilation, "compiler_available", lambda: True)
    monkeypatch.setattr(torch, "compile", failing)


def parameters(run) -> torch.Tensor:
    state = run.load_checkpoint()["learner"]["network"]
    return torch.cat([part.flatten() for part in state.values()])


@pytest.mark.parametrize("task", ["fourroom-sparse", "gym/CartPole-v1", "gym/Pendulum-v1"])
@pytest.mark.usefixtures("broken")
def test_the_run_goes_on_as_one_that_was_never_compiled(task: str, tmp_path: Path) -> None:
    plain = train_config(small_config("rle", task), tmp_path / "plain", quiet=True)
    with pytest.warns(
        UserWarning, match=r"cannot be compiled \(CppCompileError: .*uncompiled"
    ) as told:
        run = train_config(small_config("rle", task, compile="on"), tmp_path / "run", quiet=True)
    assert len(told) == 1
    assert run.config().machine.compile == "off"
    assert torch.equal(parameters(run), parameters(plain))
    assert run.metrics()[0]["iteration"] == 1
    assert len(run.metrics()) == len(plain.metrics())


@pytest.mark.usefixtures("broken")
def test_environments_that_are_handed_over_are_not_closed(tmp_path: Path) -> None:
    class Closing(SyncVectorEnv):
        def reset(self, **options):
            assert not self.closed
            return super().reset(**options)

    vector = Closing([lambda: gymnasium.make("CartPole-v1")] * 4)
    settings = {"rollout_steps": 8, "total_steps": 256, "compile": "on"}
    with pytest.warns(UserWarning, match="goes on uncompiled"):
        run = train(vector, "none", out=tmp_path / "run", quiet=True, **settings)
    assert run.finished() is not None


def test_elsewhere_without_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import signal

    from rle.runs import train as module

    with pytest.raises(KeyboardInterrupt):
        train_config(
            small_config("none"), tmp_path / "run", True, callbacks=[SendingAt(2, signal.SIGTERM)]
        )
    run = RunDirectory.open(tmp_path / "run")
    run.save_config(replace(run.config(), {"compile": "on"}))
    monkeypatch.setattr(module, "compiler_available", lambda: False)
    with pytest.warns(UserWarning, match=r"\(there is no C\+\+ compiler here\)"):
        resume(run.path, quiet=True)
    assert run.finished() is not None
    assert run.config().machine.compile == "off"


def test_other_errors_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def raising(*_, **__) -> object:
        def call(*_) -> None:
            raise ZeroDivisionError

        return call

    monkeypatch.setattr(torch, "compile", raising)
    with pytest.raises(ZeroDivisionError):
        compilation.compiled(abs, torch.device("cpu"))(1)
    monkeypatch.setattr(torch, "compile", failing)
    with pytest.raises(CompilerError, match=r"^CppCompileError: C\+\+ compile error"):
        compilation.compiled(abs, torch.device("cpu"))(1)
