"""What grading a class leaves beside the gradebook: tables, and a page for everyone."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path

from grader.classroom.exports.changes import changes
from grader.classroom.exports.grades import grades
from grader.classroom.exports.options import Options
from grader.classroom.gradebook import Gradebook
from grader.classroom.likeness import near_sources, same_answers
from grader.classroom.overview import class_page
from grader.classroom.summary import Summary
from grader.report.files import write_whole
from grader.report.html.page import feedback
from grader.report.names import safe_name
from grader.report.records import Alike, Graded
from grader.steps.registry import Registry
from grader.steps.stubs import solution_of, stub

MAX_COMPARED = 2000  # which takes minutes


def publish(
    book: Gradebook, run: int, out: Path, registry: Registry, say: Callable[[str], None]
) -> None:
    """Writes everything about a run; what is known of former students is taken away.

    say: is told what takes long, and what is left out.
    """
    steps = tuple(step.id for step in registry.steps)
    write_whole(out / "grades.csv", grades(book.graded(run), Options(steps)))
    write_whole(out / "changes.csv", changes(book.changes(run)))
    summary = Summary()
    for folder in ("reports", "feedback"):
        (out / folder).mkdir(exist_ok=True)
    for graded in book.graded(run):
        summary.add(graded)
        _one_student(graded, out)
    _sweep(out, {row.file for row in summary.rows})
    found = [*same_answers(book.graded(run)), *_near(book, run, registry, len(summary.rows), say)]
    write_whole(out / "index.html", class_page(summary, found))


def _one_student(graded: Graded, out: Path) -> None:
    name = safe_name(graded.student)
    write_whole(out / "feedback" / f"{name}.html", [feedback(graded)])
    if graded.report is not None:
        # With indent, json uses an encoder that takes many times as long.
        text = json.dumps(graded.report.to_dict(), allow_nan=False)
        write_whole(out / "reports" / f"{name}.json", [text, "\n"])


def _sweep(out: Path, names: set[str]) -> None:
    """Removes the pages of students who are no longer in the class."""
    for path in itertools.chain(
        (out / "reports").glob("*.json"), (out / "feedback").glob("*.html")
    ):
        if path.stem not in names:
            path.unlink()


def _near(
    book: Gradebook, run: int, registry: Registry, students: int, say: Callable[[str], None]
) -> Iterator[Alike]:
    """Whose sources a human should look at side by side, where copydetect is and not too many."""
    if students > MAX_COMPARED:
        say(f"Sources are compared in classes of up to {MAX_COMPARED:,}: not in this one.")
    elif students > 1:
        try:
            for step in registry.steps:
                given = stub(solution_of(step))
                sources = book.sources_of(run, step.id)
                yield from near_sources(step.title, given, sources).alike
        except ImportError as error:
            say(f"Sources are not compared: {error}.")
