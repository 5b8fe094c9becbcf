"""What is compiled, as a GPU would get it: no tensor of the CPU, no wait, no size that may change.

The device `meta` has shapes and no numbers, which is all that the compiler looks at. Its graphs of
rollout and update are read here, before any code is made of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, fx
from torch._dynamo.backends.common import aot_autograd

from rle.learn import compilation
from rle.runs.trainer import Trainer
from rle.settings import replace
from tests.devices.cases import tiny
from tests.devices.pretend import WAITING

META = torch.device("meta")


class Graphs:
    """A backend of the compiler that keeps the graphs and makes nothing of them."""

    def __init__(self) -> None:
        self.found: list[fx.GraphModule] = []

    def keep(self, graph: fx.GraphModule, _: Any) -> Any:
        self.found.append(graph)
        return graph.forward

    def faults(self) -> list[str]:
        return [fault for graph in self.found for fault in faults(graph)]


def faults(graph: fx.GraphModule) -> list[str]:
    """What keeps a GPU from running a graph at one go."""
    found = []
    for node in graph.graph.nodes:
        value = node.meta.get("val")
        if node.target in WAITING:
            found.append(f"{node.target} lets the host wait")
        for tensor in value if isinstance(value, list | tuple) else [value]:
            if not isinstance(tensor, Tensor):
                continue
            # A single number that is made in the graph is moved to the GPU by the compiler.
            number = tensor.dim() == 0 and node.op == "call_function" and not node.all_input_nodes
            if tensor.device.type == "cpu" and not number:
                found.append(f"{node.name} is on the CPU, {tuple(tensor.shape)}")
            if not all(isinstance(size, int) for size in tensor.shape):
                found.append(f"{node.name} has no fixed size")
    return found


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Graphs]:
    kept, compile = Graphs(), torch.compile
    backend = aot_autograd(fw_compiler=kept.keep)

    def keeping(function: Any, *, options: Any, **settings: Any) -> Any:
        return compile(function, backend=backend, **settings)

    monkeypatch.setattr(torch, "compile", keeping)
    monkeypatch.setattr(compilation, "compiler_available", lambda: True)
    monkeypatch.setattr("rle.runs.ranks.share.resolve_device", lambda name: META)
    torch._dynamo.reset()
    yield kept
    torch._dynamo.reset()


def trainer_of(case: str, **settings: Any) -> Trainer:
    """One whose compiled steps are few, so that they are soon compiled."""
    few = {"compile": "on", "rollout_steps": 2, "micro_batch": None, "total_steps": 64}
    trainer = Trainer(replace(tiny(case), few | settings))
    trainer.strategy.start(trainer.network)
    return trainer


@torch.no_grad()
def collect(trainer: Trainer) -> None:
    """A rollout without numbers."""
    spec, steps = trainer.task.spec, trainer.config.learner.rollout_steps
    observation = trainer.task.reset(0)
    trainer.strategy.begin_rollout(trainer.network)
    trainer.task.draw(steps)
    trainer.strategy.draw(steps)
    noise = torch.empty(steps, spec.num_envs, *trainer.distribution.noise_shape, device=META)
    trainer.rollout.begin()
    last, rows = trainer._advance(observation, noise)
    trainer.rollout.write(0, rows)
    trainer.rollout.write_last(last, trainer.strategy.latent())


def learn(trainer: Trainer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gradient step on it; how many episodes ended nobody can know."""
    learner: Any = trainer.learner
    monkeypatch.setattr(trainer.rollout, "finals", lambda: None)
    monkeypatch.setattr(learner, "_describe", lambda *_: {})
    batch, everyone, _ = learner.prepare(trainer.rollout, trainer.strategy)
    index = torch.arange(8, device=META)
    gradient, _ = learner._gradients(batch, everyone, index, index, trainer.rollout)
    learner.optimiser.step(gradient)


@pytest.mark.parametrize(
    ("case", "settings"),
    [
        ("rle follows the value", {}),
        ("rle and rnd in parts", {"rnd.warmup_rollouts": 0}),
        ("noisy", {}),
    ],
)
def test_rollout_and_update_are_graphs_of_the_device_alone(
    graphs: Graphs, case: str, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = trainer_of(case, **settings)
    collect(trainer)
    assert len(graphs.found) == 1
    learn(trainer, monkeypatch)
    # Values and probabilities, the gradient, and Adam's step.
    assert len(graphs.found) == 1 + 3
    assert graphs.faults() == []


def test_what_stands_around_an_engine_is_too(graphs: Graphs) -> None:
    trainer = trainer_of("gym resets at once")
    spec, task = trainer.task.spec, trainer.task
    shown = torch.empty(spec.num_envs, *spec.observation_shape, device=META)
    noise = torch.empty(spec.num_envs, *trainer.distribution.noise_shape, device=META)
    with torch.no_grad():
        trainer._choose(shown, trainer.strategy.latent(), noise)
        task._take_in(shown, shown + 1, torch.ones(spec.num_envs, dtype=torch.bool, device=META))
    assert len(graphs.found) == 2
    assert graphs.faults() == []
    task.close()


@pytest.mark.parametrize(
    ("planted", "fault"),
    [
        (lambda x: x + torch.ones(3).to(META), "is on the CPU"),
        (lambda x: x * torch.tensor([1.0, 2.0, 3.0], device="cpu").sum(), "is on the CPU"),
    ],
)
def test_a_tensor_of_the_cpu_is_found(graphs: Graphs, planted: Any, fault: str) -> None:
    compilation.compiled(planted, META)(torch.empty(3, device=META))
    assert fault in " ".join(graphs.faults())
