"""One rank of two: trains, saves, loads, and writes down what it has. See test_rsl_rl_ranks.py."""

from __future__ import annotations

import copy
import os
import sys
from pathlib import Path
from typing import Any

import torch
from rsl_rl.runners import OnPolicyRunner
from torch import distributed

from tests.plugins.rsl_worlds import Line, configuration

SETTINGS: dict[str, Any] = {"dimension": 3, "coefficient": 1.0, "feature_update_rate": 0.1}
KINDS: dict[str, dict[str, Any]] = {
    "paper": SETTINGS,
    "whitened": SETTINGS | {"whitened_features": 3, "rarity": 1.0},
}


class GlooRunner(OnPolicyRunner):
    """rsl_rl's, without the cards that it asks for where there are several ranks."""

    def _configure_multi_gpu(self) -> None:
        self.gpu_world_size = int(os.environ["WORLD_SIZE"])
        self.gpu_global_rank = self.gpu_local_rank = int(os.environ["RANK"])
        self.is_distributed = True
        self.cfg["multi_gpu"] = {
            "global_rank": self.gpu_global_rank,
            "local_rank": self.gpu_local_rank,
            "world_size": self.gpu_world_size,
        }


def runner(rank: int, settings: dict[str, Any]) -> Any:
    # Ranks see different places, and their networks start differently.
    torch.manual_seed(rank)
    return GlooRunner(Line(4, 0.5 * rank), configuration(8, settings, normalise=True))


def held(alg: Any) -> dict[str, Any]:
    state = alg.bonus.state_dict()
    content = {
        "critic": alg.critic.mlp.state_dict(),
        "features": state["features"],
        "random_reward": state["random_reward"],
        "scale": state["scaler"]["moments"],
        "z": state["latents"]["z"],
    }
    return copy.deepcopy(content)


def main(folder: Path, settings: dict[str, Any]) -> None:
    torch.set_num_threads(1)
    rank = int(os.environ["RANK"])
    size = int(os.environ["WORLD_SIZE"])
    store = f"file://{folder / 'store'}"
    distributed.init_process_group("gloo", init_method=store, rank=rank, world_size=size)
    run = runner(rank, settings)
    seen: list[torch.Tensor] = []
    process = run.alg.process_env_step

    def watched(*args: Any) -> None:
        process(*args)
        seen.append(run.alg.bonus.last_features.clone())

    run.alg.process_env_step = watched
    run.learn(3)
    trained = held(run.alg)
    if rank == 0:
        run.save(str(folder / "model.pt"))
    distributed.barrier()
    again = runner(rank + 10, settings)
    again.load(str(folder / "model.pt"))
    loaded = held(again.alg)
    again.learn(1)
    content = {"trained": trained, "loaded": loaded, "went_on": held(again.alg)}
    # The first rollout's are forgotten, see `RLEPPO.update`.
    content["seen"] = torch.stack(seen[8:])
    torch.save(content, folder / f"rank{rank}.pt")
    distributed.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]), KINDS[sys.argv[2]])
