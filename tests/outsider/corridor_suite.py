"""A suite as a stranger would bring it: one file, tasks on tensors, nothing of the package changed."""

import torch

from rle.tasks import Discrete, Step, Suite, Task, TaskSpec

LENGTHS = {"short": 5, "long": 50}


class Corridor(Task):
    """Cells in a row, from the middle one to a reward of 1 at the right end."""

    def __init__(self, length, num_envs, time_limit, device):
        self.spec = TaskSpec(num_envs, (1,), torch.float32, Discrete(2))
        self.length, self.time_limit, self.device = length, time_limit, device
        self.visited = torch.zeros(length, dtype=torch.bool, device=device)

    def reset(self, seed):
        self.cell = torch.full((self.spec.num_envs,), self.length // 2, device=self.device)
        self.clock = torch.zeros_like(self.cell)
        return self.view(self.cell)

    def view(self, cell):
        return (2 * cell / (self.length - 1) - 1)[:, None]

    def step(self, action):
        cell = (self.cell + 2 * action - 1).clamp(0, self.length - 1)
        self.visited[cell] = True
        self.clock = self.clock + 1
        terminated = cell == self.length - 1
        truncated = (self.clock >= self.time_limit) & ~terminated
        over = terminated | truncated
        self.cell = torch.where(over, self.length // 2, cell)
        self.clock = torch.where(over, 0, self.clock)
        return Step(
            terminated.float(), terminated, truncated, self.view(cell), self.view(self.cell)
        )

    def measures(self):
        return {"coverage": float(self.visited.float().mean())}

    def state_dict(self):
        return {"cell": self.cell, "clock": self.clock, "visited": self.visited.clone()}

    def load_state_dict(self, state):
        self.cell, self.clock = state["cell"].to(self.device), state["clock"].to(self.device)
        self.visited = state["visited"].to(self.device)


def build(wanted):
    config, length = wanted.config, LENGTHS[wanted.name]
    limit = config.time_limit or config.env_kwargs.get("patience", 4) * length
    return Corridor(length, config.num_envs, limit, wanted.device)


SUITE = Suite(
    tasks={name: f"a corridor of {length} cells" for name, length in LENGTHS.items()},
    build=build,
    settings={"total_steps": 20_000, "policy_hidden": (16,), "rle.dimension": 2},
    takes=lambda name: ("env_kwargs",),
)
