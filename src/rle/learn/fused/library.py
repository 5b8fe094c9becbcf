"""The C++ of this folder, built when it is first needed, and kept where PyTorch keeps what it builds."""

from __future__ import annotations

import ctypes
import hashlib
import logging
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

from rle.learn.compilation import cpp_compiler

logger = logging.getLogger(__name__)

FLAGS = ("-O3", "-march=native", "-std=c++17", "-shared", "-fPIC", "-fno-math-errno")
FOLDER = Path(__file__).parent


@cache
def library() -> ctypes.CDLL | None:
    """The loaded library; None where it cannot be built."""
    from torch._inductor.runtime.cache_dir_utils import cache_dir

    compiler = shutil.which(cpp_compiler())
    if compiler is None:
        return None
    try:
        built = Path(cache_dir()) / f"rle-{_fingerprint(compiler)}.so"
        if not built.exists():
            _build(compiler, built)
        return _declared(ctypes.CDLL(str(built)))
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", None) or str(error).encode()
        logger.warning(
            "our C++ cannot be built here, and PyTorch's takes its place: %s",
            said.decode(errors="replace").strip().partition("\n")[0],
        )
        return None


def _declared(built: ctypes.CDLL) -> ctypes.CDLL:
    """With the types of its functions."""
    pointer, number = ctypes.c_void_p, ctypes.c_float
    built.minibatch_gradient.argtypes = [pointer]
    built.minibatch_gradient.restype = None
    built.clipped_adam_step.argtypes = [pointer] * 4 + [ctypes.c_int64] + [number] * 6
    built.clipped_adam_step.restype = number
    return built


def _fingerprint(compiler: str) -> str:
    """Of all that the library depends on: a folder may be shared by machines that are not alike."""
    # The macros that are set before a source begins: the compiler's version, what the processor can do.
    asked = [compiler, *FLAGS, "-dM", "-E", "-x", "c++", "-"]
    told = subprocess.run(asked, stdin=subprocess.DEVNULL, capture_output=True, check=True).stdout
    sources = [path.read_bytes() for path in sorted((*FOLDER.glob("*.h"), *FOLDER.glob("*.cpp")))]
    parts = [*sources, told, " ".join(FLAGS).encode()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def _build(compiler: str, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    # Under a name of its own first: other processes may be building it too.
    made = target.with_name(f"{target.name}.{os.getpid()}")
    sources = [str(path) for path in sorted(FOLDER.glob("*.cpp"))]
    try:
        subprocess.run(
            [compiler, *FLAGS, *sources, "-o", str(made)], capture_output=True, check=True
        )
        made.replace(target)
    finally:
        made.unlink(missing_ok=True)
