"""Studies: what is declared, what is missing, and what survives."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rle.config import RunConfig
from rle.errors import UsageError
from rle.runs.trainer import Trainer
from rle.settings import changed, replace
from rle.studies import STUDIES, find_study, run_all, study, study_names
from rle.studies.definitions import Method, Study
from rle.studies.fourroom import ABLATIONS
from rle.studies.running import _check_capitals
from tests.builders import small_config
from tests.runs.test_images import atari_config


def tiny(count: int, **settings: object) -> dict[str, RunConfig]:
    return {f"rle/seed-{seed}": small_config("rle", seed=seed, **settings) for seed in range(count)}


def test_the_papers_studies_at_the_papers_size() -> None:
    for name in ("fourroom-reward-free", "fourroom-sparse", "fourroom-noisytv"):
        runs = find_study(name).only(methods=["rle", "ppo", "rnd", "noisynet", "random"]).runs()
        assert len(runs) == 5 * 10
        assert {run.total_steps for run in runs.values()} == {2_500_000}
        assert {run.explore for run in runs.values()} == {"rle", "none", "rnd", "noisy", "random"}
        assert {run.seed for run in runs.values()} == set(range(10))


def test_the_sparse_study_has_a_scaled_row_beside_every_unscaled_one() -> None:
    runs = STUDIES["fourroom-sparse"].runs(seeds=1)
    by_method = {folder.split("/")[1]: run for folder, run in runs.items()}
    for plain in ("ppo", "noisynet", "rnd", "rle"):
        scaled = by_method["noisy-scaled" if plain == "noisynet" else f"{plain}-scaled"]
        assert by_method[plain].learner.scale_reward is False
        assert scaled == replace(by_method[plain], {"scale_reward": True})
    rle = by_method["rle"]
    assert by_method["rle-standardised"] == replace(rle, {"rle.standardise": True})
    assert by_method["rle-unscaled-bonus"] == replace(rle, {"rle.scale_bonus": False})


def test_ablations_change_one_thing_each() -> None:
    runs = STUDIES["fourroom-ablations"].runs(seeds=1)
    by_method = {folder.split("/")[1]: run for folder, run in runs.items()}
    distributions = {run.rle.distribution for run in by_method.values() if run.rle}
    assert distributions == {"sphere", "uniform", "normal"}
    assert {run.rle.dimension for run in by_method.values() if run.rle} == {2, 4, 8, 16, 32, 128}
    assert by_method["rle-unconditioned"].rle.condition is False
    assert by_method["rle-value-features"].rle.feature_update_rate == 0.005
    assert by_method["rle-shallow-features"].rle.feature_hidden == (64,)
    assert by_method["rle-standardised"].rle.standardise is True
    assert by_method["rle-unscaled-bonus"].rle.scale_bonus is False
    assert by_method["white-noise"].explore == "white-noise"
    # All learn with PPO's numbers, so that PPO is the control of each.
    assert {run.learner for run in by_method.values()} == {by_method["ppo"].learner}
    assert len({method.name for method in ABLATIONS}) == len(ABLATIONS)


def test_the_atari_studies_at_the_papers_size() -> None:
    main = find_study("atari57")
    runs = main.runs()
    assert len(runs) == main.num_runs == 57 * 4 * 5
    steps = {folder.split("/")[0]: run.total_steps for folder, run in runs.items()}
    assert steps.pop("atari-MontezumaRevenge") == 200_000_000
    assert set(steps.values()) == {40_000_000}
    assert main.all_steps == (56 * 40 + 200) * 1_000_000 * 4 * 5
    assert find_study("montezuma").all_steps == 200_000_000 * 5 * 5
    # A part of the study keeps the game's length, and --total-steps is for every game of it.
    part = main.only(tasks=["atari/MontezumaRevenge", "atari/Alien"])
    assert part.all_steps == 240_000_000 * 4 * 5
    assert {run.total_steps for run in part.runs(1, 400_000_000).values()} == {400_000_000}
    listed = study_names()["atari57"]
    assert "160 M frames, MontezumaRevenge 800 M" in listed
    assert "1140 runs of 40,000,000 to 200,000,000 steps" in listed


def test_the_studies_of_atari_features_have_the_ppo_they_are_compared_with() -> None:
    phi = find_study("atari57-phi").runs(seeds=1)
    assert len(phi) == 57 * 3
    following, frozen = (phi[f"atari-Pong/{m}/seed-0"] for m in ("rle", "rle-frozen-features"))
    assert (following.rle.feature_update_rate, frozen.rle.feature_update_rate) == (0.005, 0.0)
    assert changed(following, frozen) == {"rle.feature_update_rate": 0.0}
    assert phi["atari-Pong/ppo/seed-0"].explore == "none"


def test_matched_ppo_learns_with_rles_numbers() -> None:
    runs = STUDIES["atari57-matched"].runs(seeds=1)
    matched, plain = (runs[f"atari-Alien/{name}/seed-0"] for name in ("ppo-matched", "rle"))
    assert matched.explore == "none"
    assert matched.learner == plain.learner


def test_the_control_studies_at_the_papers_size() -> None:
    main = find_study("control9")
    runs = main.runs()
    assert len(runs) == main.num_runs == 9 * 4 * 5
    assert {run.preset for run in runs.values()} == {"paper"}
    assert runs["control-Ant/rle/seed-0"].total_steps == 100_000_000
    assert runs["control-ShadowHand/rnd/seed-4"].total_steps == 600_000_000
    # 5 tasks of 100 M, two of 200 M and two of 600 M.
    assert main.all_steps == (5 * 100 + 2 * 200 + 2 * 600) * 1_000_000 * 4 * 5
    assert runs["control-Ant/ppo/seed-0"].learner.scale_reward is False
    assert runs["control-Ant/ppo-scaled-reward/seed-0"].learner.scale_reward is True
    assert "100,000,000 to 600,000,000 steps" in study_names()["control9"]
    methods = {folder.split("/")[1] for folder in find_study("control9-white-noise").runs(seeds=1)}
    assert methods == {"rle", "white-noise", "ppo"}


def _of_features(name: str, *methods: str) -> list[RunConfig]:
    """The runs of a study of φ on BallBalance, RLE's first."""
    found = find_study(name)
    assert [method.name for method in found.methods] == ["rle", *methods, "ppo"]
    runs = found.runs(seeds=1)
    return [runs[f"control-BallBalance/{method}/seed-0"] for method in ("rle", *methods)]


