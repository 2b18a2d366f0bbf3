"""Show a student's source to the grader, without the kit's lessons."""

from __future__ import annotations

import itertools

from markupsafe import Markup, escape

from grader.report.sanitize import visible
from grader.steps.registry import Step
from grader.steps.stubs import CELL, SELF_STUDY, solution_of, split_cells

MAX_SHOWN = 100_000  # characters of a source
LESSON = ("[markdown]", SELF_STUDY)  # in the mark of a cell


def find_lessons(step: Step) -> frozenset[str]:
    """Return the cells of a step's file in which a student has nothing to write."""
    heads = {cell: cell.partition("\n")[0] for cell in split_cells(solution_of(step))}
    lessons = (cell for cell, head in heads.items() if any(word in head for word in LESSON))
    return frozenset(cell.strip() for cell in lessons)


def drop_lessons(source: str, lessons: frozenset[str]) -> list[tuple[int, str]]:
    """Return the other lines, each with its number in the file.

    A changed lesson stays, because a student has written in it.
    """
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


def show_source(lines: list[tuple[int, str]]) -> Markup:
    """Return the lines with their numbers, made visible and escaped, for a page."""
    text = "\n".join(f"{number:4}  {line}".rstrip() for number, line in lines)
    return Markup(escape(visible(text.strip("\n"), MAX_SHOWN)))
