"""Gradients and steps of our own C++ against autograd's and PyTorch's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from rle.learn.adam import clipped_adam_step
from rle.learn.fused import FusedGradients, fused_adam_step, fused_gradients
from rle.learn.gradients import Gradients
from rle.learn.loss import LossWeights
from rle.native import library as building
from rle.nets.fused import fused_mlp
from rle.nets.layers import MLP
from rle.runs.trainer import Trainer
from tests.builders import small_config
from tests.learn.test_ppo import only

needs_compiler = pytest.mark.skipif(building.library() is None, reason="needs a C++ compiler")


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def prepared(explore: str, **settings: Any) -> tuple[Trainer, Any]:
    """A trainer and its first batch, after which the networks have moved."""
    trainer = Trainer(small_config(explore, compile="off", **settings))
    trainer.start()
    trainer.collect()
    batch, _, _ = trainer.learner.prepare(trainer.rollout, trainer.strategy)
    flat = trainer.learner.optimiser.flat
    flat += 0.3 * torch.randn(len(flat), generator=torch.Generator().manual_seed(0))
    return trainer, batch


def both(trainer: Trainer, weights: LossWeights) -> tuple[Gradients, FusedGradients]:
    learner: Any = trainer.learner
    trained = trainer.strategy.trained()
    network, distribution = trainer.network, trainer.distribution
    network.fused = True
    plain = Gradients(network, distribution, weights, trained, False, None, trainer.world)
    fused = fused_gradients(network, distribution, weights, trained, learner._ones)
    assert fused is not None
    return plain, fused


def weights_of(trainer: Trainer, **changes: Any) -> LossWeights:
    learner: Any = trainer.learner
    weights: LossWeights = learner._gradients._weights
    return weights._replace(**changes)


def of_rows(gradients: Any, trainer: Trainer, batch: Any, rows: Tensor) -> tuple[Tensor, Tensor]:
    result: tuple[Tensor, Tensor] = gradients(batch, only(batch), rows, rows, trainer.rollout)
    return result


@needs_compiler
@pytest.mark.parametrize(
    ("explore", "settings"),
    [
        ("none", {}),
        ("rle", {}),
        # One hidden layer, several of odd widths, and policy and value of different shapes.
        ("rle", {"policy_hidden": (5, 33, 16), "value_hidden": (7,)}),
        ("rle", {"policy_hidden": (64, 64), "value_hidden": (64, 64), "activation": "relu"}),
        ("rle", {"policy_hidden": (17, 9), "activation": "elu"}),
        # A few ones among zeros, with z beside them and without.
        ("none", {"task": "sparse/Maze-13-1", "policy_hidden": (16, 24)}),
        ("rle", {"task": "sparse/Maze-13-1", "policy_hidden": (40, 24)}),
        # Continuous actions.
        ("none", {"task": "sparse/PointMaze-U"}),
        ("rle", {"task": "sparse/PointMaze-U", "policy_hidden": (20, 20)}),
        # One reward of both streams, and networks that do not see z.
        ("rle", {"rle__separate_streams": False, "rle__fade": False}),
        ("rle", {"rle__condition": False}),
    ],
)
def test_the_gradient_is_autograds(explore: str, settings: dict[str, Any]) -> None:
    trainer, batch = prepared(explore, **settings)
    # A minibatch that is no multiple of a tile, of one tile, and of a single transition.
    for rows in (torch.arange(3, 128, 2), torch.arange(0, 48), torch.tensor([77])):
        plain, fused = both(trainer, weights_of(trainer))
        expected, told = of_rows(plain, trainer, batch, rows)
        found, told_too = of_rows(fused, trainer, batch, rows)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)
        torch.testing.assert_close(told_too, told, rtol=1e-4, atol=1e-6)
        assert expected.abs().max() > 1e-3


@needs_compiler
@pytest.mark.parametrize(
    "changes",
    [
        {"clip": 0.02, "entropy": 0.3, "value": (0.7, 0.2)},
        {"clip_value_loss": False},
        {"normalise_advantages": False, "entropy": 0.0},
    ],
)
def test_every_weight_of_the_loss_counts(changes: dict[str, Any]) -> None:
    trainer, batch = prepared("rle")
    # Far enough from what the policy did that some transitions are clipped, on both sides.
    batch = batch._replace(log_probability=batch.log_probability + torch.linspace(-0.5, 0.5, 128))
    rows = torch.arange(128)
    plain, fused = both(trainer, weights_of(trainer, **changes))
    expected, told = of_rows(plain, trainer, batch, rows)
    found, told_too = of_rows(fused, trainer, batch, rows)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(told_too, told, rtol=1e-4, atol=1e-6)
    other, _ = of_rows(both(trainer, weights_of(trainer))[1], trainer, batch, rows)
    assert not torch.allclose(other, found, rtol=1e-2)


@needs_compiler
@pytest.mark.parametrize("task", ["fourroom-sparse", "sparse/PointMaze-U"])
def test_rows_that_are_no_transitions_do_not_count(task: str) -> None:
    trainer, batch = prepared("rle", task=task)
    plain, fused = both(trainer, weights_of(trainer))
    rows = torch.arange(128)
    for mask in (torch.arange(128) % 3 > 0, torch.arange(128) == 5, torch.zeros(128).bool()):
        masked = batch._replace(mask=mask)
        expected, told = of_rows(plain, trainer, masked, rows)
        found, told_too = of_rows(fused, trainer, masked, rows)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)
        torch.testing.assert_close(told_too, told, rtol=1e-4, atol=1e-6)


@needs_compiler
def test_what_is_not_a_number_stays_so() -> None:
    trainer, batch = prepared("rle")
    _, fused = both(trainer, weights_of(trainer))
    for field in ("advantage", "returns", "log_probability", "observation"):
        spoilt = getattr(batch, field).clone()
        spoilt[3] = float("nan")
        gradient, told = of_rows(
            fused, trainer, batch._replace(**{field: spoilt}), torch.arange(64)
        )
        assert gradient.isnan().any(), field
        assert told.isnan().any(), field


@needs_compiler
def test_the_same_minibatch_gives_the_same_bits() -> None:
    trainer, batch = prepared("rle")
    _, fused = both(trainer, weights_of(trainer))
    rows = torch.arange(100)
    assert torch.equal(
        of_rows(fused, trainer, batch, rows)[0], of_rows(fused, trainer, batch, rows)[0]
    )


@needs_compiler
@pytest.mark.parametrize(
    ("explore", "settings"),
    [
        # A predictor that is trained beside the agent, layers with noise, z that joins later.
        ("rnd", {}),
        ("noisy", {}),
        ("rle", {"value_hidden": (16, 16), "value_backbone": 1}),
        ("rle", {"latent_encoder": (8,)}),
    ],
)
def test_other_agents_are_left_to_pytorch(explore: str, settings: dict[str, Any]) -> None:
    trainer = Trainer(small_config(explore, compile="off", **settings))
    trained = trainer.strategy.trained()
    weights = weights_of(trainer)
    trainer.network.fused = True
    assert fused_gradients(trainer.network, trainer.distribution, weights, trained, None) is None


@needs_compiler
@pytest.mark.parametrize("activation", ["tanh", "relu", "elu"])
@pytest.mark.parametrize("batch", [(1,), (3, 40), (200,)])
def test_an_mlp_makes_what_its_layers_make(activation: Any, batch: tuple[int, ...]) -> None:
    source = torch.Generator().manual_seed(2)
    mlp = MLP(7, (33, 5), activation, source)
    heads = [torch.nn.Linear(5, size) for size in (1, 2)]
    x = 3 * torch.randn(*batch, 7, generator=source)
    with torch.no_grad():
        expected = torch.cat([head(mlp(x)) for head in heads], -1)
        found = fused_mlp(x, [*([layer] for layer in mlp.linears), heads], activation)
    torch.testing.assert_close(found, expected)


@needs_compiler
@pytest.mark.parametrize("explore", ["rle", "rnd", "noisy"])
def test_a_compiled_run_does_what_an_uncompiled_one_does(explore: str) -> None:
    """RLE's agents are ours throughout, RND's where nothing is learned, noisy ones nowhere."""
    settings = {"total_steps": 128 * 4, "rollout_steps": 16}
    several = []
    for compile in ("off", "on", "fused"):
        trainer = Trainer(small_config(explore, compile=compile, threads=1, **settings))
        trainer.start()
        metrics, _ = trainer.iterate()
        several.append((trainer, metrics))
    (plain, told), *others = several
    for trainer, told_too in others:
        learner: Any = trainer.learner
        assert trainer.network.fused == (explore != "noisy")
        assert isinstance(learner._gradients, FusedGradients) == (explore == "rle")
        assert torch.equal(plain.rollout.action, trainer.rollout.action)
        torch.testing.assert_close(
            learner.parameters, plain.learner.parameters, rtol=1e-3, atol=1e-5
        )
        assert told_too == pytest.approx(told, rel=1e-3, abs=1e-4)


@needs_compiler
@pytest.mark.parametrize("size", [5, 64, 1003])
def test_adam_takes_the_same_steps(size: int) -> None:
    source = torch.Generator().manual_seed(1)
    mine = [torch.randn(size, generator=source), torch.zeros(size), torch.zeros(size)]
    theirs = [part.clone() for part in mine]
    for step in range(1, 6):
        # Clipped, and not clipped.
        gradient = torch.randn(size, generator=source) * (10 if step % 2 else 1e-3)
        rates = torch.tensor([0.1 / (1 - 0.9**step), (1 - 0.999**step) ** -0.5])
        norms = [
            apply(flat, gradient, first, second, rates, 1e-5, 0.5)
            for apply, (flat, first, second) in (
                (fused_adam_step, mine),
                (clipped_adam_step, theirs),
            )
        ]
        torch.testing.assert_close(*norms)
        torch.testing.assert_close(mine, theirs)
    spoilt = torch.full((size,), float("nan"))
    assert fused_adam_step(mine[0], spoilt, *mine[1:], rates, 1e-5, 0.5).isnan()
    assert mine[0].isnan().all()


def test_without_a_working_compiler_pytorch_does_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broken = tmp_path / "g++"
    broken.write_text(
        "#!/bin/sh\nfor last; do true; done\n"
        'test "$last" = - || { echo "no such option" >&2; exit 1; }\n'
    )
    broken.chmod(0o755)
    monkeypatch.setenv("CXX", str(broken))
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "cache"))
    assert building.library.__wrapped__() is None
    assert "PyTorch's takes its place: no such option" in caplog.text
    assert not list((tmp_path / "cache").glob("*.so*"))
    monkeypatch.setenv("CXX", str(tmp_path / "none"))
    assert building.library.__wrapped__() is None


@needs_compiler
def test_what_was_built_is_found_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    first = building.built()
    made = first.stat().st_mtime_ns
    assert list(tmp_path.glob("rle-*")) == [first]
    assert building.built() == first
    assert first.stat().st_mtime_ns == made
