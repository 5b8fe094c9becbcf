"""Settings by name, on the command line and as JSON: whatever their values, the same configuration."""

from __future__ import annotations

import dataclasses
import json
import string
import types
import typing
from typing import Any, Literal, Union

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rle.arguments import with_settings
from rle.config import RunConfig
from rle.presets import preset_config
from rle.settings import changed, from_dict, paths_in_use, replace, shortest_name, to_dict
from rle.values import Keywords

BASE = preset_config("fourroom", "rle+rnd+noisy+white-noise")
PATHS = paths_in_use(BASE)

NAMES = st.text(string.ascii_letters, min_size=1, max_size=8)
OF_MODULES = st.builds("{}:{}".format, NAMES, NAMES)
FRACTIONS = st.floats(0, 1, exclude_min=True)
POSITIVE = st.floats(0, 1e300, exclude_min=True, allow_subnormal=False)
SIZES = st.integers(1, 2**40)
JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    # What is written to a file in UTF-8 holds no half of a sign.
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=5,
)
OWN: dict[str, st.SearchStrategy[Any]] = {
    "seed": st.integers(0, 2**128 - 1),
    "total_steps": SIZES,
    "machine.threads": st.integers(0, 2**20),
    "machine.device": st.sampled_from(["cpu", "auto", "cuda:1", "mps"]),
    "machine.sinks": st.lists(OF_MODULES | st.just("tensorboard"), max_size=3).map(tuple),
    "environment.num_envs": st.integers(1, 2**10),
    "environment.wrappers": st.lists(OF_MODULES, max_size=3).map(tuple),
    "environment.env_kwargs": st.dictionaries(NAMES, JSON_VALUES, max_size=3).map(Keywords),
    "network.value_hidden": st.tuples(SIZES, SIZES),
    "network.value_backbone": st.integers(0, 1),
    "learner.rollout_steps": st.integers(1, 2**10).map(lambda steps: 8 * steps),
    "learner.minibatches": st.sampled_from([1, 2, 4]),
    "rle.whitened_features": st.just(0) | SIZES,
    "rle.distribution": st.sampled_from(["sphere", "uniform", "normal"]) | OF_MODULES,
    # Either needs another setting to be as it is.
    "rle.feature_network": st.none(),
    "rle.condition": st.just(True),
}
"""What a setting's type does not say of its values."""


WHITENED = {"rle.standardise": True, "rle.unit_norm": False, "rle.whitened_features": 8}
"""What whitened features and their rarity need."""


def hint_of(path: list[str]) -> Any:
    kind: Any = RunConfig
    for key in path[:-1]:
        kind = type(getattr(BASE, key))
    return typing.get_type_hints(kind)[path[-1]]


def values_of(path: list[str]) -> st.SearchStrategy[Any]:
    """Values that the setting may have."""
    name = ".".join(path)
    return OWN[name] if name in OWN else _of(hint_of(path), path[-1])


def _of(hint: Any, name: str) -> st.SearchStrategy[Any]:
    if typing.get_origin(hint) in (Union, types.UnionType):
        return st.one_of([_of(option, name) for option in typing.get_args(hint)])
    if typing.get_origin(hint) is Literal:
        return st.sampled_from(typing.get_args(hint))
    if typing.get_origin(hint) is tuple:
        sizes = typing.get_args(hint)
        if sizes[-1] is Ellipsis:
            return st.lists(SIZES, max_size=3).map(tuple)
        return st.tuples(*[SIZES for _ in sizes])
    fraction = name in ("discount", "gae_lambda", "feature_update_rate", "keep_fraction")
    kinds: dict[Any, st.SearchStrategy[Any]] = {
        bool: st.booleans(),
        int: SIZES,
        float: FRACTIONS if fraction else POSITIVE,
        types.NoneType: st.none(),
    }
    return kinds[hint]


def _together(values: dict[str, Any]) -> dict[str, Any]:
    """`values` with what whitened features need, or what needs them."""
    if values["rle.whitened-features"] == 0:
        return values | {"rle.rarity": 0.0}
    needed = {"rle.standardise": True, "rle.unit-norm": False}
    if values["rle.condition-on-bonus"]:
        needed["rle.episodic-rarity"] = False
    return values | needed


CONFIGURATIONS = st.fixed_dictionaries(
    {shortest_name(path): values_of(path) for path in PATHS}
).map(_together)
"""A value for every setting, by its name on the command line."""


def words(value: Any) -> list[str]:
    """What stands on the command line for a value."""
    if isinstance(value, Keywords):
        return [json.dumps(value)]
    return [str(part) for part in value] if isinstance(value, tuple) else [str(value)]


FEW = settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def test_every_setting_is_here() -> None:
    """A new one with a type that nothing here knows fails above; one that is left out, here."""
    fields = [
        len(dataclasses.fields(part)) if dataclasses.is_dataclass(part) else 1
        for part in (getattr(BASE, field.name) for field in dataclasses.fields(BASE))
    ]
    beside = 4  # task, explore, preset and own
    assert len(PATHS) == sum(fields) - beside


@FEW
@given(CONFIGURATIONS)
def test_json_gives_the_same_back(values: dict[str, Any]) -> None:
    config = replace(BASE, values)
    kept = json.loads(json.dumps(to_dict(config)))
    again = from_dict(kept)
    assert again == config
    assert json.loads(json.dumps(to_dict(again))) == kept


@FEW
@given(CONFIGURATIONS)
def test_the_command_line_says_the_same(values: dict[str, Any]) -> None:
    config = replace(BASE, values)
    line = [word for name, value in values.items() for word in (f"--{name}", *words(value))]
    assert with_settings(BASE, line) == config


@FEW
@given(CONFIGURATIONS, CONFIGURATIONS)
def test_what_differs_is_what_makes_one_of_the_other(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
    before, after = replace(BASE, first), replace(BASE, second)
    assert replace(before, changed(before, after)) == after
    assert changed(before, before) == {}


@pytest.mark.parametrize("path", PATHS, ids=".".join)
@settings(FEW, max_examples=3)
@given(st.data())
def test_each_setting_alone(path: list[str], data: st.DataObject) -> None:
    """By its name in tables and in Python, and back from JSON; all others stay as they are."""
    value = data.draw(values_of(path))
    dotted = ".".join(path)
    # With so many environments any number of minibatches is one of theirs.
    base = replace(BASE, {"num_envs": 8, "rollout_steps": 8, "rle.condition": True})
    if dotted in ("rle.whitened_features", "rle.rarity"):
        base = replace(base, WHITENED)
    config = replace(base, {dotted: value})
    assert replace(base, {dotted.replace(".", "__"): value}) == config
    assert from_dict(json.loads(json.dumps(to_dict(config)))) == config
    node: Any = config
    for key in path:
        node = getattr(node, key)
    assert node == value
    assert changed(base, config).keys() <= {dotted}
