"""Wrappers as users bring them."""

import gymnasium


class Halved(gymnasium.ObservationWrapper):
    """Shows half of every observation."""

    def observation(self, observation):
        return observation * 0.5


class Shifted(gymnasium.ObservationWrapper):
    """Shows every observation plus one."""

    def observation(self, observation):
        return observation + 1.0
