"""The method can be lifted out: it needs PyTorch, and nothing else that this package needs."""

import ast
import subprocess
import sys
from pathlib import Path

from rle import core

OTHERS = ("gymnasium", "tyro", "safetensors", "rich", "matplotlib", "jinja2", "envpool", "mujoco")


def output_of(script: str) -> str:
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_core_imports_nothing_else() -> None:
    missing = "\n".join(f"sys.modules[{name!r}] = None" for name in OTHERS)
    ours = output_of(
        f"import sys\n{missing}\nimport rle.core\n"
        "print(*(name for name in sys.modules if name.partition('.')[0] == 'rle'))"
    ).split()
    allowed = {"rle", "rle.errors", "rle.environments", "rle.lazy"}
    assert {name for name in ours if not name.startswith("rle.core")} == allowed


def test_the_core_imports_no_numpy_of_its_own() -> None:
    """PyTorch may import it: only the source tells."""
    allowed = {*sys.stdlib_module_names, "torch", "rle"}
    for path in Path(core.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            assert {name.partition(".")[0] for name in names} <= allowed, path


def test_gymnasium_knows_our_environments_whichever_is_imported_first() -> None:
    make = "print(gymnasium.make('rle/FourRoom-v0').spec.max_episode_steps)"
    assert output_of(f"import rle, gymnasium; {make}") == "1000\n"
    assert output_of(f"import gymnasium, rle; {make}") == "1000\n"
    # Importing the one does not import the other.
    assert output_of("import sys, rle; print('gymnasium' in sys.modules)") == "False\n"
