"""Whose sources are compared, and what is said when a class is large."""

import pytest

from grader.classroom import publishing
from grader.classroom.gradebook import Gradebook, Mark, key_of
from grader.classroom.judge import Exam, Outcome
from grader.classroom.likeness import Likenesses
from grader.intake.submission import Submission
from grader.report.html import page as html_page
from grader.report.records import Alike
from grader.steps import registry
from tests.support.classes import COLUMNS, right, wrong

REGISTRY = registry.load()


class Book:
    def sources_of(self, run, step):
        return [("ann", f"{step} of ann"), ("ben", f"{step} of ben")]


@pytest.fixture
def compared(monkeypatch):
    """compared(students): the titles of the steps that are compared, and what is said."""
    titles, said = [], []

    def near_sources(title, stub, sources):
        titles.append(title)
        return Likenesses(())

    monkeypatch.setattr(publishing, "near_sources", near_sources)

    def compared(students):
        list(publishing._near(Book(), 1, REGISTRY, students, said.append))
        return titles, said

    return compared


def test_small_class_is_compared_without_a_word(compared):
    assert compared(30) == ([step.title for step in REGISTRY.steps], [])


def test_class_of_ten_thousand_is_compared_and_each_step_announced(compared):
    titles, said = compared(10_000)
    assert titles == [step.title for step in REGISTRY.steps]
    assert said[2] == f"Comparing the sources of step 3, {titles[2]} ..."
    assert len(said) == len(titles)


def test_class_that_is_too_large_is_not_compared_and_it_is_said(compared):
    titles, (said,) = compared(publishing.MAX_COMPARED + 1)
    assert titles == []
    assert "up to 50,000" in said


def test_what_is_not_compared_is_told(compared, monkeypatch):
    found = Likenesses((), ("eve", "bob"), 16)
    monkeypatch.setattr(publishing, "near_sources", lambda *about: found)
    _, said = compared(30)
    title = REGISTRY.steps[0].title
    assert said[0].startswith(f"{title}: of eve, bob only the beginning was compared")
    assert said[-1].startswith("Similar sources of step 1, 2, 3, ")
    assert len(said) == len(REGISTRY.steps) + 1


def test_nobody_is_compared_with_nobody(compared):
    assert compared(1) == ([], [])


def test_page_that_cannot_be_drawn_keeps_no_other_from_being_written(tmp_path, monkeypatch):
    """The student is told in the page, and the instructor by the run."""
    people = [right("ann"), wrong("ben"), right("cy")]
    exam = Exam("hidden", 7, "bubblewrap", COLUMNS, "a kit")
    for name in ("_whole", "work_page"):
        module = html_page if name == "_whole" else publishing
        monkeypatch.setattr(module, name, failing(getattr(module, name)))
    said = []
    with Gradebook(tmp_path, write=True) as book:
        run = book.begin(exam)
        for one in people:
            handed_in = Submission(one.student, {"step02_scores": f"# {one.student}"})
            key = key_of(exam, handed_in)
            book.keep(handed_in)
            book.record(key, Outcome(one.report.to_json().encode(), "", 1.0))
            book.mark(run, Mark(one.student, handed_in.sha256, key))
        book.finish(run, [one.student for one in people])
        publishing.publish(book, run, tmp_path, REGISTRY, said.append)
    assert said == ["The page of ben could not be drawn; the points are right."]
    pages = {one: (tmp_path / "feedback" / f"{one}.html").read_text() for one in ("ann", "ben")}
    assert html_page.NOT_DRAWN in pages["ben"]
    assert "<b>5</b> of 10 points" in pages["ben"]
    assert html_page.NOT_DRAWN not in pages["ann"]
    for name in ("feedback", "work"):
        assert len(list((tmp_path / name).glob("*.html"))) == 3
    assert (tmp_path / "reports" / "ben.json").is_file()
    assert (tmp_path / "index.html").is_file()


def failing(function):
    """Return the function, which now fails for the pages of ben."""

    def fail(first, *more):
        student = getattr(first, "submission", None) or first.student
        if student == "ben":
            raise RecursionError("deep")
        return function(first, *more)

    return fail


def test_report_of_an_earlier_attempt_does_not_stay(tmp_path):
    """A program that reads the reports would find points that the latest attempt has not."""
    exam = Exam("hidden", 7, "bubblewrap", COLUMNS, "a kit")
    with Gradebook(tmp_path, write=True) as book:
        for mark in (Mark("ann", None, "right"), Mark("ann", reason="the zip is damaged")):
            book.record("right", Outcome(right("ann").report.to_json().encode(), "", 1.0))
            run = book.begin(exam)
            book.mark(run, mark)
            book.finish(run, ["ann"])
            publishing.publish(book, run, tmp_path, REGISTRY, print)
            there = (tmp_path / "reports" / "ann.json").exists()
            assert there is (mark.key is not None)


