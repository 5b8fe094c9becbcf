"""The house: data flows one way, and the package works without its extras."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
EXTRAS = ("stable_baselines3", "tensorboard", "ray", "envpool", "mujoco", "wandb", "rsl_rl")


def test_imports_follow_the_contract() -> None:
    lint = Path(sys.executable).with_name("lint-imports")
    result = subprocess.run(
        [lint, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout


def test_imports_without_extras() -> None:
    block = "\n".join(f"sys.modules[{name!r}] = None" for name in EXTRAS)
    script = f"import sys\n{block}\nimport rle, rle.cli, rle.report\nprint(rle.__version__)"
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


def test_tensorboard_missing_says_what_installs_it(tmp_path: Path) -> None:
    script = f"""
import sys
sys.modules["tensorboard"] = sys.modules["torch.utils.tensorboard"] = None
from rle.cli import main
sys.exit(main(["train", "fourroom", "--total-steps", "4096", "--tensorboard", "True",
               "--compile", "off", "--out", {str(tmp_path / "run")!r}]))
"""
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert result.returncode == 2
    assert "pip install 'random-latent-exploration[tensorboard]'" in result.stderr


def test_nothing_reads_outside_the_project() -> None:
    outside = "../" + "shared"
    for path in [*ROOT.glob("src/**/*.py"), *ROOT.glob("tests/**/*.py")]:
        assert outside not in path.read_text(), path
