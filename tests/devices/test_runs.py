"""Everything a run does, on a device that refuses to work with tensors of the CPU."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

from rle.checkup.check import check
from rle.errors import UsageError
from rle.report.measure.play import watch
from rle.runs.checkpoints import Checkpoints
from rle.runs.evaluate import evaluate, trajectories
from rle.runs.film import film
from rle.runs.loading import load
from rle.runs.train import resume, train_config
from rle.runs.trainer import Trainer
from rle.settings import replace
from tests.builders import interrupt_after
from tests.devices.cases import CASES, tiny
from tests.devices.pretend import DEVICE, pretending


def two_iterations(case: str, device: str) -> tuple[list[dict[str, float]], torch.Tensor]:
    """What is measured, and the parameters in the end."""
    trainer = Trainer(tiny(case, device))
    trainer.start()
    measured = [trainer.iterate()[0] for _ in range(2)]
    trainer.task.close()
    parameters = trainer.learner.parameters
    assert parameters.device.type == device
    return measured, parameters.cpu()


@pytest.mark.parametrize("case", CASES)
def test_training_computes_what_it_computes_on_the_cpu(case: str) -> None:
    expected, parameters = two_iterations(case, "cpu")
    with pretending() as pretence:
        measured, moved = two_iterations(case, DEVICE)
    assert pretence.operations > 100
    assert measured == expected
    assert torch.equal(moved, parameters)


@pytest.mark.parametrize("case", ["rle follows the value", "noisy", "gym", "BallBalance", "Atari"])
def test_a_run_is_saved_resumed_evaluated_filmed_and_begun_with(case: str, tmp_path: Path) -> None:
    with pretending():
        config = replace(tiny(case, DEVICE), {"time_limit": 6})
        run = train_config(config, tmp_path / "run", quiet=True)
        step = Checkpoints(run.path).latest()
        finished = run.load_checkpoint(step)["learner"]["network"]
        for greedy in (False, True):
            assert len(evaluate(run.path, 2, greedy=greedy).scores) == 2
        interrupt_after(run.path, 1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # EnvPool goes on with new episodes
            resume(run.path, quiet=True)
        again = run.load_checkpoint(step)["learner"]["network"]
        same = all(torch.equal(again[name], finished[name]) for name in finished)
        assert same or case == "Atari"
        begun = train_config(config, tmp_path / "begun", quiet=True, init_from=run.path)
        assert begun.finished() is not None
        pytest.importorskip("av")
        try:
            film(run.path, tmp_path / "clips", clips=1, seconds=0.1)
        except UsageError as error:
            # Robots are drawn by OpenGL, which not every machine has.
            pytest.skip(str(error))
        assert list((tmp_path / "clips").glob("*.mp4"))


@pytest.mark.parametrize("explore", ["rle+rnd", "noisy"])
def test_an_agent_acts_on_arrays_and_on_tensors_of_any_device(explore: str, tmp_path: Path) -> None:
    with pretending():
        case = {"rle+rnd": "rle and rnd in parts", "noisy": "noisy"}[explore]
        run = train_config(tiny(case, DEVICE), tmp_path / "run", quiet=True)
        agent = load(run)
        seen = torch.zeros(3, 2)
        z = agent.sample_latents(3)
        for observation in (seen, seen.to(DEVICE)):
            action = agent.act(observation, z if agent.latent_dimension else None)
            assert action.device == observation.device
            assert action.shape == (3,)
        assert isinstance(agent.act(seen.numpy()), np.ndarray)
        latents = z.cpu() if agent.latent_dimension else None
        _, made = trajectories(agent, latents, 4, 3)
        assert made.shape == (5, 3, 2)
        cells, _ = watch(agent, 2, 2, 3)
        assert cells.shape == (4, 4)
        elsewhere = load(run, device="cpu")
        assert elsewhere.act(seen).device.type == "cpu"


def test_the_doctor_plays_on_the_device() -> None:
    with pretending():
        found = check("gym/CartPole-v1", explore="rle+rnd", device=DEVICE, steps=64, num_envs=4)
    assert found
