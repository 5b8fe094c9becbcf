"""What `from rle import *` brings, and which names of others are understood."""

import ast
import builtins
from pathlib import Path
from typing import Any

import pytest

import rle
from rle.aliases import SETTINGS
from rle.errors import UsageError
from rle.presets import preset_config
from rle.settings import replace

SOURCE = Path(rle.__file__).parent


def names_of(module: Path) -> list[str]:
    """The `__all__` of a source file; nothing if it has none."""
    for node in ast.parse(module.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return []


def test_no_public_name_hides_one_of_pythons() -> None:
    public = {path: names_of(path) for path in SOURCE.rglob("*.py")}
    assert public[SOURCE / "__init__.py"]
    assert public[SOURCE / "core" / "__init__.py"]
    for path, names in public.items():
        assert not set(names) & set(vars(builtins)), path


def test_everything_can_be_imported_at_once() -> None:
    brought: dict[str, Any] = {}
    exec("from rle import *", brought)
    assert {"list", "eval"}.isdisjoint(brought)
    assert brought["evaluate"] is rle.evaluate is rle.eval
    assert brought["available"] is rle.available is rle.list
    assert "fourroom" in rle.available("tasks")


def test_there_is_no_other_name() -> None:
    with pytest.raises(AttributeError, match="'rle' has no attribute 'lists'"):
        rle.lists  # noqa: B018


@pytest.mark.parametrize("name", SETTINGS)
def test_what_others_call_our_settings_is_answered_with_ours(name: str) -> None:
    config = preset_config("fourroom", "rle+rnd+noisy")
    with pytest.raises(UsageError) as error:
        replace(config, {name: 1})
    assert f"{SETTINGS[name]}'" in str(error.value)
