"""BallBalance: a ball to be kept in the middle of a plate on three servo-driven legs, in MuJoCo.

The model is `assets/ballbalance.xml`. `BallBalanceWorld` holds the rules, written once for any number
of plates; `BallBalance` is the vectorised task, and `ballbalance_gym` the Gymnasium environment.
"""

from __future__ import annotations

from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from rle.core.transfer import moved
from rle.randomness import generator, generator_state, restore_generator
from rle.tasks.base import Continuous, Picture, State, Step, Task, TaskSpec
from rle.tasks.form import require_form
from rle.tasks.physics import Painter, import_mujoco

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

NUM_ACTIONS = 3
OBSERVATION_SIZE = 12
OBSERVATION_BOUND = 10.0
TIME_LIMIT = 500
"""Control steps: ten seconds."""
SUBSTEPS = 4
"""Physics steps of 5 ms in one control step of 20 ms."""
START_NUMBERS = 4
"""How many random numbers an episode's beginning takes."""

START_DISTANCE = (0.05, 0.13)
"""Metres from the middle, uniformly."""
START_SPEED = (0.05, 0.15)
"""Metres per second, uniformly, in any horizontal direction."""
START_HEIGHT = 0.05
"""Metres the ball drops before it touches the plate."""
HALF_DISTANCE = 0.1
"""Metres from the middle at which the reward's first factor is one half."""
HALF_SPEED = 0.5
"""Metres per second at which the reward's second factor is one half."""
SPEED_UNIT = 0.5
"""Metres per second observed as 1."""
SERVO_SPEED_UNIT = 5.0
"""Radians per second observed as 1."""


class BallBalanceWorld:
    """The physics and the rules for N plates at once.

    A plate is one row of MuJoCo's full physics state, `[N, state_size]` in float64, and what follows
    depends on nothing else: rows can be stored, shuffled and stepped by any number of threads with
    the same bits. With `num_threads` 0 the calling thread does the work.
    """

    def __init__(self, num_threads: int = 0) -> None:
        mujoco = import_mujoco()
        text = (resources.files("rle.tasks") / "assets" / "ballbalance.xml").read_text("utf-8")
        self.model: Any = mujoco.MjModel.from_xml_string(text)
        self._data = [mujoco.MjData(self.model) for _ in range(max(num_threads, 1))]
        self._rollout = mujoco.rollout.Rollout(nthread=num_threads)
        self._control_kind = mujoco.mjtState.mjSTATE_CTRL.value
        kind = mujoco.mjtState.mjSTATE_FULLPHYSICS.value
        self.state_size: int = mujoco.mj_stateSize(self.model, kind)
        self.rest: Floats = np.zeros(self.state_size)
        """`[state_size]`: the plate level, the ball lying still in its middle."""
        mujoco.mj_getState(self.model, self._data[0], self.rest, kind)

        # A state is the time, then all positions, then all velocities.
        positions = int(mujoco.mj_stateSize(self.model, mujoco.mjtState.mjSTATE_TIME.value))
        velocities = positions + int(self.model.nq)
        ball = self.model.joint("ball")
        servos = [self.model.joint(f"servo{leg}") for leg in range(NUM_ACTIONS)]
        self.ball_position = positions + ball.qposadr[0] + np.arange(3)
        """Columns of the ball's x, y and z."""
        self.ball_velocity = velocities + ball.dofadr[0] + np.arange(3)
        """Columns of their rates."""
        servo_angle = positions + np.array([servo.qposadr[0] for servo in servos])
        servo_speed = velocities + np.array([servo.dofadr[0] for servo in servos])

        self.plate_radius = float(self.model.geom("plate").size[0])
        self._reach = float(self.model.actuator_ctrlrange[0, 1])
        self._lowest = float(self.model.body("plate").pos[2]) - self.plate_radius / 2
        units = (self.plate_radius, SPEED_UNIT, self._reach, SERVO_SPEED_UNIT)
        self._unit = np.repeat(units, 3)
        self._observed = np.concatenate(
            [self.ball_position, self.ball_velocity, servo_angle, servo_speed]
        )

    def start(self, uniform: Floats) -> Floats:
        """States `[N, state_size]` in which episodes begin, from numbers `[N, 4]` in [0, 1).

        The ball is let go above a level plate, off the middle, with a small velocity.
        """
        place, distance, heading, speed = uniform.T
        states = np.tile(self.rest, (len(uniform), 1))
        distance = START_DISTANCE[0] + (START_DISTANCE[1] - START_DISTANCE[0]) * distance
        speed = START_SPEED[0] + (START_SPEED[1] - START_SPEED[0]) * speed
        states[:, self.ball_position[0]] += distance * np.cos(2 * np.pi * place)
        states[:, self.ball_position[1]] += distance * np.sin(2 * np.pi * place)
        states[:, self.ball_position[2]] += START_HEIGHT
        states[:, self.ball_velocity[0]] = speed * np.cos(2 * np.pi * heading)
        states[:, self.ball_velocity[1]] = speed * np.sin(2 * np.pi * heading)
        return states

    def advance(self, states: Floats, action: npt.NDArray[Any]) -> Floats:
        """The states `[N, state_size]` one control step after `states`.

        `action` `[N, 3]`, clipped to [-1, 1], says where each servo shall go: 1 lifts its side of
        the plate as far as it can, -1 lowers it.
        """
        count = len(states)
        target = self._reach * np.clip(action, -1.0, 1.0).astype(np.float64)
        control = np.ascontiguousarray(target[:, None].repeat(SUBSTEPS, axis=1))
        passed = np.empty((count, SUBSTEPS, self.state_size))
        # No warm start of the constraint solver is given, so that it starts from the state alone.
        self._rollout.rollout(
            [self.model] * count,
            self._data,
            states,
            control,
            control_spec=self._control_kind,
            skip_checks=True,
            nstep=SUBSTEPS,
            state=passed,
        )
        return np.ascontiguousarray(passed[:, -1])

    def observe(self, states: Floats) -> npt.NDArray[np.float32]:
        """float32 `[N, 12]`, all of the order of 1.

        The ball's position from where it rests in the middle, in plate radii; its velocity, in units
        of 0.5 m/s; the servos' angles, in units of their reach; their speeds, in units of 5 rad/s.
        """
        values = (states[:, self._observed] - self.rest[self._observed]) / self._unit
        return values.clip(-OBSERVATION_BOUND, OBSERVATION_BOUND).astype(np.float32)

    def reward(self, states: Floats) -> Floats:
        """`[N]` in (0, 1]: 1 / (1 + distance / 0.1 m) · 1 / (1 + speed / 0.5 m/s).

        The distance is the ball's from the vertical axis through the middle. The form is that of
        Isaac Gym's BallBalance, which is 1 only for a ball that lies still in the middle.
        """
        distance = self._distance(states)
        speed = np.linalg.norm(states[:, self.ball_velocity], axis=1)
        return 1.0 / ((1.0 + distance / HALF_DISTANCE) * (1.0 + speed / HALF_SPEED))

    def fallen(self, states: Floats) -> Bools:
        """Bool `[N]`: the ball's centre is past the rim, or far below the plate."""
        height = states[:, self.ball_position[2]]
        return (self._distance(states) > self.plate_radius) | (height < self._lowest)

    def _distance(self, states: Floats) -> Floats:
        return np.hypot(states[:, self.ball_position[0]], states[:, self.ball_position[1]])

    def close(self) -> None:
        """End the threads."""
        self._rollout.close()


