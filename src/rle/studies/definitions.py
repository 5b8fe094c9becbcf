"""What a study is: a grid of tasks, methods and seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as replace_fields
from functools import partial
from pathlib import Path
from typing import Any

from rle.checks import nearest, require, short
from rle.config import RunConfig
from rle.errors import UsageError
from rle.naming import folder_name, folder_within
from rle.presets import preset_config
from rle.settings import in_present_words, replace
from rle.studies.resources import Resources


@dataclass(frozen=True)
class Method:
    """A strategy with settings of its own, under a name that fits a folder and a legend."""

    name: str
    explore: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Here, so that a study says it once and not with each of its runs.
        object.__setattr__(self, "settings", in_present_words(self.settings))


MOST_RUNS = 100_000
OF_STUDY = frozenset({"task", "explore", "preset", "seed", "total_steps"})
"""What makes the runs of a method different ones, or is the same for all methods."""


@dataclass(frozen=True)
class Study:
    """Every task with every method and every seed."""

    name: str
    description: str
    tasks: tuple[str, ...]
    methods: tuple[Method, ...]
    seeds: int
    total_steps: int | None
    """Agent steps of each run; None: as many as the preset gives the task."""
    preset: str | None = None
    """None: each task's default."""
    own_steps: Mapping[str, int] = field(default_factory=dict)
    """Agent steps of each run on the tasks that are trained for longer than the others."""
    resources: Resources = field(default_factory=Resources)
    """What each run takes of a machine."""

    def __post_init__(self) -> None:
        for kind, names in (
            ("task", self.tasks),
            ("method", tuple(method.name for method in self.methods)),
        ):
            folders = [folder_name(name) for name in names]
            for name, folder in zip(names, folders, strict=True):
                require(
                    folders.count(folder) == 1,
                    f"study {self.name!r} has the {kind} {name!r} twice, or two whose folders would "
                    "have one name: call them differently.",
                )
        for method in self.methods:
            for setting in method.settings:
                require(
                    setting.replace("-", "_") not in OF_STUDY,
                    f"study {self.name!r}, method {method.name!r} has the setting {setting!r}, which is "
                    "the study's to choose: leave it out there.",
                )

    def steps_of(self, task: str) -> int:
        """Agent steps of each run on `task`."""
        if task in self.own_steps:
            return self.own_steps[task]
        if self.total_steps is not None:
            return self.total_steps
        return preset_config(task, self.methods[0].explore, self.preset).total_steps

    @property
    def all_steps(self) -> int:
        """Agent steps of the whole study."""
        return sum(map(self.steps_of, self.tasks)) * len(self.methods) * self.seeds

    @property
    def num_runs(self) -> int:
        """How many runs the whole study has."""
        return len(self.tasks) * len(self.methods) * self.seeds

    def only(self, tasks: Sequence[str] = (), methods: Sequence[str] = ()) -> Study:
        """The part of the study with these tasks and methods; nothing given keeps all."""
        names = [method.name for method in self.methods]
        for kind, wanted, known in (("task", tasks, self.tasks), ("method", methods, names)):
            for name in wanted:
                if name not in known:
                    raise UsageError(
                        f"study {self.name!r} has no {kind} {name!r}: {nearest(name, known)}"
                    )
        return replace_fields(
            self,
            tasks=tuple(task for task in self.tasks if not tasks or task in tasks),
            methods=tuple(m for m in self.methods if not methods or m.name in methods),
        )

    def runs(
        self,
        seeds: int | None = None,
        total_steps: int | None = None,
        out: Path | None = None,
        first_seed: int = 0,
    ) -> dict[str, RunConfig]:
        """Folder below the study's own, and configuration, of each run; seeds vary slowest.

        In this order a study that is stopped early has whole seeds of every method to compare. In `out`
        it may have begun in an earlier version, with folders of other names: it keeps them.
        """
        folder = _folder if out is None else partial(_present_folder, out)
        seeds = self.seeds if seeds is None else seeds
        number = len(self.tasks) * len(self.methods) * seeds
        require(
            number <= MOST_RUNS, f"seeds is {short(seeds)}: a study has up to {MOST_RUNS:,} runs."
        )
        return {
            f"{folder(task, method.name)}/seed-{seed}": replace(
                preset_config(task, method.explore, self.preset, seed),
                {
                    **method.settings,
                    "total_steps": self.steps_of(task) if total_steps is None else total_steps,
                },
            )
            for seed in range(first_seed, first_seed + seeds)
            for task in self.tasks
            for method in self.methods
        }


def _folder(task: str, method: str) -> str:
    return f"{folder_name(task)}/{folder_name(method)}"


def _present_folder(out: Path, task: str, method: str) -> str:
    of_task = folder_within(out, task)
    return f"{of_task}/{folder_within(out / of_task, method)}"


PPO = Method("ppo", "none")
RLE = Method("rle", "rle")
RND = Method("rnd", "rnd")
NOISY = Method("noisynet", "noisy")
WHITE_NOISE = Method("white-noise", "white-noise")
RANDOM = Method("random", "random")
PPO_SCALED = Method("ppo-scaled-reward", "none", {"scale_reward": True})

PAPER_METHODS = (RLE, PPO, RND, NOISY)


def ppo_matched(task: str) -> Method:
    """PPO with RLE's learning rate, discount and reward scaling, but without RLE.

    The paper gives RLE another learning rate and discount than PPO on some suites; this control tells
    their effect from RLE's.
    """
    ppo = preset_config(task, "rle").learner
    return Method(
        "ppo-matched",
        "none",
        {
            "learning_rate": ppo.learning_rate,
            "discount": ppo.discount,
            "scale_reward": ppo.scale_reward,
        },
    )


def rle_with(name: str, **settings: Any) -> Method:
    """RLE with some of its settings changed: an ablation."""
    return Method(f"rle-{name}", "rle", {f"rle.{key}": value for key, value in settings.items()})
