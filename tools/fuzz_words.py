"""What fuzzed command lines are made of: a grammar of them, files that they name, and mutations."""

from __future__ import annotations

import dataclasses
import json
import random
import typing
from pathlib import Path
from typing import Any

from rle.config import RunConfig
from rle.presets import preset_config
from rle.settings import paths_in_use, shortest_name

LONG = "x" * 300
TASKS = (
    *("fourroom", "fourroom-sparse", "fourroom-noisytv", "gym/CartPole-v1", "gym/Pendulum-v1"),
    *("gym/mine:make", "gym/mine:nothing", "gym/broken:make", "gym/missing:make", "mine:SUITE/a"),
    *("mine:SUITE/b", "gym/.a:b", "gym/:", "gym/", "gym/a..b:c", "gym/NoSuch-v0", "fuorroom", "/"),
    *("atari/Alien", "atari/Nothing", "control/Ant", "envpool/Nothing-v0", "3", "", LONG, "a\0b"),
    *("gym/<lambda>", "task/<Mine>", "\udcff", "é", "gym/" + LONG, ":/", "a:b/c", "..", "none"),
)
STRATEGIES = (
    *(
        "rle",
        "none",
        "rnd",
        "noisy",
        "white-noise",
        "random",
        "rle+rnd",
        "rle+noisy+rnd",
        "rle+rle",
    ),
    *("mine:Strategy", "mine:nothing", "missing:X", ":", "", "+", "rle+", "none+rle", ".a:b", LONG),
)
NUMBERS = (
    *("0", "1", "2", "3", "8", "16", "64", "-1", "1e1", "1e6", "0.5", "1.5", "1e-3", "nan", "inf"),
    *("-inf", "1e308", "1e400", "9223372036854775807", "9223372036854775808", "9" * 40, "9" * 5000),
    *("1_0", "٣", "0x10", "", " ", "--", "True", "none", "None", "-0.0", "1e", "½", "1,5", "+1"),
)
TEXTS = (
    *(
        "true",
        "false",
        "True",
        "auto",
        "on",
        "off",
        "cpu",
        "cuda",
        "meta",
        "cuda:99",
        "tanh",
        "relu",
    ),
    *("float32", "bfloat16", "sphere", "normal", "uniform", "minibatch", "iteration", "same-step"),
    *("mine:signs", "mine:network", "mine:nothing", "mine:three", "mine", "broken:x", "missing:x"),
    *(":", "a:", ":b", ".a:b", "a.b:c.d", "tensorboard", "mine:Sink", "mine:wrapper", LONG, "a\0b"),
    *(
        "\udcff",
        "{}",
        "[]",
        '{"a": 1}',
        '{"a": NaN}',
        "[" * 2000,
        '{"a":' * 2000,
        "'",
        '"',
        "=",
        "-",
    ),
)
FILES = (
    *("run", "empty", "file", "missing", "damaged", "runs", ".", "", "..", LONG, "run/" + LONG),
    *(
        "a\0b",
        "\udcff",
        "study.toml",
        "broken.toml",
        "folder.toml",
        "run@1024",
        "run@7",
        "run@",
        "@",
    ),
    *("run@1e3", "run@nan", "run@inf", "loop", "dangling", "run/config.json", "é", "-", "--"),
)
STUDIES = ("demo", "fourroom-sparse", "mine:STUDY", "mine:nothing", "no-such", *FILES)
OPTIONS: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "train": (
        ("--explore", STRATEGIES),
        ("--preset", ("paper", "released", "desktop", "none", "")),
        ("--out", FILES),
        ("--init-from", FILES),
        ("--trust", ()),
        ("--help", ()),
    ),
    "resume": (("--total-steps", NUMBERS), ("--trust", ()), ("--help", ())),
    "eval": (
        *(("--episodes", NUMBERS), ("--step", NUMBERS), ("--seed", NUMBERS), ("--clips", NUMBERS)),
        *(("--seconds", NUMBERS), ("--video", FILES), ("--greedy", ()), ("--overwrite", ())),
        ("--trust", ()),
    ),
    "study": (
        *(("--tasks", TASKS), ("--methods", STRATEGIES), ("--seeds", NUMBERS)),
        *(("--total-steps", NUMBERS), ("--workers", NUMBERS), ("--out", FILES)),
        *(("--cpus-per-run", NUMBERS), ("--gpus-per-run", NUMBERS)),
        ("--only", ("1/1", "2/1", "0/3", "1/999999999", "1/", "/", "", "a/b", LONG)),
    ),
    "report": (("--paper", ()), ("--intervals", ("percentile", "x")), ("--out", FILES)),
    "list": (("--help", ()),),
    "check": (
        *(("--explore", STRATEGIES), ("--preset", ("paper", "released", "x"))),
        ("--steps", NUMBERS),
    ),
    "bench": (("--preset", ("paper", "x")), ("--seconds", NUMBERS)),
    "--completion": (("bash", ()), ("zsh", ()), ("tcsh", ())),
    "__complete": (("train", TASKS), ("eval", FILES), ("study", STUDIES), ("--", TASKS)),
}
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "train": TASKS,
    "resume": FILES,
    "eval": FILES,
    "study": STUDIES,
    "report": FILES,
    "list": ("tasks", "strategies", "studies", "runs", "run", "", *FILES),
    "check": (*TASKS, *FILES),
    "bench": TASKS,
    "--completion": ("bash", "x", ""),
    "__complete": ("train", "study", "fourroom", "--", "gym/", ""),
}
SETTINGS = tuple(
    f"--{shortest_name(path)}"
    for path in paths_in_use(preset_config("fourroom", "rle+rnd+noisy+white-noise"))
)
NO_SETTINGS = (
    *("--seed.x", "--rle.law", "--own", "--own.a.b", "--rle", "--machine", "--task", "--", "--."),
    *(
        "--learner.epochs",
        "--ppo.clip",
        "---",
        "-x",
        "--=",
        "--seed=",
        "--Seed",
        "--lr",
        "--" + LONG,
    ),
)
OF_A_MODULE = """
import torch
from rle.studies import Method, Study
from rle.tasks.suite import Suite
three = 3
def make():
    import gymnasium
    return gymnasium.make("CartPole-v1")
def signs(shape, generator):
    return torch.randint(0, 2, shape, generator=generator) * 2.0 - 1.0
def network(observation_shape, dimension):
    return torch.nn.Linear(observation_shape[0], dimension)
def wrapper(environment):
    return environment
SUITE = Suite({"a": "nothing"}, build=lambda wanted: None)
STUDY = Study("mine", "", ("fourroom",), (Method("rle", "rle"),), 1, 1000)
"""
STUDY_FILE = """name = "study"
tasks = ["fourroom"]
seeds = 1
total_steps = 1000
[[methods]]
name = "rle"
explore = "rle"
settings = { "rle.dimension" = 8, learning_rate = 1e-3 }
"""
WRONG: tuple[Any, ...] = (
    *(None, True, "text", "", "\ud800", -1, 0, 1.5, 10**400, float("nan"), float("inf"), [], {}),
    *([[]], ["a"], {"a": 1}, "mine:signs", "gym/mine:make", "mine:Strategy"),
)


