"""Serve the pages of a graded class on this machine, with forms that change a grade by hand.

They show hostile text beside a form. So requests that a page, or another site in the same browser,
could send by itself are not trusted:

- The server listens only on the loopback address, and answers only requests for that address. So no
  other site can point its name here.
- The first address holds a secret, which becomes a cookie that scripts and other sites cannot read.
- A form must send a second secret, and must come from these pages.
- Every page has a policy that allows only the kit's own script, loads nothing, and lets forms go
  nowhere else. Every text is escaped as well.
"""

from __future__ import annotations

import contextlib
import getpass
import hmac
import re
import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, quote, unquote, urlsplit

from grader.classroom.changing import RequestedChange, add, key_of, remove
from grader.classroom.course import CourseError
from grader.classroom.exports.spreadsheet import protect_cell
from grader.classroom.gradebook import Gradebook, GradebookError, lock_pages
from grader.classroom.marking import Rules, overrides_in, rules_of
from grader.classroom.overview import script_policy
from grader.classroom.publishing import WORK, renew
from grader.classroom.work_page import Form, find_all_lessons, work_page
from grader.report.names import safe_name
from grader.report.records import Graded
from grader.report.sanitize import one_line
from grader.steps.registry import Registry

HOST = "127.0.0.1"
MAX_FORM = 20_000  # bytes
SECONDS = 30  # that a browser may take for a request
TABLES = ("grades.csv", "changes.csv")
_PAGE = re.compile(r"(?:feedback|alike)/[a-z0-9@+._~-]{1,110}\.html")
_WORK = re.compile(rf"/{WORK}/([a-z0-9@+._~-]{{1,110}})\.html")
_NAME = re.compile(r"[a-z0-9@+._~-]{1,110}")
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; {}img-src data:; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)


class Refused(Exception):
    """A request that is refused; status and a sentence."""

    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(text)
        self.status = status


