"""What a new run takes over from another run's agent, and what starts fresh.

Taken is what an agent is: networks, what its strategy has learned, the statistics of observations.
Fresh is what a learner and a task have: optimiser, reward scaling, random numbers, environments.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from rle.agents.agent import Agent
from rle.checks import require
from rle.explore.base import Strategy
from rle.explore.mixture import Mixture
from rle.tasks.base import ActionSpace, Discrete

ALWAYS_FRESH = "optimiser, reward scaling and environments"


class Inherited(NamedTuple):
    """What became of an agent, in words."""

    taken: list[str]
    fresh: list[str]

    def sentence(self, origin: str) -> str:
        """For whoever started the run."""
        return f"begins with {origin}: taken are {_listed(self.taken)}; fresh are {_listed(self.fresh)}."


def _listed(words: list[str]) -> str:
    return ", ".join(words[:-1]) + " and " + words[-1] if len(words) > 1 else words[0]


def inherit(agent: Agent, source: Agent, origin: str) -> Inherited:
    """Let `agent` begin with what `source` is.

    Raises:
        UsageError: task or networks do not fit; the first thing that does not is named.

    """
    _require_fit(agent, source, origin)
    result = Inherited([], [])
    _take_network(agent, source, result)
    theirs = _parts(source)
    for name, part in _parts(agent).items():
        _take_strategy(name, part, theirs.get(name), result)
    if agent.normaliser is not None:
        assert source.normaliser is not None
        agent.normaliser.load_state_dict(source.normaliser.state_dict())
        result.taken.append("the statistics of observations")
    result.fresh.append(ALWAYS_FRESH)
    return result


def _require_fit(agent: Agent, source: Agent, origin: str) -> None:
    """Task and networks must be alike; what follows from the strategy alone need not be."""
    theirs = _fitting(source)
    for name, own in _fitting(agent).items():
        require(
            own == theirs.get(name),
            f"the agent of {origin} does not fit: its {name} is {theirs.get(name)}, and {own} in the "
            "new run.",
        )


def _fitting(agent: Agent) -> dict[str, Any]:
    spec, network = agent.spec, agent.config.network
    normaliser = agent.normaliser
    as_is = None if normaliser is None or normaliser.as_is is None else normaliser.as_is.tolist()
    alike = {
        "shape of observations": spec.observation_shape,
        "type of observations": str(spec.observation_dtype).removeprefix("torch."),
        "action space": _actions(spec.action_space),
        "stack of frames": spec.stacked_frames,
        "normalise-observations": normaliser is not None,
        "choice of what is not normalised": as_is,
    }
    if spec.is_image:
        return alike | {"embedding": network.embedding}
    return alike | {
        "policy-hidden": network.policy_hidden,
        "value-hidden": network.value_hidden,
        "activation": network.activation,
        "value-backbone": network.value_backbone,
    }


def _actions(space: ActionSpace) -> str:
    return f"{space.n} actions" if isinstance(space, Discrete) else f"{space.size} numbers"


def _parts(agent: Agent) -> dict[str, Strategy]:
    """The strategies of an agent by their names."""
    strategy = agent.strategy
    parts = list(strategy.parts.values()) if isinstance(strategy, Mixture) else [strategy]
    return dict(zip(agent.config.explore.split("+"), parts, strict=True))


def _heads(agent: Agent) -> list[str]:
    """The streams of the value heads, in their order."""
    return ["task", *(stream.name for stream in agent.strategy.streams if stream.separate)]


def _inputs(agent: Agent) -> tuple[Any, ...]:
    """What the networks see of the strategies, and through which encoder."""
    seen = [(name, part.input_size) for name, part in _parts(agent).items() if part.input_size]
    return (*seen, agent.config.network.latent_encoder if seen else ())


def _take_network(agent: Agent, source: Agent, result: Inherited) -> None:
    """Every parameter of the same stream, name and shape.

    Where the strategies show the networks something else, first layers take the columns that see the
    observation, and keep their own for the rest.
    """
    network, theirs = agent.network, source.network.state_dict()
    same_inputs = _inputs(agent) == _inputs(source)
    own, fresh = dict(network.state_dict()), []
    for name, value in own.items():
        found = theirs.get(_name_in(source, agent, name))
        if found is not None and not same_inputs and name in network.beside_latent:
            columns = network.beside_latent[name]
            found = torch.cat([found[:, :columns], value[:, columns:]], -1)
        elif name.startswith("latent_encoder.") and not same_inputs:
            found = None
        if found is None or found.shape != value.shape:
            fresh.append(_words(agent, name))
        else:
            own[name] = found
    network.load_state_dict(own)
    if agent.strategy.input_size and not same_inputs:
        fresh.append(_ON_THE_INPUT)
    result.taken.append("the policy and value networks")
    result.fresh.extend(dict.fromkeys(fresh))


_ON_THE_INPUT = "the weights on what the networks see of the strategy"


def _name_in(source: Agent, agent: Agent, name: str) -> str:
    """What a parameter is called in `source`: the head of a stream may have another number there."""
    module, _, rest = name.partition(".")
    if module != "value_heads":
        return name
    number, _, rest = rest.partition(".")
    stream, heads = _heads(agent)[int(number)], _heads(source)
    return f"value_heads.{heads.index(stream)}.{rest}" if stream in heads else ""


def _words(agent: Agent, name: str) -> str:
    """A parameter for readers."""
    module, _, rest = name.partition(".")
    if module == "latent_encoder":
        return _ON_THE_INPUT
    number, _, kind = rest.partition(".")
    if module == "value_heads" and kind in ("weight", "bias"):
        return f"the value head of {_heads(agent)[int(number)]}"
    return name


def _take_strategy(name: str, part: Strategy, source: Strategy | None, result: Inherited) -> None:
    """What a strategy of the same name has learned, if it has the same form."""
    if not part.learned:
        return
    words = f"{_listed(list(part.learned))} of {name}"
    own, theirs = part.state_dict(), {} if source is None else source.state_dict()
    if all(key in theirs and _same_form(own[key], theirs[key]) for key in part.learned):
        part.begin_with(theirs)
        result.taken.append(words)
    else:
        result.fresh.append(words)


def _same_form(own: Any, theirs: Any) -> bool:
    """Whether two trees have the same keys, and tensors of the same shapes in the same places."""
    if isinstance(own, dict) and isinstance(theirs, dict):
        return own.keys() == theirs.keys() and all(_same_form(own[k], theirs[k]) for k in own)
    if isinstance(own, Tensor) and isinstance(theirs, Tensor):
        return own.shape == theirs.shape
    return type(own) is type(theirs)
