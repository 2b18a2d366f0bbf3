"""Show the arrays of a failing case as blocks of text: a name and a shape, then rows of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from grader.report.grids import WHOLE, number_text, shape_text, whole_beside
from grader.report.nests import is_nested, nest_text
from grader.report.records import Array

MAX_COLUMNS = 8
FEW = 4  # decimals, in which every wrong number should be seen to be wrong
Block = list[str]


@dataclass(frozen=True)
class Look:
    """Say how to write an array. like: the array whose slice is shown; rows: the largest number."""

    decimals: int = 2
    rows: int = 8
    like: Array | None = None


def _cell_text(value: Any, decimals: int) -> str:
    """Return a cell's text; a boolean is one letter."""
    return ("T" if value else "F") if isinstance(value, bool) else number_text(value, decimals)


def _flat(cells: Any) -> Iterable[Any]:
    if isinstance(cells, list):
        for cell in cells:
            yield from _flat(cell)
    else:
        yield cells


def _texts(array: Array, decimals: int) -> list[str]:
    wrong = set(array.wrong)
    return [
        ("*" if i in wrong else " ") + _cell_text(cell, decimals)
        for i, cell in enumerate(_flat(array.cells))
    ]


def _slice(array: Array) -> tuple[str, int]:
    """Return the first matrix with a wrong cell in a larger array, with its name and start."""
    if len(array.shape) <= 2:
        return "", 0
    size = array.shape[-1] * array.shape[-2]
    index = min(array.wrong) // size if array.wrong and size else 0
    position, rest = [], index
    for length in reversed(array.shape[:-2]):
        position.append(rest % length if length else 0)
        rest //= length or 1
    return f"[{', '.join(map(str, reversed(position)))}]", index * size


def block(array: Array, look: Look | None = None) -> Block:
    """Return an array as lines of equal length: its name and shape, then its rows."""
    look = look or Look()
    part, start = _slice(look.like or array)
    title = f"{array.name}{part} {shape_text(array.shape)}"
    if array.cells is None:
        return [title]
    texts = _texts(array, look.decimals)
    if not array.shape:
        return _even([title, texts[0]])
    columns = array.shape[-1]
    rows = array.shape[-2] if len(array.shape) > 1 else 1
    width = max(map(len, texts), default=1)
    lines = []
    for row in range(min(rows, look.rows)):
        cells = texts[start + row * columns : start + row * columns + min(columns, MAX_COLUMNS)]
        more = " …" if columns > MAX_COLUMNS else ""
        lines.append(" ".join(cell.rjust(width) for cell in cells) + more)
    return _even([title, *lines, *(["…"] if rows > look.rows else [])])


def _even(lines: list[str]) -> Block:
    width = max(map(len, lines))
    return [line.ljust(width) for line in lines]


def compare_arrays(expected: Array, got: Array, rows: int = 8) -> list[Block]:
    """Return two arrays, with enough decimals to show that they differ."""
    like = got if got.shape == expected.shape else None
    decimals = _decimals(expected, got)
    mine = WHOLE if whole_beside(expected, got) else decimals
    return [block(expected, Look(decimals, rows, like)), block(got, Look(mine, rows))]


def _decimals(expected: Array, got: Array) -> int:
    if not got.wrong or got.shape != expected.shape:
        return 2
    for decimals in (2, 3, 4, 6, 8, 10, 12):
        one, other = _texts(expected, decimals), _texts(got, decimals)
        seen = [one[i][1:] != other[i][1:] for i in got.wrong]
        if all(seen) or (decimals > FEW and any(seen)):
            return decimals
    return 12


def titles(arrays: Sequence[Array]) -> str:
    """Return names with shapes, or with the values of single numbers: `q (2, 4), window = 5`.

    Nested parameters are summarised.
    """
    named = ", ".join(_title(array) for array in arrays if not is_nested(array))
    return "; ".join(filter(None, (named, nest_text(arrays))))


def _title(array: Array) -> str:
    if array.shape or array.cells is None:
        return f"{array.name} {shape_text(array.shape)}".strip()
    value = f"{array.cells:.6g}" if isinstance(array.cells, float) else array.cells
    return f"{array.name} = {value}"
