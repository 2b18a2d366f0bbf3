"""Say where a line of a source stands: in a file, or in a cell of a notebook.

A notebook's text has a mark above each cell.
"""

import bisect
import re
from functools import lru_cache

from grader.isolation.survey import survey
from grader.isolation.worker.cells import CELL, is_notebook, split_lines

MARK = CELL + " {cell}"  # the line above a cell in the text of a notebook
_PLACE = re.compile(r".{1,80}, cell \d{1,6}|cell In\[\d{1,6}\]")  # in a mark


def find_spot(source: str, number: int, filename: str) -> tuple[str, int]:
    """Return the file, or the notebook's cell, and the number in it of a line; no line is 0."""
    if not 0 < number <= len(lines_of(source)):
        return "", 0
    marks = _find_marks(source)
    if before := bisect.bisect_left(marks, (number,)):
        above, cell = marks[before - 1]
        return cell, number - above
    return filename, number


def place(source: str, number: int, filename: str) -> tuple[str, str]:
    """Return the place of a source's line for a reader, and the line, or ("", "")."""
    where, line = find_spot(source, number, filename)
    return (f"{where}, line {line}", lines_of(source)[number - 1].strip()) if line else ("", "")


lines_of = lru_cache(maxsize=2)(split_lines)


@lru_cache(maxsize=2)
def _find_marks(source: str) -> list[tuple[int, str]]:
    """Return the number of each line that is a notebook's mark, with the cell that it names.

    A submitted file may forge them. It then says where its own lines are.
    """
    lines = enumerate(lines_of(source) if is_notebook(source) else (), 1)
    found = ((n, _PLACE.match(line, len(CELL) + 1)) for n, line in lines if line.startswith(CELL))
    return [(number, cell[0]) for number, cell in found if cell]


def forget_lines() -> None:
    """Forget the lines of the last sources."""
    lines_of.cache_clear()
    _find_marks.cache_clear()


def from_notebook(source: str) -> bool:
    """Return whether a source was built from a notebook's cells."""
    return bool(_find_marks(source))


def find_left_open(source: str, name: str) -> tuple[str, str]:
    """Return the place and the text of the wrong line for which a function is left out, or ""."""
    lines = lines_of(source)
    for first, last, wrong in survey(source).broken if is_notebook(source) else ():
        if any(line.split("(")[0].split() == ["def", name] for line in lines[first - 1 : last]):
            return place(source, wrong, "")
    return "", ""
