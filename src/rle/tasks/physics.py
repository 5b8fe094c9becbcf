"""MuJoCo: how it is imported, and its pictures without a screen."""

from __future__ import annotations

import ctypes.util
import os
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from rle.errors import UsageError
from rle.tasks.base import Picture

PICTURE_WIDTH = 640
PICTURE_HEIGHT = 480


def import_mujoco() -> Any:
    """Import MuJoCo, with an off-screen renderer where there is no screen, or say what is missing."""
    screen = "DISPLAY" in os.environ or "WAYLAND_DISPLAY" in os.environ
    if sys.platform == "linux" and not screen and ctypes.util.find_library("EGL"):
        # Read by MuJoCo once, when it is imported. Its own default needs a screen.
        os.environ.setdefault("MUJOCO_GL", "egl")
    try:
        import mujoco
        import mujoco.rollout
    except ImportError as error:
        raise UsageError(
            "BallBalance needs MuJoCo, which is not installed: "
            'pip install "random-latent-exploration[control]".'
        ) from error
    except (AttributeError, RuntimeError) as error:
        # What MuJoCo and PyOpenGL raise if the renderer asked for is unknown or not there.
        raise UsageError(
            f"MuJoCo cannot be imported with MUJOCO_GL={os.environ.get('MUJOCO_GL')}: "
            f"set it to egl, which needs libegl1, or to disable."
        ) from error
    return mujoco


class Painter:
    """Pictures of the model's states, drawn by MuJoCo without a screen."""

    def __init__(self, model: Any) -> None:
        self._mujoco = import_mujoco()
        self._model = model
        self._data = self._mujoco.MjData(model)
        try:
            self._renderer = self._mujoco.Renderer(model, PICTURE_HEIGHT, PICTURE_WIDTH)
        # MuJoCo's and PyOpenGL's own errors, AttributeError and ImportError have all been seen.
        except Exception as error:
            raise UsageError(
                "drawing BallBalance needs OpenGL: on a machine without a screen, "
                "apt-get install libegl1 and set MUJOCO_GL=egl before Python starts."
            ) from error

    def paint(self, state: npt.NDArray[np.float64]) -> Picture:
        """uint8 `[480, 640, 3]` of a full physics state `[state_size]`."""
        kind = self._mujoco.mjtState.mjSTATE_FULLPHYSICS.value
        self._mujoco.mj_setState(self._model, self._data, state, kind)
        self._mujoco.mj_forward(self._model, self._data)
        self._renderer.update_scene(self._data, camera="view")
        picture: Picture = self._renderer.render()
        return picture

    def close(self) -> None:
        """Give the graphics memory back."""
        self._renderer.close()
