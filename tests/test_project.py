"""What runs elsewhere, on GitHub and before a commit, runs what the Makefile has."""

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parent.parent
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def test_the_workflow_makes_every_part_on_the_oldest_and_the_newest_python() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text())
    job = workflow["jobs"]["make"]
    commands = [step["run"].split() for step in job["steps"] if "run" in step]
    assert {program for program, *_ in commands} == {"make"}
    made = {target for _, *targets in commands for target in targets}
    assert {"lint", "format", "types", "docs", "tests", "check-build"} <= made <= TARGETS
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    supported = re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"]))
    assert job["strategy"]["matrix"]["python"] == [supported[0], supported[-1]]


def test_hooks_before_a_commit_run_the_installed_tools() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    (local,) = [each for each in hooks if each["repo"] == "local"]
    programs = [hook["entry"].split()[0] for hook in local["hooks"]]
    assert programs == [".venv/bin/ruff", ".venv/bin/ruff", ".venv/bin/mypy"]