def test_pages_of_a_run_that_was_killed_before_it_wrote_them_are_renewed(tmp_path):
    """A change by hand of anybody writes the tables, which would contradict the pages."""
    exam = Exam("hidden", 7, "bubblewrap", COLUMNS, "a kit")
    with Gradebook(tmp_path, write=True) as book:
        for key, one in {"right": right("ann"), "wrong": wrong("ann")}.items():
            book.record(key, Outcome(one.report.to_json().encode(), "", 1.0))
            run = book.begin(exam)
            book.mark(run, Mark("ann", None, key))
            book.finish(run, ["ann"])
            if key == "right":
                publishing.publish(book, run, tmp_path, REGISTRY, print)
        publishing.renew(book, tmp_path, publishing.Rules(publishing.Course()))
    assert "ann,5,10" in (tmp_path / "grades.csv").read_text()
    assert "<b>5</b> of 10 points" in (tmp_path / "feedback" / "ann.html").read_text()


def test_part_of_a_page_that_a_killed_run_has_left_does_not_stay(tmp_path):
    part = tmp_path / "feedback" / "ann.html.0123456789abcdef.new"
    part.parent.mkdir()
    part.write_text("<!doctype html><p>Half a")
    with Gradebook(tmp_path, write=True) as book:
        book.record("right", Outcome(right("ann").report.to_json().encode(), "", 1.0))
        run = book.begin(Exam("hidden", 7, "bubblewrap", COLUMNS, "a kit"))
        book.mark(run, Mark("ann", None, "right"))
        book.finish(run, ["ann"])
        publishing.publish(book, run, tmp_path, REGISTRY, print)
    assert [path.name for path in part.parent.iterdir()] == ["ann.html"]


def test_changes_are_told_after_a_run_was_stopped_before_it_told_them(tmp_path):
    """The same command continues, and says the same as if it had not been stopped."""
    exam = Exam("hidden", 7, "bubblewrap", COLUMNS, "a kit")
    ways = {"alice": ("wrong", "right"), "bob": ("right", "wrong"), "cy": ("right", "right")}
    with Gradebook(tmp_path, write=True) as book:
        for name, one in {"right": right(), "wrong": wrong()}.items():
            book.record(name, Outcome(one.report.to_json().encode(), "", 1.0))
        for attempt, is_stopped in ((0, False), (1, True), (1, False)):
            run = book.begin(exam)
            for student, keys in ways.items():
                book.mark(run, Mark(student, keys[attempt], keys[attempt]))
            book.finish(run, list(ways))
            if not is_stopped:
                publishing.publish(book, run, tmp_path, REGISTRY, print)
    told = (tmp_path / "changes.csv").read_text().splitlines()
    assert [line.split(",")[:4] for line in told[1:]] == [
        ["alice", "5", "10", "handed in again"],
        ["bob", "10", "5", "handed in again"],
    ]


SCORES = REGISTRY.steps[1]


class Files:
    """A gradebook in which everybody has these files."""

    def __init__(self, source, **more):
        self.files = {SCORES.id: source, **more}

    def sources(self, student, run):
        return self.files


def test_page_of_long_sources_is_short(tmp_path):
    """Students who hand in the same megabyte could fill the disk with two hundred pages of it."""
    alike = Alike(("anna", "ben", "cy", "di"), SCORES.title, "Nearly the same code.")
    source = "x = 1\n" + 1000 * ('"' * 990 + "\n")
    publishing.write_sides(Files(source), 1, tmp_path, [alike])
    (page,) = (tmp_path / "alike").iterdir()
    assert 100_000 < page.stat().st_size < 2_000_000
    assert "more characters)" in page.read_text(encoding="utf-8")


def test_page_shows_the_own_modules_that_a_step_may_import(tmp_path):
    alike = Alike(("anna", "ben"), SCORES.title, "Nearly the same code.")
    book = Files("from mine import f\n", **{"mine.py": "def f(): return 1234\n"})
    publishing.write_sides(book, 1, tmp_path, [alike])
    (page,) = (tmp_path / "alike").iterdir()
    assert page.read_text(encoding="utf-8").count("return 1234") == 2
