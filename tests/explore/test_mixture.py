"""A mixture's parts are served as each would be alone."""

import pytest
import torch
from torch import Tensor, nn

from rle.errors import UsageError
from rle.explore.base import Strategy, Stream
from rle.explore.mixture import Mixture, latent_strategy
from rle.explore.transitions import Transitions
from rle.learn.ppo import PPO
from rle.nets.noisy import NoisyLinear
from rle.runs.trainer import Trainer
from rle.tasks.base import State, Step
from tests.builders import into, small_config


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

    def bonus(self, transitions: Transitions) -> Tensor:
        latent = transitions.latent
        assert (latent is None) == (self.latent_size == 0)
        assert latent is None or latent.shape[-1] == self.latent_size
        total = torch.zeros(len(transitions)) if latent is None else latent.sum(-1)
        self.seen = transitions
        return (total + self.number)[:, None].expand(-1, len(self.streams))

    def metrics(self) -> dict[str, float]:
        return {f"metric_{self.number}": float(self.number)}

    def state_dict(self) -> State:
        return {"number": self.number}

    def observe(self, transitions: Transitions) -> None:
        # What was found out for the bonus can be used again.
        assert transitions is self.seen
        self.asked.append(("observe", len(transitions)))


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
for name in (*HOOKS, "warm_up", "load_state_dict", "weighed"):
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
    assert mixture.bonus(into(torch.zeros(2, 1), latent)).tolist() == [[3, 2], [6, 2]]


def test_without_latents_there_is_none() -> None:
    mixture = Mixture({"a": Part(1, 0, 1, 0), "b": Part(2, 0, 1, 0)})
    assert mixture.latent() is None
    assert mixture.network_input(None) is None
    assert mixture.bonus(into(torch.zeros(2, 1))).tolist() == [[1, 2], [1, 2]]


def test_returns_are_cut_stream_by_stream(parts: dict[str, Part]) -> None:
    never = torch.zeros(3, dtype=torch.bool)
    step = Step(torch.zeros(3), never, never, torch.zeros(3, 1), torch.zeros(3, 1))
    assert Mixture(parts).after_step(step).tolist() == [[True, False]] * 3


@pytest.mark.parametrize("hook", HOOKS)
def test_every_part_is_told(hook: str, parts: dict[str, Part]) -> None:
    getattr(Mixture(parts), hook)(*HOOKS[hook])
    assert all(part.asked == [(hook, *HOOKS[hook])] for part in parts.values())


def test_streams_count_as_their_parts_say(parts: dict[str, Part]) -> None:
    mixture = Mixture(parts)
    assert mixture.bonus_weights() is None
    parts["b"].bonus_weights = lambda: torch.tensor([0.25])
    assert mixture.bonus_weights().tolist() == [1, 0.25]


def test_each_part_hears_of_its_own_advantages(parts: dict[str, Part]) -> None:
    """And of the task's, which comes first."""
    Mixture(parts).weighed(torch.tensor([0.125, 0.25, 0.5]))
    heard = [part.asked[-1][1].tolist() for part in parts.values()]
    assert heard == [[0.125, 0.25], [0.125, 0.5], [0.125]]


def test_each_part_warms_up_as_long_as_it_would_alone(parts: dict[str, Part]) -> None:
    mixture = Mixture(parts)
    seen = into(torch.zeros(4, 1))
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


def test_parts_with_a_stream_observe_what_they_were_asked_about(parts: dict[str, Part]) -> None:
    mixture = Mixture(parts)
    made = into(torch.zeros(2, 1), torch.ones(2, 3))
    mixture.bonus(made)
    mixture.observe(made)
    assert [part.asked for part in parts.values()] == [[("observe", 2)], [("observe", 2)], []]


def test_any_number_of_parts_train_something(parts: dict[str, Part]) -> None:
    for name in ("a", "b"):
        parts[name].auxiliary = nn.Linear(1, 1)
    mixture = Mixture(parts)
    assert len(list(mixture.auxiliary.parameters())) == 4
    assert mixture.trained() == ((parts["a"], 0, 2), (parts["b"], 2, 2))
    parts["a"].auxiliary = None
    assert Mixture(parts).trained() == ((parts["b"], 2, 2),)


