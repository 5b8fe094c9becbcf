"""Videos of trained agents."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from rle.cli import main
from rle.errors import UsageError
from rle.explore.mixture import Mixture
from rle.presets import preset_config
from rle.runs.clip import Clip, score_text
from rle.runs.film import film
from rle.runs.train import train_config
from rle.settings import replace
from tests.runs.test_images import atari_config

av = pytest.importorskip("av")


@pytest.fixture(scope="module", params=["rle", "none"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    config = atari_config("Breakout", request.param, total_steps=64)
    return train_config(config, tmp_path_factory.mktemp("film") / request.param, quiet=True).path


def test_one_clip_per_latent_at_full_rate(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="seconds is inf: give a finite number above 0"):
        film(run, tmp_path, seconds=float("inf"))
    films = film(run, tmp_path, clips=2, seconds=0.5)
    kind = "z" if run.name == "rle" else "clip"
    assert [clip.path.name for clip in films] == [f"{kind}-0.mp4", f"{kind}-1.mp4"]
    pictures = []
    for clip in films:
        with av.open(str(clip.path)) as video:
            assert video.streams.video[0].average_rate == 60
            frames = [frame.to_ndarray(format="rgb24") for frame in video.decode(video=0)]
        # Half a second is 30 frames; the last step may have up to three more, the first frame is
        # the start.
        assert 30 <= len(frames) <= 34
        assert frames[0].shape == (630, 810, 3)
        pictures.append(frames[-1])
    # Another z is another picture beside the game.
    assert (pictures[0] != pictures[1]).any()


def test_robots_are_filmed_too(tmp_path: Path) -> None:
    small = {"num_envs": 2, "rollout_steps": 8, "minibatches": 2, "total_steps": 32}
    config = replace(preset_config("control/BallBalance", "rle"), small | {"compile": "off"})
    trained = train_config(config, tmp_path / "run", quiet=True).path
    try:
        (clip,) = film(trained, tmp_path / "film", clips=1, seconds=0.2)
    except UsageError as error:
        pytest.skip(str(error))
    with av.open(str(clip.path)) as video:
        assert video.streams.video[0].average_rate == 25
        frames = [frame.to_ndarray(format="rgb24") for frame in video.decode(video=0)]
    assert len(frames) == 6
    # 640 x 480 at the height of 630, and the panel of 330.
    assert frames[0].shape == (630, 1170, 3)


def test_the_bonus_beside_z_is_that_of_z(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = atari_config("Breakout", "rnd+rle", total_steps=96)
    trained = train_config(config, tmp_path / "run", quiet=True).path
    bonuses = torch.tensor([[7.0, 3.0]])  # RND's and RLE's
    monkeypatch.setattr(Mixture, "bonus", lambda *_: bonuses)
    shown: list[float | None] = []
    monkeypatch.setattr(Clip, "write", lambda _, pictures, moment: shown.append(moment.bonus))
    film(trained, tmp_path / "film", clips=1, seconds=0.1)
    assert shown[0] is None
    assert set(shown[1:]) == {3.0}


@pytest.mark.parametrize(
    ("score", "text"),
    [(0.9300000072, "0.93"), (21.0, "21"), (-0.001, "0"), (1234567.0, "1,234,567")],
)
def test_scores_have_the_decimals_they_need(score: float, text: str) -> None:
    assert score_text(score) == text


def test_a_file_in_the_place_of_the_folder(run: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(UsageError, match=r"\(File exists\): choose another --video"):
        film(run, tmp_path / "taken")


def test_command(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["eval", str(run), "--video", str(tmp_path), "--clips", "1", "--seconds", "0.2"]) == 0
    )
    assert ".mp4: score" in capsys.readouterr().out


def test_clips_that_are_there_are_left_alone(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kind = "z" if run.name == "rle" else "clip"
    there = tmp_path / f"{kind}-1.mp4"
    there.write_bytes(b"mine")
    command = ["eval", str(run), "--video", str(tmp_path), "--clips", "2", "--seconds", "0.1"]
    assert main(command) == 2
    error = capsys.readouterr().err
    assert f"{there} would be overwritten: choose another --video, or --overwrite." in error
    assert [path.name for path in tmp_path.iterdir()] == [there.name]  # not even the first was made
    assert there.read_bytes() == b"mine"
    film(run, tmp_path, clips=1, seconds=0.1)  # which is not in the way
    assert main([*command, "--overwrite"]) == 0
    assert there.read_bytes() != b"mine"


def test_without_pyav_the_command_that_installs_it(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(UsageError, match=r"random-latent-exploration\[video\]"):
        film(run, tmp_path)
