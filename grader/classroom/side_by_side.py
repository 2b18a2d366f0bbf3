"""Show the sources of students whose work is alike, side by side, for a person to compare."""

from __future__ import annotations

import difflib
import shutil
from collections.abc import Iterable
from itertools import combinations, islice
from pathlib import Path

from grader.classroom.gradebook import Gradebook, find_source
from grader.classroom.own_source import drop_lessons, find_lessons
from grader.report.files import write_whole
from grader.report.html.page import template
from grader.report.records import Alike
from grader.report.sanitize import visible
from grader.steps.registry import load

FOLDER = "alike"
MAX_PAGES = 200
MAX_PAIRS = 6  # of a group, on its page
MAX_LINES = 1000
MAX_TEXT = 20_000  # characters of a source: twice what is compared
Line = tuple[str, str, bool]


def side_by_side(one: str, other: str) -> list[Line]:
    """Return both sources line by line, and whether the lines agree except for spaces."""
    left, right = (text.split("\n")[:MAX_LINES] for text in (one, other))
    plain = [[" ".join(line.split()) for line in lines] for lines in (left, right)]
    found: list[Line] = []
    matcher = difflib.SequenceMatcher(None, plain[0], plain[1])
    for kind, a, b, c, d in matcher.get_opcodes():
        for i in range(max(b - a, d - c)):
            mine = left[a + i] if a + i < b else ""
            theirs = right[c + i] if c + i < d else ""
            found.append((mine, theirs, kind == "equal"))
    return found


def _own(source: str, lessons: frozenset[str]) -> str:
    text = "\n".join(line for _, line in drop_lessons(source, lessons)).strip("\n")
    return visible(text, MAX_TEXT)


def write_sides(book: Gradebook, run: int, out: Path, alike: Iterable[Alike]) -> dict[Alike, str]:
    """Write a page for each similarity, and return its path from the class page."""
    folder = out / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    steps = {step.title: step for step in load().steps}
    places: dict[Alike, str] = {}
    for number, one in enumerate(islice(alike, MAX_PAGES), start=1):
        step = steps.get(one.step)
        if step is None:
            continue
        lessons = find_lessons(step)
        texts = {
            name: _own(find_source(book.sources(name, run), step.id), lessons)
            for name in one.students[:MAX_PAIRS]
        }
        pairs = [
            (a, b, side_by_side(texts[a], texts[b]))
            for a, b in islice(combinations(texts, 2), MAX_PAIRS)
        ]
        folder.mkdir(exist_ok=True)
        page = template("side_by_side.html", Path(__file__).parent)
        write_whole(folder / f"{number}.html", [page.render(alike=one, pairs=pairs).lstrip()])
        places[one] = f"{FOLDER}/{number}.html"
    return places
