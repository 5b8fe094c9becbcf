"""Any EnvPool environment: dictionaries with text, images, and libraries that are missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from rle.config import EnvironmentConfig
from rle.errors import UsageError
from rle.presets import preset_config
from rle.runs.trainer import Trainer
from rle.settings import replace
from rle.tasks import envpool
from rle.tasks.base import Discrete
from rle.tasks.envpool import EnvPoolTask
from rle.tasks.registry import make_task
from tests.builders import trained_an_iteration

MINIGRID = "MiniGrid-KeyCorridorS3R3-v0"
PROCGEN = "CoinrunHard-v0"
SMALL: dict[str, Any] = {
    "num_envs": 4,
    "rollout_steps": 8,
    "minibatches": 2,
    "epochs": 1,
    "engine_threads": 1,
    "compile": "off",
}


def make(env_id: str) -> EnvPoolTask:
    config = EnvironmentConfig(num_envs=2)
    task = make_task(f"envpool/{env_id}", config, torch.device("cpu"), engine_threads=1)
    assert isinstance(task, EnvPoolTask)
    return task


def train_an_iteration(env_id: str, explore: str = "rle") -> Trainer:
    return trained_an_iteration(replace(preset_config(f"envpool/{env_id}", explore), SMALL))


def test_minigrid_is_direction_image_and_mission_in_one_vector() -> None:
    task = make(MINIGRID)
    assert task.spec.observation_shape == (1 + 7 * 7 * 3 + 96,)
    assert task.spec.action_space == Discrete(7)
    shown = task.reset(0)
    assert bool(((shown[:, 0] >= 0) & (shown[:, 0] < 4)).all())
    # The mission is text in bytes: "pick up the ..."
    assert bytes(shown[0, 148:155].byte().tolist()) == b"pick up"
    task.close()


@pytest.mark.parametrize("explore", ["rle", "rnd"])
def test_minigrid_trains(explore: str) -> None:
    train_an_iteration(MINIGRID, explore)


@pytest.mark.parametrize(
    ("share", "chosen", "threads", "pinned"),
    [("4", 0, 4, True), ("2", 0, 2, False), ("4", 3, 3, False), ("4", 4, 4, False)],
)
def test_threads_keep_to_cores_only_where_no_other_run_has_a_share(
    share: str, chosen: int, threads: int, pinned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    monkeypatch.setenv("RLE_CORES", share)
    config, cpu = EnvironmentConfig(num_envs=16), torch.device("cpu")
    options = EnvPoolTask("Ant-v5", config, cpu, engine_threads=chosen)._options
    assert options["num_threads"] == threads
    assert options["thread_affinity_offset"] == (0 if pinned else -1)


def test_procgen_trains() -> None:
    try:
        make(PROCGEN)
    except UsageError as error:
        pytest.skip(str(error))
    trainer = train_an_iteration(PROCGEN)
    assert trainer.task.spec.is_image


def test_vizdoom_trains_with_combinations_of_buttons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # It writes its settings into the working folder.
    trainer = train_an_iteration("MyWayHome-v1")
    assert trainer.task.spec.observation_shape == (4 * 3, 84, 84)
    assert trainer.task.spec.action_space == Discrete(18)


class WithoutQt:
    """EnvPool on a machine without Qt 5: its own words."""

    def __init__(self, module: Any, complaint: str) -> None:
        self._module, self._complaint = module, complaint

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def make_spec(self, *_: object, **__: object) -> None:
        raise ImportError(self._complaint)


def test_missing_libraries_are_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    module = envpool.load_envpool("envpool")
    complaint = "EnvPool Procgen requires the system Qt 5 runtime on Linux."
    monkeypatch.setattr(envpool, "load_envpool", lambda _: WithoutQt(module, complaint))
    with pytest.raises(UsageError) as caught:
        make(PROCGEN)
    assert str(caught.value) == (
        "envpool/CoinrunHard-v0 needs the Qt 5 libraries of the system: "
        "apt-get install libqt5gui5 (on Fedora: dnf install qt5-qtbase-gui)."
    )
    other = WithoutQt(module, "libfoo.so.1: cannot open\nshared object file")
    monkeypatch.setattr(envpool, "load_envpool", lambda _: other)
    with pytest.raises(UsageError, match=r"not installed: libfoo\.so\.1: cannot open shared"):
        make(PROCGEN)


IMPORTED = """
import sys
{before}
from rle.tasks.envpool import load_envpool
pool = load_envpool("envpool").make("Alien-v5", env_type="gymnasium", num_envs=1)
print("jax" in sys.modules)
import jax
print(jax.__name__)
"""


@pytest.mark.parametrize(("before", "told"), [("", "False"), ("import jax", "True")])
def test_jax_is_left_alone(before: str, told: str) -> None:
    """EnvPool does not import it for us, and who wants it has it, before and after."""
    pytest.importorskip("jax", reason="jax is not installed")
    script = IMPORTED.format(before=before)
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert found.stdout.split() == [told, "jax"], found.stderr


def test_an_unknown_id_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean 'CoinrunHard-v0'"):
        make("CoinrunHrd-v0")


def test_nothing_ends_in_the_first_call_of_a_resumed_run() -> None:
    config = EnvironmentConfig(num_envs=2, time_limit=1)
    task = make_task(f"envpool/{MINIGRID}", config, torch.device("cpu"))
    task.reset(0)
    left = torch.zeros(2, dtype=torch.int64)
    assert task.step(left).truncated.all()
    with pytest.warns(UserWarning, match="new episodes"):
        task.load_state_dict(task.state_dict())
    first, second, third = (task.step(left) for _ in range(3))
    assert first.real is not None
    assert not first.real.any()
    assert not (first.truncated | first.terminated).any()
    # The engine's episode did end there, so its next call only resets.
    assert second.real is not None
    assert not second.real.any()
    assert third.real is not None
    assert bool(third.real.all())
    assert third.truncated.all()
    task.close()


def test_a_game_for_several_players_is_refused() -> None:
    task = make("AnimalShogi-v1")
    task.reset(0)
    with pytest.raises(UsageError, match="rewards several players"):
        task.step(torch.zeros(2, dtype=torch.int64))
    task.close()


def test_a_time_limit_that_the_engine_does_not_keep_is_refused() -> None:
    config = EnvironmentConfig(num_envs=2, time_limit=3)
    idle = torch.ones(2, dtype=torch.int64)
    minigrid, highway = (
        make_task(f"envpool/{name}", config, torch.device("cpu")) for name in (MINIGRID, "exit-v0")
    )
    minigrid.reset(0)
    ended = [bool(minigrid.step(idle).truncated.all()) for _ in range(8)]
    assert ended == [False, False, True, False] * 2
    highway.reset(0)
    for _ in range(4):
        highway.step(idle)
    with pytest.raises(UsageError, match="exit-v0 goes on after 3 steps"):
        highway.step(idle)
    minigrid.close()
    highway.close()


def test_images_are_not_normalised() -> None:
    config = EnvironmentConfig(num_envs=2, normalise_observations=True)
    task = make_task("atari/Pong", config, torch.device("cpu"), engine_threads=1)
    assert task.reset(0).dtype == torch.uint8
    task.close()
