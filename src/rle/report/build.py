"""`report`: from run directories to figures, tables, `summary.json` and one page."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

from rle.config import require
from rle.errors import UsageError
from rle.report.curves import curve_figures
from rle.report.figures import Figure
from rle.report.measures import (
    ALL_MEASURES,
    Diversities,
    TaskMeasures,
    measure_task,
    reference_method,
)
from rle.report.methods import TaskGroup, group_runs
from rle.report.page import Page, Section, render
from rle.report.pictures import Problems, attempt
from rle.report.plots import save_figure
from rle.report.records import RunRecord, find_runs, is_fourroom, read_run
from rle.report.reward_maps import reward_figure
from rle.report.style import LineStyle, assign_styles, file_name, steps_text
from rle.report.summary import interval_method, task_summary, without_nan
from rle.report.tables import (
    Table,
    differences_table,
    measures_table,
    runs_table,
    settings_table,
    to_csv,
)
from rle.report.trajectories import measure_diversity
from rle.report.trajectory_maps import trajectory_figure
from rle.report.visit_maps import every_seed_figure, visit_figure
from rle.report.wording import headline, plural, task_description, task_title

PAGE = "report.html"
SUMMARY = "summary.json"
FIGURES = "figures"
TABLES = "tables"


def report(paths: Sequence[Path | str], out: Path | str | None = None) -> Path:
    """Compare all runs below `paths`; returns the path of the page that shows them.

    Args:
        paths: run directories, or folders that hold some at any depth.
        out: where to write `report.html`, `summary.json`, `figures/` (SVG and PNG) and `tables/`
            (CSV); by default `report` in the first of `paths`.

    """
    require(len(paths) > 0, "no folder was given: name a run directory or a folder of runs.")
    roots = [Path(path) for path in paths]
    folder = roots[0] / "report" if out is None else Path(out)
    records, left_out = _read_all(roots)
    groups = group_runs(records)
    styles = assign_styles(method.label for group in groups for method in group.methods)
    _make_folders(folder)
    sections, results = [], {}
    for group in groups:
        section, results[group.task] = _report_task(group, styles, folder)
        sections.append(section)
    facts = _facts(groups, paths, out)
    page = _page(groups, sections, results, facts, left_out)
    notes = {section.task: list(section.notes) for section in sections}
    summary = {
        "made": dict(facts),
        "intervals": interval_method(),
        "notes": left_out,
        "tasks": {
            group.task: task_summary(group, results[group.task], notes[group.task])
            for group in groups
        },
    }
    text = json.dumps(without_nan(summary), indent=2, ensure_ascii=False, allow_nan=False)
    (folder / SUMMARY).write_text(text + "\n", encoding="utf-8")
    (folder / PAGE).write_text(render(page), encoding="utf-8")
    return folder / PAGE


def _read_all(roots: list[Path]) -> tuple[list[RunRecord], list[str]]:
    """Every run that can be read, and a sentence about every other one."""
    records, left_out = [], []
    for path, name in find_runs(roots):
        try:
            records.append(read_run(path, name))
        except UsageError as error:
            left_out.append(f"{name} is left out: {error}")
    if not records:
        raise UsageError(f"no run can be read; the first problem: {left_out[0]}")
    return records, left_out


def _make_folders(folder: Path) -> None:
    try:
        for name in (FIGURES, TABLES):
            (folder / name).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"the report cannot be written to {folder} ({error.strerror}): choose another --out."
        ) from error


def _report_task(
    group: TaskGroup, styles: dict[str, LineStyle], folder: Path
) -> tuple[Section, TaskMeasures]:
    """Draw and measure one task, and write its files."""
    problems = Problems()
    diversities = _diversities(group, problems)
    results = measure_task(group, diversities)
    figures: list[Figure] = [*curve_figures(group, styles)]
    if is_fourroom(group.task):
        reference = reference_method(group)
        pictures = [
            visit_figure(group, problems),
            every_seed_figure(group, problems),
            trajectory_figure(group, problems),
            *(reward_figure(m, m is not reference, problems) for m in group.methods),
        ]
        figures += [picture for picture in pictures if picture is not None]
    identity = file_name(group.task)
    for figure in figures:
        save_figure(figure, folder / FIGURES, f"{identity}-{figure.name}")
    shown = [measures_table(group, results), differences_table(results)]
    tables = [table for table in shown if table is not None]
    folded = [runs_table(group, diversities), settings_table(group)]
    for table in (*tables, *folded):
        _write_table(table, folder / TABLES / f"{identity}-{table.name}.csv")
    section = Section(
        identity=identity,
        task=group.task,
        title=task_title(group.task),
        description=task_description(group.task),
        headline=headline(group, results),
        notes=tuple(dict.fromkeys([*group.notes, *results.notes, *problems.sentences()])),
        tables=tuple(tables),
        folded_tables=tuple(folded),
        figures=tuple(figures),
    )
    return section, results


def _write_table(table: Table, path: Path) -> None:
    path.write_text(to_csv(table), encoding="utf-8")


def _diversities(group: TaskGroup, problems: Problems) -> Diversities:
    if not is_fourroom(group.task):
        return {}
    found = {}
    for run in group.runs:
        if run.directory.checkpoint_steps():
            measure = partial(measure_diversity, run)
            diversity = attempt(run, "trajectory diversity", problems, measure)
            if diversity is not None:
                found[run.name] = diversity
    return found


def _facts(
    groups: list[TaskGroup], paths: Sequence[Path | str], out: Path | str | None
) -> tuple[tuple[str, str], ...]:
    """How the report came about."""
    command = ["rle", "report", *map(str, paths), *([] if out is None else ["--out", str(out)])]
    metas = [run.meta for group in groups for run in group.runs]
    try:
        version = metadata.version("random-latent-exploration")
    except metadata.PackageNotFoundError:
        version = "not installed"
    started = sorted(str(meta["started"]) for meta in metas if "started" in meta)
    facts = [
        ("Command", shlex.join(command)),
        ("Made on", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")),
        ("Made with", f"random-latent-exploration {version}"),
        ("Runs used", "; ".join(_versions(metas)) or "versions not recorded"),
    ]
    if started:
        facts.append(
            ("Trained", " to ".join(dict.fromkeys(s[:10] for s in (started[0], started[-1]))))
        )
    return tuple(facts)


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


def _page(
    groups: list[TaskGroup],
    sections: list[Section],
    results: dict[str, TaskMeasures],
    facts: tuple[tuple[str, str], ...],
    left_out: list[str],
) -> Page:
    used = {measure for group in groups for measure in results[group.task].measures}
    labels = dict.fromkeys(method.label for group in groups for method in group.methods)
    seeds = {len(method.runs) for group in groups for method in group.methods}
    steps = {method.steps for group in groups for method in group.methods}
    number = sum(len(group.runs) for group in groups)
    interval = interval_method()
    return Page(
        title=f"Exploration report: {sections[0].title}"
        if len(sections) == 1
        else f"Exploration report: {len(sections)} tasks",
        intro=(
            f"This page compares {_list_of(labels)} on {plural(len(groups), 'task')}, from "
            f"{plural(number, 'run')} with {_range(seeds, str)} seeds per method and "
            f"{_range(steps, steps_text)} training steps per run. Each task has a table of what "
            "was measured, curves over training and, for grid worlds, pictures of where the agents "
            "went. Click a heading to sort a table; point at a curve to read its values."
        ),
        facts=facts,
        notes=tuple(left_out),
        sections=tuple(sections),
        definitions=tuple(measure for measure in ALL_MEASURES if measure in used),
        interval=(
            f"{100 * interval['level']:.0f} % confidence intervals of means and of differences of "
            f"means over seeds: {interval['description']}, {interval['resamples']} resamples. "
            "Where every seed sits at the same end of a scale from 0 to 1, the limit is the exact "
            "binomial one. A method with a single seed has no interval."
        ),
    )


def _range(values: set[int], text: Any) -> str:
    texts = list(dict.fromkeys(text(value) for value in (min(values), max(values))))
    return " to ".join(texts)


def _list_of(labels: dict[str, None]) -> str:
    names = list(labels)
    if len(names) > 6:
        return f"{len(names)} methods"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