class BallBalance(Task):
    """N BallBalance worlds, stepped in parallel threads."""

    steps_per_second = 50
    splits = True
    per_environment = ("physics", "clock")

    def __init__(
        self,
        num_envs: int,
        time_limit: int = TIME_LIMIT,
        num_threads: int | None = None,
        device: str | torch.device = "cpu",
    ) -> None:
        threads = torch.get_num_threads() if num_threads is None else num_threads
        self._world = BallBalanceWorld(min(threads, num_envs) if threads > 1 else 0)
        self.time_limit = time_limit
        self._device = torch.device(device)
        bounds = (1.0,) * NUM_ACTIONS
        low = tuple(-bound for bound in bounds)
        self.spec = TaskSpec(num_envs, (OBSERVATION_SIZE,), torch.float32, Continuous(low, bounds))
        self._generator = generator(0, "environment")
        self._states = np.tile(self._world.rest, (num_envs, 1))
        self._clock = np.zeros(num_envs, np.int64)
        self._painter: Painter | None = None

    def reset(self, seed: int) -> Tensor:
        self._generator = generator(seed, "environment")
        self._begin(np.ones(self.spec.num_envs, np.bool_))
        return self._tensor(self._world.observe(self._states))

    def _begin(self, which: Bools) -> None:
        everywhere = self.world.gather(torch.from_numpy(which))
        uniform = torch.rand(
            int(everywhere.sum()), START_NUMBERS, generator=self._generator, dtype=torch.float64
        )
        # They are for those that begin, in the order of their numbers: first on the ranks before.
        before = int(everywhere[: self.world.first_env].sum())
        own = uniform[before : before + int(which.sum())]
        self._states[which] = self._world.start(own.numpy())
        self._clock[which] = 0

    def step(self, action: Tensor) -> Step:
        self._states = self._world.advance(self._states, action.detach().cpu().numpy())
        self._clock += 1
        reward = self._world.reward(self._states).astype(np.float32)
        terminated = self._world.fallen(self._states)
        truncated = (self._clock >= self.time_limit) & ~terminated
        next_observation = observation = self._world.observe(self._states)
        ended = terminated | truncated
        if ended.any() or not self.world.alone:
            self._begin(ended)
            observation = self._world.observe(self._states)
        return Step(
            self._tensor(reward),
            self._tensor(terminated),
            self._tensor(truncated),
            self._tensor(next_observation),
            self._tensor(observation),
        )

    def _tensor(self, values: npt.NDArray[Any]) -> Tensor:
        return moved(torch.from_numpy(values), self._device)

    def picture(self) -> Picture:
        if self._painter is None:
            self._painter = Painter(self._world.model)
        return self._painter.paint(self._states[0])

    def state_dict(self) -> State:
        return {
            "physics": torch.from_numpy(self._states.copy()),
            "clock": torch.from_numpy(self._clock.copy()),
            "generator": generator_state(self._generator),
        }

    def load_state_dict(self, state: State) -> None:
        require_form(self.state_dict(), state)
        self._states = state["physics"].cpu().numpy().copy()
        self._clock = state["clock"].cpu().numpy().copy()
        self._generator = restore_generator(state["generator"])

    def close(self) -> None:
        if self._painter is not None:
            self._painter.close()
            self._painter = None
        self._world.close()
