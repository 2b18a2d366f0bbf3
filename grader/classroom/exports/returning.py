"""Write feedback for the students: zips for Moodle and Canvas, and a table for a mail merge."""

from __future__ import annotations

import html
import io
import json
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator

from grader.classroom.exports.explanation import points_of_steps
from grader.classroom.exports.moodle import feedback as short_feedback
from grader.classroom.exports.options import Options
from grader.classroom.exports.people import (
    Numbers,
    Person,
    clean_name,
    compose,
    find_person,
    find_team,
    fold,
)
from grader.classroom.exports.spreadsheet import number, protect_cell, row
from grader.report.html.page import feedback_or_apology
from grader.report.names import safe_name
from grader.report.records import Graded, Who
from grader.report.sanitize import one_line, visible

PAGE = "feedback.html"
TYPED = ("_text.html", "_link.html")  # what Canvas calls a text or an address handed in
FITTING = (".py", ".ipynb", ".zip", ".html", ".htm", ".txt")  # for what can be written here
PLATFORMS = ("Canvas", "Moodle")
_MARK = "_assignsubmission_"


class _Readers:
    """Know who reads which page, so that nobody reads two.

    Students choose their names on a platform, and one may have the name of a team. So a page of a
    team goes only to members without work of their own, and only if no other work is that team's.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.people: dict[str, Person | None] = {}  # by the names of members
        self.alone: set[tuple[str, str]] = set()  # platform and name, of students outside of teams
        self.count: Counter[tuple[str, str]] = Counter()  # the pages of teams, by the reader
        numbers = Numbers(options.roster)
        for student, who in options.people:
            people = find_team(student, who, options.groups)
            if people is None and not who.absent:
                known = bool(numbers.owners(who))  # and the name may be a member's
                names = [student] if known else filter(None, (student, who.name, who.email))
                self.alone |= {(who.platform, compose(name)) for name in names}
                self.alone |= (
                    {_folded(who.name)} if who.platform == "Moodle" and not known else set()
                )
                self.alone |= {_numbered(who.platform, who.number)} if who.number else set()
            if not who.absent:  # somebody on the class list may have the name of a team, too
                self.count.update({self._key(name) for name in people or ()})

    def of(self, graded: Graded) -> list[Who]:
        """Return the readers of a page: the members of a team, or the student."""
        people = find_team(graded.student, graded.who, self.options.groups)
        if people is None:
            return [graded.who]
        if graded.who.absent and any(self.count[self._key(name)] for name in people):
            return [graded.who]
        known = [(name, self._person(name)) for name in people]
        return [
            person.who if person else _write_to(name)
            for name, person in known
            if self.count[self._key(name)] < 2 and not self._works_alone(name, person)
        ]

    def is_only_another_name(self, graded: Graded) -> bool:
        """Return whether there is no score, and work under another name has the number."""
        silent = graded.who.absent and graded.score is None and not graded.excused
        return bool(silent) and _numbered(graded.who.platform, graded.who.number) in self.alone

    def _person(self, name: str) -> Person | None:
        if name not in self.people:
            self.people[name] = find_person(name, self.options.roster)
        return self.people[name]

    def _key(self, name: str) -> tuple[str, str]:
        person = self._person(name)
        return ("class list", person.id) if person else ("", compose(name))

    def _works_alone(self, name: str, person: Person | None) -> bool:
        """Return whether a member has an entry in the class as well."""
        names = {compose(name)} | (set(person.names) if person else set())
        own = person.who if person else Who()
        # On the list's platform a number decides, because others may have the same name. An own
        # list has the numbers of the one that is used.
        listed = {own.platform} if own.platform else {*PLATFORMS}
        others = {"", *PLATFORMS} - (listed if own.number else set())
        keys = {(platform, name) for platform in others for name in names}
        keys |= set(map(_folded, names)) if "Moodle" in others else set()
        keys |= {_numbered(platform, own.number) for platform in listed if own.number}
        return not keys.isdisjoint(self.alone)


def _numbered(platform: str, number: str) -> tuple[str, str]:
    return (f"number on {platform}", number)


def _folded(name: str) -> tuple[str, str]:
    """Return the key of a name that Moodle's folders have in another form."""
    return ("folder of Moodle", fold(name))


