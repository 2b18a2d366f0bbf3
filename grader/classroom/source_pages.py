"""Show students' sources to the grader, without the kit's lessons: one with forms, or two alike.

Only `serve` shows these pages. They are drawn when they are asked for, and are never written.
"""

import difflib
import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from grader.intake.notebooks import find_code
from grader.intake.submission import Submission
from grader.report.html.page import template
from grader.report.names import safe_name
from grader.report.records import Alike, Graded
from grader.report.sanitize import visible
from grader.steps.registry import Step, load
from grader.steps.stubs import CELL, SELF_STUDY, solution_of, split_cells

MAX_SHOWN = 100_000  # characters of a source
MAX_COMPARED = 20_000  # characters of a source beside another
MAX_LINES = 1000
LESSON = ("[markdown]", SELF_STUDY)  # in the mark of a cell
HERE = Path(__file__).parent
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
    known = load()
    data = {
        "graded": graded,
        "points": graded.grade.steps if graded.grade else {},
        "file": safe_name(graded.student),
        "sources": {
            one.step: _show_step(handed_in.sources.get(one.step, ""), known.find(one.step))
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