def line(source: random.Random) -> list[str]:
    """One command line: of the grammar, or a mutation of one that is."""
    verb = source.choice([*OPTIONS, *["train"] * 6, *["eval"] * 2, *["study"] * 2])
    words = [verb]
    for _ in range(source.choice((0, 1, 1, 1, 1, 2))):
        words.append(source.choice(ARGUMENTS[verb]))
    for _ in range(source.choice((0, 1, 1, 2, 3))):
        words += _option(verb, source)
    if source.random() < 0.2:
        words[1:] = source.sample(words[1:], len(words) - 1)
    if source.random() < 0.3 and words:
        at = source.randrange(len(words))
        words[at] = mutated(words[at], source)
    return words


def _option(verb: str, source: random.Random) -> list[str]:
    takes_settings = verb in ("train", "check", "bench")
    if takes_settings and source.random() < 0.7:
        name = source.choice(SETTINGS if source.random() < 0.85 else NO_SETTINGS)
        values: tuple[str, ...] = (*NUMBERS, *TEXTS)
    else:
        name, values = source.choice(OPTIONS[verb])
    if not values:
        return [name]
    given = source.choices(values, k=source.choice((0, 1, 1, 1, 1, 2)))
    if len(given) == 1 and source.random() < 0.2:
        return [f"{name}={given[0]}"]
    return [name, *given]


def mutated(text: str, source: random.Random) -> str:
    """`text` with one small mistake."""
    at = source.randint(0, len(text))
    sign = source.choice("-=:./@+ _\0\t\n'\"[]{}é\udc80٣0aZ")
    kinds = [
        text[:at] + sign + text[at:],
        text[:at] + text[at + 1 :],
        text[:at] + sign + text[at + 1 :],
        text[:at],
        text + text,
        text.upper(),
    ]
    return source.choice(kinds)


def damaged_json(values: Any, source: random.Random) -> str:
    """JSON with something wrong in one place."""
    if source.random() < 0.2:
        return mutated(json.dumps(values), source)
    return json.dumps(_with_wrong(values, source))


def _with_wrong(values: Any, source: random.Random) -> Any:
    if isinstance(values, dict) and values and source.random() < 0.9:
        key = source.choice([*values])
        return {**values, key: _with_wrong(values[key], source)}
    return source.choice(WRONG)


def damaged_study(source: random.Random) -> str:
    """A study's file with mistakes in it."""
    lines = STUDY_FILE.splitlines()
    at = source.randrange(len(lines))
    kind = source.randrange(4)
    if kind == 0:
        lines[at] = mutated(lines[at], source)
    elif kind == 1:
        value = source.choice(("1", "-1", "nan", "[]", "{}", '""', "true", "1979-05-27", "9" * 400))
        lines[at] = f"{lines[at].partition('=')[0]} = {value}"
    elif kind == 2:
        del lines[at]
    else:
        word = source.choice(("[" * 3000, "a = " + "{a=" * 2000, '"\\u0000" = 1', "\ufeff", LONG))
        lines.insert(at, word)
    return "\n".join(lines)


def small(config: RunConfig) -> bool:
    """Whether a run of this configuration can be built in no time."""
    layers = [
        size
        for section in dataclasses.fields(config)
        for part in [getattr(config, section.name)]
        if dataclasses.is_dataclass(part)
        for field in dataclasses.fields(part)
        if typing.get_origin(type(getattr(part, field.name))) is None
        for value in [getattr(part, field.name)]
        for size in (value if isinstance(value, tuple) else (value,))
        if isinstance(size, int) and not field.name.endswith(("every", "steps", "limit", "batch"))
    ]
    return max(layers) <= 4096 and config.batch_size <= 2**15


def prepare(folder: Path) -> None:
    """The files that lines name, but for the run."""
    (folder / "empty").mkdir()
    (folder / "folder.toml").mkdir()
    (folder / "file").write_text("nothing")
    (folder / "loop").symlink_to("loop")
    (folder / "dangling").symlink_to("nowhere")
    (folder / "study.toml").write_text(STUDY_FILE)
    (folder / "broken.toml").write_text("name = [")
    (folder / "mine.py").write_text(OF_A_MODULE)
    (folder / "broken.py").write_text("import sys\nsys.exit(7)\n")
