"""A run split over ranks learns as one that is not: parameters, scores, statistics and states."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from rle.config import RunConfig
from rle.core.running_mean_std import RunningMeanStd
from rle.errors import RunError
from rle.presets import preset_config
from rle.runs.trainer import Trainer
from rle.settings import replace
from rle.world import ALONE, World
from tests.ranks.threads import together

ITERATIONS = 10
FOURROOM = {"rollout_steps": 16, "num_envs": 8, "time_limit": 40, "total_steps": 100_000}
ROBOT = {"rollout_steps": 16, "num_envs": 8, "total_steps": 100_000, "minibatches": 4, "epochs": 2}
GAME = {
    **{"rollout_steps": 8, "num_envs": 4, "total_steps": 100_000, "minibatches": 2, "epochs": 1},
    **{"time_limit": 12, "precision": "float32", "learning_rate": 1e-4},
    # Of two million gradients some are next to nothing: their rounding is not to become a step.
    "adam_epsilon": 1e-3,
    "embedding": (32,),
}
TASKS = {
    "fourroom-sparse": FOURROOM,
    "control/Cartpole": {**ROBOT, "time_limit": 30},
    "control/BallBalance": ROBOT,
    "gym/CartPole-v1": {**ROBOT, "normalise_observations": True},
    "atari/Breakout": GAME,
}
MUST = ("none", "rle", "rnd", "rle+rnd")
AS_A_WHOLE = ("/moved", "/learner/optimiser/first", "/learner/optimiser/second")
"""Numbers so small that some 1e-5 apart would say nothing."""


def config_of(task: str, explore: str, **settings: Any) -> RunConfig:
    config = preset_config(task, explore, None)
    return replace(config, {"compile": "off", "seed": 3, **TASKS[task], **settings})


def trained(trainer: Trainer, iterations: int = ITERATIONS) -> dict[str, Any]:
    """What a run knows after some iterations."""
    trainer.start()
    start = trainer.learner.parameters.clone()
    done = [trainer.iterate() for _ in range(iterations)]
    return {**known(trainer, done), "moved": trainer.learner.parameters - start}


def known(trainer: Trainer, done: list[Any]) -> dict[str, Any]:
    state = trainer.state_dict()
    return {
        "parameters": trainer.learner.parameters.clone(),
        "learner": state["learner"],
        "strategy": state["strategy"],
        "task": state["task"],
        "observation": state["observation"],
        "recent": list(trainer.episodes.recent),
        "episodes": [episode for _, finished in done for episode in finished],
        "metrics": [{k: v for k, v in metrics.items()} for metrics, _ in done],
    }


def close(one: Any, other: Any, where: str = "") -> None:
    """Two trees with the same numbers, but for what adding in another order does to them."""
    if isinstance(one, torch.Tensor):
        torch.testing.assert_close(one, other, rtol=2e-3, atol=2e-5, msg=lambda m: f"{where}: {m}")
        if where in AS_A_WHOLE:
            apart, length = float((one - other).norm()), float(other.norm())
            assert apart <= 2e-3 * length, f"{where}: {apart:.2g} apart, {length:.2g} long"
    elif isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key in one:
            close(one[key], other[key], f"{where}/{key}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), where
        for index, (a, b) in enumerate(zip(one, other, strict=True)):
            close(a, b, f"{where}/{index}")
    elif isinstance(one, float):
        assert one == pytest.approx(other, rel=5e-3, abs=1e-4), where
    else:
        assert one == other, where


@pytest.mark.parametrize("explore", MUST)
@pytest.mark.parametrize("task", TASKS)
def test_two_ranks_learn_as_one(task: str, explore: str) -> None:
    config = config_of(task, explore)
    alone = trained(Trainer(config))
    first, second = together(config, 2, trained)
    close(first, alone)
    assert torch.equal(first["parameters"], second["parameters"])
    assert first["recent"] == second["recent"]
    if task != "atari/Breakout":
        assert alone["episodes"], "episodes must end, or nothing is shown of what happens then"


@pytest.mark.parametrize(
    ("task", "iterations"),
    # What an ant does depends on the last bits of its actions, from its first contacts on.
    [("sparse/DeepSea-5", 10), ("sparse/PointMaze-U", 10), ("sparse/AntFree", 1)],
)
def test_sparse_tasks_too(task: str, iterations: int) -> None:
    def short(trainer: Trainer) -> dict[str, Any]:
        return trained(trainer, iterations)

    config = replace(preset_config(task, "rle", None), {"compile": "off", **ROBOT})
    close(together(config, 2, short)[0], short(Trainer(config)))


@pytest.mark.parametrize("explore", ["noisy", "random"])
def test_other_strategies_too(explore: str) -> None:
    config = config_of("fourroom-sparse", explore)
    close(together(config, 2, trained)[0], trained(Trainer(config)))


@pytest.mark.parametrize(
    "settings",
    [
        {"rle__stagger": True},
        {"rle__condition_on_bonus": True},
        {"rle__standardise": True, "rle__warmup_rollouts": 2},
        {"rle__separate_streams": False},
        {
            **{"rle__standardise": True, "rle__unit_norm": False, "rle__whitened_features": 8},
            **{"rle__rarity": 0.5, "rle__anneal": True, "rle__coefficient": 1.0},
        },
        {"micro_batch": 24},
    ],
    ids=str,
)
def test_variants_of_the_method(settings: dict[str, Any]) -> None:
    named = {name.replace("__", "."): value for name, value in settings.items()}
    config = config_of("fourroom-sparse", "rle", **named)
    close(together(config, 2, trained)[0], trained(Trainer(config)))


def test_the_television_shows_each_environment_its_own() -> None:
    settings = {"rollout_steps": 64, "num_envs": 8, "total_steps": 100_000, "television": (0, 48)}
    config = replace(preset_config("fourroom-noisytv", "rle", None), {"compile": "off", **settings})
    close(together(config, 4, trained)[0], trained(Trainer(config)))


# What is left out when a part of the program does not ask the others. Each must be noticed.


class Deaf(World):
    """A world that says what it knows itself where it should ask the others."""

    def __init__(self, world: World, *deaf_in: str) -> None:
        super().__init__(world.rank, world.size, world.envs_here)
        self._world, self._deaf_in = world, deaf_in

    def gather(self, part: torch.Tensor, dim: int = 0) -> torch.Tensor:
        heard = self._world.gather(part, dim)
        return torch.cat([part] * self.size, dim) if "gather" in self._deaf_in else heard

    def sum(self, part: torch.Tensor) -> torch.Tensor:
        heard = self._world.sum(part)
        return part * self.size if "sum" in self._deaf_in else heard

    def pool(self, seen: RunningMeanStd) -> RunningMeanStd:
        heard = self._world.pool(seen)
        return seen if "pool" in self._deaf_in else heard

    def part(self, whole: torch.Tensor, dim: int = 0) -> torch.Tensor:
        if "part" in self._deaf_in:
            return whole.narrow(dim, 0, self.envs_here)
        return self._world.part(whole, dim)

    def rows(self, index: torch.Tensor) -> Any:
        return self._world.rows(index)

    def tell(self, word: str, data: bytes = b"") -> None:
        pass


def deaf_gradients(trainer: Trainer) -> None:
    trainer.learner._gradients._world = Deaf(trainer.world, "sum")


def misheard_gradients(trainer: Trainer) -> None:
    """By a half per cent, up and down in turns: the gradient's norm is nearly what it was."""

    def misheard(part: torch.Tensor) -> torch.Tensor:
        heard = trainer.world.sum(part).clone()
        heard[::2] *= 1.005
        heard[1::2] *= 0.995
        return heard

    world = trainer.learner._gradients._world = Deaf(trainer.world)
    world.sum = misheard


