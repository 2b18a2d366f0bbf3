"""Feedback for the students: zips for Moodle and Canvas, and a table for a mail merge."""

from __future__ import annotations

import html
import io
import json
import zipfile
from collections.abc import Iterable, Iterator

from grader.classroom.exports.moodle import feedback as short_feedback
from grader.classroom.exports.options import Options
from grader.classroom.exports.spreadsheet import cell, number, row
from grader.report.html.page import feedback
from grader.report.names import safe_name
from grader.report.records import Graded
from grader.report.sanitize import one_line, visible

PAGE = "feedback.html"
_MARK = "_assignsubmission_"


def moodle_feedback(class_: Iterable[Graded]) -> Iterator[tuple[str, bytes]]:
    """Yield a page for every student of a Moodle download, under the name of their folder there."""
    for graded in class_:
        for name in graded.who.files[:1] if graded.who.platform == "Moodle" else ():
            student = name.rpartition(_MARK)[0]
            page = feedback(graded).encode("utf-8", "replace")
            yield f"{student}{_MARK}file/{PAGE}", page


def canvas_feedback(class_: Iterable[Graded]) -> Iterator[tuple[str, bytes]]:
    """Yield a file for every student of a Canvas download, under the name that it had there.

    Canvas finds the student by that name, and shows the file beside the work. So its content is
    what the name's ending promises: Python comments, a notebook, or plain text.
    """
    for graded in class_:
        names = [name for name in graded.who.files if not name.endswith("_text.html")]
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
        return _zip(graded) if name.lower().endswith(".zip") else feedback(graded).encode()
    return text.encode("utf-8", "replace")


def _zip(graded: Graded) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(PAGE, feedback(graded).encode("utf-8", "replace"))
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
    for step in graded.report.steps if graded.report else ():
        lines.append(f"{step.title}: {step.points:g} of {step.max_points:g}")
        wrong = [check for check in step.checks if check.message]
        lines += [f"  {check.title} {check.message}" for check in wrong[:3]]
    return "\n".join(one_line(part, 300) for line in lines for part in visible(line).split("\n"))


def mail(class_: Iterable[Graded], options: Options) -> Iterator[str]:
    """Yield a row per student for a mail merge, with the name of the page to attach."""
    yield row(["email", "name", "student_id", "score", "max_score", "page", "text"])
    for graded in class_:
        most = graded.max_score if graded.score is not None else None
        page = f"feedback/{safe_name(graded.student)}.html"
        texts = (graded.who.email, graded.who.name, graded.student)
        said = html.unescape(short_feedback(graded)) if graded.score is not None else graded.reason
        numbers = map(number, (graded.score, most))
        yield row([*map(cell, texts), *numbers, page, cell(said, 5000)])
