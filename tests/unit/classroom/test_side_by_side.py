"""The pages that show two sources side by side."""

from grader.classroom.side_by_side import write_sides
from grader.report.records import Alike
from grader.steps.registry import load

STEP = load().steps[1]


class Book:
    def __init__(self, source):
        self.source = source

    def sources(self, student, run):
        return {STEP.id: self.source}


def test_page_of_long_sources_is_short(tmp_path):
    """Students who hand in the same megabyte could fill the disk with two hundred pages of it."""
    alike = Alike(("anna", "ben", "cy", "di"), STEP.title, "Nearly the same code.")
    source = "x = 1\n" + 1000 * ('"' * 990 + "\n")
    write_sides(Book(source), 1, tmp_path, [alike])
    (page,) = (tmp_path / "alike").iterdir()
    assert 100_000 < page.stat().st_size < 2_000_000
    assert "more characters)" in page.read_text(encoding="utf-8")
