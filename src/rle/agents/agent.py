"""An agent: all that is needed to act, and nothing that learns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from rle.checks import require
from rle.config import RunConfig
from rle.core.transfer import moved
from rle.errors import UsageError
from rle.explore.base import Strategy
from rle.explore.mixture import Mixture, latent_strategy
from rle.explore.registry import make_strategy
from rle.explore.transitions import Transitions
from rle.nets.build import make_actor_critic
from rle.nets.distributions import distribution_for
from rle.nets.flat import flatten_parameters
from rle.randomness import generator as make_generator
from rle.tasks.base import State, Step, TaskSpec, playable
from rle.tasks.form import require_form
from rle.tasks.normalise import ObservationNormaliser

Array = TypeVar("Array", Tensor, npt.NDArray[Any])


class Agent:
    """Network, action distribution, strategy and normalisation of observations.

    `rle.load` gives the agent of a run; a trainer has one in training. Observations come in as the
    environment gives them. Shapes: N observations, d numbers of z, L of the strategy's whole latent.
    """

    def __init__(
        self,
        config: RunConfig,
        spec: TaskSpec,
        device: torch.device,
        normaliser: ObservationNormaliser | None = None,
    ) -> None:
        """Build an agent that has learned nothing yet; `normaliser` is its task's, if that has one."""
        self.config = config
        self.spec = spec
        self.device = device
        self.normaliser = normaliser
        self.strategy = make_strategy(config, spec, device)
        self.distribution = distribution_for(spec.action_space)
        heads = 1 + sum(stream.separate for stream in self.strategy.streams)
        self.network = make_actor_critic(
            spec,
            config.network,
            self.strategy.input_size,
            heads,
            make_generator(config.seed, "networks"),
            self.strategy.linear,
            config.machine.precision,
        ).to(device)
        # As a learner lays them out: elsewhere in memory, products are rounded differently.
        flatten_parameters(tuple(self.network.parameters()))
        self.trained_steps = 0
        """Agent steps that were made when it was saved."""
        self._follower = latent_strategy(self.strategy)
        self._generator = make_generator(config.seed, "acting")
        self._settled: bool | None = None
        """Whether `act` was last greedy; None: it has not acted since training or playing."""

    @property
    def latent_dimension(self) -> int:
        """d, the size of the z the agent follows; 0 for an agent that follows none."""
        return 0 if self._follower is None else self._follower.config.dimension

    def sample_latents(self, count: int, generator: torch.Generator | None = None) -> Tensor:
        """Draw `[count, d]` latents from the distribution the agent was trained with.

        With a `generator` on the CPU; None: the agent's own, which begins with the run's seed.
        """
        source = self._generator if generator is None else generator
        if self._follower is None:
            return torch.zeros(count, 0, device=self.device)
        return self._follower.sample_latents(count, source).to(self.device)

    @torch.no_grad()
    def act(
        self,
        observation: Array,
        z: Any = None,
        greedy: bool = False,
        generator: torch.Generator | None = None,
    ) -> Array:
        """Choose an action, as the environment takes it, for one observation or a batch.

        Args:
            observation: as the environment gives it, `[...]` or `[N, ...]`; an array or a tensor. Of
                images that were stacked in training, the last ones: `[frame_stack, ...]`.
            z: what the agent is to follow, `[d]` or `[N, d]`. None draws one for each observation. A
                fresh z at every step makes no trajectory: draw one with `sample_latents` and keep it
                for as long as it is to be followed.
            greedy: take the most likely action, and silence NoisyNet's noise.
            generator: on the CPU, of the randomness; None: the agent's own, which begins with the
                run's seed.

        Returns:
            The action or the actions `[N, ...]`, in the kind of `observation`, a tensor on its device.
            They have the shape and type that the environment declares, count from where it does, and
            are clipped to its bounds.

        """
        source = self._generator if generator is None else generator
        seen, single = self._batch_of(_tensor(observation))
        self._settle(greedy)
        latent = self._whole_latent(self._latents_for(z, len(seen), source))
        noise = self.distribution.draw_noise((len(seen),), source)
        action = self.choose(self.show(seen), latent, noise.to(self.device), greedy)
        played: Any = playable(self.spec.action_space, self._replaced(action, source))
        played = played[0] if single else played
        if isinstance(observation, Tensor):
            played = torch.as_tensor(played, device=observation.device)
        result: Array = played
        return result

    def choose(
        self, shown: Tensor, latent: Tensor | None, noise: Tensor, greedy: bool = False
    ) -> Tensor:
        """The policy's actions `[N, ...]` on normalised observations, under latents `[N, L]`."""
        output = self.network.policy(shown, self.strategy.network_input(latent))
        return self.distribution.mode(output) if greedy else self.distribution.sample(output, noise)

    def noise(self, num_envs: int, source: torch.Generator, ahead: int = 1) -> Iterator[Tensor]:
        """The policy's randomness `[num_envs, ...]` of one step after the other, without end.

        `ahead` steps are drawn at once: how many changes which numbers are drawn.
        """
        while True:
            drawn = self.distribution.draw_noise((ahead, num_envs), source)
            yield from moved(drawn, self.device).unbind(0)

    def show(self, observation: Tensor) -> Tensor:
        """What the networks see of observations `[N, ...]`."""
        observation = observation.to(self.device)
        return observation if self.normaliser is None else self.normaliser.show(observation)

    def see(self, step: Step) -> Step:
        """A step as the networks and the strategy see it."""
        same = step.observation is step.next_observation
        next_observation = self.show(step.next_observation)
        observation = next_observation if same else self.show(step.observation)
        here: Any = (None if part is None else part.to(self.device) for part in step)
        return Step(*here)._replace(next_observation=next_observation, observation=observation)

    @torch.no_grad()
    def bonus(
        self, observation: Tensor, action: Tensor, next_observation: Tensor, latent: Tensor | None
    ) -> Tensor:
        """Unscaled bonuses `[N, K]` of transitions under latents `[N, L]`."""
        return self.strategy.bonus(
            Transitions(
                self.show(observation),
                action.to(self.device),
                self.show(next_observation),
                latent,
            )
        )

    def watch(self, greedy: bool) -> None:
        """The agent will be watched, not trained; `greedy` asks for its most likely behaviour."""
        self.strategy.evaluate(greedy)
        self._settled = None

    def follow(self, latents: Tensor) -> None:
        """Let environment i follow `latents[i]`, `[N, d]`, from the strategy's next start on."""
        if self._follower is not None:
            self._follower.pin(latents.to(self.device))

    def state_dict(self) -> State:
        """What `load_state_dict` takes, at the places where a trainer's state has it."""
        state: State = {
            "learner": {"network": dict(self.network.state_dict())},
            "strategy": self.strategy.state_dict(),
        }
        if self.normaliser is not None:
            state["task"] = {"moments": self.normaliser.state_dict()}
        return state

    def load_state_dict(self, state: State) -> None:
        """Take over what was learned from the state of a trainer, and nothing of its environments."""
        with fitting_checkpoint():
            require_form(self._form(), state)
            self.network.load_state_dict(state["learner"]["network"])
            self.strategy.load_state_dict(state["strategy"])
            if self.normaliser is not None:
                self.normaliser.load_state_dict(state["task"]["moments"])

    def _form(self) -> State:
        """What a state must look like; a strategy of the user's may change the shape of its own."""
        state = self.state_dict()
        return state if self.config.own is None else {**state, "strategy": {}}

    def _batch_of(self, observation: Tensor) -> tuple[Tensor, bool]:
        """Observations `[N, ...]` of the kind the networks take, and whether there was but one."""
        view = self.spec.image
        shape = self.spec.observation_shape if view is None else view.given_shape
        single = observation.shape == shape
        require(
            single or observation.shape[1:] == shape,
            f"the observation has the shape {tuple(observation.shape)}: give one of the shape {shape}, "
            f"or several of the shape (N, {', '.join(map(str, shape))}).",
        )
        observation = observation[None] if single else observation
        if view is not None:
            observation = view.observations(observation)
        return observation.to(self.device, self.spec.observation_dtype), single

    def _latents_for(self, z: Any, count: int, source: torch.Generator) -> Tensor:
        """`[count, d]`, one for each observation."""
        if z is None:
            return self.sample_latents(count, source)
        z = _tensor(z).to(self.device, torch.float32)
        d = self.latent_dimension
        require(
            z.shape in ((d,), (count, d)),
            f"z has the shape {tuple(z.shape)}: give ({d},) or ({count}, {d}), as sample_latents does.",
        )
        return z.expand(count, d)

    def _whole_latent(self, z: Tensor) -> Tensor | None:
        """The strategy's latents `[N, L]` with `z` in its place.

        What else stands there is 0, as the previous bonus is on the first step under a new z.
        """
        if self.strategy.latent_size == 0:
            return None
        parts = []
        for part in _parts(self.strategy):
            own = torch.zeros(len(z), part.latent_size, device=self.device)
            if part is self._follower:
                own[:, : z.shape[1]] = z
            parts.append(own)
        return torch.cat(parts, -1)

    def _settle(self, greedy: bool) -> None:
        """Draw NoisyNet's noise, or silence it, where that is not done yet."""
        if self._settled is not greedy:
            self.watch(greedy)
            self.strategy.begin_rollout(self.network)
            self._settled = greedy

    def _replaced(self, chosen: Tensor, source: torch.Generator) -> Tensor:
        """What a strategy that acts itself does instead."""
        if all(type(part).action is Strategy.action for part in _parts(self.strategy)):
            return chosen
        self.strategy.serve(len(chosen))
        self.strategy.reseed(int(torch.randint(2**62, (), generator=source)))
        self.strategy.draw(1)
        return self.strategy.action(chosen)


def _tensor(values: Any) -> Tensor:
    # A copy of an array: PyTorch takes none that runs backwards or cannot be written to.
    return values if isinstance(values, Tensor) else torch.from_numpy(np.array(values))


def _parts(strategy: Strategy) -> list[Strategy]:
    return list(strategy.parts.values()) if isinstance(strategy, Mixture) else [strategy]


@contextmanager
def fitting_checkpoint() -> Iterator[None]:
    """Say in one sentence that a checkpoint does not fit what is loaded from it."""
    try:
        yield
    except UsageError:
        raise
    except (LookupError, RuntimeError, ValueError, TypeError, AttributeError) as error:
        reason = next(iter(str(error).splitlines()), repr(error))
        raise UsageError(
            f"the checkpoint does not fit the run's configuration ({reason}): restore config.json, or "
            "use the version of the program that wrote the run."
        ) from error
