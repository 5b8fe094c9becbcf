"""The command `rle`: one short function per verb, no logic."""

from __future__ import annotations

import argparse
import io
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

# A verb imports what it needs when it needs it: PyTorch alone takes longer than most answers.
import rle
from rle.arguments import Parser, named, task_first, whole_number, with_settings
from rle.checks import nearest, require
from rle.checkup.check import STEPS, check_name, is_run
from rle.checkup.show import shown
from rle.errors import Interrupted, RunError, UsageError, is_of_the_disk
from rle.explore.registry import check_strategy_name
from rle.findings.finding import has_problem
from rle.machine import wait_asleep
from rle.modules import search_working_folder
from rle.presets import preset_config
from rle.runs.directory import RunDirectory, require_folder
from rle.runs.origin import find_origin
from rle.runs.remote import is_address, place
from rle.settings import changed
from rle.studies.catalogue import find_study
from rle.tasks.registry import check_task_name, is_task_name
from rle.terminal import RED, YELLOW, Entry, Section, page, styled

_TRUST = "run code that the run names and that is not part of this package; once said, remembered"


def _train(arguments: Sequence[str]) -> None:
    """Train an agent: rle train TASK --explore STRATEGY [any setting]"""
    parser = _parser("train", "Train an agent. Every setting can be changed by its name.")
    parser.add_argument("task", nargs="?", help="a task, see `rle list tasks`")
    parser.add_argument(
        "--explore",
        default="rle",
        metavar="STRATEGY",
        help="a strategy, see `rle list strategies`, or module:NAME of your own",
    )
    parser.add_argument(
        "--preset",
        default=None,
        metavar="PRESET",
        help="where the numbers come from: paper, released or desktop "
        "(default: paper, and desktop on control/ and sparse/ tasks)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=None,
        help="the run directory to create (default: runs/<task>-<strategy>-seed<seed>)",
    )
    parser.add_argument(
        "--init-from",
        metavar="RUN[@STEP]",
        default=None,
        help="begin with the agent of another run, as it stood at a checkpoint (default: its latest): "
        "networks, what its strategy has learned, statistics of observations; all else starts fresh",
    )
    parser.add_argument(
        "--trust", action="store_true", help=f"{_TRUST}; of the run that --init-from names"
    )
    show_help = any(argument in ("-h", "--help") for argument in arguments)
    arguments = [argument for argument in arguments if argument not in ("-h", "--help")]
    known, rest = parser.parse_known_args(task_first(parser, arguments, is_task_name))
    if known.task is None:
        if not show_help:
            parser.error("the following arguments are required: task")
        advice = "The settings depend on the task: `rle train fourroom --help` lists FourRoom's."
        print(parser.help_page(sys.stdout, advice), end="")
        return
    check_task_name(known.task)
    check_strategy_name(known.explore)
    default = preset_config(known.task, known.explore, known.preset)
    if show_help:
        from rle.help import print_settings

        print_settings(parser, default)
        return
    config = with_settings(default, rest)
    require(
        known.init_from is not None or not known.trust,
        "--trust is of the run that --init-from names: leave it out.",
    )
    if known.init_from is not None:
        find_origin(known.init_from)  # says what is wrong before PyTorch is imported
    run = rle.train_config(
        config, known.out, given=named(rest), init_from=known.init_from, trust=known.trust
    )
    print(f"finished: {run.path}")


def _resume(arguments: Sequence[str]) -> None:
    """Go on with an interrupted run, or for longer: rle resume RUN [--total-steps N] [--devices N]"""
    parser = _parser("resume", "Go on with an interrupted run from its latest checkpoint.")
    parser.add_argument("run", type=Path, help="the run directory, as `rle train` printed it")
    parser.add_argument(
        "--total-steps",
        type=whole_number,
        default=None,
        help="go on to so many steps, finished or not; what then differs from a run that was so long "
        "from the start is said",
    )
    parser.add_argument(
        "--devices",
        type=whole_number,
        default=None,
        help="go on on so many GPUs, or processes on CPU cores (default: as before)",
    )
    parser.add_argument("--trust", action="store_true", help=_TRUST)
    known = parser.parse_args(arguments)
    found = RunDirectory.open(known.run)
    run = rle.resume(
        found.path, total_steps=known.total_steps, devices=known.devices, trust=known.trust
    )
    print(f"finished: {run.path}")


