"""Write the tables and pages of a graded class."""

from __future__ import annotations

import datetime
import difflib
import itertools
import json
import shutil
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from itertools import combinations, islice
from pathlib import Path

from grader.classroom.changed import list_changes
from grader.classroom.course import Course
from grader.classroom.exports.grades import changes, header, line
from grader.classroom.gradebook import Gradebook, find_source
from grader.classroom.likeness import near_sources, same_answers
from grader.classroom.marking import Rules
from grader.classroom.matches import MATCHES, write_matches
from grader.classroom.overview import RunFacts, class_page
from grader.classroom.own_source import drop_lessons, find_lessons
from grader.classroom.summary import Summary
from grader.classroom.work_page import find_all_lessons, work_page
from grader.report.files import write_whole
from grader.report.html.page import NOT_DRAWN, feedback_or_apology, template
from grader.report.names import list_names, safe_name
from grader.report.records import Alike, Change, Grade, Graded
from grader.report.sanitize import one_line, visible
from grader.steps.registry import Registry, load
from grader.steps.stubs import solution_of, stub

WORK = "work"
FOLDER = "alike"
MAX_PAGES = 200
MAX_PAIRS = 6  # of a group, on its page
MAX_LINES = 1000
MAX_TEXT = 20_000  # characters of a source: twice what is compared
Line = tuple[str, str, bool]
ALIKE = ".alike.json"
MAX_WORK_PAGES = 2000  # each holds all sources of a student
MAX_COMPARED = 50_000  # about a hundredth of a second for each file
MAX_TOLD = 20  # students, of those whose pages could not be drawn
LONG = 1000  # students; with more, the comparison is so slow that each step is announced


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
    pages = _Pages(book, run, out, rules)
    found = same_answers(pages.write())
    for student in pages.undrawn[:MAX_TOLD]:
        say(f"The page of {one_line(student, 60)} could not be drawn; the points are right.")
    changed = [*list_changes(book, run, pages.shown)]
    write_whole(out / "changes.csv", changes(changed))
    book.publish(run, dict(map(published_points, pages.shown)))
    found += _near(book, run, registry, len(pages.shown), say)
    found = [one for one in found if rules.answer.is_by_several(one.students)]
    sides = write_sides(book, run, out, found)
    kept = [[one.students, one.step, one.why, one.share, sides.get(one)] for one in found]
    write_whole(out / ALIKE, [json.dumps(kept)])
    _index(pages, found, sides)
    return pages.summary, changed


def renew(book: Gradebook, out: Path, rules: Rules) -> None:
    """Write the tables of the last run again, and the pages of students whose grade has changed.

    Similarities stay as they were, and changes.csv is left to the next run.
    """
    run = book.last()
    pages = _Pages(book, run, out, rules.settle(book.people(run)))
    deque(pages.write(only_changed=True), 0)
    sides = _read_alike(out / ALIKE)
    _index(pages, sides, {one: place for one, place in sides.items() if place})


class _Pages:
    """Writes everybody's pages and grades.csv, and reads each report only once.

    shown: everybody without the report, so that a class of any size fits in memory. undrawn: whose
    pages could not be drawn, which keeps nobody else's from being written.
    """

    def __init__(self, book: Gradebook, run: int, out: Path, rules: Rules) -> None:
        self.book, self.run, self.out, self.rules = book, run, out, rules
        self.summary = Summary()
        self.shown: list[Graded] = []
        self.undrawn: list[str] = []
        self.has_work = len(book.people(run)) <= MAX_WORK_PAGES

    def write(self, *, only_changed: bool = False) -> Iterator[Graded]:
        """Write the pages, and yield each student afterwards.

        only_changed: skip pages on which the grade is right.
        """
        steps = self.book.exam(self.run).steps
        lines = [header(steps)]
        if not only_changed:
            shutil.rmtree(self.out / WORK, ignore_errors=True)
        for folder in ("reports", "feedback", *([WORK] if self.has_work else [])):
            (self.out / folder).mkdir(exist_ok=True)
        lessons = find_all_lessons(load()) if self.has_work else {}
        for graded in self.rules.apply(self.book.graded(self.run)):
            self.summary.add(graded)
            lines.append(line(graded, steps))
            if not (only_changed and _has_grade(self.out, graded)):
                drawn = _one_student(graded, self.out)
                if self.has_work:
                    drawn &= self._work(graded, lessons)
                if not drawn:
                    self.undrawn.append(graded.student)
            self.shown.append(_without_report(graded))
            yield graded
        write_whole(self.out / "grades.csv", lines)
        write_matches(self.out / MATCHES, self.rules.answer)
        _sweep(self.out, {one.file for one in self.summary.rows})

    def _work(self, graded: Graded, lessons: Mapping[str, frozenset[str]]) -> bool:
        """Write the student's page for the grader, and return whether it could be drawn."""
        files = self.book.sources(graded.student, self.run)
        path = self.out / WORK / f"{safe_name(graded.student)}.html"
        try:
            page = work_page(graded, files, lessons)
        except Exception:  # whatever it is, the others' pages are still written
            write_whole(path, ["<!doctype html><title>nopeek</title><p>", NOT_DRAWN, "</p>\n"])
            return False
        write_whole(path, [page])
        return True


