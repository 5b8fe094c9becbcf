"""From a name to one of the suite's tasks."""

from __future__ import annotations

from rle.tasks.base import Task
from rle.tasks.suite import Wanted
from rle.tasks.suites.sparse import ENGINES, parsed


def make_sparse_task(wanted: Wanted) -> Task:
    """Build the task; what it runs on is imported here."""
    config, device = wanted.config, wanted.device
    family, numbers = parsed(wanted.name)
    if family in ("DeepSea", "Maze"):
        from rle.tasks.sparse.deepsea import deep_sea
        from rle.tasks.sparse.maze import maze
        from rle.tasks.sparse.table_world import TableWorld

        rules = deep_sea(*numbers) if family == "DeepSea" else maze(*numbers)
        return TableWorld(rules, config.num_envs, config.time_limit, device)
    if family == "PointMaze":
        from rle.tasks.sparse.pointmaze import PointMaze

        layout = wanted.name.partition("-")[2]
        return PointMaze(layout, config.num_envs, config.time_limit, device)
    if family == "FourRoom":
        from rle.tasks.fourroom import FourRoom
        from rle.tasks.fourroom_plan import TIME_LIMIT

        limit = TIME_LIMIT if config.time_limit is None else config.time_limit
        return FourRoom("fourroom-sparse", config.num_envs, limit, device=device)
    if family == "AntFree":
        from rle.tasks.sparse.antfree import AntFree

        return AntFree(wanted)
    from rle.tasks.sparse.minigrid import MiniGridTask
    from rle.tasks.sparse.successes import SuccessTask

    engine = ENGINES[wanted.name]
    kind = MiniGridTask if engine.env_id.startswith("MiniGrid") else SuccessTask
    return kind(engine, wanted)
