"""Show a student's source to the grader, without the kit's lessons."""

from __future__ import annotations

import itertools
import re

from markupsafe import Markup, escape

from grader.report.sanitize import visible
from grader.steps.registry import Step
from grader.steps.stubs import SELF_STUDY, solution_of

MAX_SHOWN = 100_000  # characters of a source
_CELL = re.compile(r"^(?=# %%)", re.MULTILINE)
_LESSON = re.compile(rf"# %%[^\n]*(?:\[markdown\]|{SELF_STUDY})")


def find_lessons(step: Step) -> frozenset[str]:
    """Return the cells of a step's file in which a student has nothing to write."""
    cells = _CELL.split(solution_of(step))
    return frozenset(cell.strip() for cell in cells if _LESSON.match(cell))


def drop_lessons(source: str, lessons: frozenset[str]) -> list[tuple[int, str]]:
    """Return the other lines, each with its number in the file.

    A changed lesson stays, because a student has written in it.
    """
    found: list[tuple[int, str]] = []
    number = 1
    for cell in _CELL.split(source):
        lines = cell.split("\n")
        if cell.strip() not in lessons:
            found += list(enumerate(lines, number))
        number += len(lines) - 1
    return [
        (number, line)
        for (_, above), (number, line) in itertools.pairwise([(0, ""), *found])
        if line.rstrip() != "# %%" and (line.strip() or above.strip())
    ]


def show_source(lines: list[tuple[int, str]]) -> Markup:
    """Return the lines with their numbers, made visible and escaped, for a page."""
    text = "\n".join(f"{number:4}  {line}".rstrip() for number, line in lines)
    return Markup(escape(visible(text.strip("\n"), MAX_SHOWN)))
