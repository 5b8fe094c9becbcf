"""When a run is compiled, and what is said when it cannot be."""

import logging

import pytest
import torch

from rle.errors import UsageError
from rle.learn import compilation
from rle.presets import preset_config
from rle.settings import replace


def config(compile: str, steps: int = 25_000_000):
    return replace(preset_config("fourroom", "rle"), {"compile": compile, "total_steps": steps})


def test_long_runs_are_compiled_and_short_ones_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilation, "compiler_available", lambda: True)
    assert compilation.should_compile(config("auto"))
    # The demo's length, and the paper's: compiling would take longer than it saves.
    for steps in (500_000, 2_500_000):
        assert compilation.how_to_compile(config("auto", steps=steps)) == "fused"
    assert compilation.should_compile(config("on", steps=500_000))
    for asked in ("off", "fused"):
        assert compilation.how_to_compile(config(asked)) == asked
    images = replace(preset_config("atari/Breakout", "rle"), {"total_steps": 100_000})
    assert compilation.how_to_compile(images) == "off"


def test_without_a_compiler_it_runs_and_says_so_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(compilation, "compiler_available", lambda: False)
    with caplog.at_level(logging.WARNING):
        assert not compilation.should_compile(config("auto"))
        assert not compilation.should_compile(config("auto", steps=500_000))
    assert [record.message for record in caplog.records] == [
        "no C++ compiler found: running uncompiled, at about half the speed"
    ]
    for asked in ("on", "fused"):
        with pytest.raises(UsageError, match=f"compile is {asked} .* install g\\+\\+"):
            compilation.how_to_compile(config(asked))


def test_no_compiler_is_seen_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CXX", raising=False)
    assert not compilation.compiler_available()


def test_each_kind_of_device_is_compiled_for_in_its_own_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """CUDA graphs would write over what a run goes on from; around them, C++ needs CUDA's headers."""
    asked = []
    monkeypatch.setattr(torch, "compile", lambda function, **how: asked.append(how))
    for device in ("cpu", "cuda"):
        compilation.compiled(abs, torch.device(device))
    assert [how["options"] for how in asked] == [
        {"cpp_wrapper": True, "realize_opcount_threshold": compilation.MOST_REPEATED},
        {"triton.cudagraphs": False},
    ]
    assert all(how["fullgraph"] for how in asked)
    settings = compilation._dynamo_config()
    assert settings.assume_static_by_default
    assert not settings.automatic_dynamic_shapes
