"""`summary.json`: the numbers of the tables, for programs."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from rle.report.measure.measures import SUCCESS, TaskMeasures, seeds_with_success
from rle.report.measure.reach import RULE, Reach
from rle.report.read.methods import TaskGroup
from rle.report.read.moments import moment_name
from rle.stats import METHODS, Bootstrap, Interval


def task_summary(group: TaskGroup, results: TaskMeasures, notes: list[str]) -> dict[str, Any]:
    """Everything the tables of a task say, and the values of the single seeds behind it."""
    methods = []
    for method in group.methods:
        estimates = results.estimates[method.label]
        entry: dict[str, Any] = {
            "label": method.label,
            "explore": method.explore,
            "seeds": [run.seed for run in method.runs],
            "steps": method.steps,
            "measures": {
                key: interval_summary(estimate.interval)
                | {"by_seed": {str(seed): value for seed, value in estimate.values.items()}}
                for key, estimate in estimates.items()
            },
            "runs": [
                {
                    "folder": run.name,
                    "seed": run.seed,
                    "steps": run.step,
                    "finished": run.finished,
                    "notes": list(run.notes),
                }
                for run in method.runs
            ],
            "settings": method.settings,
        }
        if SUCCESS.key in estimates:
            entry["seeds_with_success"] = seeds_with_success(estimates[SUCCESS.key])
        reaches = [reach for reach in results.reaches if reach.method == method.label]
        if reaches:
            entry["trajectories"] = {moment_name(r.moment): reach_summary(r) for r in reaches}
        methods.append(entry)
    return {
        "methods": methods,
        "differences": [
            {
                "first": difference.reference,
                "second": difference.rival,
                "measures": {
                    key: interval_summary(interval)
                    for key, interval in difference.intervals.items()
                },
            }
            for difference in results.differences
        ],
        "definitions": {measure.key: measure.explanation for measure in results.measures}
        | ({"trajectories": RULE} if results.reaches else {}),
        "notes": notes,
    }


def reach_summary(reach: Reach) -> dict[str, Any]:
    """How far the trajectories of a method reach at one moment, as JSON."""
    return {
        "seeds_with_all_rooms": reach.all_rooms,
        "rooms": {"mean": reach.mean_rooms, "by_seed": _by_seed(reach.rooms)},
        "cells": interval_summary(reach.mean_cells) | {"by_seed": _by_seed(reach.cells)},
        "steps": _by_seed(reach.steps),
    }


def _by_seed(values: dict[int, int]) -> dict[str, int]:
    return {str(seed): value for seed, value in values.items()}


def interval_summary(interval: Interval) -> dict[str, Any]:
    """An interval as JSON."""
    values = asdict(interval)
    return {"mean": values.pop("point")} | values


def interval_method(bootstrap: Bootstrap) -> dict[str, Any]:
    """How the intervals were made."""
    return {
        "level": bootstrap.level,
        "method": bootstrap.method,
        "description": METHODS[bootstrap.method],
        "resamples": bootstrap.resamples,
        "seed": bootstrap.seed,
    }


def without_nan(node: Any) -> Any:
    """JSON has no NaN: null stands for it."""
    if isinstance(node, dict):
        return {key: without_nan(value) for key, value in node.items()}
    if isinstance(node, list | tuple):
        return [without_nan(value) for value in node]
    if isinstance(node, float) and not math.isfinite(node):
        return None
    return node
