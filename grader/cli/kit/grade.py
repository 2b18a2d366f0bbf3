"""`grade`: a class of submissions, from a folder to a gradebook, feedback pages and an overview."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.report.problem import Problem, need_torch, steps_named
from grader.steps import registry as registry_module

if TYPE_CHECKING:
    from grader.classroom.gradebook import Gradebook
    from grader.classroom.judge import Exam
    from grader.classroom.run import Progress
    from grader.intake.entries import Entry
    from grader.report.records import Change
    from grader.steps.registry import Registry, Step

AHEAD = 2  # submissions that wait for each judge, so that none waits for the next one to be read
MAX_SHOWN = 10


@click.command()
@click.argument("submissions", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Where to write.")
@click.option("--jobs", type=click.IntRange(1, 1024), help="How many at a time; all cores.")
@click.option("--seed", type=click.IntRange(0, 2**63), help="Of the hidden checks' inputs.")
@click.option("--step", "names", multiple=True, help="Only this step; may be given again.")
@click.option("--suite", type=click.Choice(["visible", "hidden"]), default="hidden")
@click.option(
    "--isolation",
    type=click.Choice(["auto", "bubblewrap", "process+", "process"]),
    default="auto",
    help="What submissions run in; auto is bubblewrap, and nothing where that does not hold.",
)
@click.option("--scheduler", metavar="ADDRESS", help="Grade on this Dask cluster.")
def grade(
    submissions: Path,
    out: Path,
    jobs: int | None,
    seed: int | None,
    names: tuple[str, ...],
    suite: str,
    isolation: str,
    scheduler: str | None,
) -> None:
    """Grades a class: a folder with one folder, zip or notebook for every student.

    Stopped at any moment and started again, it goes on where it was.
    """
    from grader.classroom import gradebook, publishing
    from grader.classroom.run import Run

    if suite == "hidden":
        need_torch()
    registry = registry_module.load()
    steps = steps_named(registry, names)
    entries = _entries(submissions, registry)
    _made(out)
    with _said(), gradebook.Gradebook(out, write=True) as book:
        exam = _exam(steps, book, suite, seed, isolation, scheduler)
        run = Run(registry, book, exam)
        click.echo(f"grading {len(entries)} students under {exam.isolation}, seed {exam.seed}")
        with _workforce(jobs, scheduler) as (executor, slots), _Meter() as meter:
            progress = run.grade(entries, executor, AHEAD * slots, meter.show)
        publishing.publish(book, run.number, out, registry, click.echo)
        _summary(book, run.number, progress, out)
    sys.exit(1 if progress.refused else 0)


def _entries(folder: Path, registry: Registry) -> Sequence[Entry]:
    """The students; what is nobody's is told."""
    from grader.intake import entries as intake
    from grader.intake.submission import SubmissionError
    from grader.report.sanitize import one_line

    try:
        listing = intake.survey(folder, registry)
    except SubmissionError as error:
        raise Problem(str(error)) from None
    for name, reason in listing.ignored.items():
        click.echo(f"ignored: {one_line(name, 60)}: {reason}")
    if not listing.entries:
        raise Problem(f"there is nothing to grade in {folder}")
    return listing.entries


