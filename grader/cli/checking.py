"""The commands `check`, `list` and `reset`: judge the exercises, and show how far each is."""

import json
import os
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.hosts import open_host
from grader.cli.options import html_option, json_option, need_steps, submission_option
from grader.cli.paths import read_submission, show_path, show_place
from grader.report.problem import Problem, find_steps, need_torch
from grader.steps.paths import HIDDEN
from grader.steps.registry import Registry, Step, load

if TYPE_CHECKING:
    from grader.intake.submission import Submission
    from grader.report.records import Report, StepVerdict
    from grader.report.text.terminal import Printer

PRINTED = Path("-")  # in place of a file for the report


@click.command()
@click.argument("step", nargs=-1)
@submission_option
@click.option("--suite", type=click.Choice(["visible", "hidden"]), default="visible")
@click.option(
    "--seed", type=click.IntRange(0, 2**63), help="Number of hidden inputs, to get the same again."
)
@click.option(
    "--isolation",
    type=click.Choice(["auto", "process", "process+", "bubblewrap"]),
    default="auto",
    help="Isolation of the submission's code; auto is process, for your own code.",
)
@json_option
@html_option
@click.option("--ask/--no-ask", default=None, help="Ask two questions after a step; remembered.")
def check(
    step: tuple[str, ...],
    submission: Path,
    suite: str,
    seed: int | None,
    isolation: str,
    json_file: Path | None,
    html_file: Path | None,
    ask: bool | None,
) -> None:
    """Run the checks of some steps, or all, and show the first that needs work."""
    registry = load()
    steps = find_steps(registry, step)
    parts = None if json_file == PRINTED else registry.group_by_part(steps)
    report, found, printer = judge(registry, steps, submission, suite, seed, isolation, parts)
    is_whole = len(report.steps) == len(steps)
    if json_file == PRINTED:
        click.echo(report.to_json())
        sys.exit(0 if is_whole and report.passed else 1)
    write_report(report, json_file, html_file)
    from grader.cli.telling import tell

    tell(registry, steps, report, submission, found, printer, ask)
    sys.exit(0 if is_whole and report.passed and not report.unsupported else 1)


def judge(
    registry: Registry,
    steps: tuple[Step, ...],
    folder: Path,
    suite: str = "visible",
    seed: int | None = None,
    isolation: str = "auto",
    parts: Mapping[str, Collection[str]] | None = None,
) -> "tuple[Report, Submission, Printer]":
    """Return the report on a folder, what was read of it, and the printer of its rows.

    parts: print a heading and a row for each step, or for a part of these that needs no work.
    """
    if suite == "hidden":
        if not HIDDEN.is_dir():
            told = "the hidden checks are your instructor's: this bundle has the visible ones"
            raise Problem(told)
        need_torch()
    elif seed is not None:
        raise Problem("--seed goes with --suite hidden: the visible checks have fixed inputs")
    with open_host(registry, isolation) as host:
        submission = read_submission(folder, registry)
        from grader.engine import grading
        from grader.engine.own_memory import limit_memory
        from grader.isolation.hosts import CAN_FORK
        from grader.report.text import terminal

        printer = terminal.Printer()
        if parts is not None:
            printer.line(f"nopeek: {suite} checks on {show_path(folder)}\n", "bold")
        key = grading.fresh_key() if suite == "hidden" and seed is None else ""
        overview = terminal.Overview(printer, parts or {})
        grader = grading.make_grader(registry, host, suite, seed or 0, steps, key=key)
        if suite == "hidden":  # of work that may be anybody's, as on Gradescope
            limit_memory()
        # Not with torch, which must not be forked once it has run.
        can_pair = suite == "visible" and len(steps) > 2 and CAN_FORK and (os.cpu_count() or 1) > 1
        done: list[StepVerdict] = []

        def follow(verdict: "StepVerdict | None") -> None:
            """Show a verdict, and say which step is next."""
            if verdict is not None:
                done.append(verdict)
                if parts is not None:
                    overview(verdict)
            if len(done) < len(steps):
                step = steps[len(done)]
                printer.busy(f"judging step {step.number}, {step.title}")

        follow(None)
        try:
            report = grader.grade(submission, steps, follow, in_pairs=can_pair)
        except KeyboardInterrupt:
            if not done:
                raise Problem("stopped before the first step was judged") from None
            overview.finish()
            printer.line()
            count = f"{len(done)} step{'s' * (len(done) > 1)}"
            printer.line(f"Stopped. {count} of {len(steps)} had been judged:", "bold")
            report = grader.report(submission, done)
        finally:
            printer.rest()
        return report, submission, printer


def write_report(report: "Report", json_file: Path | None, html_file: Path | None) -> None:
    """Write the report as data and as a page, if they are asked for."""
    from grader.report.files import write_whole

    if json_file is not None:
        write_whole(json_file, [json.dumps(report.to_dict(), indent=1, allow_nan=False), "\n"])
    if html_file is not None:
        from grader.report.html.page import page

        write_whole(html_file, [page(report)])


@click.command("list")
@submission_option
def list_steps(submission: Path) -> None:
    """List the steps and how far each is."""
    registry = load()
    report, _, printer = judge(registry, registry.steps, submission, parts={})
    from grader.report.records import find_first_undone

    printer.total(report.steps, registry.group_by_part(registry.steps))
    if todo := find_first_undone(report.steps):
        printer.line(f"\nNext: {show_place(submission, todo.step)}")


@click.command()
@click.argument("step", required=False)
def reset(step: str | None) -> None:
    """Put a step's stub back, and keep your file beside it."""
    from grader.steps import stubs

    for found in need_steps(step, "reset"):
        kept = stubs.reset(found)
        click.echo(f"exercises/{found.filename} is the stub again.")
        if kept is not None:
            click.echo(f"Your file is kept as exercises/{kept.name}.")
