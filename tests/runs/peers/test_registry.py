"""The seam between `rle bench` and its peers."""

from __future__ import annotations

import pickle
from dataclasses import replace as changed
from typing import Any

import pytest

from rle.config import RunConfig
from rle.presets import preset_config
from rle.runs.peers.played import plays_envpool, plays_papers_fourroom
from rle.runs.peers.registry import PEERS, Peer, invited
from rle.settings import replace


def always(config: RunConfig) -> bool:
    return True


def never(config: RunConfig) -> bool:
    return False


class Remembered:
    def __init__(self, config: RunConfig, warm_up: int) -> None:
        self.built_with = config, warm_up


HERE = Peer("here", "json", always, f"{__name__}:Remembered")
OURS = {explore: preset_config("fourroom", explore) for explore in ("rle", "none")}


def test_who_does_not_play_is_left_out_and_who_is_missing_is_named() -> None:
    others = [
        Peer("elsewhere", "no_such_package", always, "no_such_module:Contender"),
        Peer("busy", "json", never, "no_such_module:Contender"),
        Peer("neither", "no_such_package", never, "no_such_module:Contender"),
    ]
    assert invited(OURS, [HERE, *others]) == ([("here", HERE)], ["elsewhere"])


def test_a_peer_is_asked_about_the_settings_it_would_train_with() -> None:
    asked: list[RunConfig] = []

    def plays(config: RunConfig) -> bool:
        asked.append(config)
        return True

    peers = [changed(HERE, plays=plays), changed(HERE, plays=plays, explore="rle")]
    invited(OURS, peers)
    assert [config.explore for config in asked] == ["none", "rle"]


def test_a_contender_is_built_from_its_path_in_another_process() -> None:
    make = pickle.loads(pickle.dumps(HERE.contender))
    assert make(OURS["none"], 3).built_with == (OURS["none"], 3)


@pytest.mark.parametrize(
    ("task", "racing"),
    [
        ("fourroom", ["Stable-Baselines3 PPO", "RLE in JAX, NumPy draws", "RLE in JAX, XLA draws"]),
        ("fourroom-sparse", ["Stable-Baselines3 PPO"]),
        ("control/Ant", ["Stable-Baselines3 PPO", "CleanRL-like PPO"]),
        ("atari/Pong", ["Stable-Baselines3 PPO", "CleanRL-like PPO"]),
        ("gym/CartPole-v1", ["Stable-Baselines3 PPO"]),
        ("sparse/DeepSea-10", []),
    ],
)
def test_who_races_on_which_task(task: str, racing: list[str]) -> None:
    ours = {explore: preset_config(task, explore) for explore in ("rle", "none")}
    found, missing = invited(ours, PEERS)
    assert [label for label, _ in found] == racing
    assert missing == []


@pytest.mark.parametrize(
    ("settings", "plays"),
    [
        ({"num_envs": 8, "epochs": 1, "policy_hidden": (16,), "rle.dimension": 8}, True),
        ({"activation": "relu"}, False),
        ({"rle.standardise": True}, False),
        ({"rle.distribution": "normal"}, False),
        ({"scale_reward": True}, False),
        ({"rle.feature_hidden": None}, False),
    ],
)
def test_jax_plays_what_it_knows_all_settings_of(settings: dict[str, Any], plays: bool) -> None:
    assert plays_papers_fourroom(replace(OURS["rle"], settings)) is plays
    assert not plays_papers_fourroom(preset_config("fourroom", "rle", "desktop"))


@pytest.mark.parametrize(
    ("task", "plays"),
    [("envpool/Ant-v5", True), ("envpool/MyWayHome-v1", True), ("gym/CartPole-v1", False)],
)
def test_the_flat_loop_plays_what_runs_on_envpool(task: str, plays: bool) -> None:
    assert plays_envpool(preset_config(task, "none")) is plays