def _made(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Problem(f"{folder} cannot be made: {error.strerror}") from None


@contextlib.contextmanager
def _said() -> Iterator[None]:
    """Turns what may go wrong on the way into one sentence."""
    from grader.classroom.cluster import ClusterError
    from grader.classroom.gradebook import GradebookError
    from grader.classroom.judge import JudgeRefuses
    from grader.isolation import SandboxError

    try:
        yield
    except (GradebookError, ClusterError, SandboxError, JudgeRefuses) as error:
        raise Problem(str(error)) from None
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise Problem(
            f"{where}{error.strerror or error}; what is graded is kept: run the same again"
        ) from None
    except KeyboardInterrupt:
        raise Problem("stopped; what is graded is kept: the same command goes on") from None


def _exam(
    steps: Sequence[Step],
    book: Gradebook,
    suite: str,
    seed: int | None,
    isolation: str,
    scheduler: str | None,
) -> Exam:
    """What the class is put through. Where it is graded here, the isolation is probed here."""
    from grader.classroom.judge import Exam, found_to_hold
    from grader.engine import grading
    from grader.engine.kit_digest import kit_digest
    from grader.isolation import probe

    if suite == "visible":
        if seed is not None:
            raise Problem("--seed goes with the hidden checks: the visible ones have fixed inputs")
        seed = 0
    if seed is None:
        known = book.seed(suite)
        seed = grading.fresh_seed() if known is None else known
    if not scheduler:
        here = probe.isolation_for_grading(isolation, registry_module.load().limits)
        found_to_hold(here)
        isolation = here.name
    return Exam(suite, seed, isolation, tuple(step.id for step in steps), kit_digest())


@contextlib.contextmanager
def _workforce(jobs: int | None, scheduler: str | None) -> Iterator[tuple[Executor, int]]:
    """Who grades, and how many submissions at a time."""
    from grader.classroom import judge

    if scheduler:
        from grader.classroom.cluster import connected

        with connected(scheduler) as cluster:
            yield cluster.executor, cluster.slots
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    count = jobs or cores or 1
    with ThreadPoolExecutor(count) as executor:
        try:
            yield executor, count
        except BaseException:
            judge.stop()
            executor.shutdown(wait=False, cancel_futures=True)
            raise
        judge.dismiss()  # now, for judges end with the threads that have started them


class _Meter:
    """How far it is: one line that is written over in a terminal, one for every tenth elsewhere."""

    def __init__(self) -> None:
        self.terminal = sys.stdout.isatty()
        self.tenths = 0

    def __enter__(self) -> _Meter:
        return self

    def __exit__(self, *error: object) -> None:
        if self.terminal:
            click.echo()

    def show(self, progress: Progress) -> None:
        """Says it, unless that was just said."""
        tenths = 10 * progress.done // max(1, progress.total)
        if self.terminal:
            click.echo(f"\r {_standing(progress):<60}", nl=False)
        elif tenths > self.tenths:
            self.tenths = tenths
            click.echo(f" {_standing(progress)}")


def _standing(progress: Progress) -> str:
    left = progress.seconds_left
    more = "" if left is None or progress.done == progress.total else f", {_time(left)} left"
    return f"{progress.done} of {progress.total} done{more}"


def _time(seconds: float) -> str:
    return f"about {seconds:.0f} s" if seconds < 90 else f"about {seconds / 60:.0f} min"


def gradebook_in(folder: Path) -> Gradebook:
    """The gradebook that a class was graded to, open for reading."""
    from grader.classroom.gradebook import Gradebook, GradebookError

    try:
        return Gradebook(folder)
    except GradebookError as error:
        raise Problem(str(error)) from None


def _summary(book: Gradebook, run: int, progress: Progress, out: Path) -> None:
    """What there is to know at the end."""
    parts = [f"{progress.judged} graded"]
    if progress.kept:
        parts.append(f"{progress.kept} known from before")
    if progress.refused:
        parts.append(f"{progress.refused} not gradable")
    click.echo(f"{', '.join(parts)}.")
    changes = list(book.changes(run))
    for change in changes[:MAX_SHOWN]:
        click.echo(f" {_changed(change)}")
    if len(changes) > MAX_SHOWN:
        click.echo(f" and {len(changes) - MAX_SHOWN} more, in {out / 'changes.csv'}")
    click.echo(f"Open {out / 'index.html'}; the points are in {out / 'grades.csv'}.")


def _changed(change: Change) -> str:
    from grader.report.sanitize import one_line

    points = [
        "not gradable" if graded.report is None else f"{graded.report.score:g}"
        for graded in (change.before, change.after)
    ]
    return f"{one_line(change.student, 60)}: {points[0]} -> {points[1]} ({change.because})"
