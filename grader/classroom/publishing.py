"""Write the tables and pages of a graded class, and say whose results have changed, and why."""

import datetime
import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from grader.classroom.exports.grades import changes, header, line
from grader.classroom.gradebook import Gradebook
from grader.classroom.likeness import near_sources, same_answers
from grader.classroom.marking import Rules
from grader.classroom.overview import Summary, class_page
from grader.classroom.tables import MATCHES, write_matches
from grader.report.files import write_whole
from grader.report.html.page import feedback_or_apology
from grader.report.records import Alike, Change, Grade, Graded, from_plain
from grader.report.sanitize import list_names, one_line, safe_name
from grader.steps.registry import load
from grader.steps.stubs import solution_of, stub

# The notes of the gradebook: similar students, pages, files of nobody, and points shown last.
ALIKE, DRAWN, STRAYS, SHOWN = "alike", "drawn", "strays", "shown"
MAX_TOLD = 20  # students, in a sentence
# Between two runs in which the work is the same.
REASONS = {
    "kit": "the kit changed",
    "suite": "another suite",
    "steps": "other steps are graded",
    "isolation": "graded under another isolation",
}


def publish(
    book: Gradebook, run: int, out: Path, rules: Rules, say: Callable[[str], None]
) -> tuple[Summary, list[Change]]:
    """Write everything about a run, and return its summary and whose results changed.

    rules: those that know the class. say: called with what is skipped.
    """
    book.note(DRAWN, {})
    summary = Summary()
    found = same_answers(_write_pages(book, run, out, rules, summary, say))
    shown = [row.graded for row in summary.rows]
    changed = [*list_changes(book, run, shown)]
    write_whole(out / "changes.csv", changes(changed))
    note_points(book, run, shown)
    for step in load().steps:
        text = stub(solution_of(step))
        alike, cut = near_sources(step.title, text, book.sources_of(run, step.id))
        found += alike
        if cut:
            named = list_names([one_line(student, 60) for student in cut], MAX_TOLD)
            say(f"{step.title}: of {named} only the beginning was compared, because it is so long.")
    book.note(ALIKE, [asdict(one) for one in found])
    _write_index(book, run, out, rules, summary)
    return summary, changed


def renew(book: Gradebook, out: Path, rules: Rules) -> None:
    """Write the tables of the last run again, and the pages on which something has changed.

    rules: those that know the class. Similarities stay as they were, and changes.csv is left to the
    next run.
    """
    run, summary = book.last(), Summary()
    deque(_write_pages(book, run, out, rules, summary, lambda text: None), 0)
    _write_index(book, run, out, rules, summary)


def find_alike(book: Gradebook) -> list[Alike]:
    """Return the similar students of the last run, each with the same place every time."""
    return [from_plain(Alike, one) for one in book.recall(ALIKE) or ()]


def _write_pages(
    book: Gradebook, run: int, out: Path, rules: Rules, summary: Summary, say: Callable[[str], None]
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
        report = graded.report
        about = report and (report.sha256, report.suite, report.seed, report.score)
        state = repr((about, graded.grade, graded.reason))  # differs whenever the page should
        if drawn.get(graded.student) != state and not _draw(graded, out):
            student = one_line(graded.student, 60)
            say(f"The page of {student} could not be drawn; the points are right.")
        drawn[graded.student] = state
        yield graded
    write_whole(out / "grades.csv", lines)
    write_matches(out / MATCHES, rules.answer)
    names = {safe_name(row.graded.student) for row in summary.rows}
    # Students may have left the class, and a run that was killed has left parts of pages.
    for pattern in ("reports/*.json", "feedback/*.html", "reports/*.new", "feedback/*.new"):
        for path in out.glob(pattern):
            if path.stem not in names:
                path.unlink()
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


def note_points(book: Gradebook, run: int, class_: Iterable[Graded]) -> None:
    """Note the points that are shown now, with the changes by hand, for the next run."""
    points = {
        one.student: (one.score, one.max_score, one.grade.by_hand if one.grade else ())
        for one in class_
    }
    book.note(SHOWN, [run, points])


def list_changes(book: Gradebook, run: int, class_: Iterable[Graded]) -> Iterator[Change]:
    """Yield everybody whose published points or verdicts differ from the present ones.

    class_: the run, with grades. On a platform students choose their names, so the number there
    tells who somebody was before.
    """
    if (shown := book.recall(SHOWN)) is None:
        return
    earlier, points = shown
    exam, other = vars(book.exam(run)), vars(book.exam(earlier))
    differing = [why for name, why in REASONS.items() if exam[name] != other[name]]
    other_exam = " and ".join(differing) or "the same work was read differently"
    old = {one.student: one for one in book.people(earlier)}
    here = {one.student: one.who for one in book.people(run)}
    renamed = {
        (one.who.platform, one.who.number): one
        for one in old.values()
        if one.who.number and one.student not in here
    }
    for graded in class_:
        who = here[graded.student]
        was = old.get(graded.student) or renamed.get((who.platform, who.number))
        if was is None:
            continue
        score, most, notes = points.get(was.student, (None, None, ()))
        before = replace(was, report=graded.report, grade=Grade(score, most or 0.0))
        after, by_hand = graded, graded.grade.by_hand if graded.grade else ()
        if (was.key, was.who.absent) != (graded.key, graded.who.absent):
            before = replace(before, report=book.report(was.key))
            after = replace(after, report=book.report(graded.key))
        new = [note for note in by_hand if note not in notes]
        reasons = [f"changed by hand: {' '.join(new)}"] if new else []
        if verdicts_of(before) != verdicts_of(after):
            reasons.insert(0, _explain(was, graded, other_exam))
        elif (score, most) == (graded.score, graded.max_score):
            continue
        elif not reasons and not set(notes) <= set(by_hand):
            reasons = ["a change by hand was taken back"]
        why = "; ".join(reasons) or "the assignment file or the class list changed"
        yield Change(graded.student, before, after, why)


def verdicts_of(graded: Graded) -> Any:
    """Return the parts of a report that count as a change: points and statuses, not wording."""
    if graded.report is None:
        return graded.who.absent
    return [(c.check, c.status, c.points) for step in graded.report.steps for c in step.checks]


def _explain(was: Graded, now: Graded, otherwise: str) -> str:
    """Return how the work itself changed. otherwise: the reason if it is the same."""
    reasons = {
        now.who.absent: now.who.absent,
        "handed in": was.who.absent,
        f"not gradable any more: {now.reason}": now.key is None,
        "handed in again": was.sha256 != now.sha256,
        otherwise: True,
    }
    return next(reason for reason, is_true in reasons.items() if is_true)