def deaf_scaling(trainer: Trainer) -> None:
    trainer.learner._world = Deaf(trainer.world, "pool")


def deaf_advantages(trainer: Trainer) -> None:
    """Advantages are normalised over what one rank knows."""
    learner, gathered = trainer.learner, trainer.world.gather_all

    def heard(parts: Any, dim: int) -> Any:
        told = gathered(parts, dim)
        told[1] = torch.cat([parts[1]] * trainer.world.size, dim)
        return told

    learner._world = Deaf(trainer.world)
    learner._world.gather_all = heard


def deaf_strategy(trainer: Trainer) -> None:
    trainer.strategy.join(Deaf(trainer.world, "pool"))


def deaf_normaliser(trainer: Trainer) -> None:
    trainer.task.join(Deaf(trainer.world, "pool"))


def deaf_predictor(trainer: Trainer) -> None:
    """Each rank chooses what RND's predictor learns among its own, and knows of no others."""
    gradients, world = trainer.learner._gradients, trainer.world
    strategy = trainer.strategy
    choose = strategy.auxiliary_rows

    def own(index: torch.Tensor, size: int) -> torch.Tensor:
        places, _ = world.rows(index)
        return choose(index[places], len(index[places]))

    strategy.auxiliary_rows = own
    assert gradients._auxiliaries


