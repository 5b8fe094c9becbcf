"""What one run takes: read from texts and files, and what a machine without Ray makes of it."""

from pathlib import Path

import pytest

from rle.errors import UsageError
from rle.studies import find_study, running
from rle.studies.resources import Resources, parse_memory
from rle.studies.running import StudyResult, study
from tests.studies.test_parts import STUDY


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2GB", 2 * 10**9),
        ("1.5 gb", 15 * 10**8),
        ("512MiB", 512 * 2**20),
        ("1TiB", 2**40),
        ("3kB", 3000),
        ("7B", 7),
    ],
)
def test_memory(text: str, size: int) -> None:
    assert parse_memory(text) == size


@pytest.mark.parametrize("text", ["", "2", "GB", "2XB", "0GB", "-1GB", "1e3GB", "2G", "iB", "2IB"])
def test_no_memory(text: str) -> None:
    with pytest.raises(UsageError, match=r"^memory-per-run is .*such as 2GB\.$"):
        parse_memory(text)


def declared(folder: Path, *lines: str) -> Path:
    path = folder / "resources.toml"
    path.write_text("\n".join(lines) + STUDY)
    return path


def test_from_a_file(tmp_path: Path) -> None:
    lines = ("cpus_per_run = 2", "gpus_per_run = 0.25", 'memory_per_run = "2GB"')
    found = find_study(declared(tmp_path, *lines))
    assert found.resources == Resources(2, 0.25, 2 * 10**9)
    assert str(found.resources) == "2 CPUs, 0.25 GPUs and 2 GB of memory"
    assert find_study(declared(tmp_path)).resources == Resources()


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('cpus_per_run = "2"', "cpus_per_run is '2': give a number"),
        ("cpus_per_run = true", "cpus_per_run is True: give a number"),
        ("cpus_per_run = 0", "cpus-per-run is 0: give a finite number above 0"),
        ("gpus_per_run = 1.5", "gpus-per-run is 1.5: above 1, give a whole number"),
        ("memory_per_run = 2", "memory_per_run is 2: give a text"),
        ('memory_per_run = "much"', "memory-per-run is 'much'"),
    ],
)
def test_mistakes_in_a_file(line: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=rf"resources\.toml.*{sentence}"):
        find_study(declared(tmp_path, line))


@pytest.mark.parametrize(
    ("given", "workers"),
    [
        ({}, 8 // 2),  # as the file says
        ({"cpus_per_run": 4}, 2),
        ({"cpus_per_run": 0.5, "memory_per_run": "1GB"}, 10),  # 16 by the cores, 10 by the memory
        ({"memory_per_run": "30GB"}, 1),  # at least one: who asked for it will see
        ({"workers": 3}, 3),
    ],
)
def test_how_many_run_side_by_side_here(
    given: dict[str, object], workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "cores", lambda: 8)
    monkeypatch.setattr(running, "memory_bytes", lambda: 10 * 10**9)
    asked = []
    monkeypatch.setattr(
        running,
        "run_all",
        lambda *given: asked.append(given[2]) or StudyResult(tmp_path, (), (), 0.0, 0),
    )
    study(declared(tmp_path, "cpus_per_run = 2"), out=tmp_path, **given)
    assert asked == [workers]
