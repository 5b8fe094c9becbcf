"""The command: every verb on a small run, and every kind of bad input."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rle.cli import main

SMALL = [
    "--num-envs",
    "8",
    "--rollout-steps",
    "16",
    "--policy-hidden",
    "16",
    "--value-hidden",
    "16",
    "--total-steps",
    "512",
    "--checkpoint-every",
    "256",
    "--compile",
    "off",
    "--time-limit",
    "20",
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cli") / "run"
    assert main(["train", "fourroom", "--explore", "rle", "--out", str(path), *SMALL]) == 0
    return path


def test_train_writes_what_it_promises(run: Path) -> None:
    assert {path.name for path in run.iterdir()} >= {
        "config.json",
        "meta.json",
        "metrics.jsonl",
        "episodes.jsonl",
        "finished.json",
        "checkpoints",
        "artefacts",
    }
    config = json.loads((run / "config.json").read_text())
    assert config["environment"]["num_envs"] == 8
    assert config["rle"]["dimension"] == 4
    assert len((run / "metrics.jsonl").read_text().splitlines()) == 4
    assert [p.stem for p in sorted((run / "checkpoints").iterdir())] == [
        f"{256:012d}",
        f"{512:012d}",
    ]


def test_train_on_gymnasium(tmp_path: Path) -> None:
    arguments = ["train", "gym/CartPole-v1", "--explore", "none", "--out", str(tmp_path / "run")]
    assert main([*arguments, *SMALL]) == 0


def test_resume_of_a_finished_run(run: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["resume", str(run)]) == 0
    assert "finished" in capsys.readouterr().out


def test_eval(run: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["eval", str(run), "--episodes", "5", "--greedy"]) == 0
    assert "over 5 episodes" in capsys.readouterr().out
    assert len(json.loads((run / "eval.json").read_text())["scores"]) == 5


def test_earlier_evaluations_are_kept(run: Path) -> None:
    latest = run / "eval.json"
    results = []
    for episodes in ("2", "3", "3", "4"):
        assert main(["eval", str(run), "--episodes", episodes]) == 0
        results.append(latest.read_bytes())
    kept = sorted(path.name for path in run.glob("eval*") if path != latest)
    # Another test may have evaluated the run before these.
    texts = [(run / name).read_bytes() for name in kept]
    assert texts[-2:] == [results[0], results[1]]
    assert results[1] == results[2]
    assert len(json.loads(latest.read_text())["scores"]) == 4


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("tasks", "fourroom-sparse"),
        ("tasks", "control/<Task>"),
        ("strategies", "white-noise"),
        ("studies", "fourroom-ablations"),
    ],
)
def test_list(what: str, expected: str, capsys: pytest.CaptureFixture) -> None:
    assert main(["list", what]) == 0
    assert expected in capsys.readouterr().out


def test_help_and_version(capsys: pytest.CaptureFixture) -> None:
    assert main([]) == 0
    assert main(["--version"]) == 0
    assert "rle train TASK" in capsys.readouterr().out
    assert main(["train", "fourroom", "--help"]) == 0
    assert "--rle.dimension" in capsys.readouterr().out


def test_starting_does_not_import_what_only_some_verbs_need() -> None:
    """PyTorch's compiler alone takes longer than everything else; drawing and EnvPool are optional."""
    heavy = ["torch._dynamo", "matplotlib", "envpool", "mujoco", "stable_baselines3"]
    check = f"import sys, rle.cli; print([name for name in {heavy} if name in sys.modules])"
    found = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"


