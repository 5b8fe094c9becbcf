"""Code that a run names: asked about once, before any of it is imported.

A run directory may come from somebody else, and its `config.json` may name modules. What this machine's
user trained here is trusted from its start, and so is what they trust by `--trust`; that is kept beside
the user's other state, never in the run directory. `docs/security.md` says what is promised.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from rle.config import RunConfig
from rle.errors import UsageError
from rle.modules import installed
from rle.own import GROUP, SOURCE
from rle.runs.directory import RunDirectory, write_json

TASK = "task"


class NamedCode(NamedTuple):
    """A `module:name` that is imported when a run is used, and the setting that names it."""

    setting: str
    name: str

    def __str__(self) -> str:
        return f"{self.setting} {self.name!r}"


def code_of_agent(config: RunConfig) -> list[NamedCode]:
    """What building the run's agent imports from outside this package.

    What an installed package brings under a name of its own (an entry point) is the user's own choice
    and not listed.
    """
    named = [NamedCode("explore", part) for part in config.explore.split("+")]
    for section in (config.own or {}).values():
        source = str(section.get(SOURCE, ""))
        if source not in {entry.value for entry in installed(GROUP).values()}:
            named.append(NamedCode("explore", source))
    if config.rle is not None:
        named.append(NamedCode("rle.distribution", config.rle.distribution))
        named.append(NamedCode("rle.feature_network", config.rle.feature_network or ""))
    return _of_modules(named)


def code_of_run(config: RunConfig) -> list[NamedCode]:
    """What going on with the run, or playing its task, imports from outside this package."""
    environment = config.environment
    named = [NamedCode(TASK, config.task), *code_of_agent(config)]
    named += [NamedCode("wrappers", name) for name in environment.wrappers]
    # Some environments take the name of what they wrap as a keyword.
    named += [NamedCode("env_kwargs", text) for text in _texts(environment.env_kwargs)]
    named += [NamedCode("sinks", name) for name in config.machine.sinks]
    return _of_modules(named)


def _of_modules(named: Iterable[NamedCode]) -> list[NamedCode]:
    return list(dict.fromkeys(code for code in named if ":" in code.name))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)


def require_trust(
    run: RunDirectory, config: RunConfig, code: Iterable[NamedCode], trust: bool
) -> None:
    """Raise `UsageError` if `code` is some and neither `trust` nor what is remembered allows it."""
    listed = ", ".join(map(str, code))
    if not listed:
        return
    if trust:
        remember(run, config)
    elif not _record(run, config).is_file():
        raise UsageError(
            f"{run.path} names code that is not part of this package and would be run ({listed}): look "
            "at it, and if you trust it, say so once with --trust, or trust=True in Python."
        )


def require_trust_to_play(run: RunDirectory, trust: bool, env: Any = None) -> None:
    """Raise `UsageError` unless the code that the run names may be run; `env` is the caller's own."""
    config = run.config()
    code = [named for named in code_of_run(config) if env is None or named.setting != TASK]
    require_trust(run, config, code, trust)


def remember(run: RunDirectory, config: RunConfig) -> None:
    """Let the code that `config` names be run for `run` from now on, on this machine."""
    code = code_of_run(config)
    if not code:
        return
    record = _record(run, config)
    try:
        record.parent.mkdir(parents=True, exist_ok=True)
        write_json(record, {"run": str(run.path.resolve()), "code": sorted(map(str, code))})
    except OSError:
        # Whoever has no place to remember is asked each time.
        return


def _record(run: RunDirectory, config: RunConfig) -> Path:
    """The file whose presence says that the run is trusted: of its place, its code and the arguments."""
    identity = [
        str(run.path.resolve()),
        sorted(code_of_run(config)),
        config.environment.env_kwargs,
        config.own,
    ]
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "rle" / "trusted" / f"{digest}.json"