@dataclass
class Desk:
    """A graded class whose grades can be changed. who: signs the changes."""

    out: Path
    registry: Registry
    who: str
    key: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.lessons = find_all_lessons(self.registry)

    def rules(self, book: Gradebook) -> Rules:
        """Return the rules of the last run, with the present changes by hand."""
        return rules_of(book.assignment(), self.registry, self.out).settle(book.people())

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
            mine = [(key_of(one), one) for one in rules.list_changes(graded)]
            comments = sorted({one.comment for one in rules.overrides if one.comment})
            form = Form(self.token, self.who, mine, problem, comments)
            return work_page(graded, book.sources(graded.student), self.lessons, form)

    def change(self, file: str, entry: RequestedChange) -> None:
        """Make a change by hand, and renew the pages. Raise CourseError if it cannot be made."""
        with self.lock, lock_pages(self.out), Gradebook(self.out) as book:
            rules = self.rules(book)
            graded = self.find(book, rules, file)
            written = protect_cell(graded.student.strip())
            if rules.find_works(written, of_members=False)[0] != {graded.student}:
                raise CourseError(
                    "this id is another student's: write into matches.csv whose work it is, "
                    "and reload the page"
                )
            now = datetime.now().astimezone(rules.course.zone).isoformat(" ", "minutes")
            asked = replace(entry, student=graded.student, when=entry.when or now)
            is_grade = bool(entry.points.strip() or entry.excuse)
            mine = (one for one in rules.list_changes(graded) if one.is_grade and is_grade)
            replaced = [one for one in mine if one.target == entry.target]
            add(overrides_in(book.assignment(), self.out), asked, self.registry, replaced)
            self._renew(book)

    def take_back(self, file: str, key: str) -> None:
        """Remove a change by hand, and renew the pages. Raise Refused if it no longer exists."""
        with self.lock, lock_pages(self.out), Gradebook(self.out) as book:
            rules = self.rules(book)
            graded = self.find(book, rules, file)
            mine = [one for one in rules.list_changes(graded) if key_of(one) == key]
            if not mine:
                raise Refused(HTTPStatus.CONFLICT, "that change no longer exists")
            remove(overrides_in(book.assignment(), self.out), mine[0], self.registry)
            self._renew(book)

    def _renew(self, book: Gradebook) -> None:
        """Renew the pages. Raise CourseError if that fails, though the change counts."""
        try:
            renew(book, self.out, self.rules(book))
        except OSError as error:
            raise CourseError(
                f"the change counts, but pages and tables could not be written ({error.strerror}): "
                "make room, and run `grade` again"
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
        self._answer(self._get)

    def do_POST(self) -> None:
        """Make a change, and return to the student's page."""
        self._answer(self._post)

    def _answer(self, how: Callable[[], None]) -> None:
        with contextlib.suppress(ConnectionError, TimeoutError):  # the browser has left the page
            try:
                self._must_be_here()
                how()
            except Refused as error:
                self._send(error.status, f"{error}\n", "text/plain")
            except (ConnectionError, TimeoutError):
                raise
            except (GradebookError, CourseError, OSError) as error:
                text = one_line(str(error), 300)
                self._send(HTTPStatus.INTERNAL_SERVER_ERROR, f"{text}\n", "text/plain")

    def _must_be_here(self) -> None:
        """Refuse a request that was meant for another name, which a site may have pointed here."""
        if self.headers.get("Host") != self._own():
            raise Refused(HTTPStatus.MISDIRECTED_REQUEST, "open the address that was printed")

    def _own(self) -> str:
        return f"{HOST}:{self.server.server_port}"

    def _cookie(self) -> str:
        return f"nopeek-{self.server.server_port}"

    def _must_know(self) -> None:
        """Refuse requests without the secret of the first address."""
        # Python's own reader of cookies takes the square of the length of some.
        pairs = (one.strip().partition("=") for one in self.headers.get("Cookie", "").split(";"))
        found = next((value for name, _, value in pairs if name == self._cookie()), "")
        if not _same(found, self.desk.key):
            raise Refused(HTTPStatus.FORBIDDEN, "open the address that was printed")

    def _get(self) -> None:
        try:
            place = urlsplit(self.path)
        except ValueError:
            raise Refused(HTTPStatus.BAD_REQUEST, "that is not an address") from None
        given = parse_qs(place.query).get("key", [""])[0]
        if place.path == "/" and _same(given, self.desk.key):
            cookie = f"{self._cookie()}={self.desk.key}; HttpOnly; SameSite=Strict; Path=/"
            self._redirect("/index.html", {"Set-Cookie": cookie})
            return
        self._must_know()
        path = unquote(place.path)  # links have `%40` for `@`
        if path == "/":
            self._redirect("/index.html")
        elif match := _WORK.fullmatch(path):
            self._send(HTTPStatus.OK, self.desk.work(match[1]))
        elif path == "/index.html" or _PAGE.fullmatch(path[1:]):
            self._send(HTTPStatus.OK, self._file(path[1:]))
        elif path[1:] in TABLES:
            self._send(HTTPStatus.OK, self._file(path[1:]), "text/csv")
        else:
            raise Refused(HTTPStatus.NOT_FOUND, "there is no such page")

    def _file(self, name: str) -> str:
        try:
            return (self.desk.out / name).read_text(encoding="utf-8")
        except FileNotFoundError:
            raise Refused(HTTPStatus.NOT_FOUND, "there is no such page") from None

    def _post(self) -> None:
        self._must_know()
        fields = self._fields()
        # A browser says where a form comes from; the form's own secret is on these pages only.
        if self.headers.get("Origin") != f"http://{self._own()}":
            raise Refused(HTTPStatus.FORBIDDEN, "the form does not come from these pages")
        if not _same(fields.get("token", ""), self.desk.token):
            raise Refused(HTTPStatus.FORBIDDEN, "the form is out of date: load the page again")
        file = fields.get("file", "")
        if not _NAME.fullmatch(file):
            raise Refused(HTTPStatus.NOT_FOUND, "there is no such student")
        try:
            self._do(file, fields)
        except CourseError as error:
            problem = one_line(str(error), 300).rstrip(".")
            self._send(HTTPStatus.UNPROCESSABLE_ENTITY, self.desk.work(file, problem))
            return
        target = fields.get("target", "")
        where = f"#{target}" if target.startswith("step") else ""
        self._redirect(f"/{WORK}/{quote(file)}.html{quote(where, safe='#')}")

    def _do(self, file: str, fields: Mapping[str, str]) -> None:
        if self.path == "/change":
            names = ("target", "points", "excuse", "comment")
            texts = {name: fields.get(name, "") for name in names}
            if line := fields.get("line", "").strip():
                texts["target"] += f":{line}"
            self.desk.change(file, RequestedChange("", **texts, who=self.desk.who))
        elif self.path == "/remove":
            self.desk.take_back(file, fields.get("key", ""))
        else:
            raise Refused(HTTPStatus.NOT_FOUND, "there is no such page")

    def _fields(self) -> dict[str, str]:
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
        return {name: values[0] for name, values in found.items()}

    def _redirect(self, where: str, more: Mapping[str, str] | None = None) -> None:
        self._send(HTTPStatus.SEE_OTHER, "", more={"Location": where, **(more or {})})

    def _send(
        self,
        status: HTTPStatus,
        text: str,
        kind: str = "text/html",
        more: Mapping[str, str] | None = None,
    ) -> None:
        data = text.encode("utf-8", "backslashreplace")
        index = self.path == "/index.html" and status is HTTPStatus.OK
        headers = {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(data)),
            "Content-Security-Policy": POLICY.format(f"{script_policy()}; " if index else ""),
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cache-Control": "no-store",
            "Connection": "close",
            **(more or {}),
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
    handler = type("Handler", (_Handler,), {"desk": desk})
    server = ThreadingHTTPServer((HOST, port), handler)
    server.daemon_threads = True
    return server


def first_address(server: ThreadingHTTPServer, desk: Desk) -> str:
    """Return the address to open, which holds the secret."""
    return f"http://{HOST}:{server.server_port}/?key={desk.key}"


def own_name() -> str:
    """Return the name of the logged-in user, to sign changes; "instructor" if it is not known."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "instructor"
