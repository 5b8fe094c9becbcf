"""What a process has compiled fits the next run of the same shapes: only then may it be given one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, fx

from rle.learn import compilation
from rle.runs.trainer import Trainer
from tests.builders import small_config


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[fx.GraphModule]]:
    """The graphs that were traced so far; PyTorch itself runs them."""
    found, compile = [], torch.compile

    def keep(graph: fx.GraphModule, _: Any) -> Any:
        found.append(graph)
        return graph.forward

    def keeping(function: Any, *, options: Any, **settings: Any) -> Any:
        return compile(function, backend=keep, **settings)

    monkeypatch.setattr(torch, "compile", keeping)
    monkeypatch.setattr(compilation, "compiler_available", lambda: True)
    torch._dynamo.reset()
    yield found
    torch._dynamo.reset()


def trained(explore: str, seed: int, **settings: Any) -> Tensor:
    trainer = Trainer(small_config(explore, seed=seed, compile="on", **settings))
    trainer.start()
    for _ in range(2):
        trainer.iterate()
    return trainer.learner.optimiser.flat.clone()


def test_another_seed_runs_what_was_compiled_for_the_first(
    graphs: list[fx.GraphModule],
) -> None:
    trained("rle", 0)
    number = len(graphs)
    assert number > 0
    after_another = trained("rle", 1)
    assert len(graphs) == number
    # Other networks do not.
    trained("rle", 1, policy_hidden=(16, 16))
    assert len(graphs) > number
    torch._dynamo.reset()
    assert torch.equal(after_another, trained("rle", 1))


def test_many_forms_may_be_compiled_in_one_process(graphs: list[fx.GraphModule]) -> None:
    """PyTorch gives up at the ninth form of a function unless it is told not to."""
    double = compilation.compiled(lambda x: 2 * x, torch.device("cpu"))
    for size in range(2, 22):
        double(torch.ones(size))
    assert len(graphs) == 20
