"""The paper's tables, as data: task and strategy together choose the numbers.

Each table is a mapping from dotted setting names to values, applied in order: the suite's PPO, then
the strategy's. `released` follows the published training scripts where they differ from the paper;
`desktop` makes control tasks and Atari's quicker games learn on a few cores.
"""

from __future__ import annotations

from rle.config import NoisyConfig, RLEConfig, RNDConfig, RunConfig, WhiteNoiseConfig
from rle.errors import UsageError
from rle.own import own_strategy
from rle.presets.atari import atari_tables
from rle.presets.control import control_tables
from rle.presets.fourroom import FOURROOM, FOURROOM_PPO, GYM, GYM_PPO, OTHER_PPO
from rle.presets.tables import Tables
from rle.settings import replace

__all__ = ["default_preset", "preset_config"]

CONTROL = "control/"
ATARI = "atari/"
GYMNASIUM = "gym/"


def default_preset(task: str) -> str:
    """`desktop` for control/ tasks, which the paper ran on thousands of GPU environments; or `paper`."""
    return "desktop" if task.startswith(CONTROL) else "paper"


def _tables(task: str, preset: str) -> Tables:
    if task.startswith(CONTROL):
        return control_tables(task.removeprefix(CONTROL), preset)
    if task.startswith(ATARI):
        return atari_tables(preset)
    if preset == "desktop":
        raise UsageError(
            f"the preset 'desktop' is for {CONTROL} and {ATARI} tasks: use 'paper' on {task}, which is "
            "its default."
        )
    if task.startswith("fourroom"):
        return Tables(FOURROOM_PPO, (FOURROOM,))
    return Tables(GYM_PPO if task.startswith(GYMNASIUM) else OTHER_PPO, (GYM,))


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
    for found in own:
        config = replace(config, found.preset)
    return config
