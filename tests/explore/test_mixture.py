"""A mixture's parts are served as each would be alone."""

import pytest
import torch
from torch import Tensor, nn

from rle.explore.base import Strategy, Stream
from rle.explore.mixture import Mixture, latent_strategy
from rle.nets.noisy import NoisyLinear
from rle.runs.trainer import Trainer
from rle.tasks.base import State, Step
from tests.builders import small_config


class Part(Strategy):
    """Writes down what it is asked, and answers with numbers of its own."""

    def __init__(self, number: int, latent_size: int, streams: int, warmup: int) -> None:
        self.asked: list[tuple[object, ...]] = []
        self.number = number
        self.latent_size = self.input_size = latent_size
        self.streams = tuple(
            Stream(f"{number}-{k}", 1.0, 0.9, 0.5, scale=False) for k in range(streams)
        )
        self.warmup_rollouts = warmup

    def latent(self) -> Tensor | None:
        return torch.full((3, self.latent_size), float(self.number)) if self.latent_size else None

    def network_input(self, latent: Tensor | None) -> Tensor | None:
        return None if not self.latent_size else latent * 10

    def after_step(self, step: Step) -> Tensor | None:
        # One column more than it has streams, as a strategy whose coefficient is 0 gives.
        if self.number == 2:
            return None
        return torch.ones(3, len(self.streams) + 1, dtype=torch.bool)

    def bonus(self, next_observation: Tensor, latent: Tensor | None) -> Tensor:
        assert (latent is None) == (self.latent_size == 0) or latent.shape[-1] == self.latent_size
        total = torch.zeros(len(next_observation)) if latent is None else latent.sum(-1)
        return (total + self.number)[:, None].expand(-1, len(self.streams))

    def metrics(self) -> dict[str, float]:
        return {f"metric_{self.number}": float(self.number)}

    def state_dict(self) -> State:
        return {"number": self.number}

    def auxiliary_rows(self, index: Tensor, size: int) -> Tensor:
        return index[: size - self.number]

    def auxiliary_loss(self, next_observation: Tensor) -> Tensor:
        return next_observation.sum() * self.number


def remember(name: str):
    def hook(self: Part, *arguments: object) -> None:
        self.asked.append((name, *arguments))

    return hook


HOOKS = {
    "start": ("network",),
    "begin_rollout": ("network",),
    "draw": (5,),
    "after_rollout": (),
    "after_minibatch": ("network",),
    "after_update": ("network",),
    "serve": (7,),
    "reseed": (3,),
    "evaluate": (True,),
}
for name in (*HOOKS, "warm_up", "load_state_dict"):
    setattr(Part, name, remember(name))


@pytest.fixture
def parts() -> dict[str, Part]:
    return {"a": Part(1, 2, 1, 1), "b": Part(2, 0, 1, 3), "c": Part(4, 1, 0, 0)}


def test_sizes_add_up_and_streams_follow_the_order(parts: dict[str, Part]) -> None:
    mixture = Mixture(parts)
    assert [stream.name for stream in mixture.streams] == ["1-0", "2-0"]
    assert mixture.latent_size == 3
    assert mixture.input_size == 3
    assert mixture.warmup_rollouts == 3
    assert mixture.auxiliary is None


def test_latents_lie_side_by_side_and_each_part_gets_its_own(parts: dict[str, Part]) -> None:
    mixture = Mixture(parts)
    latent = mixture.latent()
    assert latent.tolist() == [[1, 1, 4]] * 3
    assert mixture.network_input(latent).tolist() == [[10, 10, 40]] * 3
    # Stream 1: 1 + 1 from its latent, and 1; stream 2 has no latent; part c has no stream.
    latent = torch.tensor([[1.0, 1.0, 4.0], [2.0, 3.0, 5.0]])
    assert mixture.bonus(torch.zeros(2, 1), latent).tolist() == [[3, 2], [6, 2]]


def test_without_latents_there_is_none() -> None:
    mixture = Mixture({"a": Part(1, 0, 1, 0), "b": Part(2, 0, 1, 0)})
    assert mixture.latent() is None
    assert mixture.network_input(None) is None
    assert mixture.bonus(torch.zeros(2, 1), None).tolist() == [[1, 2], [1, 2]]


def test_returns_are_cut_stream_by_stream(parts: dict[str, Part]) -> None:
    never = torch.zeros(3, dtype=torch.bool)
    step = Step(torch.zeros(3), never, never, torch.zeros(3, 1), torch.zeros(3, 1))
    assert Mixture(parts).after_step(step).tolist() == [[True, False]] * 3


@pytest.mark.parametrize("hook", HOOKS)
def test_every_part_is_told(hook: str, parts: dict[str, Part]) -> None:
    getattr(Mixture(parts), hook)(*HOOKS[hook])
    assert all(part.asked == [(hook, *HOOKS[hook])] for part in parts.values())


def test_each_part_warms_up_as_long_as_it_would_alone(parts: dict[str, Part]) -> None:
    mixture = Mixture(parts)
    seen = torch.zeros(4, 1)
    for rollout in range(3):
        mixture.warm_up(rollout, seen)
    asked = {name: [call[1] for call in part.asked] for name, part in parts.items()}
    assert asked == {"a": [0], "b": [0, 1, 2], "c": []}


def test_state_and_metrics_are_those_of_all_parts(parts: dict[str, Part]) -> None:
    mixture = Mixture(parts)
    assert mixture.metrics() == {"metric_1": 1.0, "metric_2": 2.0, "metric_4": 4.0}
    state = mixture.state_dict()
    assert state == {"a": {"number": 1}, "b": {"number": 2}, "c": {"number": 4}}
    mixture.load_state_dict(state)
    assert [part.asked for part in parts.values()] == [
        [("load_state_dict", {"number": number})] for number in (1, 2, 4)
    ]


def test_the_part_that_trains_something_is_asked_for_its_loss(parts: dict[str, Part]) -> None:
    parts["b"].auxiliary = nn.Linear(1, 1)
    mixture = Mixture(parts)
    assert mixture.auxiliary is parts["b"].auxiliary
    assert mixture.auxiliary_rows(torch.arange(10), 8).tolist() == [0, 1, 2, 3, 4, 5]
    assert float(mixture.auxiliary_loss(torch.ones(3, 1))) == 6.0


def test_layers_are_noisy_if_a_part_wants_them_so() -> None:
    for explore, kind in (("rle+noisy", NoisyLinear), ("rle+rnd", nn.Linear)):
        layer = Trainer(small_config(explore)).strategy.linear(2, 3)
        assert type(layer) is kind
        assert layer.weight.shape == (3, 2)


def test_the_part_that_follows_latents() -> None:
    mixture = Trainer(small_config("rnd+rle")).strategy
    assert latent_strategy(mixture) is mixture.parts["rle"]
    alone = Trainer(small_config("rle")).strategy
    assert latent_strategy(alone) is alone
    assert latent_strategy(Trainer(small_config("rnd")).strategy) is None
    assert latent_strategy(Trainer(small_config("rnd+noisy")).strategy) is None
