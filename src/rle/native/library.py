"""The C++ of this folder, built when it is first needed, and kept where PyTorch keeps what it builds."""

from __future__ import annotations

import ctypes
import hashlib
import logging
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

logger = logging.getLogger(__name__)

FOLDER = Path(__file__).parent
OF_TORCH = Path(torch.__file__).parent
FLAGS = (
    *("-O3", "-march=native", "-std=c++20", "-shared", "-fPIC", "-fno-math-errno"),
    f"-I{OF_TORCH / 'include'}",
)
LIBRARIES = (f"-L{OF_TORCH / 'lib'}", "-ltorch_cpu", "-lc10")


def cpp_compiler() -> str:
    """The C++ compiler's command, as PyTorch chooses it."""
    return os.environ.get("CXX") or ("clang++" if sys.platform == "darwin" else "g++")


@cache
def library() -> ctypes.CDLL | None:
    """The loaded library; None where it cannot be built."""
    try:
        return _declared(built())
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", None) or str(error).encode()
        logger.warning(
            "our C++ cannot be built here, and PyTorch's takes its place: %s",
            said.decode(errors="replace").strip().partition("\n")[0],
        )
        return None


def built() -> Path:
    """The library's file; raises `OSError` or `CalledProcessError` where it cannot be built."""
    from torch._inductor.runtime.cache_dir_utils import cache_dir

    compiler = shutil.which(cpp_compiler())
    if compiler is None:
        raise FileNotFoundError(f"there is no {cpp_compiler()}")
    file = Path(cache_dir()) / f"rle-{_fingerprint(compiler)}.so"
    if not file.exists():
        _build(compiler, file)
    return file


def _declared(file: Path) -> ctypes.CDLL:
    """Load it, and say what its functions take and return."""
    torch.ops.load_library(file)
    torch.library.register_fake("rle::mlp", _shape_of_mlp)
    loaded = ctypes.CDLL(str(file))
    pointer, number = ctypes.c_void_p, ctypes.c_float
    loaded.minibatch_gradient.argtypes = [pointer]
    loaded.minibatch_gradient.restype = None
    loaded.clipped_adam_step.argtypes = [pointer] * 4 + [ctypes.c_int64] + [number] * 6
    loaded.clipped_adam_step.restype = number
    return loaded


def _shape_of_mlp(x: Tensor, parameters: Tensor, widths: list[int], activation: int) -> Tensor:
    return x.new_empty(len(x), widths[-1])


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
            [compiler, *FLAGS, *sources, "-o", str(made), *LIBRARIES],
            capture_output=True,
            check=True,
        )
        made.replace(target)
    finally:
        made.unlink(missing_ok=True)
