"""What a graded class publishes, also after runs that were stopped."""

import pytest

from grader.classroom import publishing
from grader.classroom.course import Course
from grader.classroom.gradebook import Gradebook
from grader.classroom.judge import Exam, Outcome
from grader.classroom.marking import Rules
from grader.classroom.serving import alike_page
from grader.report.html import page as html_page
from grader.report.records import Alike, Graded
from grader.steps import registry
from tests.support.classes import COLUMNS, override, right, wrong

REGISTRY = registry.load()


EXAM = Exam("hidden", 7, "bubblewrap", COLUMNS, "a kit")


@pytest.fixture
def book(tmp_path):
    """A gradebook that has a right and a wrong result."""
    with Gradebook(tmp_path, write=True) as opened:
        for key, one in {"right": right(), "wrong": wrong()}.items():
            opened.record(key, Outcome(one.report.to_json().encode(), "", 1.0))
        yield opened


def ended(book, **keys):
    """The number of an ended run in which students have these results; None is not gradable."""
    run = book.begin(EXAM)
    for student, key in keys.items():
        why = "" if key else "the zip is damaged"
        book.mark(run, Graded(student, None, why, sha256=key, key=key))
    book.finish(run)
    return run


def rules(book, *overrides):
    return Rules(Course(), overrides).settle(book.people())


def published(book, out, **keys):
    said, run = [], ended(book, **keys)
    publishing.publish(book, run, out, rules(book), said.append)
    return said


def test_what_is_not_compared_is_told(tmp_path, book, monkeypatch):
    monkeypatch.setattr(publishing, "near_sources", lambda *about: ([], ["eve", "bob"]))
    said = published(book, tmp_path, eve="right", bob="wrong")
    title = REGISTRY.steps[0].title
    assert said[0].startswith(f"{title}: of eve, bob only the beginning was compared")
    assert len(said) == len(REGISTRY.steps)


def test_page_that_cannot_be_drawn_keeps_no_other_from_being_written(tmp_path, book, monkeypatch):
    """The student is told in the page, and the instructor by the run."""
    whole = html_page.page

    def fail(report, graded):
        if report.submission == "ben":
            raise RecursionError("deep")
        return whole(report, graded)

    monkeypatch.setattr(html_page, "page", fail)
    said = published(book, tmp_path, ann="right", ben="wrong", cy="right")
    assert said == ["The page of ben could not be drawn; the points are right."]
    pages = {path.stem: path.read_text() for path in (tmp_path / "feedback").iterdir()}
    assert [*sorted(pages)] == ["ann", "ben", "cy"]
    assert [name for name, text in pages.items() if html_page.NOT_DRAWN in text] == ["ben"]
    assert "<b>5</b> of 10 points" in pages["ben"]
    assert (tmp_path / "reports" / "ben.json").is_file()
    assert (tmp_path / "index.html").is_file()


def test_report_of_an_earlier_attempt_does_not_stay(tmp_path, book):
    """A program that reads the reports would find points that the latest attempt has not."""
    for key in ("right", None):
        published(book, tmp_path, ann=key)
        assert (tmp_path / "reports" / "ann.json").exists() is bool(key)


def test_pages_of_a_run_that_was_killed_before_it_wrote_them_are_renewed(tmp_path, book):
    """A change by hand of anybody writes the tables, which would contradict the pages."""
    published(book, tmp_path, ann="right")
    ended(book, ann="wrong")
    publishing.renew(book, tmp_path, rules(book))
    assert "ann,5,10" in (tmp_path / "grades.csv").read_text()
    assert "<b>5</b> of 10 points" in (tmp_path / "feedback" / "ann.html").read_text()


def test_page_of_a_renewal_that_was_stopped_does_not_stay(tmp_path, book, monkeypatch):
    """The change that it shows may have been taken back since."""
    published(book, tmp_path, ann="right")

    def fail(*about):
        raise OSError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(publishing, "write_matches", fail)
        with pytest.raises(OSError, match="full"):
            publishing.renew(book, tmp_path, rules(book, override("", 1.0, "ann")))
    assert "<b>1</b> of 10 points" in (tmp_path / "feedback" / "ann.html").read_text()
    publishing.renew(book, tmp_path, rules(book))
    assert "<b>10</b> of 10 points" in (tmp_path / "feedback" / "ann.html").read_text()


def test_part_of_a_page_that_a_killed_run_has_left_does_not_stay(tmp_path, book):
    part = tmp_path / "feedback" / "ann.html.0123456789abcdef.new"
    part.parent.mkdir()
    part.write_text("<!doctype html><p>Half a")
    published(book, tmp_path, ann="right")
    assert [path.name for path in part.parent.iterdir()] == ["ann.html"]


def test_changes_are_told_after_a_run_was_stopped_before_it_told_them(tmp_path, book):
    """The same command continues, and says the same as if it had not been stopped."""
    published(book, tmp_path, alice="wrong", bob="right", cy="right")
    after = {"alice": "right", "bob": "wrong", "cy": "right"}
    ended(book, **after)
    published(book, tmp_path, **after)
    told = (tmp_path / "changes.csv").read_text().splitlines()
    assert [line.split(",")[:4] for line in told[1:]] == [
        ["alice", "5", "10", "handed in again"],
        ["bob", "10", "5", "handed in again"],
    ]


STEP = REGISTRY.steps[1]
ALIKE = Alike(("anna", "ben"), STEP.title, "Nearly the same code.")


def test_page_of_long_sources_is_short():
    """Students may hand in a megabyte."""
    source = "x = 1\n" + 1000 * ('"' * 990 + "\n")
    page = alike_page(ALIKE, STEP, dict.fromkeys(("anna", "ben", "cy", "di"), source))
    assert 100_000 < len(page) < 2_000_000
    assert "more characters)" in page