class Loud(Part):
    def linear(self, inputs: int, outputs: int) -> nn.Linear:
        return nn.Linear(inputs, outputs, bias=False)

    def action(self, chosen: Tensor) -> Tensor:
        return chosen + 1


def test_one_part_may_choose_the_action_and_make_layers(parts: dict[str, Part]) -> None:
    mixture = Mixture({**parts, "loud": Loud(8, 0, 0, 0)})
    assert mixture.action(torch.tensor([1, 2])).tolist() == [2, 3]
    assert mixture.linear(2, 3).bias is None
    assert Mixture(parts).action(torch.tensor([1, 2])).tolist() == [1, 2]


class TestRefused:
    def test_two_parts_that_make_layers(self) -> None:
        quiet = type("Quiet", (Loud,), {"action": Strategy.action})
        with pytest.raises(UsageError, match="a and b both give the networks layers of their own"):
            Mixture({"a": quiet(1, 0, 0, 0), "b": quiet(2, 0, 0, 0)})

    def test_two_parts_that_choose_the_action(self) -> None:
        plain = type("Plain", (Loud,), {"linear": Strategy.linear})
        with pytest.raises(UsageError, match="a and b both choose the action"):
            Mixture({"a": plain(1, 0, 0, 0), "b": plain(2, 0, 0, 0)})

    def test_two_streams_of_one_name(self) -> None:
        with pytest.raises(UsageError, match=r"mixture a\+b pay a bonus called '1-0'"):
            Mixture({"a": Part(1, 0, 1, 0), "b": Part(1, 0, 1, 0)})

    def test_two_metrics_of_one_name(self) -> None:
        mixture = Mixture({"a": Part(1, 0, 0, 0), "b": Part(1, 0, 0, 0)})
        with pytest.raises(UsageError, match="b measures 'metric_1', and so does another"):
            mixture.metrics()

    def test_a_part_that_learns_nothing(self) -> None:
        part = Part(1, 0, 0, 0)
        part.learns = False
        with pytest.raises(UsageError, match="b learns nothing"):
            Mixture({"a": Part(2, 0, 0, 0), "b": part})


class Trains(Part):
    """Learns to say 0 where an action led, from its own share of the minibatch."""

    def __init__(self, number: int, keep: int) -> None:
        super().__init__(number, 0, 0, 0)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(number)
            self.auxiliary = nn.Linear(2, 1)
        self.keep = keep

    def auxiliary_rows(self, index: Tensor, size: int) -> Tensor:
        return index[: self.keep]

    def auxiliary_loss(self, transitions: Transitions) -> Tensor:
        assert len(transitions) <= self.keep
        return self.auxiliary(transitions.next_observation).square().mean()


@pytest.mark.parametrize("micro_batch", [None, 3])
def test_parts_are_trained_side_by_side_each_on_its_own_rows(micro_batch: int | None) -> None:
    """The gradient of two parts is that of each alone, laid side by side."""
    gradients, sizes = {}, (5, 7)
    for which in ((0, 1), (0,), (1,)):
        trainer = Trainer(small_config("none", micro_batch=micro_batch))
        trainer.start()
        trainer.collect()
        strategy = Mixture({str(n): Trains(n + 1, sizes[n]) for n in which})
        learner = PPO(
            trainer.network, trainer.distribution, strategy, trainer.config.learner, 8, 0,
            trainer.device, micro_batch=micro_batch,
        )  # fmt: skip
        batch, everyone, _ = learner.prepare(trainer.rollout, strategy)
        index = torch.arange(64)
        rows = learner._gradients._rows_of_auxiliaries(index, len(index))
        assert [len(part) for part in rows] == [sizes[n] for n in which]
        gradient, _ = learner._gradients(batch, everyone, index, index, trainer.rollout)
        gradients[which] = gradient[-3 * len(which) :]
    assert float(gradients[0, 1].abs().min()) > 0
    alone = torch.cat([gradients[(0,)], gradients[(1,)]])
    torch.testing.assert_close(gradients[0, 1], alone, rtol=1e-5, atol=1e-8)


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
