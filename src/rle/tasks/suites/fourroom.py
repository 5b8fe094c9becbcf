"""FourRoom: three tasks in one grid world."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rle.tasks.suite import Suite, Wanted, register

if TYPE_CHECKING:
    from rle.tasks.base import Task

GYMNASIUM_IDS = {
    "fourroom": "rle/FourRoom-v0",
    "fourroom-sparse": "rle/FourRoomSparse-v0",
    "fourroom-noisytv": "rle/FourRoomNoisyTV-v0",
}


def _build(wanted: Wanted) -> Task:
    from rle.tasks.fourroom import FourRoom
    from rle.tasks.fourroom_plan import TIME_LIMIT

    config = wanted.config
    limit = TIME_LIMIT if config.time_limit is None else config.time_limit
    return FourRoom(wanted.name, config.num_envs, limit, config.television, wanted.device)


SUITE = register(
    Suite(
        name="fourroom",
        bare=True,
        tasks={
            "fourroom": "51 x 51 grid, four rooms, no reward: pure exploration",
            "fourroom-sparse": "the same with reward 1 at the far corner",
            "fourroom-noisytv": "the same with a 2 x 2 square of random observations",
        },
        build=_build,
        takes=lambda name: ("television",) if name == "fourroom-noisytv" else (),
        images=False,
        continuous=False,
        pays=lambda name: name == "fourroom-sparse",
        judged=lambda name: "success" if name == "fourroom-sparse" else "coverage",
        gymnasium_id=GYMNASIUM_IDS.get,
    )
)
