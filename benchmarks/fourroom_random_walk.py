"""How much of FourRoom uniformly random actions cover: what any exploration must be held against.

python benchmarks/fourroom_random_walk.py
"""

import torch

from rle.config import EnvironmentConfig
from rle.tasks.registry import make_task

NUM_ENVS = 32
STEPS = 2_502_656 // NUM_ENVS
EARLY = 500_000 // NUM_ENVS
SEEDS = 5


def main() -> None:
    for seed in range(SEEDS):
        config = EnvironmentConfig(num_envs=NUM_ENVS, time_limit=1000)
        task = make_task("fourroom", config, torch.device("cpu"))
        task.reset(seed)
        source = torch.Generator().manual_seed(seed)
        early = 0.0
        for step in range(STEPS):
            if step % 128 == 0:
                task.draw(128)
            task.step(torch.randint(0, 4, (NUM_ENVS,), generator=source))
            if step == EARLY:
                early = task.measures()["coverage"]
        print(
            f"seed {seed}: {early:.3f} after 500 k steps, {task.measures()['coverage']:.3f} at the end"
        )


if __name__ == "__main__":
    main()
