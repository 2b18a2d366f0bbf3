"""Write the tables and pages of a graded class."""

import datetime
import itertools
import json
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from grader.classroom.changed import list_changes, note_points
from grader.classroom.course import Course
from grader.classroom.exports.grades import changes, header, line
from grader.classroom.gradebook import Gradebook
from grader.classroom.likeness import near_sources, same_answers
from grader.classroom.marking import Rules
from grader.classroom.matches import MATCHES, write_matches
from grader.classroom.overview import class_page
from grader.classroom.summary import Summary
from grader.report.files import write_whole
from grader.report.html.page import feedback_or_apology
from grader.report.names import list_names, safe_name
from grader.report.records import Alike, Change, Graded, from_plain
from grader.report.sanitize import one_line
from grader.steps.registry import Registry
from grader.steps.stubs import solution_of, stub

# The notes of the gradebook on similar students, on pages, and on files of nobody.
ALIKE, DRAWN, STRAYS = "alike", "drawn", "strays"
MAX_TOLD = 20  # students, in a sentence


def publish(
    book: Gradebook,
    run: int,
    out: Path,
    registry: Registry,
    say: Callable[[str], None],
    rules: Rules | None = None,
) -> tuple[Summary, list[Change]]:
    """Write everything about a run, and return its summary and whose results changed.

    say: called with slow tasks, and with what is skipped.
    """
    rules = (rules or Rules(Course())).settle(book.people(run))
    book.note(DRAWN, {})
    summary = Summary()
    found = same_answers(_write_pages(book, run, out, rules, summary, say))
    shown = [row.graded for row in summary.rows]
    changed = [*list_changes(book, run, shown)]
    write_whole(out / "changes.csv", changes(changed))
    note_points(book, run, shown)
    found += _near(book, run, registry, say)
    book.note(ALIKE, [asdict(one) for one in found])
    _write_index(book, run, out, rules, summary)
    return summary, changed


def renew(book: Gradebook, out: Path, rules: Rules) -> None:
    """Write the tables of the last run again, and the pages on which something has changed.

    Similarities stay as they were, and changes.csv is left to the next run.
    """
    run, summary = book.last(), Summary()
    rules = rules.settle(book.people(run))
    deque(_write_pages(book, run, out, rules, summary, lambda text: None), 0)
    _write_index(book, run, out, rules, summary)


def find_alike(book: Gradebook) -> list[Alike]:
    """Return the similar students of the last run, each with the same place every time."""
    return [from_plain(Alike, one) for one in book.recall(ALIKE) or ()]


def _write_pages(
    book: Gradebook,
    run: int,
    out: Path,
    rules: Rules,
    summary: Summary,
    say: Callable[[str], None],
) -> Iterator[Graded]:
    """Write the pages that the gradebook has no note on, and grades.csv; read each report once.

    Yield each student, who is in the summary then. A page that cannot be drawn keeps nobody else's
    from being written.
    """
    steps = book.exam(run).steps
    lines, drawn = [header(steps)], book.recall(DRAWN) or {}
    book.note(DRAWN, {})  # after a run that is stopped, all are drawn again
    for folder in ("reports", "feedback"):
        (out / folder).mkdir(exist_ok=True)
    for graded in rules.apply(book.graded(run)):
        summary.add(graded)
        lines.append(line(graded, steps))
        if drawn.get(graded.student) != (state := _describe(graded)):
            if not _draw(graded, out):
                student = one_line(graded.student, 60)
                say(f"The page of {student} could not be drawn; the points are right.")
            drawn[graded.student] = state
        yield graded
    write_whole(out / "grades.csv", lines)
    write_matches(out / MATCHES, rules.answer)
    _sweep(out, {safe_name(row.graded.student) for row in summary.rows})
    book.note(DRAWN, drawn)


def _write_index(book: Gradebook, run: int, out: Path, rules: Rules, summary: Summary) -> None:
    """Write the class page."""
    exam, course = book.exam(run), rules.course
    about = {
        "title": course.title or "the class",
        "due": course.due,
        "suite": exam.suite,
        "steps": exam.steps,
        "when": datetime.datetime.now().astimezone(course.zone).isoformat(" ", "minutes"),
        "strays": book.recall(STRAYS) or {},
        "unmatched": rules.answer.unmatched,
    }
    write_whole(out / "index.html", class_page(summary, find_alike(book), about))


def _describe(graded: Graded) -> str:
    """Return a text that differs whenever a student's page should."""
    report = graded.report
    about = report and (report.sha256, report.suite, report.seed, report.score)
    return repr((about, graded.grade, graded.reason))


def _draw(graded: Graded, out: Path) -> bool:
    """Write the student's page and report, and return whether the page could be drawn."""
    name = safe_name(graded.student)
    page, drawn = feedback_or_apology(graded)
    write_whole(out / "feedback" / f"{name}.html", [page])
    if graded.report is None:  # that of an earlier attempt would say that it has points
        (out / "reports" / f"{name}.json").unlink(missing_ok=True)
    else:
        # With indent, json uses an encoder that takes many times as long.
        grade = {"grade": asdict(graded.grade)} if graded.grade else {}
        text = json.dumps({**graded.report.to_dict(), **grade}, allow_nan=False)
        write_whole(out / "reports" / f"{name}.json", [text, "\n"])
    return drawn


def _sweep(out: Path, names: set[str]) -> None:
    """Remove the pages of students who are no longer in the class, and parts of pages.

    A run that was killed may have left such parts, as `.new`.
    """
    patterns = ("reports/*.json", "feedback/*.html", "reports/*.new", "feedback/*.new")
    for path in itertools.chain.from_iterable(map(out.glob, patterns)):
        if path.stem not in names:
            path.unlink()


def _near(
    book: Gradebook, run: int, registry: Registry, say: Callable[[str], None]
) -> Iterator[Alike]:
    """Yield similar sources for a person to compare."""
    for step in registry.steps:
        text = stub(solution_of(step))
        alike, cut = near_sources(step.title, text, book.sources_of(run, step.id))
        yield from alike
        if cut:
            named = list_names([one_line(student, 60) for student in cut], MAX_TOLD)
            say(f"{step.title}: of {named} only the beginning was compared, because it is so long.")
