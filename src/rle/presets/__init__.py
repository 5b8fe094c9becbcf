"""The paper's tables, as data: task and strategy together choose the numbers.

Each table is a mapping from dotted setting names to values, applied in order: the suite's PPO, then
the strategy's. Which tables a suite has is said here, by its name: a suite does not know of them.
`released` follows the published training scripts where they differ from the paper; `desktop` makes
control tasks, Atari's quicker games and the sparse tasks learn on a few cores, and is FourRoom with the
numbers of other tasks. Where a suite has no numbers of the paper's, `paper` is only the name of its
own.
"""

from __future__ import annotations

from collections.abc import Mapping

from rle.config import NoisyConfig, RLEConfig, RNDConfig, RunConfig, WhiteNoiseConfig
from rle.errors import UsageError
from rle.own import own_strategy
from rle.presets.atari import ATARI_PRESETS
from rle.presets.control import CONTROL_PRESETS
from rle.presets.fourroom import FOURROOM_PRESETS, GYM_PRESETS, OTHER_PRESETS
from rle.presets.sparse import SPARSE_PRESETS
from rle.presets.tables import Presets, Settings, Tables
from rle.settings import replace
from rle.tasks.registry import suite_of
from rle.tasks.suite import SUITES

__all__ = ["default_preset", "preset_config", "preset_names"]

PRESETS: Mapping[str, Presets] = {
    "fourroom": FOURROOM_PRESETS,
    "control": CONTROL_PRESETS,
    "atari": ATARI_PRESETS,
    "sparse": SPARSE_PRESETS,
    "gym": GYM_PRESETS,
}
"""By the names of suites. Others start from the same numbers; a suite that is brought along may change
them by `Suite.settings`."""


def _presets_of(task: str) -> Presets:
    suite, _ = suite_of(task)
    return PRESETS.get(suite.name, OTHER_PRESETS)


def default_preset(task: str) -> str:
    """The preset of `task` if nobody says: `desktop` for control/ and sparse/ tasks, or `paper`."""
    return _presets_of(task).default


def preset_names(task: str) -> tuple[str, ...]:
    """The presets there are for `task`."""
    return _presets_of(task).names


def _tables(task: str, preset: str) -> Tables:
    presets = _presets_of(task)
    if preset not in presets.names:
        *others, last = [
            _spoken(suite) for suite, other in PRESETS.items() if preset in other.names
        ]
        having = f"{', '.join(others)} and {last}" if others else last
        raise UsageError(
            f"the preset {preset!r} is for {having} tasks: use {presets.default!r} on "
            f"{task}, which is its default."
        )
    return presets.tables(suite_of(task)[1], preset)


def _spoken(suite: str) -> str:
    """A suite as its tasks' names begin."""
    return suite if SUITES[suite].bare else f"{suite}/"


def _own_settings(task: str, config: RunConfig) -> Settings:
    """What the suite itself changes, without the settings of strategies that `config` does not use."""
    suite, _ = suite_of(task)
    return {
        name: value
        for name, value in suite.settings.items()
        if getattr(config, name.partition(".")[0], config) is not None
    }


def preset_config(task: str, explore: str, preset: str | None = None, seed: int = 0) -> RunConfig:
    """The published configuration of `explore` on `task`; None takes the task's default preset."""
    preset = preset or default_preset(task)
    strategies = explore.split("+")
    own = [found for found in map(own_strategy, strategies) if found is not None]
    config = RunConfig(
        task=task,
        explore=explore,
        preset=preset,  # type: ignore[arg-type]
        seed=seed,
        rle=RLEConfig() if "rle" in strategies else None,
        rnd=RNDConfig() if "rnd" in strategies else None,
        noisy=NoisyConfig() if "noisy" in strategies else None,
        white_noise=WhiteNoiseConfig() if "white-noise" in strategies else None,
        own={found.section: found.defaults() for found in own} or None,
    )
    learner, tables = _tables(task, preset)
    config = replace(config, learner)
    for strategy in strategies:
        for table in tables:
            config = replace(config, table.get(strategy, {}))
    try:
        config = replace(config, _own_settings(task, config))
    except UsageError as error:
        raise UsageError(f"the settings of the suite of {task} are wrong: {error}") from error
    for found in own:
        config = replace(config, found.preset)
    return config
