"""Serve the pages of a graded class on this machine, with forms that change a grade by hand.

Two kinds are drawn only here, and never written: a student's sources with forms, without the kit's
lessons, and similar work side by side. They show hostile text beside a form. So requests that a
page, or another site in the same browser, could send by itself are not trusted:

- The server listens only on the loopback address, and answers only requests for that address. So no
  other site can point its name here.
- The first address holds a secret, which becomes a cookie that scripts and other sites cannot read.
- A form must send a second secret, and must come from these pages.
- Every page has a policy that allows only the kit's own script, loads nothing, and lets forms go
  nowhere else. Every text is escaped as well.
"""

import contextlib
import difflib
import hmac
import itertools
import re
import secrets
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, quote, unquote, urlsplit

from markupsafe import Markup, escape

from grader.classroom.gradebook import Gradebook, find_source, lock_pages
from grader.classroom.marking import Rules, overrides_in, rules_of
from grader.classroom.overrides import edit, key_of
from grader.classroom.overview import fingerprint
from grader.classroom.publishing import find_alike, renew
from grader.classroom.tables import work_key
from grader.intake.notebooks import find_code
from grader.intake.submission import Submission
from grader.report.html.page import template
from grader.report.problem import CourseError, Problem
from grader.report.records import Alike, Graded
from grader.report.sanitize import one_line, safe_name, visible
from grader.steps.registry import Step, load
from grader.steps.stubs import CELL, SELF_STUDY, solution_of, split_cells

HERE = Path(__file__).parent
HOST = "127.0.0.1"
MAX_FORM = 20_000  # bytes
SECONDS = 30  # that a browser may take for a request
WORK = "work"
MAX_BESIDE = 4  # sources of a group, on its page
OPEN = "open the address that was printed"
_FILE = r"[a-z0-9@+._~-]{1,110}"
_WRITTEN = re.compile(rf"/(?:index\.html|feedback/{_FILE}\.html|grades\.csv|changes\.csv)")
_DRAWN = re.compile(rf"/({WORK}|alike)/({_FILE})\.html")
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; {}img-src data:; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
MAX_SHOWN = 100_000  # characters of a source
MAX_COMPARED = 20_000  # characters of a source beside another
MAX_LINES = 1000
LESSON = ("[markdown]", SELF_STUDY)  # in the mark of a cell
Line = tuple[str, str, bool]


def drop_lessons(source: str, step: Step) -> list[tuple[int, str]]:
    """Return the lines of cells in which a student writes, each with its number in the file.

    A changed lesson stays, because a student has written in it.
    """
    heads = {cell: cell.partition("\n")[0] for cell in split_cells(solution_of(step))}
    lessons = {cell.strip() for cell in heads if any(word in heads[cell] for word in LESSON)}
    found: list[tuple[int, str]] = []
    number = 1
    for cell in split_cells(source):
        lines = cell.split("\n")
        if cell.strip() not in lessons:
            found += list(enumerate(lines, number))
        number += len(lines)
    return [
        (number, line)
        for (_, above), (number, line) in itertools.pairwise([(0, ""), *found])
        if line.rstrip() != CELL and (line.strip() or above.strip())
    ]


def _show(lines: list[tuple[int, str]]) -> Markup:
    """Return the lines with their numbers, made visible and escaped, for a page."""
    text = "\n".join(f"{number:4}  {line}".rstrip() for number, line in lines)
    return Markup(escape(visible(text.strip("\n"), MAX_SHOWN)))


def _show_step(source: str, step: Step) -> Markup:
    return _show(drop_lessons(find_code(source, step), step))


def work_page(graded: Graded, handed_in: Submission, form: Mapping[str, Any]) -> str:
    """Return a student's work beside the verdicts, with forms to change them.

    form: a token, without which nothing is changed; who signs the changes; those of this student,
    each with the key that removes it; the problem with the last one; and the class's comments.
    """
    data = {
        "graded": graded,
        "points": graded.grade.steps if graded.grade else {},
        "file": safe_name(graded.student),
        "sources": {
            one.step: _show_step(handed_in.sources.get(one.step, ""), load().find(one.step))
            for one in graded.steps
        },
        "modules": {
            name: _show(list(enumerate(text.split("\n"), 1)))
            for name, text in handed_in.modules.items()
        },
        "form": form,
    }
    return template("work.html", HERE).render(data).lstrip()


def _side_by_side(source: str, beside: str) -> Iterator[Line]:
    """Yield both sources line by line, and whether the lines agree except for spaces."""
    left, right = (text.split("\n")[:MAX_LINES] for text in (source, beside))
    one, other = ([" ".join(line.split()) for line in lines] for lines in (left, right))
    for kind, a, b, c, d in difflib.SequenceMatcher(None, one, other).get_opcodes():
        for mine, theirs in itertools.zip_longest(left[a:b], right[c:d], fillvalue=""):
            yield mine, theirs, kind == "equal"


