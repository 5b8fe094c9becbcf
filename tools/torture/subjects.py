"""What is tortured: runs of less than a second that checkpoint all the time, and a study of two."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

TINY = (
    *("--num-envs", "4", "--rollout-steps", "16", "--epochs", "1", "--minibatches", "1"),
    *("--policy-hidden", "16", "--value-hidden", "16", "16", "--compile", "off", "--threads", "1"),
)
FOURROOM = (
    *("train", "fourroom", *TINY, "--rle.feature-hidden", "16", "--time-limit", "40"),
    *("--total-steps", "2560", "--checkpoint-every", "256"),
)
BALLBALANCE = (
    *("train", "control/BallBalance", *TINY, "--total-steps", "1280", "--checkpoint-every", "128"),
)
CARTPOLE = (
    *("train", "gym/CartPole-v1", *TINY, "--total-steps", "2560", "--checkpoint-every", "256"),
)
STUDY = """\
name = "tiny"
tasks = ["fourroom"]
seeds = 2
total_steps = 1280

[[methods]]
name = "RLE"
explore = "rle"
[methods.settings]
num_envs = 4
rollout_steps = 16
epochs = 1
minibatches = 1
policy_hidden = [16]
value_hidden = [16, 16]
"rle.feature_hidden" = [16]
time_limit = 40
checkpoint_every = 128
compile = "off"
threads = 1
"""


@dataclass(frozen=True)
class Subject:
    """A run or a study."""

    name: str
    train: tuple[str, ...]
    """How it begins, without `--out`; empty: it is the study."""

    @property
    def is_study(self) -> bool:
        """Whether it has several runs, in processes of their own."""
        return not self.train

    def command(self, out: Path) -> list[str]:
        """What begins it, or goes on with it, whatever there is at `out`."""
        if self.is_study:
            file = out.with_name("tiny.toml")
            file.write_text(STUDY)
            return ["study", str(file), "--out", str(out), "--workers", "2"]
        if (out / "config.json").exists():
            return ["resume", str(out)]
        return [*self.train, "--out", str(out)]

    def runs(self, out: Path) -> list[Path]:
        """Its run directories."""
        if not self.is_study:
            return [out]
        return sorted(path.parent for path in out.rglob("config.json"))


SUBJECTS = {
    subject.name: subject
    for subject in (
        Subject("fourroom", FOURROOM),
        Subject("ballbalance", BALLBALANCE),
        Subject("cartpole", CARTPOLE),
        Subject("study", ()),
    )
}