def _has_grade(out: Path, graded: Graded) -> bool:
    """Return whether the student's report on disk has this grade, for the same work and run.

    A run may have been killed before it wrote its pages.
    """
    report = graded.report
    try:
        text = (out / "reports" / f"{safe_name(graded.student)}.json").read_text(encoding="utf-8")
        data = json.loads(text)
        about = data["submission"]["sha256"], data["suite"], data["seed"], data["score"]
    except (OSError, ValueError, LookupError):
        return False
    if report is None or about != (report.sha256, report.suite, report.seed, report.score):
        return False
    grade = json.loads(json.dumps(graded.grade and asdict(graded.grade)))
    return bool(data.get("grade") == grade)


def _without_report(graded: Graded) -> Graded:
    """Return the student with the same score, but without the report."""
    grade = graded.grade
    if grade is None and graded.score is not None:
        grade = Grade(graded.score, graded.max_score or 0.0)
    return replace(graded, report=None, grade=grade)


def _index(pages: _Pages, found: Iterable[Alike], sides: Mapping[Alike, str]) -> None:
    """Write the class page."""
    facts = about(pages.book, pages.run, pages.rules, len(pages.shown))
    write_whole(pages.out / "index.html", class_page(pages.summary, found, facts, sides))


def _read_alike(path: Path) -> dict[Alike, str]:
    """Return the similar students and the page that compares them, or "" without one."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return {Alike(tuple(who), *more): place or "" for who, *more, place in data}
    except (OSError, ValueError, TypeError):
        return {}  # of an earlier version; the next run writes it


def about(book: Gradebook, run: int, rules: Rules, students: int) -> RunFacts:
    """Return the class page's facts about the assignment and the run."""
    exam = book.exam(run)
    now = datetime.datetime.now().astimezone(rules.course.zone)
    when = now.isoformat(" ", "minutes")
    title = rules.course.title or "the class"
    due = rules.course.due
    work = WORK if students <= MAX_WORK_PAGES else ""
    strays = book.strays(run)
    unmatched = rules.answer.unmatched
    return RunFacts(title, due, exam.suite, exam.steps, when, strays, work, unmatched)


def published_points(graded: Graded) -> tuple[str, tuple[float | None, float | None, str]]:
    """Return the points that are published now, with the changes by hand, by student."""
    notes = graded.grade.by_hand if graded.grade else ()
    return graded.student, (graded.score, graded.max_score, "\n".join(notes))


def _one_student(graded: Graded, out: Path) -> bool:
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
    book: Gradebook, run: int, registry: Registry, students: int, say: Callable[[str], None]
) -> Iterator[Alike]:
    """Yield similar sources for a person to compare."""
    if students > MAX_COMPARED:
        say(f"Sources are compared in classes of up to {MAX_COMPARED:,}: not in this one.")
        return
    usual = []
    for step in registry.steps if students > 1 else ():
        if students > LONG:
            say(f"Comparing the sources of step {step.number}, {step.title} ...")
        found = near_sources(step.title, stub(solution_of(step)), book.sources_of(run, step.id))
        yield from found.alike
        usual += [str(step.number)] if 2 * found.common > students else []
        if found.cut:
            named = list_names([one_line(student, 60) for student in found.cut], MAX_TOLD)
            say(f"{step.title}: of {named} only the beginning was compared, because it is so long.")
    if usual:
        say(
            f"Similar sources of step {', '.join(usual)} are not listed: most students wrote the "
            "same, so it says nothing about anybody."
        )


def side_by_side(one: str, other: str) -> list[Line]:
    """Return both sources line by line, and whether the lines agree except for spaces."""
    left, right = (text.split("\n")[:MAX_LINES] for text in (one, other))
    plain = [[" ".join(line.split()) for line in lines] for lines in (left, right)]
    found: list[Line] = []
    matcher = difflib.SequenceMatcher(None, plain[0], plain[1])
    for kind, a, b, c, d in matcher.get_opcodes():
        for i in range(max(b - a, d - c)):
            mine = left[a + i] if a + i < b else ""
            theirs = right[c + i] if c + i < d else ""
            found.append((mine, theirs, kind == "equal"))
    return found


def _own(source: str, lessons: frozenset[str]) -> str:
    text = "\n".join(line for _, line in drop_lessons(source, lessons)).strip("\n")
    return visible(text, MAX_TEXT)


def write_sides(book: Gradebook, run: int, out: Path, alike: Iterable[Alike]) -> dict[Alike, str]:
    """Write a page for each similarity, and return its path from the class page."""
    folder = out / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    steps = {step.title: step for step in load().steps}
    places: dict[Alike, str] = {}
    for number, one in enumerate(islice(alike, MAX_PAGES), start=1):
        step = steps.get(one.step)
        if step is None:
            continue
        lessons = find_lessons(step)
        texts = {
            name: _own(find_source(book.sources(name, run), step.id), lessons)
            for name in one.students[:MAX_PAIRS]
        }
        pairs = [
            (a, b, side_by_side(texts[a], texts[b]))
            for a, b in islice(combinations(texts, 2), MAX_PAIRS)
        ]
        folder.mkdir(exist_ok=True)
        page = template("side_by_side.html", Path(__file__).parent)
        write_whole(folder / f"{number}.html", [page.render(alike=one, pairs=pairs).lstrip()])
        places[one] = f"{FOLDER}/{number}.html"
    return places
