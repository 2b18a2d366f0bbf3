"""What grading a class leaves beside the gradebook: tables, and a page for everyone."""

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
from grader.classroom.gradebook import Gradebook
from grader.classroom.likeness import near_sources, same_answers
from grader.classroom.marking import Rules
from grader.classroom.overview import About, class_page
from grader.classroom.side_by_side import write_sides
from grader.classroom.summary import Summary
from grader.classroom.work_page import find_all_lessons, work_page
from grader.report.files import write_whole
from grader.report.html.page import feedback
from grader.report.names import safe_name
from grader.report.records import Alike, Change, Grade, Graded
from grader.steps.registry import Registry, load
from grader.steps.stubs import solution_of, stub

WORK = "work"
ALIKE = ".alike.json"
MAX_COMPARED = 2000  # which takes minutes


def publish(
    book: Gradebook,
    run: int,
    out: Path,
    registry: Registry,
    say: Callable[[str], None],
    rules: Rules | None = None,
) -> list[Change]:
    """Writes everything about a run, and returns who has other points than before.

    say: is told what takes long, and what is left out.
    """
    rules = (rules or Rules(Course())).unambiguous(book.graded(run))
    summary = _write_grades(book, run, out, rules)
    changed = [*_change_grades(book, run, rules)]
    changed += by_hand(book, rules.apply(book.graded(run)), {one.student for one in changed})
    write_whole(out / "changes.csv", changes(changed))
    found = [*same_answers(book.graded(run)), *_near(book, run, registry, len(summary.rows), say)]
    sides = write_sides(book, run, out, found)
    kept = [[one.students, one.step, one.why, one.share, sides.get(one)] for one in found]
    write_whole(out / ALIKE, [json.dumps(kept)])
    write_whole(out / "index.html", class_page(summary, found, about(book, run, rules), sides))
    return changed


def renew(book: Gradebook, out: Path, rules: Rules) -> None:
    """Write the pages and tables of the last run anew, after changes by hand.

    Whose work is alike stays as it was, and changes.csv is left to the next run.
    """
    run = book.last()
    rules = rules.unambiguous(book.graded(run))
    summary = _write_grades(book, run, out, rules)
    sides = _read_alike(out / ALIKE)
    places = {one: place for one, place in sides.items() if place}
    write_whole(out / "index.html", class_page(summary, sides, about(book, run, rules), places))


def _read_alike(path: Path) -> dict[Alike, str]:
    """Whose work is alike, and on which page it stands side by side; "" without a page."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return {Alike(tuple(who), *more): place or "" for who, *more, place in data}
    except (OSError, ValueError, TypeError):
        return {}  # of an earlier version; the next run writes it


def _write_grades(book: Gradebook, run: int, out: Path, rules: Rules) -> Summary:
    """Write the table and everybody's pages."""
    options = Options(book.steps(run))
    write_whole(out / "grades.csv", grades(rules.apply(book.graded(run)), options))
    summary = Summary()
    for folder in ("reports", "feedback"):
        (out / folder).mkdir(exist_ok=True)
    for graded in rules.apply(book.graded(run)):
        summary.add(graded)
        _one_student(graded, out)
    _sweep(out, {one.file for one in summary.rows})
    _works(book, run, out, rules, len(summary.rows))
    return summary


def about(book: Gradebook, run: int, rules: Rules) -> About:
    """What the page of the class says of the assignment and the run."""
    exam = book.exam(run)
    when = datetime.datetime.now().astimezone().isoformat(" ", "minutes")
    title = rules.course.title or "the class"
    due = rules.course.due
    return About(title, due, exam.seed, exam.suite, exam.steps, when, book.strays(run), WORK)


def _change_grades(book: Gradebook, run: int, rules: Rules) -> Iterator[Change]:
    """Yield whose work is judged otherwise than before, with the grades that it comes to."""
    shown = book.published()
    for one in book.changes(run):
        before, after = rules.apply([one.before, one.after])
        if one.student in shown:
            score, most, _ = shown[one.student]
            before = replace(before, grade=Grade(score, most or 0.0))
        yield replace(one, before=before, after=after)


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
    """Write a page for whoever grades for every student: the source beside the verdicts."""
    folder = out / WORK
    shutil.rmtree(folder, ignore_errors=True)
    if students > MAX_COMPARED:
        return
    folder.mkdir()
    lessons = find_all_lessons(load())
    for graded in rules.apply(book.graded(run)):
        files = book.sources(graded.student, run)
        path = folder / f"{safe_name(graded.student)}.html"
        write_whole(path, [work_page(graded, files, lessons)])


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
