"""Every setting does something, and where it does nothing it is refused."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
import torch

import rle
from rle import idle
from rle.agents.device import resolve_device
from rle.cli import main
from rle.config import EnvironmentConfig, RLEConfig, RunConfig
from rle.errors import UsageError
from rle.idle import APPLIES_WHEN, Condition, Situation, refuse_idle_settings
from rle.learn import batch
from rle.learn.compilation import should_compile
from rle.nets.build import make_actor_critic
from rle.presets import preset_config, preset_names
from rle.runs.directory import RunDirectory
from rle.runs.ranks.share import world_of
from rle.runs.train import train_config
from rle.runs.trainer import Trainer
from rle.settings import replace, shortest_name
from rle.studies import STUDIES
from rle.tasks.base import ActionSpace, Continuous, Discrete, MultiDiscrete, TaskSpec
from rle.tasks.registry import make_task
from tests.probes import gymnasium_environments

gymnasium_environments.register()

OWN_FEATURES = "tests.explore.test_rle:own_features"

TINY: dict[str, Any] = {
    "num_envs": 4,
    "rollout_steps": 8,
    "total_steps": 3 * 4 * 8,
    "checkpoint_every": 4 * 8,
    "minibatches": 2,
    "epochs": 2,
    "learning_rate": 0.03,  # so that ratios and values are clipped
    "threads": 1,
    "compile": "off",
}
TINY_SUITE: dict[str, dict[str, Any]] = {
    "fourroom": {"policy_hidden": (8, 8), "value_hidden": (8, 8)},
    "gym/": {"policy_hidden": (8, 8), "value_hidden": (8, 8), "time_limit": 5},
    "atari/": {
        "num_envs": 2,
        "rollout_steps": 4,
        "total_steps": 2 * 2 * 4,
        "embedding": (8, 8),
        "micro_batch": None,
        "precision": "float32",
        "engine_threads": 1,
    },
}


def varied(config: RunConfig, **settings: Any) -> RunConfig:
    """`config` with settings changed; `__` stands for the dot."""
    return replace(config, {name.replace("__", "."): value for name, value in settings.items()})


def tiny(task: str, explore: str, **settings: Any) -> RunConfig:
    """A run of two or three short iterations."""
    config = replace(preset_config(task, explore), TINY)
    for suite, changes in TINY_SUITE.items():
        config = replace(config, changes if task.startswith(suite) else {})
    return varied(config, **settings)


ROOMS = tiny("fourroom", "rle", rle__resample_every=5, rle__dimension=3)
ROOMS_PPO = tiny("fourroom", "none")
ROOMS_RND = tiny("fourroom", "rnd", rnd__warmup_rollouts=1)
ROOMS_WHITENED = varied(
    ROOMS, rle__standardise=True, rle__unit_norm=False, rle__whitened_features=6
)
POLE = tiny("gym/CartPole-v1", "none", scale_reward=False, normalise_observations=False)
LAKE = tiny("gym/FrozenLake-v1", "none")
GAME = tiny("atari/Breakout", "rle")
PICTURES = replace(
    preset_config("gym/probe/Filming-v0", "none"),
    TINY | {"embedding": (8, 8), "precision": "float32"},
)


@cache
def numbers(config: RunConfig) -> list[dict[str, float]]:
    """The metrics of a whole run."""
    trainer = Trainer(config)
    trainer.start()
    metrics = []
    while not trainer.done:
        metrics.append(trainer.iterate()[0])
    trainer.task.close()
    return metrics


@cache
def spec_of(task: str, environment: EnvironmentConfig) -> TaskSpec:
    made = make_task(task, environment, torch.device("cpu"))
    made.close()
    return made.spec


def pytorch_threads(config: RunConfig) -> int:
    Trainer(config)
    return torch.get_num_threads()


def pieces(config: RunConfig) -> int:
    """How many micro-batches a minibatch is learned in."""
    learner = Trainer(config).learner
    assert learner._gradients._micro_batch == learner._micro_batch
    return len(batch.pieces(torch.arange(16), learner._micro_batch))


def ranks(config: RunConfig) -> int:
    """Over how many devices its environments are split."""
    return world_of(config).size


def engine_threads(config: RunConfig) -> int:
    return Trainer(config).task._options["num_threads"]  # type: ignore[attr-defined]


def numbers_of_its_preset(config: RunConfig) -> dict[str, Any]:
    chosen = preset_config(config.task, config.explore, config.preset)
    return dataclasses.asdict(chosen) | {"preset": None}


def files(config: RunConfig, folder: Path) -> set[str]:
    """The names of what a run leaves behind."""
    run = train_config(config, folder, quiet=True)
    return {path.name.partition(".0.")[0] for path in run.path.rglob("*")}


def savings(config: RunConfig) -> int:
    """How many checkpoints are written, of which not all stay."""
    saved = []
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        patched.setattr(RunDirectory, "save_checkpoint", lambda *given: saved.append(given))
        train_config(config, Path(folder) / "run", quiet=True)
    return len(saved)


class Case(NamedTuple):
    """Another value of a setting, a run in which it applies, and how it is seen to."""

    value: Any
    config: RunConfig = ROOMS
    shows: Callable[..., Any] = numbers


CASES: dict[str, Case] = {
    "task": Case("gym/CartPole-v1", ROOMS_PPO),
    "explore": Case("none"),
    "preset": Case("released", GAME, numbers_of_its_preset),
    "seed": Case(1),
    "total_steps": Case(2 * 4 * 8),
    "machine.device": Case("cpu:0", ROOMS, lambda config: resolve_device(config.machine.device)),
    "machine.devices": Case(2, ROOMS, ranks),
    "machine.threads": Case(2, ROOMS, pytorch_threads),
    "machine.compile": Case("on", ROOMS, should_compile),
    "machine.checkpoint_every": Case(2 * 4 * 8, ROOMS, files),
    "machine.checkpoint_minutes": Case(1e-9, varied(ROOMS, checkpoint_every=10**6), savings),
    "machine.keep_checkpoints": Case(1, ROOMS, files),
    "machine.sinks": Case(("tensorboard",), ROOMS, files),
    "environment.num_envs": Case(6),
    "environment.time_limit": Case(3),
    "environment.autoreset": Case("same-step", POLE),
    "environment.normalise_observations": Case(True),
    "environment.observation_clip": Case(0.1, varied(POLE, normalise_observations=True)),
    "machine.engine_threads": Case(2, GAME, engine_threads),
    "environment.full_action_space": Case(False, GAME),
    "environment.television": Case((2, 49), tiny("fourroom-noisytv", "none", television=(0, 48))),
    "environment.env_kwargs": Case({"map_name": "8x8"}, LAKE),
    "environment.wrappers": Case(("tests.outsider.wrappers:Halved",), POLE),
    "environment.frame_stack": Case(3, PICTURES),
    "environment.grayscale": Case(True, PICTURES),
    "environment.resize": Case((3, 4), PICTURES),
    "network.policy_hidden": Case((5,)),
    "network.value_hidden": Case((5,)),
    "network.activation": Case("elu"),
    "network.latent_encoder": Case((4, 2)),
    "network.value_backbone": Case(1),
    "network.value_gain": Case(0.5),
    "network.initial_action_std": Case(0.5, tiny("gym/Pendulum-v1", "none")),
    "network.embedding": Case((8, 6), GAME),
    "machine.precision": Case("bfloat16", GAME),
    "learner.learning_rate": Case(0.01),
    "learner.anneal_learning_rate": Case(True),
    "learner.adam_epsilon": Case(0.1),
    "learner.rollout_steps": Case(4),
    "learner.discount": Case(0.5),
    "learner.gae_lambda": Case(0.5),
    "learner.epochs": Case(1),
    "learner.minibatches": Case(4),
    "machine.micro_batch": Case(4, ROOMS, pieces),
    "learner.clip": Case(0.01),
    "learner.entropy_coefficient": Case(0.5),
    "learner.value_coefficient": Case(2.0),
    "learner.clip_value_loss": Case(False),
    "learner.normalise_advantages": Case(False),
    "learner.max_gradient_norm": Case(0.01),
    "learner.task_coefficient": Case(2.0),
    "learner.reward_scale": Case(2.0, POLE),
    "learner.scale_reward": Case(True, POLE),
    # Two rewards of 1 at most: their sums deviate by less than 1.
    "learner.enlarge_reward": Case(
        False, varied(POLE, scale_reward=True, enlarge_reward=True, time_limit=2)
    ),
    "learner.reward_clip": Case(0.5, POLE),
    "rle.coefficient": Case(0.2),
    "rle.anneal": Case(True),
    "rle.dimension": Case(2),
    "rle.distribution": Case("normal"),
    "rle.resample_every": Case(3),
    "rle.stagger": Case(True),
    "rle.discount": Case(0.5),
    "rle.standardise": Case(not ROOMS.rle.standardise),  # type: ignore[union-attr]
    "rle.unit_norm": Case(False),
    "rle.whitened_features": Case(6, varied(ROOMS, rle__standardise=True, rle__unit_norm=False)),
    "rle.rarity": Case(1.0, ROOMS_WHITENED),
    "rle.centre_rarity": Case(True, varied(ROOMS_WHITENED, rle__rarity=1.0)),
    "rle.episodic_rarity": Case(True, varied(ROOMS_WHITENED, rle__rarity=1.0)),
    "rle.fade": Case(True),
    "rle.feature_hidden": Case((4,)),
    "rle.feature_activation": Case("elu"),
    "rle.feature_clip": Case(0.5, tiny("gym/CartPole-v1", "rle", normalise_observations=True)),
    "rle.feature_network": Case(OWN_FEATURES),
    "rle.feature_raw_pixels": Case(True, GAME),
    "rle.feature_update_rate": Case(0.5, varied(ROOMS, rle__feature_hidden=None)),
    "rle.feature_update": Case(
        "iteration", varied(ROOMS, rle__feature_hidden=None, rle__feature_update_rate=0.5)
    ),
    "rle.condition": Case(False),
    "rle.condition_on_bonus": Case(True),
    "rle.separate_streams": Case(False),
    "rle.scale_bonus": Case(False),
    "rle.value_coefficient": Case(2.0),
    "rle.warmup_rollouts": Case(2, varied(ROOMS, rle__standardise=True)),
    "rnd.coefficient": Case(2.0, ROOMS_RND),
    "rnd.discount": Case(0.5, ROOMS_RND),
    "rnd.predictor_hidden": Case((5,), ROOMS_RND),
    "rnd.target_hidden": Case((5,), ROOMS_RND),
    "rnd.outputs": Case(3, ROOMS_RND),
    "rnd.keep_fraction": Case(0.5, ROOMS_RND),
    "rnd.observation_clip": Case(0.1, ROOMS_RND),
    "rnd.warmup_rollouts": Case(2, ROOMS_RND),
    "rnd.scale_bonus": Case(False, ROOMS_RND),
    "rnd.value_coefficient": Case(2.0, ROOMS_RND),
    "noisy.initial_std": Case(0.5, tiny("fourroom", "noisy")),
    "white_noise.coefficient": Case(0.5, tiny("fourroom", "white-noise")),
}

MISSING: dict[Condition, RunConfig] = {
    idle.LEARNS: replace(
        preset_config("fourroom-sparse", "random"),
        {"num_envs": 4, "rollout_steps": 8, "total_steps": 3 * 4 * 8, "compile": "off"},
    ),
    idle.VECTORS: GAME,
    idle.IMAGES: ROOMS,
    idle.CONTINUOUS: ROOMS,
    idle.AUTORESET: ROOMS,
    idle.CONSOLE: ROOMS,
    idle.TELEVISION: ROOMS,
    idle.KEYWORDS: ROOMS,
    idle.WRAPPED: ROOMS,
    idle.ENGINE: POLE,
    idle.STACKED: ROOMS,
    idle.GREYED: POLE,
    idle.RESIZED: GAME,
    idle.MEASURED: GAME,
    idle.NORMALISED: ROOMS,
    idle.PAID: ROOMS_PPO,
    idle.UNSCALED: varied(POLE, scale_reward=True, enlarge_reward=True),
    idle.SCALED: tiny("fourroom-sparse", "none"),
    idle.SUM_PAID: tiny("fourroom", "white-noise"),
    idle.TASK_WEIGHED: POLE,
    idle.LATENT_SEEN: varied(ROOMS, rle__condition=False),
    idle.BACKBONE_USED: ROOMS_PPO,
    # With value layers that its φ could follow.
    idle.RLE_PAYS: tiny("fourroom", "rle", rle__coefficient=0.0, value_hidden=(64, 64, 64)),
    idle.RLE_WEIGHED: varied(ROOMS, task_coefficient=0.0),
    idle.SEPARATE: varied(ROOMS, rle__separate_streams=False),
    idle.STANDARDISED: varied(ROOMS, rle__standardise=False),
    idle.OUR_FEATURES: varied(ROOMS, rle__feature_network=OWN_FEATURES),
    idle.VECTOR_FEATURES: GAME,
    idle.RARITY_PAID: ROOMS_WHITENED,
    idle.FEATURES_HIDDEN: varied(ROOMS, rle__feature_hidden=None),
    idle.FEATURES_FOLLOW: ROOMS,
    idle.FEATURES_CAN_FOLLOW: varied(ROOMS, rle__feature_hidden=()),
    idle.FEATURES_BIASED: varied(GAME, rle__feature_update_rate=0.0),
    idle.RND_PAYS: tiny("fourroom", "rnd", rnd__coefficient=0.0),
    idle.RND_WEIGHED: varied(ROOMS_RND, task_coefficient=0.0),
}
"""A run in which a condition does not hold."""
TOGETHER: dict[str, dict[str, Any]] = {
    "rle.whitened_features": {"rle.standardise": True, "rle.unit_norm": False},
    "rle.rarity": {
        "rle.standardise": True,
        "rle.unit_norm": False,
        "rle.whitened_features": 6,
    },
}
"""What a setting is refused without, whether or not it would do anything."""
DIVIDED_OUT = (
    idle.UNSCALED,
    idle.TASK_WEIGHED,
    idle.RLE_WEIGHED,
    idle.RND_WEIGHED,
    idle.FEATURES_BIASED,
)
"""Where a setting is a factor that something divides by again: nothing is left of it but rounding."""
OF_FEATURES_ALONE = "rle_feature_movement"
"""A metric about φ itself, whether or not anything comes of it."""


def every_setting() -> Iterator[str]:
    """The dotted name of every setting of every section."""
    for name, hint in typing.get_type_hints(RunConfig).items():
        kinds = [kind for kind in (hint, *typing.get_args(hint)) if dataclasses.is_dataclass(kind)]
        # Settings of users' strategies are theirs: tests/outsider.
        if not kinds and name != "own":
            yield name
        for kind in kinds:
            yield from (f"{name}.{field.name}" for field in dataclasses.fields(kind))


def name_of(condition: Condition) -> str:
    return next(name for name, value in vars(idle).items() if value is condition)


@pytest.fixture(autouse=True)
def same_machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("rle.learn.compilation.compiler_available", lambda: True)
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


def test_every_setting_has_its_line_in_the_table_and_its_case_here() -> None:
    settings = set(every_setting())
    sections = {"rle", "rnd", "noisy", "white_noise"}
    assert set(APPLIES_WHEN) - sections == settings
    assert set(CASES) == settings


@pytest.mark.parametrize("setting", CASES)
def test_it_does_something_where_it_applies(setting: str, tmp_path: Path) -> None:
    value, config, shows = CASES[setting]
    other = replace(config, {setting: value})
    assert other != config
    if setting not in ("task", "explore", "preset"):
        refuse_idle_settings(other, spec_of(config.task, config.environment), [setting])
    if shows is files:
        assert files(config, tmp_path / "one") != files(other, tmp_path / "other")
    else:
        assert shows(config) != shows(other)


@pytest.mark.parametrize(
    ("setting", "condition"),
    [
        pytest.param(setting, condition, id=f"{setting}-{name_of(condition)}")
        for setting in CASES
        for condition in APPLIES_WHEN.get(setting, ())
    ],
)
def test_it_is_refused_where_it_does_nothing(setting: str, condition: Condition) -> None:
    config = MISSING[condition]
    together = TOGETHER.get(setting, {})
    other = replace(config, {**together, setting: CASES[setting].value})
    name = shortest_name(setting.split("."))
    spec = spec_of(config.task, config.environment)
    refuse_idle_settings(config, spec)
    with pytest.raises(UsageError) as refusal:
        refuse_idle_settings(other, spec, [setting] if together else [])
    assert str(refusal.value) == f"{name} would do nothing: {condition.otherwise}"
    for before, after in zip(numbers(config), numbers(other), strict=True):
        was, now = (
            {key: value for key, value in line.items() if key != OF_FEATURES_ALONE}
            for line in (before, after)
        )
        assert now == (pytest.approx(was, rel=1e-3, abs=1e-6) if condition in DIVIDED_OUT else was)


FREE = varied(ROOMS, task_coefficient=0.0)
SUMMED = tiny("fourroom-sparse", "rle", rle__separate_streams=False)
MIXTURE = tiny("fourroom", "rle+rnd", rnd__warmup_rollouts=1, task_coefficient=0.0)


@pytest.mark.parametrize(
    ("config", "setting", "value"),
    [
        (MIXTURE, "rle.coefficient", 0.2),
        (MIXTURE, "rnd.coefficient", 2.0),
        (varied(SUMMED, task_coefficient=0.0), "rle.coefficient", 0.2),
        (varied(FREE, normalise_advantages=False), "rle.coefficient", 0.2),
        (varied(ROOMS_PPO, normalise_advantages=False), "learner.task_coefficient", 2.0),
        (tiny("gym/CartPole-v1", "white-noise"), "learner.task_coefficient", 2.0),
        # Rewards that may not be enlarged keep their size where it is small.
        (tiny("gym/CartPole-v1", "none"), "learner.reward_scale", 0.1),
        (ROOMS_PPO, "learner.task_coefficient", 0.0),
        (
            varied(ROOMS, rle__condition=False, rle__feature_hidden=None),
            "network.value_backbone",
            1,
        ),
    ],
)
def test_it_is_not_refused_where_it_still_does_something(
    config: RunConfig, setting: str, value: float
) -> None:
    other = replace(config, {setting: value})
    refuse_idle_settings(other, spec_of(config.task, config.environment), [setting])
    assert numbers(config) != numbers(other)


@pytest.mark.parametrize(
    ("shape", "space", "applies"),
    [
        ((4, 84, 84), Continuous((-1.0,), (1.0,)), True),
        ((4, 84, 84), Discrete(3), False),
        ((4, 84, 84), MultiDiscrete((2, 3)), False),
        ((5,), Continuous((-1.0,), (1.0,)), True),
        ((5,), MultiDiscrete((2, 2)), False),
    ],
)
def test_a_deviation_is_for_continuous_actions_whatever_is_seen(
    shape: tuple[int, ...], space: ActionSpace, applies: bool
) -> None:
    image = len(shape) == 3
    spec = TaskSpec(4, shape, torch.uint8 if image else torch.float32, space)
    config = GAME if image else POLE
    other = varied(config, initial_action_std=0.5)
    if applies:
        refuse_idle_settings(other, spec, ["initial_action_std"])
    else:
        with pytest.raises(UsageError, match="it is for continuous actions"):
            refuse_idle_settings(other, spec)
    # And what is refused is nowhere in the networks.
    networks = (
        make_actor_critic(spec, each.network, 0, 1, torch.Generator().manual_seed(0))
        for each in (config, other)
    )
    states = [dict(network.state_dict()) for network in networks]
    different = [name for name in states[0] if not torch.equal(states[0][name], states[1][name])]
    assert different == (["log_std"] if applies else [])


VECTORS = TaskSpec(4, (5,), torch.float32, Discrete(3))
KINDS = {
    "fourroom": VECTORS,
    "fourroom-sparse": VECTORS,
    "fourroom-noisytv": VECTORS,
    "gym/CartPole-v1": VECTORS,
    "gym/CarRacing-v3": TaskSpec(4, (3, 96, 96), torch.uint8, Discrete(5)),
    "control/Ant": TaskSpec(4, (5,), torch.float32, Continuous((-1.0,), (1.0,))),
    "sparse/MultiRoom-N4-S5": VECTORS,
    "sparse/AntFree": TaskSpec(4, (5,), torch.float32, Continuous((-1.0,), (1.0,))),
    "atari/Alien": TaskSpec(4, (4, 84, 84), torch.uint8, Discrete(18), 4),
    "envpool/CoinrunEasy-v0": TaskSpec(4, (3, 64, 64), torch.uint8, Discrete(15)),
    "envpool/WalkerWalk-v1": TaskSpec(4, (3, 64, 64), torch.uint8, Continuous((-1.0,), (1.0,))),
}


@pytest.mark.parametrize("preset", ["paper", "released", "desktop"])
@pytest.mark.parametrize("explore", ["none", "rle", "rnd", "noisy", "white-noise", "rle+rnd"])
@pytest.mark.parametrize("task", KINDS)
def test_presets_are_never_refused(task: str, explore: str, preset: str) -> None:
    if preset not in preset_names(task):
        return
    refuse_idle_settings(preset_config(task, explore, preset), KINDS[task])


@pytest.mark.parametrize("name", STUDIES)
def test_studies_declare_no_method_that_does_nothing(name: str) -> None:
    for folder, config in STUDIES[name].runs(seeds=1).items():
        suite = config.task.partition("/")[0]
        spec = next(spec for task, spec in KINDS.items() if task.startswith(suite))
        try:
            refuse_idle_settings(config, spec)
        except UsageError as refusal:
            pytest.fail(f"{name}, {folder}: {refusal}")


@pytest.mark.parametrize(
    "command",
    [
        "train atari/Breakout --activation=elu",
        "train atari/Breakout --policy-hidden 64 64",  # what the configuration has anyway
        "train fourroom --explore none --network.latent-encoder 8",
        "bench atari/Breakout --activation tanh",
    ],
)
def test_the_command_refuses_in_one_sentence(
    command: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    verb, *rest = command.split()
    small = ["--num-envs", "2", "--rollout-steps", "4", "--total-steps", "16", "--compile", "off"]
    out = ["--out", str(tmp_path / "run")] if verb == "train" else []
    assert main([verb, *rest, *small, *out]) == 2
    error = capsys.readouterr().err
    assert "would do nothing: " in error
    assert error.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_python_refuses_too(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"rle\.feature-activation would do nothing"):
        rle.train(
            "fourroom",
            total_steps=4096,
            out=tmp_path / "a",
            rle__feature_hidden=None,
            rle__feature_activation="relu",
        )
    with pytest.raises(UsageError, match="engine-threads would do nothing"):
        train_config(varied(ROOMS, engine_threads=3), tmp_path / "b")


def test_a_section_given_whole_is_judged_by_what_changed_in_it() -> None:
    config = varied(
        ROOMS, environment=dataclasses.replace(ROOMS.environment, autoreset="same-step")
    )
    with pytest.raises(UsageError, match="autoreset would do nothing"):
        refuse_idle_settings(config, VECTORS, ["environment"])
    refuse_idle_settings(ROOMS, VECTORS, ["environment", "rle"])
    unused = dataclasses.replace(ROOMS_PPO, rle=RLEConfig())
    with pytest.raises(UsageError, match="rle would do nothing: explore does not name rle"):
        refuse_idle_settings(unused, VECTORS)


@pytest.mark.parametrize("task", ["fourroom", "atari/Breakout", "control/Cartpole"])
def test_what_suites_say_of_their_tasks_is_so(task: str) -> None:
    """Help leaves settings out by it, before the task is built."""
    config = varied(preset_config(task, "none"), num_envs=2, rollout_steps=8, minibatches=1)
    built = Situation.of(config, spec_of(task, config.environment))
    assert Situation.expected(config) == built


def test_what_a_valid_configuration_needs_is_not_refused() -> None:
    """One layer leaves no room for a backbone, so that it must be given as 0."""
    spec = KINDS["control/Ant"]
    shallow = {"value_hidden": (64,), "value_backbone": 0, "rle.coefficient": 0.0}
    config = replace(preset_config("control/Ant", "rle"), shallow)
    refuse_idle_settings(config, spec, shallow)
    own = {"rle.feature_network": OWN_FEATURES, "rle.feature_update_rate": 0.0}
    refuse_idle_settings(replace(preset_config("control/Ant", "rle"), own), spec, own)
