"""When checkpoints are written, and which of them stay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rle.runs.callbacks import Callback
from rle.runs.checkpoints import Checkpoints, Saved
from rle.runs.directory import RunDirectory
from rle.runs.train import resume, train_config
from tests.builders import small_config
from tests.runs.test_resume import assert_same_tree


class Watch(Callback):
    """Which checkpoints there are when an iteration is over, before its own is written."""

    def __init__(self, die_at: int | None = None) -> None:
        self.seen: list[list[int]] = []
        self._die_at = die_at

    def on_start(self, run: RunDirectory, trainer: Any) -> None:
        self._run = run

    def on_iteration(self, trainer: Any, metrics: Any, episodes: Any) -> None:
        self.seen.append(self._run.checkpoint_steps())
        if trainer.step == self._die_at:
            raise KeyboardInterrupt


def test_there_is_one_early(tmp_path: Path) -> None:
    """Checkpoints at 512 and 1024; the one of the first iteration is there until then."""
    watch = Watch()
    train_config(small_config("none"), tmp_path / "run", quiet=True, callbacks=[watch])
    assert watch.seen == [[], [128], [128], [128], *[[512]] * 4]
    assert RunDirectory.open(tmp_path / "run").checkpoint_steps() == [512, 1024]


def test_there_are_some_by_time(tmp_path: Path) -> None:
    watch = Watch()
    config = small_config("none", checkpoint_minutes=1e-9)
    run = train_config(config, tmp_path / "run", quiet=True, callbacks=[watch])
    expected = [[], [128], [256], [384], [512], [512, 640], [512, 768], [512, 896]]
    assert watch.seen == expected
    assert run.checkpoint_steps() == [512, 1024]
    assert len(list((run.path / "artefacts").iterdir())) == 2
    plain = train_config(small_config("none"), tmp_path / "plain", quiet=True)
    assert_same_tree(run.load_checkpoint(), plain.load_checkpoint())


def test_a_passing_one_is_gone_on_from(tmp_path: Path) -> None:
    config = small_config("none", checkpoint_minutes=1e-9)
    with pytest.raises(KeyboardInterrupt):
        train_config(config, tmp_path / "run", quiet=True, callbacks=[Watch(die_at=896)])
    run = RunDirectory.open(tmp_path / "run")
    assert run.checkpoint_steps() == [512, 768]
    watch = Watch()
    resume(run.path, quiet=True, callbacks=[watch])
    assert watch.seen == [[512, 768], [512, 896]]
    assert run.checkpoint_steps() == [512, 1024]


@settings(max_examples=25, deadline=None)
@given(
    keep=st.integers(0, 3),
    saved=st.lists(st.tuples(st.booleans(), st.none() | st.integers(0, 3)), min_size=1, max_size=6),
)
def test_the_last_and_the_best_stay(
    tmp_path_factory: pytest.TempPathFactory, keep: int, saved: list[tuple[bool, int | None]]
) -> None:
    checkpoints = Checkpoints(tmp_path_factory.mktemp("run"))
    kept: list[int] = []
    for step, (passing, score) in enumerate(saved):
        checkpoints.save(step, {"step": step}, {}, {}, Saved(passing, score, keep))
        # The rule, said once more.
        kept.append(step)
        scored = [at for at in kept if saved[at][1] is not None]
        best = max(scored, key=lambda at: (saved[at][1], at), default=None)
        if keep:
            kept = [at for at in kept if at in kept[-keep:] or at == best]
        kept = [at for at in kept if not saved[at][0] or at == step or (keep and at == best)]
        assert checkpoints.steps() == kept
        assert checkpoints.latest() == step


def test_as_a_setting(tmp_path: Path) -> None:
    config = small_config("none", checkpoint_every=128, keep_checkpoints=2)
    run = train_config(config, tmp_path / "run", quiet=True)
    assert run.checkpoint_steps() == [896, 1024]
