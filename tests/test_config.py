"""Configurations check themselves and survive JSON."""

import dataclasses
import json
import math
import typing

import numpy as np
import pytest

from rle.checks import nearest
from rle.errors import UsageError
from rle.presets import preset_config
from rle.settings import changed, from_dict, replace, to_dict


@pytest.mark.parametrize("explore", ["none", "rle", "rnd", "noisy", "white-noise", "rle+rnd"])
def test_json_round_trip(explore: str) -> None:
    config = preset_config("fourroom", explore, seed=3)
    assert from_dict(json.loads(json.dumps(to_dict(config)))) == config


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_envs": 0}, "num-envs is 0"),
        ({"minibatches": 3}, "does not divide into 3 minibatches"),
        ({"minibatches": 4096}, "minibatches of one transition"),
        ({"rle.feature_update_rate": -0.1}, "feature-update-rate is -0.1"),
        ({"rle.dimension": 0}, "rle.dimension is 0"),
        ({"rle.resample_every": 0}, "resample-every is 0"),
        ({"rle.distribution": "sphre"}, "did you mean 'sphere'"),
        ({"discount": 1.5}, "discount is 1.5"),
        ({"learning_rate": -1.0}, "learning-rate is -1.0"),
        ({"total_steps": 0}, "total-steps is 0"),
        ({"policy_hidden": (64, 0)}, "at least one unit"),
        ({"activation": "tahn"}, "did you mean 'tanh'"),
        ({"rle.condition": False, "rle.condition_on_bonus": True}, "needs rle.condition"),
        (
            {
                "rle.whitened_features": 8,
                "rle.standardise": True,
                "rle.unit_norm": False,
                "rle.rarity": 1.0,
                "rle.episodic_rarity": True,
                "rle.condition_on_bonus": True,
            },
            "set one of the two to False",
        ),
        ({"rle.dimensoin": 3}, "did you mean 'rle.dimension'"),
        ({"learning_rte": 3}, "did you mean 'learning_rate'"),
        ({"lr": 3}, "did you mean 'learning_rate'"),
        ({"rle__gamma": 3}, "did you mean 'rle__discount'"),
        ({"--ppo.ent-coef": 3}, "did you mean '--entropy-coefficient'"),
        ({"dimensions": 3}, "did you mean 'rle__dimension'"),
        ({"keep_fraction": 3}, "'rnd__keep_fraction', of a strategy that --explore rle does not"),
        ({"seed.x": 3}, "there is no setting 'seed.x'"),
        ({"qqqqq": 3}, "lists them all"),
        ({"total_steps": "many"}, "total_steps is 'many': give a whole number."),
        ({"total_steps": 10.5}, "total_steps is 10.5: give a whole number."),
        ({"learning_rate": "1e-3"}, "learning_rate is '1e-3': give a number."),
        ({"learning_rate": True}, "learning_rate is True: give a number."),
        ({"time_limit": "x"}, "time_limit is 'x': give a whole number or None."),
        ({"policy_hidden": 64}, r"policy_hidden is 64: give whole numbers, such as \(64, 64\)."),
        ({"policy_hidden": (64, 0.5)}, "give whole numbers"),
        ({"scale_reward": 1}, "scale_reward is 1: give True or False."),
        ({"compile": False}, "compile is False: give one of 'auto', 'on', 'fused', 'off'."),
        ({"rle.distribution": lambda shape, generator: None}, "write it with def"),
        ({"rnd.coefficient": 1.0}, "does not use"),
        ({"time_limit": -5}, "time-limit is -5"),
        ({"threads": -1}, "threads is -1"),
    ],
)
def test_impossible_settings_are_explained(settings: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        replace(preset_config("fourroom", "rle"), settings)


def _float_settings() -> list[str]:
    """Every setting that is a real number, of every section, found by its type."""
    config = preset_config("fourroom", "rle+rnd+noisy+white-noise")
    names = []
    for section in dataclasses.fields(config):
        part = getattr(config, section.name)
        if dataclasses.is_dataclass(part):
            hints = typing.get_type_hints(type(part))
            names += [f"{section.name}.{n}" for n, h in hints.items() if h in (float, float | None)]
    return names


@pytest.mark.parametrize("name", _float_settings())
@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_no_setting_is_infinite_or_nan(name: str, value: float) -> None:
    config = preset_config("fourroom", "rle+rnd+noisy+white-noise")
    with pytest.raises(UsageError, match=f"{name.partition('.')[2].replace('_', '-')} is"):
        replace(config, {name: value})


def test_values_are_kept_as_their_settings_type() -> None:
    given = {"total_steps": 1e6, "learning_rate": 1, "policy_hidden": [8, 8.0], "seed": np.int8(3)}
    config = to_dict(replace(preset_config("fourroom", "none"), given))
    found = [config["total_steps"], config["learner"]["learning_rate"], config["seed"]]
    assert json.dumps(found) == "[1000000, 1.0, 3]"
    assert config["network"]["policy_hidden"] == (8, 8)


def test_settings_that_fit_only_together_can_be_given_together() -> None:
    config = replace(preset_config("fourroom", "none"), {"num_envs": 3, "minibatches": 3})
    assert config.batch_size == 3 * 128


def test_what_changed_is_what_replace_takes() -> None:
    settings = {"seed": 3, "learner.epochs": 7, "network.policy_hidden": (8,), "rle.dimension": 5}
    default = preset_config("fourroom", "rle")
    assert changed(default, replace(default, settings)) == settings
    assert changed(default, default) == {}


def test_iterations_cover_the_steps() -> None:
    config = replace(preset_config("fourroom", "none"), {"total_steps": 4097})
    assert config.rollouts == 2


def test_nearest_suggests_or_lists() -> None:
    assert nearest("fourrom", ["fourroom", "other"]) == "did you mean 'fourroom'?"
    assert nearest("zzz", ["a", "b"]) == "choose one of: a, b."
    assert nearest("White_Noise", ["white-noise"]) == "did you mean 'white-noise'?"
    assert nearest("revenge", ["MontezumaRevenge", "Pong"]) == "did you mean 'MontezumaRevenge'?"
    assert nearest("x", map(str, range(20))).endswith("9, 10, 11 and others.")


def test_unknown_fields_of_a_file_are_named() -> None:
    values = to_dict(preset_config("fourroom", "none")) | {"colour": "red"}
    with pytest.raises(UsageError, match="colour"):
        from_dict(values)


def test_reads_what_earlier_versions_wrote() -> None:
    """Before the learner and the machine had sections of their own."""
    settings = {"epochs": 7, "micro_batch": 5, "threads": 3, "engine_threads": 2, "device": "auto"}
    settings["sinks"] = ("tensorboard",)
    config = replace(preset_config("fourroom", "rle"), settings)
    earlier = to_dict(config)
    machine = earlier.pop("machine")
    for since in ("checkpoint_minutes", "keep_checkpoints", "devices"):
        del machine[since]
    machine["tensorboard"] = machine.pop("sinks") == ("tensorboard",)
    earlier["ppo"] = earlier.pop("learner") | {"micro_batch": machine.pop("micro_batch")}
    earlier["network"]["precision"] = machine.pop("precision")
    earlier["environment"]["engine_threads"] = machine.pop("engine_threads")
    earlier |= machine
    assert from_dict(json.loads(json.dumps(earlier))) == config
