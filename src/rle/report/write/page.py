"""What the page holds: sections, and around them what was compared, with what, and how."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

from rle.report.draw.figures import Figure
from rle.report.measure.measures import ALL_MEASURES, TaskMeasures
from rle.report.measure.suites import DEFINITIONS
from rle.report.read.methods import TaskGroup
from rle.report.read.words import MOST_NAMED, join, plural, span, steps_text, suite_of
from rle.report.write.summary import interval_method
from rle.report.write.tables import Table
from rle.stats import METHODS, Bootstrap

Facts = tuple[tuple[str, str], ...]
_READING = "Click a heading to sort a table; point at a curve to read its values."
_NO_INTERVAL = "none: the paper's table holds means over seeds, not the seeds."


@dataclass(frozen=True, eq=False)
class Section:
    """All there is to show of one task, of one suite, or of the paper."""

    identity: str
    """Of the section in the page, and the beginning of its files' names."""
    task: str
    """As a user types it; empty where there is no such name."""
    title: str
    description: str
    headline: str
    notes: tuple[str, ...]
    tables: tuple[Table, ...]
    folded_tables: tuple[Table, ...]
    figures: tuple[Figure, ...]


@dataclass(frozen=True, eq=False)
class Page:
    """The whole report."""

    title: str
    intro: str
    facts: tuple[tuple[str, str], ...]
    """What was used to make it: names and values."""
    notes: tuple[str, ...]
    sections: tuple[Section, ...]
    definitions: tuple[tuple[str, str], ...]
    """Names of measures and what they mean."""
    interval: str


def facts(groups: Sequence[TaskGroup], arguments: Sequence[str], bootstrap: Bootstrap) -> Facts:
    """How the report came about."""
    metas = [run.meta for group in groups for run in group.runs]
    try:
        version = metadata.version("random-latent-exploration")
    except metadata.PackageNotFoundError:
        version = "not installed"
    started = sorted(str(meta["started"]) for meta in metas if "started" in meta)
    found = [
        ("Command", shlex.join(["rle", "report", *arguments])),
        ("Made on", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")),
        ("Made with", f"random-latent-exploration {version}"),
        (
            "Intervals",
            f"{100 * bootstrap.level:.0f} %, {interval_method(bootstrap)['description']}"
            + ("" if bootstrap.method == "percentile" else _ON_SHARES),
        ),
    ]
    if groups:
        found.append(("Runs used", "; ".join(_versions(metas)) or "versions not recorded"))
    if started:
        found.append(
            ("Trained", " to ".join(dict.fromkeys(s[:10] for s in (started[0], started[-1]))))
        )
    return tuple(found)


def _versions(metas: list[dict[str, Any]]) -> list[str]:
    """The different sets of versions that runs were made with."""
    seen = []
    for meta in metas:
        versions = meta.get("versions", {})
        named = [f"{package} {version}" for package, version in versions.items()]
        commit = (meta.get("git") or {}).get("commit")
        if commit:
            changed = " with changes" if meta["git"].get("changed") else ""
            named.append(f"commit {commit[:10]}{changed}")
        seen.append(", ".join([f"Python {meta.get('python', 'unknown')}", *named]))
    return list(dict.fromkeys(seen))


def make_page(
    groups: Sequence[TaskGroup],
    sections: Sequence[Section],
    measured: dict[str, TaskMeasures],
    said: Facts,
    left_out: Sequence[str],
    bootstrap: Bootstrap,
) -> Page:
    """The page around the sections."""
    used = {measure for group in groups for measure in measured[group.task].measures}
    together = any(section.task.endswith("/") or not section.task for section in sections)
    definitions = [(m.label, m.explanation) for m in ALL_MEASURES if m in used]
    if together:
        definitions += DEFINITIONS.items()
    return Page(
        title=_title(groups, sections),
        intro=_intro(groups) if groups else f"The numbers that the paper published. {_READING}",
        facts=said,
        notes=(*left_out, *_mixture(groups)),
        sections=tuple(sections),
        definitions=tuple(definitions),
        interval=_interval(bootstrap) if groups else _NO_INTERVAL,
    )


_ON_SHARES = (
    "; shares and other scales with two ends have limits of their own, see the last section"
)


def _interval(bootstrap: Bootstrap) -> str:
    interval = interval_method(bootstrap)
    # The plain bootstrap is there to compare with other libraries, on every scale.
    scales = (
        ""
        if bootstrap.method == "percentile"
        else f"On a scale with two ends, such as shares from 0 to 1: {METHODS['bounded']}. "
    )
    return (
        f"{100 * interval['level']:.0f} % confidence intervals of means, of differences and of "
        f"aggregates over tasks: {interval['description']}, {interval['resamples']} resamples. "
        f"{scales}A method with a single seed has no interval."
    )


def _title(groups: Sequence[TaskGroup], sections: Sequence[Section]) -> str:
    if not groups:
        return "The results of the RLE paper"
    if len(groups) == 1:
        return f"Exploration report: {sections[-1].title}"
    return f"Exploration report: {len(groups)} tasks"


def _intro(groups: Sequence[TaskGroup]) -> str:
    methods = [method for group in groups for method in group.methods]
    labels = list(dict.fromkeys(method.label for method in methods))
    named = join(labels) if len(labels) <= MOST_NAMED else f"{len(labels)} methods"
    number = sum(len(group.runs) for group in groups)
    return (
        f"This page compares {named} on "
        f"{plural(len(groups), 'task')}, from {plural(number, 'run')} with "
        f"{span([len(method.runs) for method in methods], str)} seeds per method and "
        f"{span([method.steps for method in methods], steps_text)} training steps per run. There "
        "are tables of what was measured, curves over training and, for grid worlds, pictures of where "
        f"the agents went; several tasks of one suite are also shown together. {_READING}"
    )


def _mixture(groups: Sequence[TaskGroup]) -> list[str]:
    """Said where a folder mixes what cannot be averaged."""
    kinds = [suite_of(group.task) or group.task for group in groups]
    if len(set(kinds)) < 2:
        return []
    counted = ", ".join(f"{kind} ({kinds.count(kind)})" for kind in dict.fromkeys(kinds))
    return [
        f"The runs are of different kinds of tasks: {counted}. Each kind is reported on its own; "
        "nothing is averaged across them."
    ]