def alike_page(alike: Alike, step: Step, sources: Mapping[str, str]) -> str:
    """Return the page of similar work, side by side. sources: those of the step, by student."""
    texts = {
        student: visible(
            "\n".join(line for _, line in drop_lessons(source, step)).strip("\n"), MAX_COMPARED
        )
        for student, source in sources.items()
    }
    pairs = [(a, b, _side_by_side(texts[a], texts[b])) for a, b in itertools.combinations(texts, 2)]
    return template("side_by_side.html", HERE).render(alike=alike, pairs=pairs).lstrip()


class Refused(Exception):
    """A request that is refused. Its arguments are the status and a sentence."""


@dataclass
class Desk:
    """A graded class whose grades can be changed. who: signs the changes."""

    out: Path
    who: str
    key: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    def rules(self, book: Gradebook) -> Rules:
        """Return the rules of the last run, with the present changes by hand."""
        return rules_of(book.assignment(), self.out).settle(book.people())

    def find(self, book: Gradebook, rules: Rules, file: str) -> Graded:
        """Return the student whose pages have that name. Raise Refused if there is none."""
        for one in book.people():
            if safe_name(one.student) == file:
                (found,) = rules.apply(book.graded(student=one.student))
                return found
        raise Refused(HTTPStatus.NOT_FOUND, "there is no such student")

    def work(self, file: str, problem: str = "") -> str:
        """Return the page with a student's work, and the forms."""
        with Gradebook(self.out) as book:
            rules = self.rules(book)
            graded = self.find(book, rules, file)
            form = {
                "token": self.token,
                "who": self.who,
                "changes": [(key_of(one), one) for one in rules.changes[graded.student]],
                "problem": problem,
                "comments": sorted({one.comment for one in rules.overrides if one.comment}),
            }
            return work_page(graded, book.handed_in(graded.student), form)

    def alike(self, place: str) -> str:
        """Return the page with similar work side by side. Raise Refused if there is none."""
        with Gradebook(self.out) as book:
            found = {str(at): one for at, one in enumerate(find_alike(book))}.get(place)
            steps = {step.title: step for step in load().steps}
            if found is None or found.step not in steps:
                raise Refused(HTTPStatus.NOT_FOUND, "there is no such page")
            step, shown = steps[found.step], found.students[:MAX_BESIDE]
            sources = {who: find_source(book.handed_in(who), step.id) for who in shown}
            return alike_page(found, step, sources)

    def change(self, file: str, cells: Mapping[str, str], key: str = "") -> None:
        """Make a change by hand, or take back the one with that key, and renew the pages.

        cells: those of `overrides.csv`, without the student and who makes the change when. Raise
        CourseError if it cannot be made, or if it counts and the pages cannot be written. Raise
        Refused if there is none with that key.
        """
        with lock_pages(self.out), Gradebook(self.out) as book:
            rules = self.rules(book)
            graded = self.find(book, rules, file)
            student, mine = graded.student, rules.changes[graded.student]
            if key:
                gone = [one for one in mine if key_of(one) == key][:1]
                if not gone:
                    raise Refused(HTTPStatus.CONFLICT, "that change no longer exists")
            elif rules.find_works(work_key(student), of_members=False)[0] != {student}:
                raise CourseError(
                    "this id is another student's: write into matches.csv whose work it is, "
                    "and reload the page"
                )
            else:
                is_grade = cells.get("points", "").strip() or cells.get("excuse")
                target = cells.get("step_or_check", "")
                gone = [one for one in mine if is_grade and one.is_grade and one.target == target]
                now = datetime.now().astimezone(rules.course.zone).isoformat(" ", "minutes")
                cells = {**cells, "student_id": student, "who": self.who, "when": now}
            edit(overrides_in(book.assignment(), self.out), load(), gone, cells)
            try:
                renew(book, self.out, self.rules(book))
            except OSError as error:
                raise CourseError(
                    "the change counts, but pages and tables could not be written "
                    f"({error.strerror}): make room, and run `grade` again"
                ) from None


