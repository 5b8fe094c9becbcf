"""The house: data flows one way, and the package works without its extras."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXTRAS = (
    *("stable_baselines3", "tensorboard", "ray", "envpool", "mujoco", "wandb", "trackio", "rsl_rl"),
    "jax",
)


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


@pytest.mark.parametrize("sink", ["tensorboard", "wandb", "trackio"])
def test_a_missing_sink_says_what_installs_it(sink: str, tmp_path: Path) -> None:
    script = f"""
import sys
sys.modules[{sink!r}] = sys.modules["torch.utils.tensorboard"] = None
from rle.cli import main
sys.exit(main(["train", "fourroom", "--total-steps", "4096", "--sinks", {sink!r},
               "--compile", "off", "--out", {str(tmp_path / "run")!r}]))
"""
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert result.returncode == 2
    assert f"pip install 'random-latent-exploration[{sink}]'" in result.stderr
    assert not (tmp_path / "run").exists()


def test_the_package_names_no_place_on_a_disk() -> None:
    """It reads what it is given and what it brings along: no absolute path, and none that climbs."""
    place = re.compile(r"(/|~/)\w+/|\.\./")
    for path in ROOT.glob("src/**/*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert not place.match(node.value), f"{path}:{node.lineno}"


def test_what_the_package_brings_along_is_installed() -> None:
    """Every file that is not a module is named in pyproject.toml: else only a checkout would have it."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    patterns = settings["tool"]["setuptools"]["package-data"]
    installed = {
        path
        for package, globs in patterns.items()
        for pattern in globs
        for path in (ROOT / "src" / package.replace(".", "/")).glob(pattern)
    }
    present = {
        path
        for path in (ROOT / "src" / "rle").rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc", ".md")
    }
    assert present == installed