def _eval(arguments: Sequence[str]) -> None:
    """Play fresh episodes with a trained agent: rle eval RUN [--episodes N] [--greedy] [--video DIR]"""
    parser = _parser("eval", "Play fresh episodes with a trained agent.")
    parser.add_argument("run", type=Path, help="the run directory, as `rle train` printed it")
    parser.add_argument("--episodes", type=whole_number, default=32, help="how many to play")
    parser.add_argument(
        "--step", type=whole_number, default=None, help="a checkpoint (default: the latest)"
    )
    parser.add_argument("--greedy", action="store_true", help="take the most likely actions")
    parser.add_argument("--seed", type=whole_number, default=0, help="of the episodes")
    parser.add_argument("--video", type=Path, default=None, help="film the agent into this folder")
    parser.add_argument(
        "--overwrite", action="store_true", help="let videos take the place of those in the folder"
    )
    parser.add_argument(
        "--clips", type=whole_number, default=4, help="videos, each under another z"
    )
    parser.add_argument("--seconds", type=float, default=30.0, help="of play, per video at most")
    parser.add_argument("--trust", action="store_true", help=_TRUST)
    known = parser.parse_args(arguments)
    RunDirectory.open(known.run)  # says what is wrong before PyTorch is imported
    if known.video is not None:
        _film(known)
        return
    result = rle.eval(
        known.run,
        known.episodes,
        step=known.step,
        greedy=known.greedy,
        seed=known.seed,
        trust=known.trust,
    )
    print(
        f"mean score {result.mean:.3f} over {len(result.scores)} episodes "
        f"(checkpoint at {result.checkpoint_step:,} steps, "
        f"{'greedy' if result.greedy else 'sampled'} actions)"
    )


def _film(known: argparse.Namespace) -> None:
    from rle.runs.clip import score_text

    films = rle.film(
        known.run,
        known.video,
        clips=known.clips,
        seconds=known.seconds,
        step=known.step,
        greedy=known.greedy,
        seed=known.seed,
        overwrite=known.overwrite,
        trust=known.trust,
    )
    for clip in films:
        print(f"{clip.path}: score {score_text(clip.score)}")


def _study(arguments: Sequence[str]) -> None:
    """Train a whole grid of runs: rle study NAME|FILE.toml [--methods M...] [--seeds N]"""
    # An option may stand after a study that somebody has called so, a folder may not.
    if arguments[:1] == ["status"] and not "".join(arguments[1:2]).startswith("-"):
        _study_status(arguments[1:])
        return
    parser = _parser(
        "study",
        "Train what is missing of a declared grid of runs; `rle study status FOLDER` says how far.",
    )
    parser.add_argument(
        "study", help="a study, see `rle list studies`; a TOML file; or module:name of your own"
    )
    parser.add_argument("--tasks", nargs="+", default=(), help="only these of its tasks")
    parser.add_argument("--methods", nargs="+", default=(), help="only these of its methods")
    parser.add_argument(
        "--seeds", type=whole_number, default=None, help="runs of each (default: as it declares)"
    )
    parser.add_argument(
        "--first-seed", type=whole_number, default=0, help="the first of their seeds (default: 0)"
    )
    parser.add_argument(
        "--total-steps",
        type=whole_number,
        default=None,
        help="agent steps of each run (default: as it declares)",
    )
    parser.add_argument(
        "--workers", type=whole_number, default=None, help="processes (default: one per core)"
    )
    parser.add_argument(
        "--out",
        type=place,
        default=None,
        help="where its runs are (default: runs/<study>); a folder, or an address such as s3://bucket/name",
    )
    parser.add_argument(
        "--only",
        default=None,
        metavar="K/N",
        help="the K-th of N parts of its runs: for the jobs of an array, which share a folder",
    )
    parser.add_argument(
        "--ray",
        default=None,
        metavar="ADDRESS",
        help="run them on the Ray cluster at this address, or with local on a Ray of this machine",
    )
    parser.add_argument(
        "--cpus-per-run",
        type=float,
        default=None,
        help="what a run takes (default: as the study declares, or as many as it has threads)",
    )
    parser.add_argument(
        "--gpus-per-run",
        type=float,
        default=None,
        help="the same, on Ray (default: none); a fraction shares one",
    )
    parser.add_argument(
        "--memory-per-run",
        default=None,
        metavar="SIZE",
        help="the same, such as 2GB: more runs than fit are not started",
    )
    known = parser.parse_args(arguments)
    part = find_study(known.study).only(known.tasks, known.methods)
    result = rle.study(
        part,
        seeds=known.seeds,
        first_seed=known.first_seed,
        total_steps=known.total_steps,
        workers=known.workers,
        out=known.out,
        only=known.only,
        ray=known.ray,
        cpus_per_run=known.cpus_per_run,
        gpus_per_run=known.gpus_per_run,
        memory_per_run=known.memory_per_run,
    )
    if result.left:
        print(f"left to other processes, which are training them: {', '.join(result.left)}")
    print(
        f"{len(result.finished)} runs finished in {result.place}; {result.steps:,} steps in "
        f"{result.seconds:.0f} s, {result.steps / max(result.seconds, 1e-9):,.0f} steps/s in all"
    )
    if result.failed:
        from rle.studies.running import what_failed

        raise RunError(what_failed(result))