def test_help_without_a_task_says_how_to_see_the_settings(capsys: pytest.CaptureFixture) -> None:
    assert main(["train", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "--explore" in shown
    assert "`rle train fourroom --help`" in shown


def test_settings_may_be_named_with_their_section(tmp_path: Path) -> None:
    """As presets and messages write them; `--epochs` alone is the same setting."""
    small = ["--learner.rollout-steps", "8", "--environment.num-envs=2", "--total-steps", "16"]
    out = tmp_path / "run"
    assert main(["train", "fourroom", "--learner.epochs=3", *small, "--out", str(out)]) == 0
    config = json.loads((out / "config.json").read_text())
    assert config["learner"]["epochs"] == 3
    assert config["environment"]["num_envs"] == 2


def test_values_may_be_written_as_people_write_them(tmp_path: Path) -> None:
    small = ["--rollout-steps=8", "--num-envs=2", "--total-steps", "1.6e1", "--scale-reward=true"]
    out = tmp_path / "run"
    assert (
        main(["train", "fourroom-sparse", *small, "--learning-rate=1E-3", "--out", str(out)]) == 0
    )
    config = json.loads((out / "config.json").read_text())
    assert config["total_steps"] == 16
    assert config["learner"]["learning_rate"] == 0.001
    assert config["learner"]["scale_reward"] is True


def test_report(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["report", str(run), "--out", str(tmp_path / "report")]) == 0
    assert (tmp_path / "report" / "report.html").exists()
    # A second time, to catch a function hidden by the package of the same name.
    assert main(["report", str(run), "--out", str(tmp_path / "again")]) == 0


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("train fourroomm", "did you mean 'fourroom'?"),
        ("train gym/CartPol-v1", "CartPole-v1"),
        ("train fourroom --explore rlle", "did you mean 'rle'?"),
        ("train fourroom --preset papr", "did you mean 'paper'?"),
        ("train gym/CartPole-v1 --preset desktop", "is for fourroom, control/, atari/ and sp"),
        ("train control/Antt", "did you mean 'Ant'?"),
        ("train fourroom --minibatches 3", "does not divide"),
        ("train fourroom --num-envs 0", "num-envs is 0"),
        ("train fourroom --rle.dimension 0", "rle.dimension is 0"),
        ("train fourroom --rle.feature-update-rate -1", "feature-update-rate is -1"),
        ("train fourroom --learnin-rate 1", "did you mean '--learning-rate'?"),
        ("train fourroom --learning-rate abc", "--learning-rate is 'abc': give a number."),
        ("train fourroom --learning-rate inf", "learning-rate is inf: give a finite number"),
        ("train fourroom --learning-rate nan", "learning-rate is nan: give a finite number"),
        ("train fourroom --clip=-inf", "clip is -inf"),
        ("train fourroom --lr 1", "did you mean '--learning-rate'?"),
        ("train fourroom --gamma 1", "did you mean '--discount'?"),
        ("train fourroom --n-steps=1", "did you mean '--rollout-steps'?"),
        ("train fourroom --ent-coef 1", "did you mean '--entropy-coefficient'?"),
        ("train fourroom --vf-coef 1", "did you mean '--value-coefficient'?"),
        ("train fourroom --n-envs 1", "did you mean '--num-envs'?"),
        ("train fourroom --batch-size 1", "did you mean '--minibatches'?"),
        ("train fourroom --timesteps 1", "did you mean '--total-steps'?"),
        ("train fourroom --output x", "did you mean '--out'?"),
        ("train fourroom --algo rle", "did you mean '--explore'?"),
        ("train fourroom --rle.dimensions 8", "did you mean '--rle.dimension'?"),
        ("train fourroom --dimension 8", "did you mean '--rle.dimension'?"),
        ("train fourroom --explore none --dimension 8", "that --explore none does not use?"),
        ("train fourroom --seed x", "--seed is 'x': give a whole number."),
        ("train fourroom --seed", "--seed needs a value after it."),
        ("train fourroom --television 1", "--television needs 2 values after it."),
        ("train fourroom --time-limit soon", "'soon': give None or a whole number."),
        ("train fourroom --policy-hidden 64,64", "give whole numbers with spaces between them."),
        ("train fourroom --rle.feature-hidden 64,64", "give None or whole numbers with spaces"),
        (
            "train fourroom --compile yes",
            "--compile is 'yes': choose one of 'auto', 'on', 'fused', 'off'.",
        ),
        ("train fourroom sparse", "'sparse' is neither a setting nor a value of one"),
        ("train fourroom -seed 3", "'-seed' is neither a setting"),
        ("train --task fourroom", "the task comes without --task"),
        ("train fourroom --explore RLE", "did you mean 'rle'?"),
        ("train fourroom --explore ppo", "did you mean 'none'?"),
        ("train fourroom --explore noisynet", "did you mean 'noisy'?"),
        ("train CartPole-v1", "did you mean 'gym/CartPole-v1'?"),
        ("train Alien", "did you mean 'atari/Alien'?"),
        ("train Ant", "did you mean 'control/Ant'?"),
        ("train fourroom --rle.distribution mine:corners", "there is no module 'mine' in "),
        ("eval /no/such/run --episode 3", "did you mean '--episodes'?"),
        ("train fourroom --explore none --rle.dimension 2", "does not use"),
        ("train fourroom --device cuda:9", "not available"),
        ("train", "required: task"),
        ("trian", "did you mean 'train'?"),
        ("resume /no/such/run", "not a run directory"),
        ("eval /no/such/run", "not a run directory"),
        ("report /no/such/folder", "/no/such/folder"),
        ("study fourroom-spars", "did you mean 'fourroom-sparse'?"),
        ("study demo --workers 0", "workers is 0"),
        ("study demo --seeds 0", "seeds is 0"),
        ("check fourrom", "did you mean 'fourroom'?"),
        ("check fourroom --explore rlle", "did you mean 'rle'?"),
        ("check fourroom --step 3", "did you mean"),
        ("check fourroom --steps 0", "steps is 0"),
        ("check", "required: TASK|RUN"),
        ("bench nothing-like-it", "no task"),
        ("bench gym/CartPole-v1 --preset desktop", "is for fourroom, control/, atari/ and sp"),
        ("bench fourroom --seconds 0", "seconds is 0"),
        ("bench fourroom --epoch 3", "did you mean '--epochs'?"),
        ("list everything", "no list of 'everything'"),
        ("study demo --total-steps 0", "total-steps is 0"),
        ("study demo --methods rl", "did you mean 'rle'?"),
        ("train fourroom --out /proc/nowhere/run --compile off", "cannot be created"),
        ("study demo --out /proc/nowhere/study", "cannot be created"),
    ],
)
def test_bad_input_is_one_sentence_and_status_two(
    command: str, sentence: str, capsys: pytest.CaptureFixture
) -> None:
    assert main(command.split()) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert "Traceback" not in error
    assert error.count("\n") == 1


