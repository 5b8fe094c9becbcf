"""Task names and what builds them."""

from __future__ import annotations

import torch

from rle.checks import require
from rle.config import EnvironmentConfig
from rle.errors import UsageError
from rle.tasks import fourroom
from rle.tasks.base import Task
from rle.tasks.normalise import NormalisedTask

GYM_PREFIX = "gym/"
ATARI_PREFIX = "atari/"
CONTROL_PREFIX = "control/"
ENVPOOL_PREFIX = "envpool/"


def task_names() -> dict[str, str]:
    """Every task name with one line about it; open-ended suites as a pattern."""
    return {
        "fourroom": "51 x 51 grid, four rooms, no reward: pure exploration",
        "fourroom-sparse": "the same with reward 1 at the far corner",
        "fourroom-noisytv": "the same with a 2 x 2 square of random observations",
        "atari/<Game>": "any of the 57 Atari games, e.g. atari/MontezumaRevenge (extra: atari)",
        "control/<Task>": "a robot on MuJoCo, extra: control: Cartpole, Ant, Humanoid, FrankaCabinet, "
        "Anymal, AnymalTerrain, AllegroHand, ShadowHand or BallBalance",
        "envpool/<id>": "any EnvPool environment, e.g. envpool/CoinrunHard-v0 (extra: envpool)",
        "gym/<id>": "any Gymnasium environment with Box (or Dict) observations, e.g. gym/CartPole-v1",
    }


def check_task_name(name: str) -> None:
    """Raise `UsageError` with the nearest name unless `name` is a task."""
    if name in fourroom.VARIANTS:
        return
    if name.startswith(GYM_PREFIX):
        from rle.tasks.gym import check_gym_id

        check_gym_id(name.removeprefix(GYM_PREFIX))
        return
    if name.startswith(ATARI_PREFIX):
        from rle.tasks.atari import check_game

        check_game(name.removeprefix(ATARI_PREFIX))
        return
    if name.startswith(CONTROL_PREFIX):
        from rle.tasks.control import check_control_name

        check_control_name(name.removeprefix(CONTROL_PREFIX))
        return
    if name.startswith(ENVPOOL_PREFIX):
        from rle.tasks.envpool import check_envpool_id

        check_envpool_id(name.removeprefix(ENVPOOL_PREFIX))
        return
    from rle.tasks.suggest import suggest_task

    advice = suggest_task(name) or f"choose one of: {', '.join(task_names())}."
    raise UsageError(f"there is no task {name!r}: {advice}")


def make_task(
    name: str,
    config: EnvironmentConfig,
    device: torch.device,
    *,
    engine_threads: int = 0,
    pictures: bool = False,
) -> Task:
    """Build the task called `name`.

    Args:
        engine_threads: of a suite that steps its environments in threads; 0: one per core.
        pictures: also load what the task's `picture` needs.

    """
    task = _engine(name, config, device, engine_threads, pictures)
    if config.normalise_observations:
        require(
            not task.spec.is_image,
            f"normalise-observations is for vectors, and {name} shows images, scaled to [0, 1] "
            "anyway: leave it out.",
        )
        return NormalisedTask(task, config.observation_clip, device)
    return task


def _engine(
    name: str, config: EnvironmentConfig, device: torch.device, engine_threads: int, pictures: bool
) -> Task:
    check_task_name(name)
    if name in fourroom.VARIANTS:
        limit = fourroom.TIME_LIMIT if config.time_limit is None else config.time_limit
        return fourroom.FourRoom(name, config.num_envs, limit, config.television, device)
    if name.startswith(ATARI_PREFIX):
        from rle.tasks.atari import AtariTask

        return AtariTask(name.removeprefix(ATARI_PREFIX), config, device, engine_threads)
    if name.startswith(CONTROL_PREFIX):
        from rle.tasks.control import make_control_task

        return make_control_task(
            name.removeprefix(CONTROL_PREFIX), config, device, pictures, engine_threads
        )
    if name.startswith(ENVPOOL_PREFIX):
        from rle.tasks.envpool import EnvPoolTask

        return EnvPoolTask(
            name.removeprefix(ENVPOOL_PREFIX),
            config,
            device,
            pictures=pictures,
            engine_threads=engine_threads,
        )
    from rle.tasks.gym import GymTask

    return GymTask(name.removeprefix(GYM_PREFIX), config, device, pictures)