def _write_to(name: str) -> Who:
    return Who(email=name) if "@" in name else Who(name=name)


def _folder(who: Who, options: Options) -> str:
    """Return the start of the folder name by which Moodle finds this student; "" if it cannot."""
    if who.files:
        start = who.files[0].rpartition(_MARK)[0]
        moodles = [one for one in options.roster if one.who.platform == "Moodle"]
        if moodles and not any(one.is_called(start, who) for one in moodles):
            return ""  # a team, whose number may be that of somebody else
        return start
    return f"{clean_name(who.name or 'Participant')}_{who.number}" if who.number else ""


def moodle_feedback(class_: Iterable[Graded], options: Options) -> Iterator[tuple[str, bytes]]:
    """Yield a page for every student of a Moodle download, under the name of the folder there.

    Moodle reads the student's number in that name, so a team's page goes to its members.
    """
    known = _Readers(options)
    for graded in class_:
        own = graded.who.platform == "Moodle" and not known.is_only_another_name(graded)
        readers = known.of(graded) if own else ()
        for start in filter(None, (_folder(who, options) for who in readers)):
            yield f"{start}{_MARK}file/{PAGE}", _page(graded)


def canvas_feedback(class_: Iterable[Graded], options: Options) -> Iterator[tuple[str, bytes]]:
    """Yield a file for every student of a Canvas download, under its name there.

    Canvas finds the student by that name, and shows the file beside the work. So its content is
    what the name's ending promises: Python comments, a notebook, or plain text.
    """
    for graded in class_:
        names = [name for name in graded.who.files if not name.endswith(TYPED)]
        names.sort(key=lambda name: not name.lower().endswith(FITTING))
        if graded.who.platform == "Canvas" and names:
            yield names[0], _as_named(names[0], graded)


def _as_named(name: str, graded: Graded) -> bytes:
    text = summary(graded)
    if name.lower().endswith(".ipynb"):
        made = {"cell_type": "markdown", "id": "feedback", "metadata": {}, "source": text}
        book = {"cells": [made], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        return json.dumps(book).encode()
    if name.lower().endswith(".py"):
        text = "".join(f"# {line}\n" for line in text.splitlines())
    elif name.lower().endswith((".zip", ".html", ".htm")):
        return _zip(graded) if name.lower().endswith(".zip") else _page(graded)
    return text.encode("utf-8", "replace")


def _page(graded: Graded) -> bytes:
    return feedback_or_apology(graded)[0].encode("utf-8", "replace")


def _zip(graded: Graded) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(PAGE, _page(graded))
    return data.getvalue()


def summary(graded: Graded) -> str:
    """Return the grade in a few lines of text: points, notes, steps, and what failed first."""
    lines = ["No score yet."]
    if graded.excused:
        lines = ["Excused."]
    elif graded.score is not None:
        lines = [f"Points: {graded.score:g} of {graded.max_score or 0:g}"]
    lines += [graded.reason] if graded.reason else []
    lines += list(graded.grade.notes) if graded.grade else []
    points = points_of_steps(graded)
    steps = graded.report.steps if graded.report else ()
    for step in (step for step in steps if step.step in points):
        lines.append(f"{step.title}: {points[step.step]:g} of {step.max_points:g}")
        wrong = [check for check in step.checks if check.message]
        lines += [f"  {check.title} {check.message}" for check in wrong[:3]]
    return "\n".join(one_line(part, 300) for line in lines for part in visible(line).split("\n"))


def mail(class_: Iterable[Graded], options: Options) -> Iterator[str]:
    """Yield a row for each student for a mail merge, with the name of the page to attach."""
    yield row(["email", "name", "student_id", "score", "max_score", "page", "text"])
    known = _Readers(options)
    for graded in class_:
        most = graded.max_score if graded.score is not None else None
        page = f"feedback/{safe_name(graded.student)}.html"
        why = " ".join(filter(None, [graded.reason, *(graded.grade.notes if graded.grade else ())]))
        said = html.unescape(short_feedback(graded)) if graded.score is not None else why
        numbers = [*map(number, (graded.score, most))]
        for who in known.of(graded):
            texts = (who.email, who.name, graded.student)
            yield row([*map(protect_cell, texts), *numbers, page, protect_cell(said, 5000)])
