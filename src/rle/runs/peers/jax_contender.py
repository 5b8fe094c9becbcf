"""RLE on FourRoom in JAX as a peer that `rle bench` runs beside ours (extra: bench).

JAX is imported when a contender is built, since it reads the number of its threads only once.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from rle.config import RunConfig
from rle.runs.rounds import Round, timed_round

if TYPE_CHECKING:
    from rle.runs.peers.jax_fourroom import Training
    from rle.runs.peers.jax_numbers import Host

FLAGS = "XLA_FLAGS"
ONE_THREAD = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
AT_ONCE = 8
"""Iterations of one call: what a call costs hardly counts then."""


def drawing_on_the_host(config: RunConfig, warm_up: int) -> JaxContender:
    """NumPy draws the random numbers and hands them to the program."""
    return JaxContender(config, warm_up, on_host=True)


def drawing_in_the_program(config: RunConfig, warm_up: int) -> JaxContender:
    """Everything happens within the program."""
    return JaxContender(config, warm_up, on_host=False)


class JaxContender:
    """The same numbers as our `rle` on FourRoom, trained by one compiled program."""

    def __init__(self, config: RunConfig, warm_up: int, on_host: bool) -> None:
        if config.machine.threads == 1:
            os.environ[FLAGS] = f"{os.environ.get(FLAGS, '')} {ONE_THREAD}".strip()
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
        import jax

        from rle.runs.peers.jax_fourroom import Iteration
        from rle.runs.peers.jax_numbers import Host
        from rle.runs.peers.jax_worlds import make_worlds

        iterate = Iteration(config, make_worlds(config.environment.time_limit))

        def several(training: Training, drawn: Any) -> tuple[Training, Any]:
            return jax.lax.scan(iterate, training, drawn, length=AT_ONCE)

        self._program = jax.jit(several, donate_argnums=0)
        self._host: Host | None = Host(config) if on_host else None
        self._steps = AT_ONCE * config.batch_size
        self.training = beginning(config)
        self.statistics: Any = None
        """Of the last call, `[iterations, 6]`, see `Iteration`."""
        for _ in range(max(1, warm_up // AT_ONCE)):
            self._iterate()

    def _iterate(self) -> int:
        drawn = None if self._host is None else self._host.draw(AT_ONCE)
        self.training, self.statistics = self._program(self.training, drawn)
        self.statistics.block_until_ready()
        return self._steps

    def run(self, seconds: float) -> Round:
        """Train for at least that long."""
        return timed_round(self._iterate, seconds)


def beginning(config: RunConfig) -> Training:
    """The state before the first iteration."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    from rle.runs.peers.jax_fourroom import Followed, Optimised, Training
    from rle.runs.peers.jax_networks import feature_sizes, initial, network_sizes
    from rle.runs.peers.jax_worlds import at_start, make_worlds

    assert config.rle is not None
    settings, num_envs = config.rle, config.environment.num_envs
    source = np.random.default_rng(config.seed)
    sizes = network_sizes(config.network, settings.dimension)
    parameters = jnp.asarray(initial(source, sizes, (0.01, config.network.value_gain)))
    latent = source.standard_normal((num_envs, settings.dimension)).astype(np.float32)
    latent /= np.linalg.norm(latent, axis=-1, keepdims=True)
    nothing = jnp.zeros_like(parameters)
    countdown = jnp.full(num_envs, settings.resample_every, jnp.int32)
    return Training(
        Optimised(parameters, nothing, nothing.copy(), jnp.zeros(())),
        Followed(at_start(num_envs), jnp.asarray(latent), countdown),
        jnp.asarray(initial(source, feature_sizes(settings), (1.0,))),
        carry=jnp.zeros(num_envs),
        moments=jnp.zeros(3),
        visits=jnp.zeros(make_worlds(None).table.shape, jnp.int32),
        # The fastest of JAX's generators on a CPU.
        key=jax.random.key(config.seed, impl="unsafe_rbg"),
    )