def _moves(run: RunConfig, widths: tuple[int, ...]) -> bool:
    """Whether φ, which has layers of `widths`, is moved by an update."""
    small = {"num_envs": 2, "rollout_steps": 16, "minibatches": 1, "threads": 1}
    trainer = Trainer(replace(run, small))
    features = trainer.strategy.features
    assert [p.shape[0] for p in features.parameters() if p.dim() == 2] == list(widths)
    before = [p.clone() for p in features.parameters()]
    trainer.strategy.after_minibatch(trainer.network)
    trainer.strategy.after_update(trainer.network)
    return any(not p.equal(q) for p, q in zip(before, features.parameters(), strict=True))


def test_the_papers_other_features_differ_in_one_thing_from_frozen_ones() -> None:
    rle, other, frozen = _of_features("control9-phi", "rle-shallow-features", "rle-frozen-features")
    assert changed(rle, frozen) == {"rle.feature_update_rate": 0.0}
    # "Less width and one less layer."
    assert changed(frozen, other) == {"rle.feature_hidden": (256, 128)}
    assert _moves(rle, (512, 512, 256, 32))
    assert not _moves(frozen, (512, 512, 256, 32))
    assert not _moves(other, (256, 128, 32))


def test_on_a_few_cores_features_are_frozen_and_others_follow() -> None:
    rle, other, following = _of_features(
        "control9-phi-desktop", "rle-shallow-features", "rle-following-features"
    )
    # "Less width and one less layer."
    assert changed(rle, other) == {"rle.feature_hidden": (64,)}
    assert changed(rle, following) == {
        "rle.feature_hidden": None,
        "rle.feature_update": "iteration",
        "rle.feature_update_rate": 0.04,
    }
    assert not _moves(rle, (128, 128, 128))
    assert not _moves(other, (64, 128))
    # The value network's layers, then φ's own.
    assert _moves(following, (64, 64, 128))


