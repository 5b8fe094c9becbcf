"""What has another name now, from the old name to the new, or is gone: the old ones are still read.

Names that someone writes are answered with a notice that says the new one. What lies on a disk is read
without: nothing is wrong with it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import MutableMapping
from typing import Any

RENAMED = {
    "rle.law": "rle.distribution",
    "network.initial_action_deviation": "network.initial_action_std",
    "noisy.initial_deviation": "noisy.initial_std",
}
"""Settings by their dotted names. A setting stays in its section."""
REMOVED = {
    "network.policy_latent_scale": (1.0, "the policy always sees all of z"),
    "rle.fade_latent": (False, "z and the bonus fade together (rle.fade)"),
    "rle.weigh_rarity": (False, "the rarity is not weighed, but may be centred"),
}
"""Settings that are gone, each with the value that means what is always so now, and that in words."""
RENAMED_STUDIES = {"atari-latent-law": "atari-latent-distribution"}
RENAMED_GROUPS = {"rle.laws": "rle.distributions"}
"""Groups of entry points."""
RENAMED_PARAMETERS = {
    "log_deviation": "log_std",
    "weight_deviation": "weight_std",
    "bias_deviation": "bias_std",
}
"""Of networks, in checkpoints."""
_RENAMED_METRICS = re.compile("^(bonus_.+|noisy)_deviation$")
_SPELLINGS = str.maketrans("sz", "zs")


def notice(old: str, new: str) -> None:
    """Tell whoever wrote `old` to write `new`."""
    # Of all warnings, the one that Python shows to those who use a program.
    warnings.warn(f"{old} is now called {new}.", FutureWarning, stacklevel=4)


def other_spelling(name: str) -> str:
    """`normalize_observations` for `normalise_observations`, and the other way round."""
    return re.sub(
        "(normali|standardi)([sz])", lambda found: found[1] + found[2].translate(_SPELLINGS), name
    )


def present_metrics(line: dict[str, Any]) -> dict[str, Any]:
    """A line of `metrics.jsonl` as it would be written now."""
    return {_RENAMED_METRICS.sub(r"\1_std", name): value for name, value in line.items()}


def read_renamed_parameters(
    module: object, state: MutableMapping[str, Any], prefix: str, *_: object
) -> None:
    """Let a module that is registered with this load what was saved under the old names."""
    for old, new in RENAMED_PARAMETERS.items():
        if prefix + old in state:
            state[prefix + new] = state.pop(prefix + old)
