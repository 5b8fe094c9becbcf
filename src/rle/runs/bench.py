"""Training speed on this machine, with Stable-Baselines3's PPO beside it as the peer."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from rle.config import RunConfig
from rle.learn.compilation import compiler_available
from rle.presets import preset_config
from rle.runs.trainer import Trainer
from rle.settings import replace
from rle.tasks.registry import check_task_name

WARMUP_ITERATIONS = 5
ROUNDS = 5


@dataclass(frozen=True)
class Rate:
    """One contender's speed."""

    label: str
    rates: tuple[float, ...]
    """Agent steps per second, one per round."""

    @property
    def median(self) -> float:
        """Median over the rounds."""
        return statistics.median(self.rates)


def bench(task: str = "fourroom", seconds: float = 2.0, peer: bool = True) -> str:
    """Measure `none`, `rle` and the peer in turns, in this process; returns a table.

    Contenders take turns, round by round, because the speed of a shared machine drifts; the ratios
    are medians over rounds of the ratio within a round.
    """
    check_task_name(task)
    compile_setting = "on" if compiler_available() else "off"
    contenders: dict[str, Callable[[], float]] = {}
    for explore in ("rle", "none"):
        config = replace(preset_config(task, explore), {"compile": compile_setting, "threads": 1})
        contenders[explore] = _trainer_contender(config, seconds)
    if compile_setting == "on":
        plain = replace(preset_config(task, "rle"), {"compile": "off", "threads": 1})
        contenders["rle, uncompiled"] = _trainer_contender(plain, seconds)
    other = _peer_contender(preset_config(task, "none"), seconds) if peer else None
    if other is not None:
        contenders["Stable-Baselines3 PPO"] = other
    measured: dict[str, list[float]] = {label: [] for label in contenders}
    for _ in range(ROUNDS):
        for label, run in contenders.items():
            measured[label].append(run())
    rates = [Rate(label, tuple(values)) for label, values in measured.items()]
    return _table(task, rates, peer_missing=peer and other is None)


def _trainer_contender(config: RunConfig, seconds: float) -> Callable[[], float]:
    trainer = Trainer(config)
    trainer.start()
    for _ in range(WARMUP_ITERATIONS):
        trainer.iterate()

    def run() -> float:
        started, first = time.perf_counter(), trainer.step
        while time.perf_counter() - started < seconds:
            trainer.iterate()
        return (trainer.step - first) / (time.perf_counter() - started)

    return run


def _peer_contender(config: RunConfig, seconds: float) -> Callable[[], float] | None:
    """Stable-Baselines3's PPO with the same networks and batch sizes on the same environment."""
    try:
        import stable_baselines3
        from stable_baselines3.common.env_util import make_vec_env
    except ImportError:
        return None
    environment = {
        "fourroom": "rle/FourRoom-v0",
        "fourroom-sparse": "rle/FourRoomSparse-v0",
        "fourroom-noisytv": "rle/FourRoomNoisyTV-v0",
    }.get(config.task, config.task.removeprefix("gym/"))
    ppo = config.ppo
    agent = stable_baselines3.PPO(
        "MlpPolicy",
        make_vec_env(environment, n_envs=config.environment.num_envs),
        learning_rate=ppo.learning_rate,
        n_steps=ppo.rollout_steps,
        batch_size=config.batch_size // ppo.minibatches,
        n_epochs=ppo.epochs,
        clip_range_vf=ppo.clip,
        policy_kwargs={
            "net_arch": {
                "pi": list(config.network.policy_hidden),
                "vf": list(config.network.value_hidden),
            }
        },
        device="cpu",
    )
    agent.learn(WARMUP_ITERATIONS * config.batch_size)

    def run() -> float:
        made, started = 0, time.perf_counter()
        while time.perf_counter() - started < seconds:
            agent.learn(config.batch_size, reset_num_timesteps=False)
            made += config.batch_size
        return made / (time.perf_counter() - started)

    return run


def _table(task: str, rates: list[Rate], peer_missing: bool) -> str:
    base = rates[0]
    lines = [
        f"{task}: agent steps per second, one process, one thread, median of {ROUNDS} rounds",
        f"{'':24}{'steps/s':>10}{'lowest':>10}{'highest':>10}{'rle is':>10}",
    ]
    for rate in rates:
        ratio = statistics.median(a / b for a, b in zip(base.rates, rate.rates, strict=True))
        lines.append(
            f"{rate.label:24}{rate.median:>10,.0f}{min(rate.rates):>10,.0f}"
            f"{max(rate.rates):>10,.0f}{ratio:>9.2f}x"
        )
    if peer_missing:
        lines.append("no peer: pip install 'random-latent-exploration[sb3]'")
    return "\n".join(lines)
