"""Optional compilation of the update step."""

from __future__ import annotations

import functools
import logging
import shutil
from collections.abc import Callable
from typing import Any

import torch

from rle.config import Compile, RunConfig
from rle.errors import CompilerError, UsageError
from rle.native.library import cpp_compiler

logger = logging.getLogger(__name__)

WORTHWHILE_UPDATES = 20_000
"""Compiling takes three quarters of a minute, less when PyTorch has it cached. It saves half a
millisecond each where networks are fused without it, and more elsewhere."""
MOST_REPEATED = 20
"""Operations that compiled code may do again wherever their result is used, rather than store it."""
MOST_FORMS = 1_000
"""How many kinds of runs may be compiled in one process; PyTorch would take the ninth for a mistake."""


def compiler_available() -> bool:
    """Whether PyTorch can compile for the CPU here: it needs a C++ compiler, and to be 2.11 or later."""
    return shutil.which(cpp_compiler()) is not None and hasattr(
        _dynamo_config(), "trace_autograd_ops"
    )


def _dynamo_config() -> Any:
    # Only when it is needed: importing PyTorch's compiler takes seconds.
    from torch._dynamo import config

    return config


def how_to_compile(config: RunConfig) -> Compile:
    """On, fused or off: decided when a run starts, and recorded in `config.json` for when it goes on.

    Fused, PyTorch compiles nothing: agents that are two plain MLPs are computed by `rle.native`, others
    as they are uncompiled.
    """
    asked = config.machine.compile
    if asked != "auto":
        if asked != "off" and not compiler_available():
            raise UsageError(
                f"compile is {asked} but no C++ compiler was found: install g++ or set --compile off."
            )
        return asked
    if pays(config):
        if compiler_available():
            return "on"
        logger.warning("no C++ compiler found: running uncompiled, at about half the speed")
        return "off"
    # Images are learned from in micro-batches, by convolutions.
    fits = config.machine.micro_batch is None and compiler_available()
    return "fused" if fits else "off"


def should_compile(config: RunConfig) -> bool:
    """Whether PyTorch compiles rollout and update."""
    return how_to_compile(config) == "on"


def pays(config: RunConfig, runs: float = 1) -> bool:
    """Whether a run is long enough to be worth compiling, or so many that need it only once."""
    updates = config.rollouts * config.learner.epochs * config.learner.minibatches
    return updates * runs >= WORTHWHILE_UPDATES


def options_for(device: torch.device) -> dict[str, Any]:
    """How the compiler is to go about its work for a device."""
    if device.type == "cpu":
        # A C++ program around the kernels is slower to build, but our kernels are many and small: the
        # Python between them would take about a third of the time. With PyTorch's own bound of 50, the
        # code of a rollout's block takes twice as long to write, and is no faster.
        return {"cpp_wrapper": True, "realize_opcount_threshold": MOST_REPEATED}
    # A CUDA graph owns what it returns and writes over it when it runs again. What is returned here is
    # where the next call begins (observations, z, counters), and Adam changes what it is given.
    return {"triton.cudagraphs": False}


def compiled(function: Callable[..., Any], device: torch.device) -> Callable[..., Any]:
    """`function` of tensors on `device` compiled whole, with its gradient computations inside.

    It is compiled when it is first called, which raises `CompilerError` if that is not possible.
    """
    # Lets torch.autograd.grad be part of the graph: forward, backward and clipping become one.
    _dynamo_config().trace_autograd_ops = True
    _dynamo_config().recompile_limit = _dynamo_config().accumulated_recompile_limit = MOST_FORMS
    # What `dynamic=False` means: a graph for each size. PyTorch would set it anew at every call, which
    # takes longer than a small graph.
    _dynamo_config().assume_static_by_default = True
    _dynamo_config().automatic_dynamic_shapes = False
    made = torch.compile(function, fullgraph=True, options=options_for(device))

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        try:
            return made(*arguments)
        except Exception as error:
            if _is_of_the_compiler(error):
                raise CompilerError(_in_short(error)) from error
            raise

    return call


def _is_of_the_compiler(error: Exception) -> bool:
    from torch._dynamo import exc as dynamo
    from torch._inductor import exc as inductor

    modules = (dynamo.__name__, inductor.__name__)
    return any(kind.__module__ in modules for kind in type(error).__mro__)


def _in_short(error: Exception) -> str:
    """What the compiler said first: its whole text is pages long."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__