@pytest.mark.parametrize("name", ["control9", "control9-phi", "control9-white-noise"])
def test_the_control_studies_for_a_few_cores(name: str) -> None:
    large, small = find_study(name), find_study(f"{name}-desktop")
    assert small.tasks == large.tasks
    assert len(small.methods) == len(large.methods)
    runs = small.runs()
    assert {run.preset for run in runs.values()} == {"desktop"}
    assert {run.total_steps for run in runs.values()} == {1_000_000}
    assert {run.total_steps for run in small.runs(seeds=1, total_steps=300).values()} == {300}
    if name == "control9":
        # Scaling the reward is the rule there, and its absence the method of its own.
        assert runs["control-Ant/ppo/seed-0"].learner.scale_reward is True
        assert runs["control-Ant/ppo-unscaled-reward/seed-0"].learner.scale_reward is False


def test_every_declared_run_is_a_valid_configuration() -> None:
    for declared in STUDIES.values():
        runs = declared.runs(seeds=1)
        assert len(runs) == len(declared.tasks) * len(declared.methods)
        assert declared.num_runs == declared.seeds * len(runs)


def test_second_start_runs_only_what_is_missing(tmp_path: Path) -> None:
    first = run_all(tiny(1), tmp_path, workers=1, quiet=True)
    assert first.finished == ("rle/seed-0",)
    before = (tmp_path / "rle/seed-0/finished.json").stat().st_mtime_ns
    second = run_all(tiny(2), tmp_path, workers=2, quiet=True)
    assert second.finished == ("rle/seed-0", "rle/seed-1")
    assert (tmp_path / "rle/seed-0/finished.json").stat().st_mtime_ns == before
    assert second.steps == 1024


def test_a_second_start_finds_runs_on_images_too(tmp_path: Path) -> None:
    """Their precision is decided, and recorded, when they start."""
    runs = {"rle/seed-0": atari_config("Pong", "none")}
    assert runs["rle/seed-0"].machine.precision == "auto"
    assert run_all(runs, tmp_path, workers=1, quiet=True).finished == ("rle/seed-0",)
    assert run_all(runs, tmp_path, workers=1, quiet=True).steps == 0


def test_another_machine_makes_the_same_study(tmp_path: Path) -> None:
    run_all(tiny(1), tmp_path, workers=1, quiet=True)
    elsewhere = tiny(1, device="auto", threads=2, checkpoint_every=7)
    assert run_all(elsewhere, tmp_path, workers=1, quiet=True).steps == 0


def test_other_settings_in_the_folder_are_refused(tmp_path: Path) -> None:
    run_all(tiny(1), tmp_path, workers=1, quiet=True)
    with pytest.raises(UsageError, match="other settings"):
        run_all(tiny(1, learning_rate=1e-4), tmp_path, workers=1, quiet=True)


def test_a_killed_worker_is_resumed(tmp_path: Path) -> None:
    """One of the workers is killed in the middle; the study still finishes every run."""
    runs = tiny(2, total_steps=128 * 100, checkpoint_every=128 * 10)
    script = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from pathlib import Path
from rle.studies import run_all
from tests.studies.test_studies import tiny
if __name__ == "__main__":
    runs = tiny(2, total_steps=128 * 100, checkpoint_every=128 * 10)
    result = run_all(runs, Path({str(tmp_path / "study")!r}), workers=2, quiet=True)
    print(len(result.finished), len(result.failed))
