"""The pages on which a grade is changed by hand, and who may not change one."""

import errno
import http.client
import shutil
import socket
import struct
import threading
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from playwright.sync_api import expect

from grader.classroom.course import Course
from grader.classroom.gradebook import Gradebook
from grader.classroom.judge import Exam
from grader.classroom.marking import Rules, rules_of
from grader.classroom.people import person
from grader.classroom.publishing import ALIKE, publish
from grader.classroom.serving import HOST, WORK, Desk, make_server
from grader.intake.submission import Submission
from grader.report.records import Alike, Who
from grader.report.sanitize import safe_name
from grader.steps import registry
from tests.support.classes import kept, not_gradable, right, wrong
from tests.support.commands import table

REGISTRY = registry.load()
STEPS = ("step02_scores", "step03_mask")
EXAM = Exam("hidden", 7, "bubblewrap", STEPS, "a kit")
ATTACK = (
    "</pre></textarea><script>document.title='owned'</script>"
    "<form action='/change' method=post id=own><input name=points value=10></form>"
    "<img src=x onerror=\"document.title='owned'\">"
    "<meta http-equiv=refresh content='0;url=/own'>\n"
)
EVIL = f"evil {ATTACK.strip()}"
MAIL = "cy+x@example.org"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture
def graded(tmp_path, published):
    """A class that was graded: right, half right, not gradable, and some with odd names."""
    return Path(shutil.copytree(published, tmp_path / "graded"))


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    out = tmp_path_factory.mktemp("published")
    people = [right(), wrong(), not_gradable(), wrong(EVIL), wrong("=cmd|'x'!A0"), right(MAIL)]
    people = [replace(one, who=Who(name=f"The {one.student}")) for one in people]
    lines, modules = f"from mine import f\n{ATTACK}", {"mine": "def f(): return 1234\n"}
    with Gradebook(out, write=True) as book:
        run = kept(book, EXAM, people)
        for one in (one for one in people if one.report):
            sources = dict.fromkeys(STEPS, lines + one.student)
            handed_in = Submission(one.student, sources, modules=modules)
            book.keep(handed_in)
            mark = next(book.graded(run, one.student))
            book.mark(run, replace(mark, sha256=handed_in.sha256))
        publish(book, run, out, Rules(Course()).settle(people), [].append)
    return out


