"""Write feedback for the students: zips for Moodle and Canvas, and a table for a mail merge."""

import io
import json
import zipfile
from collections.abc import Iterable, Iterator

from grader.classroom.exports.cells import number, protect_cell, row
from grader.classroom.exports.explanation import describe
from grader.classroom.exports.options import Options
from grader.classroom.people import clean_name, resolve
from grader.report.html.page import feedback_or_apology
from grader.report.names import safe_name
from grader.report.records import Graded, Who

PAGE = "feedback.html"
TYPED = ("_text.html", "_link.html")  # what Canvas calls a text or an address handed in
FITTING = (".py", ".ipynb", ".zip", ".html", ".htm", ".txt")  # for what can be written here
_MARK = "_assignsubmission_"


def _list_readers(class_: Iterable[Graded], options: Options) -> Iterator[tuple[Graded, Who]]:
    """Yield each work with everybody who reads its page: the only owner, or a team's members."""
    works = list(class_) if options.answer is None else class_
    answer = options.answer or resolve(works)
    for graded in works:
        for owner in answer.owners_of(graded):
            yield graded, owner.who


def _folder(graded: Graded, who: Who) -> str:
    """Return the start of the folder name by which Moodle finds a student; "" if it cannot.

    The number in a team's own folder may be a participant's, so it is used for nobody.
    """
    if who.files and who.number == graded.who.number:
        return who.files[0].rpartition(_MARK)[0]
    return f"{clean_name(who.name or 'Participant')}_{who.number}" if who.number else ""


def moodle_feedback(class_: Iterable[Graded], options: Options) -> Iterator[tuple[str, bytes]]:
    """Yield a page for every student of a Moodle download, under the name of the folder there.

    Moodle reads the student's number in that name, so a team's page goes to its members.
    """
    for graded, who in _list_readers(class_, options):
        start = _folder(graded, who)
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
    """Yield a row for each student for a mail merge, with the name of the page to attach."""
    yield row(["email", "name", "student_id", "score", "max_score", "page", "text"])
    for graded, who in _list_readers(class_, options):
        most = graded.max_score if graded.score is not None else None
        page = f"feedback/{safe_name(graded.student)}.html"
        text = protect_cell(" ".join(describe(graded)), 5000)
        texts = (who.email, who.name, graded.student)
        yield row([*map(protect_cell, texts), number(graded.score), number(most), page, text])
