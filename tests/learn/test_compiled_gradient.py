"""Compiled code computes policy and value side by side: the gradient must be the one it was."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, fx

from rle.learn import compilation
from rle.learn.gradients import Gradients
from rle.runs.trainer import Trainer
from tests.builders import small_config
from tests.learn.test_ppo import only


@pytest.fixture
def products(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The products of matrices in what was compiled; PyTorch itself runs them."""
    found, compile = [], torch.compile

    def keep(graph: fx.GraphModule, _: Any) -> Any:
        # Functions with a gradient of their own are graphs within the graph.
        for part in graph.modules():
            nodes = part.graph.nodes if isinstance(part, fx.GraphModule) else ()
            names = [getattr(node.target, "__name__", str(node.target)) for node in nodes]
            found.extend(name for name in names if name in ("bmm", "linear", "matmul"))
        return graph.forward

    def keeping(function: Any, *, options: Any, **settings: Any) -> Any:
        return compile(function, backend=keep, **settings)

    monkeypatch.setattr(torch, "compile", keeping)
    monkeypatch.setattr(compilation, "compiler_available", lambda: True)
    torch._dynamo.reset()
    yield found
    torch._dynamo.reset()


def gradients_of(trainer: Trainer, compile: bool) -> Gradients:
    learner: Any = trainer.learner
    mine = learner._gradients
    return Gradients(
        trainer.network,
        trainer.distribution,
        mine._weights,
        trainer.strategy.trained(),
        compile,
        None,
        trainer.world,
    )


def on_a_minibatch(gradients: Gradients, trainer: Trainer, batch: Any) -> tuple[Tensor, Tensor]:
    rows = torch.arange(3, 128, 5)
    return gradients(batch, only(batch), rows, rows, trainer.rollout)


@pytest.mark.parametrize(
    ("explore", "settings", "together"),
    [
        ("none", {}, True),
        # Where the first layer is a sum of columns.
        ("none", {"task": "sparse/Maze-13-1", "hidden": (16, 24)}, True),
        ("rle", {"task": "sparse/Maze-13-1", "hidden": (16, 24)}, True),
        ("rle", {}, True),
        # Noisy layers make more of their inputs than a product.
        ("noisy", {}, True),
        ("rle", {"policy_hidden": (16, 16)}, False),
        ("rle", {"policy_hidden": (16, 24), "value_hidden": (16, 24)}, True),
        ("rle", {"value_hidden": (16, 16), "value_backbone": 1}, False),
    ],
)
def test_compiled_gradient_is_the_plain_one(
    explore: str, settings: dict[str, Any], together: bool, products: list[str]
) -> None:
    settings = dict(settings)
    if hidden := settings.pop("hidden", ()):
        settings |= {"policy_hidden": hidden, "value_hidden": hidden}
    trainer = Trainer(small_config(explore, compile="off", **settings))
    trainer.start()
    trainer.collect()
    batch, _, _ = trainer.learner.prepare(trainer.rollout, trainer.strategy)
    flat = trainer.learner.optimiser.flat
    flat += 0.05 * torch.randn(len(flat), generator=torch.Generator().manual_seed(0))
    plain, told = on_a_minibatch(gradients_of(trainer, False), trainer, batch)
    assert products == []
    found, told_too = on_a_minibatch(gradients_of(trainer, True), trainer, batch)
    torch.testing.assert_close(found, plain, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(told_too, told, rtol=1e-4, atol=1e-6)
    assert ("bmm" in products) == together
