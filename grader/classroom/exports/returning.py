"""Write feedback for the students: zips for Moodle and Canvas, and a table for a mail merge.

No hidden value is in it.
"""

import io
import json
import zipfile
from collections.abc import Iterable, Iterator

from grader.classroom.exports.cells import number, protect_cell, row
from grader.classroom.exports.grades import Options, points_of_steps
from grader.classroom.people import clean_name
from grader.report.html.page import feedback_or_apology
from grader.report.records import Graded, Status
from grader.report.sanitize import one_line, safe_name, visible

PAGE = "feedback.html"
SHOWN = 3  # failed checks of a step
TYPED = ("_text.html", "_link.html")  # what Canvas calls a text or an address handed in
FITTING = (".py", ".ipynb", ".zip", ".html", ".htm", ".txt")  # for what can be written here
_MARK = "_assignsubmission_"


def describe(graded: Graded, *, checks: bool = False) -> list[str]:
    """Return the grade in lines of text: points, changes, steps, and what to work on first.

    checks: name the first failed checks of each step, too.
    """
    points = points_of_steps(graded)
    steps = [one for one in graded.steps if one.step in points]
    lines = ["Excused." if graded.excused else "No score yet."]
    if graded.score is not None:
        lines = [f"Points: {graded.score:g} of {graded.max_score or 0:g}."]
    lines += [graded.reason, *graded.notes]
    for step in steps:
        lines.append(f"{step.title}: {points[step.step]:g} of {step.max_points:g}.")
        wrong = [check for check in step.checks if check.message] if checks else []
        lines += [f"  {check.title} {check.message}" for check in wrong[:SHOWN]]
    undone = (step for step in steps if step.status is not Status.PASSED)
    todo = next((step for step in undone if points[step.step] < step.max_points), None)
    lines.append(f"First to work on: {todo.title}." if todo else "")
    return [one_line(part, 300) for line in lines for part in visible(line).split("\n") if part]


def moodle_feedback(class_: Iterable[Graded], options: Options) -> Iterator[tuple[str, bytes]]:
    """Yield a page for every student of a Moodle download, under the name of the folder there.

    Moodle reads the student's number in that name, so a team's page goes to its members. The number
    in a team's own folder may be a participant's, so it is used for nobody.
    """
    for graded in class_:
        for who in (owner.who for owner in options.answer.owners_of(graded)):
            start = f"{clean_name(who.name or 'Participant')}_{who.number}" if who.number else ""
            if who.files and who.number == graded.who.number:
                start = who.files[0].rpartition(_MARK)[0]
            if graded.who.platform == "Moodle" and start:
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
    text, ending = "\n".join(describe(graded, checks=True)), name.lower().rpartition(".")[2]
    if ending == "zip":
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr(PAGE, _page(graded))
        return data.getvalue()
    if ending in ("html", "htm"):
        return _page(graded)
    if ending == "ipynb":
        made = {"cell_type": "markdown", "id": "feedback", "metadata": {}, "source": text}
        book = {"cells": [made], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        return json.dumps(book).encode()
    if ending == "py":
        text = "".join(f"# {line}\n" for line in text.split("\n"))
    return text.encode("utf-8", "replace")


def _page(graded: Graded) -> bytes:
    return feedback_or_apology(graded)[0].encode("utf-8", "replace")


def mail(class_: Iterable[Graded], options: Options) -> Iterator[str]:
    """Yield a row for each reader of a page for a mail merge, with the page's name to attach it.

    It is read by the only owner of the work, or by a team's members.
    """
    yield row(["email", "name", "student_id", "score", "max_score", "page", "text"])
    for graded in class_:
        most = graded.max_score if graded.score is not None else None
        page = f"feedback/{safe_name(graded.student)}.html"
        text = protect_cell(" ".join(describe(graded)), 5000)
        rest = (protect_cell(graded.student), number(graded.score), number(most), page, text)
        for owner in options.answer.owners_of(graded):
            yield row([protect_cell(owner.who.email), protect_cell(owner.who.name), *rest])
