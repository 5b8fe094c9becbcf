"""`report`: from run directories to figures, tables, `summary.json` and one page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rle.checks import require
from rle.errors import UsageError
from rle.report.draw.figures import GridFigure
from rle.report.draw.render import Drawing, draw
from rle.report.draw.style import assign_styles
from rle.report.measure.measures import TaskMeasures, measure_task
from rle.report.measure.paper import PAPER_LABELS
from rle.report.measure.suites import measure_suite
from rle.report.measure.training import over_training
from rle.report.read.methods import TaskGroup, find_suites, group_runs
from rle.report.read.records import RunRecord, find_runs, read_run
from rle.report.together import each
from rle.report.write.folder import (
    FIGURES,
    PAGE,
    SUMMARY,
    TABLES,
    make_folders,
    require_ours,
    write_files,
)
from rle.report.write.html import render
from rle.report.write.page import Section, facts, make_page
from rle.report.write.paper import paper_section
from rle.report.write.suite import suite_section, suite_summary
from rle.report.write.summary import interval_method, task_summary, without_nan
from rle.report.write.tables import to_csv, to_latex
from rle.report.write.task import task_section
from rle.runs.files import require_no_link
from rle.runs.remote import is_address
from rle.stats import DEFAULT_BOOTSTRAP, Bootstrap
from rle.studies.mirror import mirrored

PAPER_FOLDER = "paper-report"
"""Where the report goes when it is of the paper alone."""
MOST_SECTIONS = 12
"""The tasks of a larger suite are shown together only: nobody reads 57 sections."""


def report(
    paths: Sequence[Path | str] = (),
    out: Path | str | None = None,
    *,
    paper: bool = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> Path:
    """Compare all runs below `paths`; returns the path of the page that shows them.

    Args:
        paths: run directories, or folders that hold some at any depth; or addresses of such.
        out: where to write `report.html`, `summary.json`, `figures/` (SVG and PNG) and `tables/`
            (CSV and LaTeX); by default `report` in the first of `paths` (or here, if that is an
            address), or `paper-report`. A report that is there is made anew; files that are no
            report's are not overwritten.
        paper: whether to rebuild the paper's Atari results and set the runs beside them; `paths`
            may then be empty.
        bootstrap: how intervals are made; the report says which method it was.

    """
    require(
        len(paths) > 0 or paper,
        "no folder was given: name a run directory or a folder of runs, or ask for --paper.",
    )
    with ExitStack() as copies:
        # All of a study at an address is brought here, for as long as it is read.
        roots = [
            copies.enter_context(mirrored(path, whole=True)) if is_address(path) else Path(path)
            for path in paths
        ]
        return _report(roots, paths, out, paper, bootstrap)


def _report(
    roots: list[Path],
    paths: Sequence[Path | str],
    out: Path | str | None,
    paper: bool,
    bootstrap: Bootstrap,
) -> Path:
    """Compare all runs below `roots`, which show what is at `paths`."""
    default = roots[0] / "report" if roots else Path(PAPER_FOLDER)
    if paths and is_address(paths[0]):
        default = Path("report")
    if out is None:
        require_no_link(default)  # it may be in a folder of somebody else's
    folder = default if out is None else Path(out)
    # Before the work begins, what can be said before; the names of figures are not known yet.
    require_ours(folder, [PAGE, SUMMARY])
    records, left_out = _read_all(roots) if roots else ([], [])
    groups = group_runs(records)
    make_folders(folder)
    sections, measured, more = _sections(groups, paper, bootstrap)
    figures = {
        f"{section.identity}-{figure.name}": figure
        for section in sections
        for figure in section.figures
    }
    # Grids take longest: begun first, they are not what everything waits for in the end.
    names = sorted(figures, key=lambda name: not isinstance(figures[name], GridFigure))
    drawn = dict(zip(names, each(lambda name: draw(figures[name], name), names), strict=True))
    drawings = {name: drawn[name] for name in figures}
    files: dict[str, str | bytes] = {}
    for section in sections:
        files |= _tables(section)
    arguments = [
        *map(str, paths),
        *(["--paper"] if paper else []),
        *(
            []
            if bootstrap.method == DEFAULT_BOOTSTRAP.method
            else ["--intervals", bootstrap.method]
        ),
        *([] if out is None else ["--out", str(out)]),
    ]
    said = facts(groups, arguments, bootstrap)
    page = make_page(groups, sections, measured, said, left_out, bootstrap)
    notes = {section.task: list(section.notes) for section in sections}
    summary = {
        "made": dict(said),
        "intervals": interval_method(bootstrap),
        "notes": list(page.notes),
        "tasks": {
            group.task: task_summary(
                group,
                measured[group.task],
                notes.get(group.task, [*group.notes, *measured[group.task].notes]),
            )
            for group in groups
        },
        **more,
    }
    text = json.dumps(without_nan(summary), indent=2, ensure_ascii=False, allow_nan=False)
    # The summary first: by it, the rest is known to be a report's, also if writing is interrupted.
    files = {SUMMARY: text + "\n", **_pictures(drawings), **files, PAGE: render(page, drawings)}
    require_ours(folder, files)
    write_files(folder, files)
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


def _sections(
    groups: list[TaskGroup], paper: bool, bootstrap: Bootstrap
) -> tuple[list[Section], dict[str, TaskMeasures], dict[str, Any]]:
    """All sections, the numbers of every task, and what else the summary holds."""
    labels = [method.label for group in groups for method in group.methods]
    styles = assign_styles([*labels, *(PAPER_LABELS.values() if paper else [])])
    suites = find_suites(groups)
    together = {g.task for s in suites if len(s.groups) > MOST_SECTIONS for g in s.groups}
    measured: dict[str, TaskMeasures] = {}
    of_tasks: list[Section] = []
    for group in groups:
        if group.task in together:
            measured[group.task] = measure_task(group, {}, bootstrap)
        else:
            section, measured[group.task] = task_section(group, styles, bootstrap)
            of_tasks.append(section)
    first: list[Section] = []
    more: dict[str, Any] = {}
    if paper:
        section, more["paper"] = paper_section(groups, measured, styles)
        first.append(section)
    for suite in suites:
        results = measure_suite(suite, bootstrap)
        alone = suite.groups[0].task in together
        trainings = over_training(results, bootstrap)
        section = suite_section(results, trainings, measured, styles, bootstrap, with_details=alone)
        summary = suite_summary(results, trainings, section.notes)
        more.setdefault("suites", {})[suite.name] = summary
        first.append(section)
    return [*first, *of_tasks], measured, more


def _pictures(drawings: dict[str, Drawing]) -> dict[str, str | bytes]:
    """The files of all drawings, by their names in the report's folder."""
    files: dict[str, str | bytes] = {}
    for name, drawing in drawings.items():
        files[f"{FIGURES}/{name}.svg"] = drawing.svg
        files[f"{FIGURES}/{name}.png"] = drawing.png
    return files


def _tables(section: Section) -> dict[str, str | bytes]:
    """The files of a section's tables, whose names begin with its identity."""
    files: dict[str, str | bytes] = {}
    for table in (*section.tables, *section.folded_tables):
        name = f"{section.identity}-{table.name}"
        files[f"{TABLES}/{name}.csv"] = to_csv(table)
        files[f"{TABLES}/{name}.tex"] = to_latex(table, name)
    return files
