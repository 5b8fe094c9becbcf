"""The benchmark's arithmetic, its contenders in miniature, and what is remembered of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rle.config import RunConfig
from rle.presets import preset_config
from rle.runs.bench import _asked, _processes, _spec_of
from rle.runs.bench_table import Rates, table
from rle.runs.contenders import OurContender
from rle.runs.limits import Limits
from rle.runs.rates import RecordedRate, record_rate, recorded_rate
from rle.runs.rounds import Round, timed_round
from rle.settings import replace
from rle.studies import study_names
from tests.builders import small_config
from tests.runs.test_images import atari_config


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_table_has_medians_and_ranges_of_ratios_within_rounds() -> None:
    """Ratios 2, 3 and 1 within rounds: median 2, although the medians' ratio is 30 / 10 = 3."""
    shares = {"learning": 0.75, "rest": 0.25}
    ours = [Round(steps, 1.0, shares, 1e9, core_seconds=1.0) for steps in (20, 30, 60)]
    theirs = [Round(steps, 1.0, {}, 4e9, core_seconds=1.5) for steps in (10, 10, 60)]
    shown = table("task", [Rates("rle", ours), Rates("peer", theirs)], 2).splitlines()
    head = [*("steps/s", "lowest", "highest", "rle", "is", "from", "to", "cores", "memory")]
    assert shown[1].split() == head
    assert shown[2].split() == [
        *("rle", "30", "20", "60", "1.00x", "1.00", "1.00", "1.0", "1.00", "GB"),
    ]
    assert shown[3].split() == [
        *("peer", "10", "10", "60", "2.00x", "1.00", "3.00", "1.5", "4.00", "GB"),
    ]
    assert shown[4:] == ["rle spends its time on: learning 75%, rest 25%"]


class Cores:
    """A contender that says on how many cores its threads may run."""

    def __init__(self, config: RunConfig, warm_up: int) -> None:
        pass

    def run(self, seconds: float) -> int:
        return len(os.sched_getaffinity(0))


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system cannot do that")
def test_contenders_have_as_many_cores_as_they_are_given_threads() -> None:
    """JAX's own threads took half of another core otherwise."""
    for threads, expected in ((1, 1), (0, len(os.sched_getaffinity(0)))):
        config = replace(small_config("none"), {"threads": threads})
        with _processes({"cores": (Cores, config)}, warm_up=0) as pipes:
            assert _asked(pipes["cores"], "run", 0.0) == expected


def test_what_is_missing_is_named_with_what_installs_it() -> None:
    shown = table("task", [Rates("rle", [Round(1, 1.0)])], 1, missing=["One", "Two"])
    expected = "not installed: One, Two; pip install 'random-latent-exploration[bench]'"
    assert shown.splitlines()[-1] == expected


def test_limits_are_shares_of_the_median_round() -> None:
    """100 steps in 2 s: products of 4 ms a step would take 0.4 s of them, which is 20 %."""
    shares = {"learning": 1.2, "environment": 0.7, "rest": 0.1}
    ours = [Rates("rle", [Round(100, 2.0, shares)])]
    limits = Limits({"learning": 0.004, "acting": 0.001}, {"environment": 0.006}, 25e9)
    *_, time, products, engine = table("task", ours, 1, limits=limits).splitlines()
    assert time == "rle spends its time on: learning 60%, environment 35%, rest 5%"
    assert products == (
        "matrix products alone, at 25 G multiply-adds/s, would take: learning 20%, acting 5%"
    )
    assert engine == "the engine alone, under random actions, would take: environment 30%"
    no_engine = table("task", ours, 1, limits=limits._replace(engine={}))
    assert "engine" not in no_engine


def test_a_round_lasts_as_long_as_asked_and_makes_an_iteration_at_least() -> None:
    assert timed_round(lambda: 7, 0.0).steps == 7
    measured = timed_round(lambda: 7, 0.01)
    assert measured.seconds >= 0.01
    assert measured.steps % 7 == 0


