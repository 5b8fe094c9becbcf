"""Everything is compiled in the first iteration: a run does not stop in the middle for another graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend

from rle.learn import compilation
from rle.runs.trainer import Trainer
from tests.builders import small_config

STEPS = 12
LIMIT = 18
"""Of Pendulum's episodes, which nothing else ends: in the middle of the second rollout."""


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> Iterator[CompileCounterWithBackend]:
    """Counts the graphs, and runs them as they are: making code of them would take minutes."""
    counter, compile = CompileCounterWithBackend("aot_eager"), torch.compile

    def counting(function: Any, *, options: Any, **settings: Any) -> Any:
        return compile(function, backend=counter, **settings)

    monkeypatch.setattr(torch, "compile", counting)
    monkeypatch.setattr(compilation, "compiler_available", lambda: True)
    torch._dynamo.reset()
    yield counter
    torch._dynamo.reset()


@pytest.mark.parametrize("autoreset", ["next-step", "same-step"])
def test_the_first_end_of_an_episode_compiles_nothing(
    graphs: CompileCounterWithBackend, autoreset: str
) -> None:
    config = small_config(
        "rle",
        "gym/Pendulum-v1",
        autoreset=autoreset,
        time_limit=LIMIT,
        rollout_steps=STEPS,
        total_steps=8 * STEPS * 4,
        normalise_observations=True,
        compile="on",
    )
    trainer = Trainer(config)
    trainer.start()
    trainer.iterate()
    assert not trainer.rollout.episode_over.any()
    compiled = graphs.frame_count
    # An action, what is shown of an observation, values and probabilities, the gradient, Adam's step.
    assert compiled >= 5
    for _ in range(2):
        trainer.iterate()
    trainer.task.close()
    # The second rollout had an end; where a call of its own resets, one row of it was no transition.
    assert trainer.episodes.recent
    assert graphs.frame_count == compiled