class Visitor:
    """Somebody who sends requests; by default as the browser of the instructor does."""

    def __init__(self, server, desk):
        self.desk = desk
        host, self.port = server.server_address
        assert host == "127.0.0.1"  # nobody else's machine can ask
        self.origin = f"http://{HOST}:{self.port}"
        self.address = f"{self.origin}/?key={desk.key}"
        self.headers = {"Cookie": f"nopeek-{self.port}={desk.key}", "Origin": self.origin}

    def ask(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection(HOST, self.port, timeout=20)
        sent = {name: text for name, text in {**self.headers, **headers}.items() if text}
        connection.request(method, path, body, sent)
        reply = connection.getresponse()
        text = reply.read().decode()
        connection.close()
        return reply, text

    def change(self, student, headers=None, path="/change", **fields):
        data = {"token": self.desk.token, "file": safe_name(student), **fields}
        body = urllib.parse.urlencode(data)
        reply, text = self.ask("POST", path, body, **{**FORM, **(headers or {})})
        return reply.status, text


@pytest.fixture
def visitor(graded):
    desk = Desk(graded, "Tim Ü")
    server = make_server(desk)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield Visitor(server, desk)
    server.shutdown()
    server.server_close()
    thread.join()


def grades(out):
    return table(out / "grades.csv")


def rows(out):
    path = out / "overrides.csv"
    return path.read_text(encoding="utf-8").splitlines()[1:] if path.exists() else []


def test_comment_on_a_line_reaches_the_student_and_can_be_used_again(visitor, graded):
    status, _ = visitor.change("bob", target="step02_scores", line="12", comment="Which axis?")
    assert status == 303
    assert rows(graded)[-1].startswith("bob,step02_scores:12,,,Which axis?,")
    page = (graded / "feedback" / "bob.html").read_text(encoding="utf-8")
    assert "Comment on Scaled scores, line 12 (Tim Ü, " in page
    assert '<option value="Which axis?">' in visitor.ask("GET", "/work/alice.html")[1]


def test_pages_of_a_student_with_an_address_as_id_are_found(visitor):
    """The links write `@` as `%40`, and a browser asks for it so."""
    index = visitor.ask("GET", "/index.html")[1]
    for folder in ("feedback", WORK):
        link = f"{folder}/cy%2Bx%40example.org.html"
        assert f'href="{link}"' in index
        assert visitor.ask("GET", f"/{link}")[0].status == 200
    fields = {"token": visitor.desk.token, "file": MAIL, "points": "3", "target": STEPS[0]}
    reply, _ = visitor.ask("POST", "/change", urllib.parse.urlencode(fields), **FORM)
    place = reply.headers["Location"].partition("#")[0]
    assert "3 instead of 5" in visitor.ask("GET", place)[1]


def test_change_is_a_row_that_every_page_of_the_student_shows_and_no_other(visitor, graded):
    def written():
        return {path.stem: path.stat().st_mtime_ns for path in graded.glob("feedback/*.html")}

    for points in ("3", "4", "3,5"):
        before = written()
        status, _ = visitor.change("bob", target="step02_scores", points=points, comment="typo")
        assert status == 303
        assert [name for name, when in written().items() if when != before[name]] == ["bob"]
    (row,) = rows(graded)
    assert row.startswith('bob,step02_scores,"3,5",,typo,Tim Ü,')
    assert grades(graded)["bob"]["score"] == "8.5"
    for folder in ("feedback", WORK):
        assert "instead of 0 (Tim Ü, " in visitor.ask("GET", f"/{folder}/bob.html")[1]
    assert "changed by hand" in visitor.ask("GET", "/index.html")[1]


def test_similar_work_is_shown_side_by_side(visitor):
    """With the own modules that a step may import."""
    reply, page = visitor.ask("GET", "/alike/0.html")
    assert reply.status == 200
    assert page.count("return 1234") > 1
    for place in ("99", "-1", "x"):
        assert visitor.ask("GET", f"/alike/{place}.html")[0].status == 404


def test_of_a_large_group_the_first_four_are_compared(visitor, graded):
    group = (right().student, wrong().student, EVIL, "=cmd|'x'!A0", MAIL)
    with Gradebook(graded, write=True) as book:
        book.note(ALIKE, [asdict(Alike(group, REGISTRY.find(STEPS[0]).title, "the same"))])
    assert visitor.ask("GET", "/alike/0.html")[1].count("<section>") == 6


def test_second_change_of_the_same_thing_replaces_the_first(visitor, graded):
    """Of a student without a score, too."""
    for fields in ({"points": "9"}, {"comment": "Well done."}, {"target": "2", "excuse": "yes"}):
        assert visitor.change("carol", **fields)[0] == 303
    assert grades(graded)["carol"]["score"] == "9"
    assert visitor.change("carol", excuse="yes")[0] == 303
    assert [row.split(",")[1:4] for row in rows(graded)] == [
        ["", "", ""],
        ["2", "", "yes"],
        ["", "", "yes"],
    ]
    assert grades(graded)["carol"]["state"] == "excused"


def test_change_is_taken_back(visitor, graded):
    visitor.change("bob", points="9")
    visitor.change("alice", points="1")
    page = visitor.ask("GET", f"/{WORK}/bob.html")[1]
    key = page.split('name="key" value="')[1].split('"')[0]
    assert visitor.change("alice", path="/remove", key=key)[0] == 409
    assert visitor.change("bob", path="/remove", key=key)[0] == 303
    assert visitor.change("bob", path="/remove", key=key)[0] == 409
    assert [row.split(",")[0] for row in rows(graded)] == ["alice"]
    assert grades(graded)["bob"]["score"] == "5"


def test_rows_and_byte_order_mark_of_a_spreadsheet_stay(visitor, graded):
    text = "when;who;comment;excuse;points;step_or_check;student_id\r\n2026;Al;Ö;;2;3;alice"
    (graded / "overrides.csv").write_text(text, encoding="utf-8-sig", newline="")
    assert visitor.change("bob", points="9")[0] == 303
    data = (graded / "overrides.csv").read_bytes()
    assert data.startswith(f"\ufeff{text}\r\n".encode())
    assert data.endswith("Tim Ü;;;9;;bob\r\n".encode())
    assert {name: row["score"] for name, row in grades(graded).items()}["bob"] == "9"


@pytest.mark.parametrize("student", [EVIL, "=cmd|'x'!A0"], ids=["markup", "formula"])
def test_hostile_name_gets_its_change(visitor, graded, student):
    assert visitor.change(student, points="2", comment="=1+1")[0] == 303
    (row,) = rows(graded)
    assert not row.startswith("=")
    assert ",'=1+1," in row
    found = grades(graded)
    assert [row["score"] for name, row in found.items() if name.lstrip("'") == student] == ["2"]
    assert sorted(row["score"] for row in found.values()) == ["", "10", "10", "2", "5", "5"]


def test_wrong_change_is_refused_in_a_sentence(visitor, graded):
    visitor.change("bob", points="7")
    before = rows(graded)
    for fields, reason in (({"points": "many"}, "must be a number"), ({}, "it changes nothing")):
        status, text = visitor.change("bob", **fields)
        assert status == 422
        assert "Nothing was changed: " in text
        assert reason in text
    assert rows(graded) == before


def test_change_of_work_that_is_called_like_somebody_else_is_refused(visitor, graded, monkeypatch):
    """On the class list `bob` is the one whose work is called `alice`."""

    def known(*arguments):
        roster, by_hand = [person("bob", Who())], {"alice": ("bob",)}
        return replace(rules_of(*arguments), roster=roster, by_hand=by_hand)

    monkeypatch.setattr("grader.classroom.serving.rules_of", known)
    status, text = visitor.change("bob", points="7")
    assert status == 422
    assert "this id is another student&#39;s: write into matches.csv whose work it is" in text
    assert rows(graded) == []


def test_change_whose_pages_do_not_fit_on_the_disk_is_told_to_count(visitor, graded, monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("grader.classroom.serving.renew", full)
        status, text = visitor.change("alice", points="3")
    assert status == 422
    assert "the change counts, but pages and tables could not be written (No space left" in text
    assert ",3,,," in (graded / "overrides.csv").read_text(encoding="utf-8")


# A forged request: its headers, and its fields.
FORGED = {
    "broken cookie": ({"Cookie": "nopeek=\x01;=;;"}, {}),
    "another site": ({"Origin": "http://evil.example"}, {}),
    "no origin": ({"Origin": ""}, {}),
    "null origin": ({"Origin": "null"}, {}),
    "another name": ({"Host": "evil.example"}, {}),
    "another port": ({"Host": "127.0.0.1:1"}, {}),
    "no form": ({"Content-Type": "text/plain"}, {}),
    **{f"token {text!r}": ({}, {"token": text}) for text in ("", "x", "ü")},
}


@pytest.mark.parametrize(("headers", "fields"), FORGED.values(), ids=FORGED)
def test_forged_request_changes_nothing(visitor, graded, headers, fields):
    assert visitor.change("bob", headers, points="10", **fields)[0] in (403, 415, 421)
    assert rows(graded) == []


SECRET = ("/gradebook.db", "/.exported.json", "/overrides.csv", "/../secret", "/feedback/../x")
TWISTED = ("/feedback/%2e%2e%2fx.html", "//evil/index.html", f"/{WORK}/nobody.html", "/reports/")


@pytest.mark.parametrize("path", [*SECRET, *TWISTED, "/change?token={}&file=bob&points=10"])
def test_only_pages_are_shown(visitor, graded, path):
    assert visitor.ask("GET", path.format(visitor.desk.token))[0].status == 404
    assert rows(graded) == []


# Anybody on the machine can send a cookie that takes long to read.
COOKIES = {"none": "", "another's": "nopeek-1=x", "slow": 'a="' + "\\" * 60_000 + '"'}


@pytest.mark.parametrize("cookie", COOKIES.values(), ids=COOKIES)
@pytest.mark.parametrize(
    "path", ["/", "/index.html", "/grades.csv", f"/{WORK}/bob.html", "/?key=x"]
)
def test_stranger_sees_nothing(visitor, path, cookie):
    reply, text = visitor.ask("GET", path, Cookie=cookie)
    assert reply.status == 403
    assert "bob" not in text


def test_form_that_is_too_large_is_not_read(visitor):
    reply, _ = visitor.ask("POST", "/change", None, **{"Content-Length": "999999", **FORM})
    assert reply.status == 413


def test_every_page_has_a_policy(visitor):
    for path in ("/index.html", f"/{WORK}/bob.html", f"/feedback/{safe_name('bob')}.html"):
        reply, _ = visitor.ask("GET", path)
        policy = reply.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "form-action 'self'" in policy
        assert ("script-src" in policy) == (path == "/index.html")
        assert reply.headers["X-Content-Type-Options"] == "nosniff"


def test_secret_is_in_no_page_and_the_cookie_is_not_for_scripts(visitor):
    reply, _ = visitor.ask("GET", visitor.address.removeprefix(visitor.origin), Cookie="")
    assert reply.status == 303
    cookie = reply.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    for path in ("/index.html", f"/{WORK}/bob.html"):
        assert visitor.desk.key not in visitor.ask("GET", path)[1]


def test_instructor_changes_a_grade_in_a_browser(visitor, graded, browser):
    """From the printed address to the student's page; beside a name and a source that attack."""
    page = browser.new_page()
    refused = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(visitor.address)
    assert page.url == f"{visitor.origin}/index.html"
    page.get_by_role("row", name="The evil").get_by_role("link", name="work").click()
    assert page.locator("form").count() == 1 + len(STEPS)
    assert "document.title='owned'" in page.locator("pre").first.inner_text()
    part = page.locator("#step02_scores")
    part.get_by_label("What").select_option("scores_agree")
    part.get_by_label("Points").fill("2")
    part.get_by_label("Comment").fill("<b>accepted")
    part.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Changes by hand")).to_be_visible()
    expect(page.get_by_text("7 of 10 points")).to_be_visible()
    page.get_by_role("link", name="the student's page").click()
    expect(page.get_by_text('scores_agree.": 2 instead of 0 (Tim Ü')).to_be_visible()
    assert page.title().startswith("nopeek")
    page.go_back()
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_text("5 of 10 points")).to_be_visible()
    assert refused == []
    page.close()
    assert rows(graded) == []


def test_two_graders_at_once_lose_no_change(graded):
    """Each runs a server, so what keeps them apart must hold between processes."""
    desks = [Desk(graded, name) for name in ("Tim", "Tina")]
    steps = ("", *STEPS, "scores_agree", "causal_agree")

    def work(desk, student):
        for target in steps:
            desk.change(student, {"step_or_check": target, "points": "1"})

    with ThreadPoolExecutor() as pool:
        list(pool.map(work, desks, ("alice", "bob")))
    found = [tuple(row.split(",")[:2]) for row in rows(graded)]
    assert sorted(found) == sorted((who, what) for who in ("alice", "bob") for what in steps)


def test_secret_is_found_among_other_cookies(visitor):
    mine = visitor.headers["Cookie"]
    reply, _ = visitor.ask("GET", "/index.html", Cookie=f'a="b c"; {mine}; d')
    assert reply.status == 200


def test_browser_that_hangs_up_prints_nothing(visitor, capfd):
    """The instructor has only left a page before it was there."""
    for _ in range(5):
        with socket.create_connection((HOST, visitor.port)) as one:
            lines = ["GET /index.html HTTP/1.1", f"Host: {HOST}:{visitor.port}"]
            lines += [f"Cookie: {visitor.headers['Cookie']}", "", ""]
            one.sendall("\r\n".join(lines).encode())
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    time.sleep(0.5)
    assert visitor.ask("GET", "/index.html")[0].status == 200
    assert capfd.readouterr().err == ""


def test_address_that_is_none_is_refused(visitor):
    with socket.create_connection((HOST, visitor.port), timeout=20) as connection:
        connection.sendall(f"GET http://[ HTTP/1.1\r\nHost: {HOST}:{visitor.port}\r\n\r\n".encode())
        assert connection.recv(100).startswith(b"HTTP/1.0 400 ")
