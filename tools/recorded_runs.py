"""Does a change leave what runs compute as it was? Records short runs, and compares with a record.

    python -m tools.recorded_runs record FILE [NAME...]
    python -m tools.recorded_runs compare FILE [NAME...]

Record before a change and compare after it, on one machine: other processors round differently, so
records are not for keeping. Every metric of every iteration, every episode, and the networks' parameters
at the end must come out bit for bit.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import safetensors

FOURROOM = ("fourroom-sparse", "--total-steps", "20480")
SMALL_GAME = (
    *("atari/Alien", "--total-steps", "512", "--num-envs", "8", "--rollout-steps", "16"),
    *("--precision", "float32"),
)
STRATEGIES = ("none", "rle", "rnd", "noisy", "white-noise", "random", "rle+rnd", "rle+noisy")
FOLLOWING = (
    *("--rle.feature-hidden", "None", "--rle.feature-update-rate", "0.005"),
    *("--rle.standardise", "True", "--rle.condition-on-bonus", "True"),
)

RUNS: dict[str, tuple[str, ...]] = {
    **{f"fourroom-{name}": (*FOURROOM, "--explore", name) for name in STRATEGIES},
    "fourroom-compiled-none": (*FOURROOM, "--explore", "none", "--compile", "on"),
    "fourroom-compiled-rle": (*FOURROOM, "--explore", "rle", "--compile", "on"),
    "fourroom-compiled-rle+rnd": (*FOURROOM, "--explore", "rle+rnd", "--compile", "on"),
    "fourroom-following": (*FOURROOM, "--explore", "rle", *FOLLOWING),
    "fourroom-summed": (*FOURROOM, "--explore", "rle", "--rle.separate-streams", "False"),
    "noisytv-rle": ("fourroom-noisytv", "--total-steps", "12288", "--explore", "rle"),
    "gym-rle": ("gym/CartPole-v1", "--total-steps", "20480", "--explore", "rle"),
    "gym-none": ("gym/Pendulum-v1", "--total-steps", "12288", "--explore", "none"),
    "control-rle": ("control/Cartpole", "--total-steps", "8192", "--explore", "rle"),
    "control-compiled-rle": (
        *("control/Cartpole", "--total-steps", "8192", "--explore", "rle", "--compile", "on"),
    ),
    "ballbalance-rle": ("control/BallBalance", "--total-steps", "8192", "--explore", "rle"),
    "envpool-rle": ("envpool/MiniGrid-DoorKey-8x8-v0", "--total-steps", "12288"),
    "atari-rle": (*SMALL_GAME, "--explore", "rle"),
    "atari-none": (*SMALL_GAME, "--explore", "none"),
}
"""What is trained; uncompiled unless it says so."""


def result_of(name: str) -> dict[str, Any]:
    """Everything a run computed."""
    arguments = list(RUNS[name])
    if "--compile" not in arguments:
        arguments += ["--compile", "off"]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        command = "import sys; from rle.cli import main; sys.exit(main(sys.argv[1:]))"
        subprocess.run(
            [sys.executable, "-c", command, "train", *arguments, "--seed", "3", "--out", str(out)],
            check=True,
            capture_output=True,
        )
        metrics = [json.loads(line) for line in (out / "metrics.jsonl").open()]
        for line in metrics:
            del line["seconds"]
        episodes = [json.loads(line) for line in (out / "episodes.jsonl").open()]
        checkpoint = max((out / "checkpoints").glob("*.safetensors"))
        return {"metrics": metrics, "episodes": episodes, "network": _fingerprint(checkpoint)}


def _fingerprint(checkpoint: Path) -> str:
    """Of the networks' parameters, wherever in the checkpoint's tree they stand."""
    digest = hashlib.sha256()
    with safetensors.safe_open(checkpoint, framework="pt") as file:
        parameters = {
            name.rpartition("/network/")[2]: file.get_tensor(name)
            for name in file.keys()  # noqa: SIM118
            if "/network/" in name
        }
    for name in sorted(parameters):
        digest.update(name.encode() + parameters[name].contiguous().numpy().tobytes())
    return digest.hexdigest()


def main() -> int:
    """Record or compare; returns the number of runs that came out differently."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("verb", choices=("record", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(RUNS))
    arguments = parser.parse_args()
    recorded = json.loads(arguments.file.read_text()) if arguments.file.exists() else {}
    different = 0
    for name in arguments.names or RUNS:
        result = json.loads(json.dumps(result_of(name)))
        if arguments.verb == "record":
            recorded[name] = result
            arguments.file.write_text(json.dumps(recorded))
            print(f"recorded {name}", flush=True)
            continue
        parts = [part for part in result if recorded[name][part] != result[part]]
        different += bool(parts)
        print(f"{name}: {'DIFFERENT ' + ', '.join(parts) if parts else 'equal'}", flush=True)
    return different


if __name__ == "__main__":
    sys.exit(main())
