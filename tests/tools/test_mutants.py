"""The mutation tester's bookkeeping: what is tried, and what need not be tried again."""

from pathlib import Path

import pytest
from tools.mutants import Mutant, Outcome, Part, Record, relevant_tests, sampled
from tools.mutations import mutations

from tools import mutants


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with two files and two tests, in place of this one."""
    files = {
        "src/short.py": "x = 1 + 2\n",
        "src/long.py": "\n".join(f"x{n} = {n}" for n in range(40)),
        "tests/test_long.py": "first",
        "tests/test_other.py": "second",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    return tmp_path


PART = Part("src/*.py", 20, ("tests/test_*.py",))


def test_the_sample_depends_on_the_seed_and_on_each_file_alone(project: Path) -> None:
    first = sampled(PART, 1.0, 0)
    assert sampled(PART, 1.0, 0) == first
    assert sampled(PART, 1.0, 1) != first
    # 43 mistakes are possible, 20 asked for: 20 · 40 / 43 in the long file, at least 3 in the short.
    assert [mutant.path.name for mutant in first] == ["long.py"] * 19 + ["short.py"] * 3
    assert len(set(first)) == 22
    (project / "src/short.py").write_text("x = 1\n")
    assert set(first[:19]) < set(sampled(PART, 1.0, 0))
    assert len(sampled(PART, 100.0, 0)) == 41


def test_relevant_tests_the_files_name_come_first(project: Path) -> None:
    names = ["tests/test_long.py", "tests/test_other.py"]
    assert relevant_tests(PART, None) == names
    assert relevant_tests(PART, project / "src/other.py") == names[::-1]


def test_only_what_may_have_changed_is_tried_again(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = {"x = 2 + 2\n": "tests/test_long.py::test_it", "x = 1 - 2\n": ""}
    tried = []

    def run_tests(tests: list[str], mutant: Mutant, limit: float) -> Outcome:
        by = answers[mutant.source]
        tried.append(by)
        return Outcome(bool(by), by, 0.0, [])

    monkeypatch.setattr(mutants, "run_tests", run_tests)
    path = project / "src/short.py"
    both = [
        Mutant(path, m) for m in mutations(path.read_text()) if m.apply("x = 1 + 2\n") in answers
    ]

    def results() -> list[bool]:
        # From the file each time, as a command that was stopped and started again.
        record = Record(project / "results.jsonl")
        tests = relevant_tests(PART, path)
        return [record.result(mutant, tests, 1.0)["noticed"] for mutant in both]

    assert results() == [True, False]
    assert results() == [True, False]
    assert tried == ["tests/test_long.py::test_it", ""]
    # Another test may notice what none did; what was noticed elsewhere still is.
    (project / "tests/test_other.py").write_text("more")
    assert results() == [True, False]
    assert tried[2:] == [""]
    # The test that noticed may no longer.
    (project / "tests/test_long.py").write_text("less")
    results()
    assert tried[3:] == ["tests/test_long.py::test_it", ""]