@pytest.mark.parametrize(
    ("task", "images"),
    [
        ("atari/Pong", True),
        ("envpool/MyWayHome-v1", True),
        ("envpool/Ant-v5", False),
        ("fourroom", False),
    ],
)
def test_what_shows_images_is_told_by_what_it_shows(task: str, images: bool) -> None:
    assert _spec_of(preset_config(task, "none")).is_image is images


@pytest.mark.parametrize("task", ["fourroom", "atari"])
def test_our_contender_says_where_its_time_goes(task: str) -> None:
    config = small_config("rle") if task == "fourroom" else atari_config("Pong", "rle")
    contender = OurContender(config, warm_up=1)
    measured = contender.run(0.01)
    assert measured.steps % config.batch_size == 0
    assert measured.steps > 0
    parts = {"learning", "bonus", "rest"}
    parts |= {"acting and environment"} if task == "fourroom" else {"acting", "environment"}
    assert set(measured.shares) == parts
    assert sum(measured.shares.values()) == pytest.approx(measured.seconds)
    assert min(measured.shares.values()) >= 0


def test_shares_are_those_of_the_median_round() -> None:
    rounds = [
        Round(100, 1.0, {"learning": 0.5, "rest": 0.5}),
        Round(20, 2.0, {"learning": 1.9, "rest": 0.1}),  # It compiled something.
        Round(180, 2.0, {"learning": 0.8, "rest": 1.2}),
    ]
    assert Rates("rle", rounds).shares() == "learning 40%, rest 60%"


def test_hours_of_a_study_come_from_the_suites_last_measurement(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rle.studies.catalogue.cores", lambda: 2)
    assert "`rle bench atari/Alien` measures" in study_names()["atari57"]
    record_rate("atari/Alien", "paper", RecordedRate(500.0, cores=1.9))
    record_rate("fourroom", "paper", RecordedRate(50_000.0, cores=1.02))
    # 4 methods x 5 seeds of 56 games x 40 M steps and one of 200 M: 48.8 G steps, which take
    # 27 111 hours at 500 a second.
    expected = "200,000,000 steps, about 27,111 hours here, judging by atari/Alien)"
    assert expected in study_names()["atari57"]
    # 50 runs x 2.5 M steps at twice 50 000 a second are 1250 seconds.
    assert "50 runs of 2,500,000 steps, about 0.3 hours" in study_names()["fourroom-reward-free"]


def test_hours_of_a_study_add_up_over_tasks_as_far_as_they_were_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rle.studies.catalogue.cores", lambda: 2)
    for task, rate in (("control/Cartpole", 10_000.0), ("control/Ant", 2_000.0)):
        record_rate(task, "desktop", RecordedRate(rate, cores=1.7))
    # 4 methods x 5 seeds of 1 M steps: Cartpole takes 2000 s, and eight tasks, with the last that was
    # measured in the place of the seven others, 10 000 s each.
    expected = "about 22.8 hours here, judging by control/Ant, control/Cartpole)"
    assert expected in study_names()["control9-desktop"]


def test_hours_with_one_preset_say_nothing_about_another() -> None:
    record_rate("atari/Alien", "paper", RecordedRate(500.0, cores=2.0))
    assert "`rle bench atari/Boxing --preset desktop` measures" in study_names()["atari-mini"]
    record_rate("atari/Boxing", "desktop", RecordedRate(350.0, cores=1.0))
    assert "hours here" in study_names()["atari-mini"]


def test_a_broken_record_is_no_record(tmp_path: Path) -> None:
    record_rate("fourroom", "paper", RecordedRate(1.0, 1))
    (tmp_path / "rle" / "rates.json").write_text("{")
    assert recorded_rate("fourroom", "paper") is None
    (tmp_path / "rle" / "rates.json").write_text('{"fourroom paper": {"speed": 1}}')
    assert recorded_rate("fourroom-sparse", "paper") is None