def _study_status(arguments: Sequence[str]) -> None:
    parser = _parser(
        "study status", "What is done of a study, what is running and what has failed."
    )
    parser.add_argument("folder", type=place, help="where its runs are, by default runs/<study>")
    print(rle.study_status(parser.parse_args(arguments).folder))


def _report(arguments: Sequence[str]) -> None:
    """Figures, tables and one HTML page: rle report [DIR...] [--paper] [--out DIR]"""
    parser = _parser("report", "Figures, tables, summary.json and one self-contained report.html.")
    parser.add_argument(
        "folders", type=place, nargs="*", metavar="FOLDER", help="run directories, or above them"
    )
    parser.add_argument(
        "--paper", action="store_true", help="the paper's Atari results, with the runs beside them"
    )
    parser.add_argument(
        "--intervals",
        choices=("expanded-percentile", "percentile"),
        default="expanded-percentile",
        help="how they are computed; percentile: the plain bootstrap, too narrow with few seeds, to "
        "compare with rliable",
    )
    parser.add_argument("--out", type=Path, default=None, help="where the report goes")
    known = parser.parse_args(arguments)
    for folder in known.folders:
        if not is_address(folder):
            require_folder(folder)
    from rle.stats import Bootstrap

    bootstrap = Bootstrap(method=known.intervals)
    page = rle.report.report(known.folders, known.out, paper=known.paper, bootstrap=bootstrap)
    print(f"report: {page}")


def _list(arguments: Sequence[str]) -> None:
    """What there is: rle list tasks | strategies | studies | runs [DIR]"""
    parser = _parser("list", "List what there is.")
    parser.add_argument("what", help="tasks, strategies, studies or runs")
    parser.add_argument(
        "folder", type=Path, nargs="?", help="where the runs are (default: runs); of runs only"
    )
    known = parser.parse_args(arguments)
    lines = rle.list(known.what, known.folder)
    width = max(map(len, lines))
    for name, line in lines.items():
        print(f"{name:{width}}  {line}")


def _check(arguments: Sequence[str]) -> int:
    """Find what keeps RLE from working: rle check TASK|RUN [--explore STRATEGY] [any setting]"""
    parser = _parser(
        "check",
        "Find what keeps RLE from working: in a task before training, by random actions; in a run "
        "after it, by its log. Settings as in `rle train`. The exit status is 1 if there is a problem.",
    )
    parser.add_argument(
        "task", metavar="TASK|RUN", help="a task, see `rle list tasks`; or a run directory"
    )
    parser.add_argument("--explore", default="rle", metavar="STRATEGY", help="as in `rle train`")
    parser.add_argument("--preset", default=None, metavar="PRESET", help="as in `rle train`")
    parser.add_argument(
        "--steps", type=whole_number, default=STEPS, help="random steps to play in a task"
    )
    arguments = task_first(parser, arguments, lambda name: is_run(name) or is_task_name(name))
    known, rest = parser.parse_known_args(arguments)
    settings = {}
    if not is_run(known.task):
        check_name(known.task)
        check_strategy_name(known.explore)
        default = preset_config(known.task, known.explore, known.preset)
        settings = changed(default, with_settings(default, rest))
    elif given := [*named(arguments), *rest]:
        raise UsageError(f"{known.task} is a run, which has its settings: leave out {given[0]}.")
    findings = rle.check(
        known.task, known.explore, preset=known.preset, steps=known.steps, **settings
    )
    print(shown(findings, sys.stdout), end="")
    return 1 if has_problem(findings) else 0


