"""The pages that show two sources side by side."""

from grader.classroom.publishing import write_sides
from grader.report.records import Alike
from grader.steps.registry import load

STEP = load().steps[1]


class Book:
    def __init__(self, source, **more):
        self.files = {STEP.id: source, **more}

    def sources(self, student, run):
        return self.files


def test_page_of_long_sources_is_short(tmp_path):
    """Students who hand in the same megabyte could fill the disk with two hundred pages of it."""
    alike = Alike(("anna", "ben", "cy", "di"), STEP.title, "Nearly the same code.")
    source = "x = 1\n" + 1000 * ('"' * 990 + "\n")
    write_sides(Book(source), 1, tmp_path, [alike])
    (page,) = (tmp_path / "alike").iterdir()
    assert 100_000 < page.stat().st_size < 2_000_000
    assert "more characters)" in page.read_text(encoding="utf-8")


def test_page_shows_the_own_modules_that_a_step_may_import(tmp_path):
    alike = Alike(("anna", "ben"), STEP.title, "Nearly the same code.")
    book = Book("from mine import f\n", **{"mine.py": "def f(): return 1234\n"})
    write_sides(book, 1, tmp_path, [alike])
    (page,) = (tmp_path / "alike").iterdir()
    assert page.read_text(encoding="utf-8").count("return 1234") == 2
