"""Find the student's own lines of a failing function, with the line to blame if it is known."""

from __future__ import annotations

from grader.intake.submission import lines_of, place
from grader.isolation.survey import outline
from grader.report.records import Code

MOST_LINES = 30
MAX_WIDTH = 160


def find_code(source: str, function: str, guilty: int, filename: str) -> Code | None:
    """Return the lines of a function without its docstring; None if they cannot be found.

    guilty: the number of the line to blame, or 0. If that line is in another function, that
    function is shown.
    """
    known = outline(source)
    named = [one for one in known.functions if one.name == function]
    found = known.around(guilty) or next(reversed(named), None)
    if found is None:
        return None
    numbers = [found.first, *range(max(found.begin, found.first + 1), found.last + 1)]
    if len(numbers) > MOST_LINES:
        middle = numbers.index(guilty) if guilty in numbers else 0
        start = max(0, min(middle - MOST_LINES // 2, len(numbers) - MOST_LINES))
        numbers = numbers[start : start + MOST_LINES]
    where, _, first = place(source, numbers[0], filename)[0].rpartition(", line ")
    if not first.isdecimal():
        return None
    above, lines = numbers[0] - int(first), lines_of(source)
    shown = tuple((n - above, lines[n - 1].rstrip()[:MAX_WIDTH]) for n in numbers)
    return Code(where, shown, guilty - above if guilty in numbers else 0)
