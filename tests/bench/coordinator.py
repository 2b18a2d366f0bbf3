"""Measure the process that hands out the work, for a class of ten thousand.

    python tests/bench/coordinator.py [STUDENTS]

Judging is left out: a stand-in answers at once with a report that was made before. Everything
else is the real thing: reading submissions from disk, the gradebook, tables and pages.
"""

import contextlib
import dataclasses
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any
from unittest import mock

from students import each_student, hand_in
from timing import own_cpu, peak_mib

from grader.classroom import gradebook, publishing
from grader.classroom import run as classroom
from grader.classroom.judge import Exam, Outcome, grade_submission
from grader.engine import grading
from grader.engine.kit_digest import kit_digest
from grader.intake import entries as intake
from grader.intake.submission import Submission
from grader.isolation import Process, start_host
from grader.steps import registry
from grader.steps.registry import Registry

KINDS = 40  # reports made for real, which are then given out in turn


class Standing(Executor):
    """In place of judges: the report of another student who handed in the same but for the name."""

    def __init__(self, outcomes: list[Outcome]) -> None:
        self.outcomes = outcomes
        self.number = 0
        self.asked: tuple[Any, ...] = ()

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.asked = args
        answer: Future[Any] = Future()
        outcome = self.outcomes[self.number % len(self.outcomes)]
        self.number += 1
        assert outcome.report is not None
        report = dataclasses.replace(outcome.report, sha256=args[1].sha256)
        answer.set_result(dataclasses.replace(outcome, report=report))
        return answer


def real_outcomes(registered: Registry, exam: Exam) -> list[Outcome]:
    """Return real judges' outcomes for the first students."""
    steps = list(registered.steps)
    found = []

    def work(grader: grading.Grader) -> None:
        for name, sources in each_student(KINDS, steps):
            report = grader.grade(Submission(name, sources), steps)
            found.append(Outcome(report.to_json().encode(), "", 0.5))

    with start_host(Process(), registered.limits) as host:
        work(grading.make_grader(registered, host, exam.suite, exam.seed, steps))
    return found


@contextlib.contextmanager
def stage(name: str, count: int) -> Iterator[None]:
    """Print the time of the block."""
    start, cpu = time.perf_counter(), own_cpu()
    yield
    wall, used = time.perf_counter() - start, own_cpu() - cpu
    print(
        f"  {name:<34} {wall:8.2f} s {used:8.2f} s cpu {1e3 * used / count:9.3f} ms a student "
        f"{count / wall:8.0f} a second {peak_mib():6.0f} MiB",
        flush=True,
    )


def on_the_wire(exam: Exam, submission: Submission, outcome: Outcome) -> tuple[int, int]:
    """Bytes of the call that Dask sends to a worker, and of the result that it brings back."""
    import cloudpickle

    return len(cloudpickle.dumps((grade_submission, exam, submission))), len(
        cloudpickle.dumps(outcome)
    )


def _size(name: str, size: float) -> None:
    print(f"  {name:<34} {size:8.0f} bytes a student")


def sizes(out: Path, count: int) -> None:
    """Bytes per student on disk, by table and by folder."""
    db = sqlite3.connect(out / gradebook.NAME)
    db.execute("pragma wal_checkpoint(truncate)")
    tables = {
        "reports": "select sum(length(report)) from result",
        "sources": "select sum(length(files)) from sources",
    }
    for name, query in tables.items():
        _size(f"{name} in the gradebook, packed", db.execute(query).fetchone()[0] / count)
    db.close()
    places = {"gradebook.db, all of it": [out / gradebook.NAME]}
    for folder in ("reports", "feedback"):
        places[f"{folder}/"] = list((out / folder).glob("*")) if (out / folder).is_dir() else []
    for name in ("grades.csv", "index.html"):
        places[name] = [out / name] if (out / name).exists() else []
    for name, files in places.items():
        _size(name, sum(file.stat().st_size for file in files) / count)


def run(
    registered: Registry, exam: Exam, outcomes: list[Outcome], count: int, folder: Path
) -> None:
    """Every stage of one class."""
    there, out = folder / "class", folder / "out"
    out.mkdir()
    steps = list(registered.steps)
    with stage("making the class (not part of it)", count):
        hand_in(each_student(count, steps), there)
    with gradebook.Gradebook(out, write=True) as book:
        with stage("finding who handed in", count):
            found = intake.entries(there, registered)
            entries = getattr(found, "entries", found)
        standing = Standing(outcomes)
        room = classroom.GradingRun(registered, book, exam)
        with stage("reading, keeping, marking", count):
            progress = room.grade(entries, standing, 4)
        assert progress.judged == count, progress
        again = classroom.GradingRun(registered, book, exam)
        with stage("the same again: all is known", count):
            again.grade(entries, standing, 4)
        _publish(book, again.number, out, registered, count)
    sizes(out, count)
    sent = [on_the_wire(exam, standing.asked[1], outcome) for outcome in outcomes]
    for name, column in zip(("to a worker", "back from it"), zip(*sent)):
        _size(f"Dask, {name}", statistics.mean(column))


def _publish(book: Any, number: int, out: Path, registered: Registry, count: int) -> None:
    with stage("looking for likenesses", count):
        found = list(publishing._near(book, number, registered, count, print))
    known = mock.patch.object(publishing, "_near", return_value=iter(found))
    with stage("tables and pages", count), known:
        publishing.publish(book, number, out, registered, print)


def main(students_there: int = 10_000) -> None:
    """Print the costs of each stage, at a tenth of the class and at all of it."""
    registered = registry.load()
    steps = tuple(step.id for step in registered.steps)
    exam = Exam("hidden", 7, "process", steps, kit_digest(), "a key")
    outcomes = real_outcomes(registered, exam)
    for count in (students_there // 10, students_there):
        print(f"\n{count} students, all steps; resident memory at its peak so far")
        with tempfile.TemporaryDirectory() as folder:
            run(registered, exam, outcomes, count, Path(folder))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
