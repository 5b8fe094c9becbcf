"""What an exploration strategy is: one protocol, so that the training loop knows no strategy.

A strategy may give the networks an extra input, reward a transition with a bonus, cut the bonus
return, learn something of its own, and say what it measured. "No exploration" is one too, and
several at once are one (`Mixture`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from torch import Tensor, nn

from rle.explore.transitions import FIELDS, Transitions
from rle.nets.actor_critic import ActorCritic
from rle.tasks.base import State, Step
from rle.world import ALONE, World


@dataclass(frozen=True)
class Stream:
    """One kind of reward with a return of its own."""

    name: str
    coefficient: float
    """Weight of its advantage in the policy's."""
    discount: float
    value_coefficient: float
    scale: bool
    """Divide it by the running deviation of its discounted sum."""
    separate: bool = True
    """Learn it with a value head of its own; otherwise it is added to the task reward."""
    anneal: bool = False
    """Lower its weight linearly to zero over the run."""


class Strategy:
    """The strategy that does nothing; the others override what they need.

    Shapes: N environments, L numbers of latent data, K bonus streams, B transitions.
    """

    name: str = ""
    """Of a subclass that is a record itself: what it is called; otherwise by its class."""
    settings: type[Any] | None = None
    """The same: a frozen dataclass of its settings, every field with a default."""
    preset: Mapping[str, Any] = {}
    """The same: settings of the whole run that it starts from, by dotted name."""
    streams: tuple[Stream, ...] = ()
    """The K bonus streams. One with coefficient 0 is left out: nothing of it may reach the agent."""
    latent_size: int = 0
    """L: what is stored per step beside the observation (RLE: z and the previous bonus)."""
    input_size: int = 0
    """How much of that the networks see."""
    auxiliary: nn.Module | None = None
    """What the strategy trains beside the agent, with the agent's optimiser (RND: the predictor)."""
    auxiliary_fields: tuple[str, ...] = FIELDS
    """What `auxiliary_loss` reads of its transitions: nothing else is gathered for it."""
    whole: bool = False
    """Whether `bonus` is to see a rollout whole, because one depends on others of its episode."""
    warmup_rollouts: int = 0
    """Rollouts of random actions shown to `warm_up` before training; they count as training steps."""
    learned: tuple[str, ...] = ()
    """The branches of `state_dict` that another run may begin with: what was learned, and nothing of
    the environments or of randomness."""
    learns: bool = True
    """Whether the agent is to learn from what happens; without, it only acts."""
    splits: bool = False
    """Whether a run may split its environments over devices: random numbers must belong to
    environments, and statistics be of all of them, with the help of `world`."""
    per_environment: tuple[str, ...] = ()
    """The branches of `state_dict` that have an entry for each environment, and nothing else."""
    world: World = ALONE
    """Which of the run's environments are here."""

    def join(self, world: World) -> None:
        """Be the part of the run that `world` says; before anything else."""
        self.world = world

    def linear(self, inputs: int, outputs: int) -> nn.Linear:
        """The layer used for the policy's last layer and for the value heads."""
        return nn.Linear(inputs, outputs)

    def start(self, network: ActorCritic) -> None:
        """Called once, before the first step of a new run."""

    def begin_rollout(self, network: ActorCritic) -> None:
        """A rollout and the update on it begin."""

    def draw(self, steps: int) -> None:
        """Draw all randomness of the next `steps` steps."""

    def take(self, first: int, steps: int) -> None:
        """Of what was drawn, the next steps use that of so many, from the `first` on.

        Without it they use all of it, from the start.
        """

    def latent(self) -> Tensor | None:
        """`[N, L]`, what conditions the next action; None if L = 0."""
        return None

    def network_input(self, latent: Tensor | None) -> Tensor | None:
        """The part of a latent `[..., L]` that the networks see, `[..., input_size]`."""
        return None

    def action(self, chosen: Tensor) -> Tensor:
        """The actions to take, `[N, ...]`, where the policy chose `chosen`."""
        return chosen

    def after_step(self, step: Step) -> Tensor | None:
        """Go on to the next step; returns bool `[N, K]`: which bonus returns end here (None: none)."""
        return None

    def bonus(self, transitions: Transitions) -> Tensor:
        """Unscaled bonuses `[B, K]`; changes nothing that a later bonus depends on.

        Only asked of strategies with streams; a rollout may come in several pieces, unless `whole`.
        """
        raise NotImplementedError

    def observe(self, transitions: Transitions) -> None:
        """Take transitions into statistics; called once for all that `bonus` was asked about."""

    def paid(self) -> Tensor | None:
        """Unscaled bonuses `[T, N, K]` of the rollout, if they were all computed on the way.

        Where it is None, `bonus` and `observe` are called. Rows that are not real may hold anything.
        """
        return None

    def warm_up(self, rollout: int, transitions: Transitions) -> None:
        """Take in transitions of random actions; a rollout may come in several pieces."""

    def after_rollout(self) -> None:
        """All bonuses of the rollout are computed: use the new statistics from here on."""

    def bonus_weights(self) -> Tensor | None:
        """How much of each stream counts in this rollout's advantages and values, `[K]`; None: all.

        Only streams with a value head of their own may count less.
        """
        return None

    def weighed(self, sizes: Tensor) -> None:
        """Hear how large the rollout's advantages are, `[1 + K]`: by absolute size, times coefficients.

        The task's comes first, then each stream's, before `bonus_weights`. A stream without a value head
        of its own has none.
        """

    def trained(self) -> tuple[Trained, ...]:
        """Everything with an auxiliary module; of a mixture, several."""
        return () if self.auxiliary is None else (Trained(self, 0, self.latent_size),)

    def auxiliary_rows(self, index: Tensor, size: int) -> Tensor:
        """Which of a minibatch's real transitions the auxiliary module is trained on, `[b]`.

        b must depend on nothing but `size`, the minibatch's size, so that the step can be compiled. By
        default all of them, some twice if not all of the minibatch is real.
        """
        return index.repeat(-(-size // len(index)))[:size]

    def auxiliary_loss(self, transitions: Transitions) -> Tensor:
        """The auxiliary module's loss on b transitions, a scalar: the mean over them."""
        raise NotImplementedError

    def after_minibatch(self, network: ActorCritic) -> None:
        """One gradient step was made."""

    def after_update(self, network: ActorCritic) -> None:
        """All gradient steps of the iteration were made."""

    def serve(self, num_envs: int) -> None:
        """Get ready for another number of environments than in training; `start` comes next."""

    def reseed(self, seed: int) -> None:
        """Take all later randomness from `seed`: evaluation has generators of its own."""

    def evaluate(self, greedy: bool) -> None:
        """The agent will be watched, not trained; `greedy` asks for its most likely behaviour."""

    def metrics(self) -> dict[str, float]:
        """Diagnostics of the last iteration."""
        return {}

    def state_dict(self) -> State:
        """All that is needed to go on exactly from here."""
        return {}

    def load_state_dict(self, state: State) -> None:
        """Go on from a state of `state_dict`."""

    def begin_with(self, state: State) -> None:
        """Begin a run with what was `learned` in another, of the same form; before `start`."""
        self.load_state_dict(self.state_dict() | {name: state[name] for name in self.learned})


class Trained(NamedTuple):
    """A strategy that trains something beside the agent, and what it sees of the latent."""

    strategy: Strategy
    first: int
    """The first of its columns."""
    last: int
    """The column after its last one."""