def same_numbers(trainer: Trainer) -> None:
    trainer.strategy.join(Deaf(trainer.world, "part"))


def same_policy_noise(trainer: Trainer) -> None:
    part = trainer.world.part
    trainer.world.part = lambda whole, dim=0: (
        whole.narrow(dim, 0, trainer.world.envs_here) if dim == 1 else part(whole, dim)
    )


def deaf_scores(trainer: Trainer) -> None:
    trainer._finished_episodes = lambda: trainer.episodes.take(
        torch.cat([trainer.rollout.score] * 2, 1),
        torch.cat([trainer.rollout.episode_over] * 2, 1),
        None,
    )


CASES: list[tuple[Callable[[Trainer], None], str, str, dict[str, Any]]] = [
    (deaf_gradients, "fourroom-sparse", "none", {}),
    (misheard_gradients, "atari/Breakout", "none", {}),
    (deaf_scaling, "fourroom-sparse", "rle", {}),
    (deaf_advantages, "fourroom-sparse", "none", {"scale_reward": False}),
    (deaf_strategy, "fourroom-sparse", "rle", {"rle.standardise": True}),
    (deaf_strategy, "fourroom-sparse", "rnd", {}),
    (deaf_predictor, "fourroom-sparse", "rnd", {}),
    (deaf_normaliser, "control/Cartpole", "none", {}),
    (same_numbers, "fourroom-sparse", "rle", {}),
    (same_policy_noise, "fourroom-sparse", "none", {}),
    (deaf_scores, "control/Cartpole", "none", {}),
]


@pytest.mark.parametrize(
    ("deafen", "task", "explore", "settings"), CASES, ids=[f"{c[0].__name__}-{c[2]}" for c in CASES]
)
def test_each_reduction_matters(
    deafen: Callable[[Trainer], None], task: str, explore: str, settings: dict[str, Any]
) -> None:
    """Without any one of them, the run is another: the test above would notice."""
    config = config_of(task, explore, **settings)
    alone = trained(Trainer(config))
    close(together(config, 2, trained)[0], alone)
    with pytest.raises((AssertionError, RunError)):
        close(together(config, 2, trained, deafen)[0], alone)


@pytest.mark.parametrize("task", ["fourroom-sparse", "control/BallBalance", "gym/CartPole-v1"])
@pytest.mark.parametrize(("before", "after"), [(2, 1), (1, 2), (2, 4)])
def test_a_state_goes_on_on_another_number_of_ranks(task: str, before: int, after: int) -> None:
    config = config_of(task, "rle+rnd")

    def begin(trainer: Trainer) -> Any:
        trainer.start()
        for _ in range(3):
            trainer.iterate()
        return trainer.state_dict()

    def go_on(trainer: Trainer) -> dict[str, Any]:
        trainer.load_state_dict(state)
        return known(trainer, [trainer.iterate() for _ in range(3)])

    def run(size: int, work: Callable[[Trainer], Any]) -> Any:
        return work(Trainer(config)) if size == 1 else together(config, size, work)[0]

    state = run(before, begin)
    whole = Trainer(config)
    whole.start()
    done = [whole.iterate() for _ in range(6)]
    close(run(after, go_on), known(whole, done[3:]))


def test_ranks_that_have_come_apart_are_noticed() -> None:
    def nudge(trainer: Trainer) -> Any:
        trainer.start()
        trainer.iterate()
        trainer.learner.parameters[0] += 1e-6 * trainer.world.rank
        return trainer.state_dict()

    with pytest.raises(RunError, match="different networks"):
        together(config_of("fourroom-sparse", "none"), 2, nudge)


def test_alone_nothing_is_copied() -> None:
    part = torch.arange(6.0)
    assert ALONE.gather(part) is part
    assert ALONE.sum(part) is part
    assert ALONE.part(part) is part
    seen = RunningMeanStd(())
    assert ALONE.pool(seen) is seen


def test_rows_of_a_rank_by_hand() -> None:
    """Six environments on three ranks: those of rank 1 are 2 and 3."""
    world = World(1, 3, 2)
    # (row, environment): (0, 3), (2, 1), (1, 2), (1, 3)
    places, here = world.rows(torch.tensor([3, 13, 8, 9]))
    assert places.tolist() == [0, 2, 3]
    # Of two environments: (0, 1), (1, 0), (1, 1).
    assert here.tolist() == [1, 2, 3]
    assert world.part(torch.arange(6)).tolist() == [2, 3]
    assert world.part(torch.arange(12).view(2, 6), 1).tolist() == [[2, 3], [8, 9]]