"""
    path = tmp_path / "script.py"
    path.write_text(script)
    process = subprocess.Popen([sys.executable, str(path)], stdout=subprocess.PIPE, text=True)
    _wait_for(lambda: list(tmp_path.glob("study/rle/*/checkpoints/*.safetensors")))
    os.kill(_workers_of(process.pid)[0], signal.SIGKILL)
    output, _ = process.communicate(timeout=300)
    assert output.strip() == "2 0"
    for folder, config in runs.items():
        finished = json.loads((tmp_path / "study" / folder / "finished.json").read_text())
        assert finished["step"] == config.total_steps


def test_interrupting_keeps_everything(tmp_path: Path) -> None:
    """Ctrl-C leaves resumable runs and exit status 130; starting again finishes them."""
    command = [sys.executable, "-m", "rle", "study", "demo", "--total-steps", "200000"]
    command += ["--out", str(tmp_path / "study")]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A shell that runs tests in the background has them ignore Ctrl-C, and so their children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    _wait_for(lambda: [p for p in tmp_path.glob("study/*/*/*/metrics.jsonl") if p.stat().st_size])
    os.killpg(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=300)
    assert process.returncode == 130, error
    assert "Traceback" not in error
    assert list(tmp_path.glob("study/*/*/*/checkpoints/*.safetensors"))
    assert not list(tmp_path.glob("study/*/*/*/finished.json"))


def test_a_failing_run_is_reported_with_its_log(tmp_path: Path) -> None:
    runs = {"bad": small_config("rle", rle__feature_network="tests.studies.test_studies:broken")}
    result = run_all(runs, tmp_path, workers=1, quiet=True)
    assert result.failed == ("bad",)
    assert "this network is broken" in (tmp_path / "bad-log.txt").read_text()


def broken(*_: object) -> None:
    raise RuntimeError("this network is broken")


def test_a_part_of_a_study() -> None:
    part = find_study("fourroom-sparse").only(methods=["rle", "ppo"])
    assert {folder.split("/")[1] for folder in part.runs(seeds=2)} == {"rle", "ppo"}
    assert set(part.runs(seeds=2)) <= set(find_study("fourroom-sparse").runs())
    with pytest.raises(UsageError, match="did you mean 'ppo'"):
        find_study("fourroom-sparse").only(methods=["pppo"])
    with pytest.raises(UsageError, match="has no task"):
        find_study("fourroom-sparse").only(tasks=["atari/Pong"])


def test_a_study_goes_on_in_folders_of_an_earlier_version(tmp_path: Path) -> None:
    """Which took names that not every file system does."""
    declared = Study("own", "", ("fourroom",), (Method("aux", "rle"), Method("nul", "rle")), 1, 100)
    (tmp_path / "fourroom" / "aux").mkdir(parents=True)
    folders = list(declared.runs(out=tmp_path))
    assert folders == ["fourroom/aux/seed-0", "fourroom/nul_/seed-0"]
    assert list(declared.runs()) == ["fourroom/aux_/seed-0", "fourroom/nul_/seed-0"]


def test_folders_that_differ_in_capitals_only(tmp_path: Path) -> None:
    one, other = tiny(2).values()
    runs = {"task/A/seed-0": one, "task/a/seed-0": other}
    with pytest.raises(UsageError, match="differ in capitals only"):
        run_all(runs, tmp_path, workers=1, quiet=True)
    for folder in runs:  # A study of an earlier version that has both goes on.
        (tmp_path / folder).mkdir(parents=True)
    _check_capitals(runs, tmp_path)


def test_unknown_study() -> None:
    with pytest.raises(UsageError, match="did you mean 'demo'"):
        study("demoo")


def _wait_for(condition, seconds: float = 300.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _workers_of(parent: int) -> list[int]:
    """Worker processes of a study: copies of the one that it started to be copied."""
    servers = [child for child, command in _children_of(parent) if "forkserver" in command]
    return sorted(worker for server in servers for worker, _ in _children_of(server))


def _children_of(parent: int) -> list[tuple[int, str]]:
    """Processes that `parent` started, with their commands."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parent_of = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            command = (entry / "cmdline").read_text()
        except (OSError, ValueError):
            continue
        if parent_of == parent:
            found.append((int(entry.name), command))
    return found


def test_seeds_may_begin_later() -> None:
    declared = STUDIES["fourroom-sparse"]
    first, others = declared.runs(seeds=2), declared.runs(seeds=3, first_seed=2)
    assert {run.seed for run in others.values()} == {2, 3, 4}
    # Together they are the study of all five, run by run.
    assert first | others == declared.runs(seeds=5)
    with pytest.raises(UsageError, match="first-seed is -1: give 0 or more"):
        study("fourroom-sparse", seeds=1, first_seed=-1)
