"""Write the tables and pages of a graded class."""

from __future__ import annotations

import datetime
import itertools
import json
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path

from grader.classroom.course import Course
from grader.classroom.exports.changes import changes
from grader.classroom.exports.grades import grades
from grader.classroom.exports.options import Options
from grader.classroom.exports.spreadsheet import cell, row
from grader.classroom.gradebook import Gradebook
from grader.classroom.likeness import near_sources, same_answers
from grader.classroom.marking import Rules
from grader.classroom.overview import About, class_page
from grader.classroom.side_by_side import write_sides
from grader.classroom.summary import Summary
from grader.report.files import write_whole
from grader.report.html.page import feedback, template
from grader.report.names import safe_name
from grader.report.records import Alike, Change, Grade, Graded
from grader.report.sanitize import visible
from grader.steps.registry import Registry
from grader.steps.stubs import solution_of, stub

WORK = "work"
MAX_SHOWN = 100_000  # characters of a source
MAX_COMPARED = 2000  # which takes minutes


def publish(
    book: Gradebook,
    run: int,
    out: Path,
    registry: Registry,
    say: Callable[[str], None],
    rules: Rules | None = None,
) -> list[Change]:
    """Write everything about a run, and return whose points changed.

    say: called with what takes long, and what is skipped.
    """
    rules = (rules or Rules(Course())).unambiguous(book.graded(run))
    steps = tuple(step.id for step in registry.steps)
    write_whole(out / "grades.csv", grades(rules.apply(book.graded(run)), Options(steps)))
    summary = Summary()
    for folder in ("reports", "feedback"):
        (out / folder).mkdir(exist_ok=True)
    for graded in rules.apply(book.graded(run)):
        summary.add(graded)
        _one_student(graded, out)
    _sweep(out, {one.file for one in summary.rows})
    _works(book, run, out, rules, len(summary.rows))
    changed = [*book.changes(run)]
    changed += by_hand(book, rules.apply(book.graded(run)), {one.student for one in changed})
    write_whole(out / "changes.csv", changes(changed))
    found = [*same_answers(book.graded(run)), *_near(book, run, registry, len(summary.rows), say)]
    sides = write_sides(book, run, out, found)
    write_whole(out / "index.html", class_page(summary, found, about(book, run, rules), sides))
    return changed


def about(book: Gradebook, run: int, rules: Rules) -> About:
    """Return the class page's facts about the assignment and the run."""
    exam = book.exam(run)
    when = datetime.datetime.now().astimezone().isoformat(" ", "minutes")
    title = rules.course.title or "the class"
    due = rules.course.due
    return About(title, due, exam.seed, exam.suite, exam.steps, when, book.strays(run), WORK)


def by_hand(book: Gradebook, class_: Iterable[Graded], told: Collection[str]) -> list[Change]:
    """Return whose points differ from those published before though the work is judged alike."""
    before = book.published()
    now: dict[str, tuple[float | None, float | None, str]] = {}
    found = []
    for graded in class_:
        notes = graded.grade.notes if graded.grade else ()
        now[graded.student] = (graded.score, graded.max_score, " ".join(notes))
        old = before.get(graded.student)
        if old is None or graded.student in told or old[:2] == now[graded.student][:2]:
            continue
        grade = Grade(old[0], old[1] or 0.0)
        why = "changed by hand, or the assignment's rules did"
        found.append(Change(graded.student, replace(graded, grade=grade), graded, why))
    book.publish(now)
    return found


def _one_student(graded: Graded, out: Path) -> None:
    name = safe_name(graded.student)
    write_whole(out / "feedback" / f"{name}.html", [feedback(graded)])
    if graded.report is not None:
        # With indent, json uses an encoder that takes many times as long.
        grade = {"grade": asdict(graded.grade)} if graded.grade else {}
        text = json.dumps({**graded.report.to_dict(), **grade}, allow_nan=False)
        write_whole(out / "reports" / f"{name}.json", [text, "\n"])


def _works(book: Gradebook, run: int, out: Path, rules: Rules, students: int) -> None:
    """Write a page on every student for the grader: the source beside the verdicts."""
    folder = out / WORK
    shutil.rmtree(folder, ignore_errors=True)
    if students > MAX_COMPARED:
        return
    folder.mkdir()
    for graded in rules.apply(book.graded(run)):
        if graded.report is None:
            continue
        files = book.sources(graded.student, run)
        steps = [step.step for step in graded.report.steps]
        name = safe_name(graded.student)
        text = template("work.html", Path(__file__).parent).render(
            graded=graded,
            file=name,
            sources={step: visible(files.get(step, ""), MAX_SHOWN) for step in steps},
            modules={name: visible(text, MAX_SHOWN) for name, text in files.items() if "." in name},
            example=row([cell(graded.student), steps[0], "5", "", "why", "your name", "today"]),
        )
        write_whole(folder / f"{name}.html", [text.lstrip()])


def _sweep(out: Path, names: set[str]) -> None:
    """Remove the pages of students who are no longer in the class."""
    for path in itertools.chain(
        (out / "reports").glob("*.json"), (out / "feedback").glob("*.html")
    ):
        if path.stem not in names:
            path.unlink()


def _near(
    book: Gradebook, run: int, registry: Registry, students: int, say: Callable[[str], None]
) -> Iterator[Alike]:
    """Yield similar sources for a human to look at, if copydetect is installed."""
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