def _bench(arguments: Sequence[str]) -> None:
    """Speed on this machine: rle bench [TASK] [--preset P] [--seconds S] [any setting]"""
    parser = _parser(
        "bench",
        "Measure training speed, with the peers that are installed beside it (extra: bench); settings "
        "as in `rle train`.",
    )
    parser.add_argument("task", nargs="?", default="fourroom", help="a task, see `rle list tasks`")
    parser.add_argument("--preset", default=None, metavar="PRESET", help="as in `rle train`")
    parser.add_argument(
        "--seconds",
        type=float,
        default=4.0,
        help="of each round at least; longer ones scatter less",
    )
    known, rest = parser.parse_known_args(task_first(parser, arguments, is_task_name))
    check_task_name(known.task)
    default = preset_config(known.task, "rle", known.preset)
    settings = changed(default, with_settings(default, rest))
    print(rle.bench(known.task, settings, known.preset, known.seconds))


Verb = Callable[[Sequence[str]], int | None]
"""Takes what stands after it; returns the exit status, None for 0."""

VERBS: dict[str, Verb] = {
    "train": _train,
    "resume": _resume,
    "eval": _eval,
    "study": _study,
    "report": _report,
    "list": _list,
    "check": _check,
    "bench": _bench,
}


def _parser(verb: str, description: str) -> Parser:
    return Parser(prog=f"rle {verb}", description=description, allow_abbrev=False)


def _completion(arguments: Sequence[str]) -> None:
    """Completion for a shell, to be read by it: rle --completion bash | zsh | fish"""
    from rle.completion import script

    print(script(arguments), end="")


def _complete(arguments: Sequence[str]) -> None:
    """What the last of `arguments` may become: the scripts of `--completion` ask."""
    from rle.completion import answer

    print(answer(arguments, VERBS), end="")


OF_SHELLS: dict[str, Verb] = {"--completion": _completion, "__complete": _complete}


def _usage() -> str:
    """The help of the command itself, from what each verb says of itself."""
    lines = [(verb.__doc__ or "").strip().partition(": ") for verb in VERBS.values()]
    options = [
        Entry("rle VERB --help", "all that the verb takes; `rle train TASK --help`: every setting"),
        Entry("rle --completion SHELL", "a script for bash, zsh or fish that completes commands"),
        Entry("rle --version", "which version this is"),
    ]
    return page(
        "rle VERB [options]",
        "Random Latent Exploration for deep reinforcement learning.",
        [
            Section("Verbs", [Entry(form, text) for text, _, form in lines]),
            Section("Options", options),
        ],
        sys.stdout,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status.

    0: done; 1: a run failed, or `rle check` found a problem; 2: wrong input; 130 or 143: interrupted by
    Ctrl-C or SIGTERM.
    """
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Names of files may hold what no text has, and a terminal may lack φ.
            stream.reconfigure(errors="backslashreplace")
    warnings.showwarning = lambda message, *_, **__: _say("warning:", YELLOW, message)
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_usage(), end="")
        return 0
    if arguments[0] == "--version":
        print(rle.__version__)
        return 0
    wait_asleep()
    search_working_folder()
    try:
        verb = (VERBS | OF_SHELLS).get(arguments[0])
        if verb is None:
            raise UsageError(f"there is no verb {arguments[0]!r}: {nearest(arguments[0], VERBS)}")
        status = verb(arguments[1:])
        sys.stdout.flush()
        return status or 0
    except UsageError as error:
        _say("rle:", RED, error)
        return error.exit_status
    except BrokenPipeError:
        # Whoever read the output has seen enough, as in `rle list tasks | head -1`.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt as error:
        advice = "the same command" if arguments[0] == "study" else "`rle resume RUN`"
        print(f"interrupted; {advice} goes on from here", file=sys.stderr)
        return error.exit_status if isinstance(error, Interrupted) else 130
    except OSError as error:
        if not is_of_the_disk(error):
            raise
        place = error.filename or "a file"
        advice = "make room there, let it be written and read, or choose another."
        _say("rle:", RED, f"{place} cannot be written or read ({error.strerror}): {advice}")
        return RunError.exit_status
    return 0


def _say(who: str, style: str, message: object) -> None:
    message = " ".join(str(message).split("\n"))  # One sentence, whatever it quotes.
    print(f"{styled(who, style, sys.stderr)} {message}", file=sys.stderr)