def test_a_folder_with_another_run_is_left_alone(run: Path, capsys: pytest.CaptureFixture) -> None:
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    assert main(["train", "fourroom", "--out", str(run), *SMALL]) == 2
    assert "already holds a run" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("damage", ["", "{", '{"task": 3, "colour": 1}', "[]"])
def test_a_damaged_configuration_is_one_sentence(
    damage: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    (tmp_path / "config.json").write_text(damage)
    assert main(["resume", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["--version"],
        ["list", "tasks"],
        ["list", "strategies"],
        ["list", "studies"],
        ["list", "runs", "tests/runs/data"],
        ["train", "fourrom"],
        ["train", "fourroom", "--explore", "rlee"],
        ["train", "fourroom", "--learning-rat", "1"],
        ["train", "fourroom", "--learning-rate", "fast"],
        ["train", "fourroom", "--epochs", "0"],
        ["train", "fourroom", "--init-from", "no-such-run@512"],
        ["study", "nothing-like-it"],
        ["study", "status", "no-such-folder"],
        ["resume", "no-such-run"],
        ["eval", "no-such-run"],
        ["report", "no-such-folder"],
        ["check", "fourrom"],
        ["check", "fourroom", "--learning-rate", "fast"],
        ["trian"],
    ],
    ids=" ".join,
)
def test_answers_do_not_wait_for_pytorch(arguments: list[str]) -> None:
    script = (
        f"import sys\nfrom rle.cli import main\nmain({arguments!r})\nprint('torch' in sys.modules)"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert found.stdout.splitlines()[-1] == "False", found.stdout + found.stderr
