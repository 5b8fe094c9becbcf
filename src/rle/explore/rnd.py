"""Random Network Distillation (Burda et al., 2019): the bonus is a prediction error.

A fixed random network (the target) describes an observation; a trained one (the predictor) guesses
that description. Where the agent has rarely been, the guess is wrong and the bonus high. The bonus
return is non-episodic: it is never cut, not even by a termination.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from rle.config import RNDConfig, RunConfig
from rle.core.running_mean_std import RunningMeanStd
from rle.core.transfer import moved
from rle.explore.base import Strategy, Stream
from rle.explore.transitions import Transitions
from rle.nets.images import ImageBody, ImageHead
from rle.nets.layers import Head
from rle.randomness import generator, generator_state, restore_generator
from rle.tasks.base import State, TaskSpec

STD_EPSILON = 1e-8
"""Keeps an observation that never varied from being divided by zero."""


def prediction_error(prediction: Tensor, target: Tensor) -> Tensor:
    """½ ‖prediction - target‖², `[..., K], [..., K] -> [...]`."""
    return 0.5 * (prediction - target).square().sum(-1)


class RandomNetworkDistillation(Strategy):
    """A trained predictor, a fixed target, and whitened observations for both."""

    auxiliary_fields = ("next_observation",)
    learned = ("predictor", "target", "moments")
    splits = True

    def __init__(
        self,
        config: RNDConfig,
        predictor: nn.Module,
        target: nn.Module,
        observation_shape: tuple[int, ...],
        seed: int,
        device: torch.device,
    ) -> None:
        self.config = config
        self._target = target.requires_grad_(False).to(device)
        self._predictor = predictor.to(device)
        if config.coefficient > 0:
            self.auxiliary = self._predictor
            self.warmup_rollouts = config.warmup_rollouts
            self.streams = (
                Stream(
                    "rnd",
                    config.coefficient,
                    config.discount,
                    config.value_coefficient,
                    config.scale_bonus,
                ),
            )
        self._shape = observation_shape
        self._device = device
        self._moments = RunningMeanStd(observation_shape, device)
        self._seen = RunningMeanStd(observation_shape, device)
        self._mean = torch.zeros(observation_shape, device=device)
        self._std = torch.ones(observation_shape, device=device)
        self._generator = generator(seed, "rnd")
        self._judged: tuple[Transitions, Tensor] | None = None
        """What `bonus` was asked about last, and its errors: `observe` need not predict again."""
        self._errors: list[Tensor] = []
        self._mean_error = torch.zeros(())

    def _newest(self, observation: Tensor) -> Tensor:
        """The newest frame of an image; a vector as it is."""
        return observation[:, -self._shape[0] :]

    def _whiten(self, observation: Tensor) -> Tensor:
        whitened = (observation - self._mean) / (self._std + STD_EPSILON)
        return whitened.clamp(-self.config.observation_clip, self.config.observation_clip)

    @torch.no_grad()
    def bonus(self, transitions: Transitions) -> Tensor:
        whitened = self._whiten(self._newest(transitions.next_observation))
        error = prediction_error(self._predictor(whitened), self._target(whitened))
        self._judged = transitions, error
        return error[:, None]

    def observe(self, transitions: Transitions) -> None:
        self._seen.update(self._newest(transitions.next_observation))
        judged, error = self._judged or (None, None)
        if error is None or judged is not transitions:
            error = self.bonus(transitions)[:, 0]
        self._errors.append(error)
        self._judged = None

    def warm_up(self, rollout: int, transitions: Transitions) -> None:
        self._seen.update(self._newest(transitions.next_observation))
        self.after_rollout()

    def after_rollout(self) -> None:
        if self.world.total(sum(map(len, self._errors))):
            errors = self._errors or [self._mean.new_zeros(0)]
            self._mean_error = self.world.mean(torch.cat(errors))
        self._errors.clear()
        self._moments.merge(self.world.pool(self._seen))
        self._seen = RunningMeanStd(self._shape, self._device)
        # In place: a compiled update step reads them.
        self._mean.copy_(self._moments.mean)
        self._std.copy_(self._moments.std)

    def auxiliary_rows(self, index: Tensor, size: int) -> Tensor:
        """A random share of the minibatch: the predictor must not learn faster than the agent sees."""
        if len(index) == 0:
            return index
        kept = max(1, round(self.config.keep_fraction * size))
        order = torch.randperm(len(index), generator=self._generator)
        # With fewer real transitions than that, some are used twice.
        order = order.repeat(-(-kept // len(order)))[:kept]
        return index[moved(order, index.device)]

    def auxiliary_loss(self, transitions: Transitions) -> Tensor:
        """Mean squared error of the predictor, over samples and outputs."""
        whitened = self._whiten(self._newest(transitions.next_observation))
        error = prediction_error(self._predictor(whitened), self._target(whitened))
        if len(error) == 0:
            # A minibatch of nothing but resets: no error, and no gradient.
            return error.sum()
        return 2 * error.mean() / self.config.outputs

    def metrics(self) -> dict[str, float]:
        return {"rnd_prediction_error": float(self._mean_error)}

    def reseed(self, seed: int) -> None:
        self._generator = generator(seed, "rnd")

    def state_dict(self) -> State:
        return {
            "predictor": dict(self._predictor.state_dict()),
            "target": dict(self._target.state_dict()),
            "moments": self._moments.state_dict(),
            "generator": generator_state(self._generator),
        }

    def load_state_dict(self, state: State) -> None:
        self._predictor.load_state_dict(state["predictor"])
        self._target.load_state_dict(state["target"])
        self._moments.load_state_dict(state["moments"])
        self._mean.copy_(self._moments.mean)
        self._std.copy_(self._moments.std)
        self._generator = restore_generator(state["generator"])


def build_rnd(
    config: RunConfig, settings: RNDConfig, spec: TaskSpec, device: torch.device
) -> RandomNetworkDistillation:
    """RND as `config` asks for it."""
    shape = spec.observation_shape
    if spec.is_image:
        # What is new is in the newest frame; the frames before it were judged when they were new.
        shape = (shape[0] // spec.stacked_frames, *shape[1:])
    source = generator(config.seed, "rnd networks")

    def network(hidden: tuple[int, ...]) -> nn.Module:
        if not spec.is_image:
            return Head(shape[0], hidden, settings.outputs, "relu", source)
        # Whitened pixels need no scale. Convolutions are leaky, dense layers are not, as in the
        # original.
        body = ImageBody(
            shape, hidden, source, 1.0, config.machine.precision, functional.leaky_relu
        )
        return ImageHead(body, settings.outputs, source)

    target, predictor = network(settings.target_hidden), network(settings.predictor_hidden)
    return RandomNetworkDistillation(settings, predictor, target, shape, config.seed, device)