class _Handler(BaseHTTPRequestHandler):
    """Answers one request, and refuses any that is not expected exactly."""

    desk: ClassVar[Desk]
    server: ThreadingHTTPServer
    server_version = "nopeek"
    sys_version = ""
    timeout = SECONDS

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing, because a line would hold the secret of the first address."""

    def do_GET(self) -> None:
        """Answer with a page or a table."""
        with contextlib.suppress(ConnectionError, TimeoutError):  # the browser has left the page
            try:
                # A site may have pointed another name here.
                if self.headers.get("Host") != self._own():
                    raise Refused(HTTPStatus.MISDIRECTED_REQUEST, OPEN)
                {"GET": self._get, "POST": self._post}[self.command]()
            except Refused as error:
                status, text = error.args
                self._send(status, f"{text}\n", "text/plain")
            except (ConnectionError, TimeoutError):
                raise
            except (Problem, OSError) as error:
                text = one_line(str(error), 300)
                self._send(HTTPStatus.INTERNAL_SERVER_ERROR, f"{text}\n", "text/plain")

    def do_POST(self) -> None:
        """Make a change, and return to the student's page."""
        self.do_GET()

    def _own(self) -> str:
        return f"{HOST}:{self.server.server_port}"

    def _cookie(self) -> str:
        return f"nopeek-{self.server.server_port}={self.desk.key}"

    def _must_know(self) -> None:
        """Refuse requests without the secret of the first address."""
        # Python's own reader of cookies takes the square of the length of some.
        cookies = self.headers.get("Cookie", "").split(";")
        if not any(_same(one.strip(), self._cookie()) for one in cookies):
            raise Refused(HTTPStatus.FORBIDDEN, OPEN)

    def _get(self) -> None:
        try:
            place = urlsplit(self.path)
        except ValueError:
            raise Refused(HTTPStatus.BAD_REQUEST, "that is not an address") from None
        given = parse_qs(place.query).get("key", [""])[0]
        if place.path == "/" and _same(given, self.desk.key):
            cookie = f"{self._cookie()}; HttpOnly; SameSite=Strict; Path=/"
            self._redirect("/index.html", **{"Set-Cookie": cookie})
            return
        self._must_know()
        path = unquote(place.path)  # links have `%40` for `@`
        if path == "/":
            self._redirect("/index.html")
        elif match := _DRAWN.fullmatch(path):
            draw = self.desk.work if match[1] == WORK else self.desk.alike
            self._send(HTTPStatus.OK, draw(match[2]))
        elif _WRITTEN.fullmatch(path) and (self.desk.out / path[1:]).is_file():
            text = (self.desk.out / path[1:]).read_text(encoding="utf-8")
            self._send(HTTPStatus.OK, text, "text/csv" if path.endswith("csv") else "text/html")
        else:
            raise Refused(HTTPStatus.NOT_FOUND, "there is no such page")

    def _post(self) -> None:
        self._must_know()
        fields = self._read_form()
        # A browser says where a form comes from; the form's own secret is on these pages only.
        if self.headers.get("Origin") != f"http://{self._own()}":
            raise Refused(HTTPStatus.FORBIDDEN, "the form does not come from these pages")
        if not _same(fields["token"], self.desk.token):
            raise Refused(HTTPStatus.FORBIDDEN, "the form is out of date: load the page again")
        file, target, line = fields["file"], fields["target"], fields["line"].strip()
        try:
            if self.path == "/change":
                place = f"{target}:{line}" if line else target
                cells = {name: fields[name] for name in ("points", "excuse", "comment")}
                self.desk.change(file, {**cells, "step_or_check": place})
            elif self.path == "/remove":
                self.desk.change(file, {}, fields["key"])
            else:
                raise Refused(HTTPStatus.NOT_FOUND, "there is no such page")
        except CourseError as error:
            problem = one_line(str(error), 300).rstrip(".")
            self._send(HTTPStatus.UNPROCESSABLE_ENTITY, self.desk.work(file, problem))
            return
        where = f"#{target}" if target.startswith("step") else ""
        self._redirect(f"/{WORK}/{quote(file)}.html{quote(where, safe='#')}")

    def _read_form(self) -> defaultdict[str, str]:
        """Return the form's fields. Raise Refused if it is too large, or is not a form."""
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch(r"\d{1,6}", length, re.ASCII) or int(length) > MAX_FORM:
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the form is too large")
        if self.headers.get("Content-Type") != "application/x-www-form-urlencoded":
            raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "that is not a form")
        text = self.rfile.read(int(length)).decode("utf-8", "replace")
        try:
            found = parse_qs(text, max_num_fields=20)
        except ValueError:
            raise Refused(HTTPStatus.BAD_REQUEST, "that is not a form") from None
        return defaultdict(str, {name: values[0] for name, values in found.items()})

    def _redirect(self, where: str, **more: str) -> None:
        self._send(HTTPStatus.SEE_OTHER, "", Location=where, **more)

    def _send(self, status: HTTPStatus, text: str, kind: str = "text/html", **more: str) -> None:
        data = text.encode("utf-8", "backslashreplace")
        is_index = self.path == "/index.html" and status is HTTPStatus.OK
        script = f"script-src 'sha256-{fingerprint()}'; " if is_index else ""
        headers = {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(data)),
            "Content-Security-Policy": POLICY.format(script),
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cache-Control": "no-store",
            "Connection": "close",
            **more,
        }
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


def make_server(desk: Desk, port: int = 0) -> ThreadingHTTPServer:
    """Return a server on the loopback address. Raise OSError if the port is taken; 0 is any."""
    return ThreadingHTTPServer((HOST, port), type("Handler", (_Handler,), {"desk": desk}))
