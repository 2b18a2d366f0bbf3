"""Turn the matrices of a failing case into grids of cells: the part to show, with its marks."""

import math
import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grader.report.influences import VERDICTS, count_words, is_allowed, kind, movement, of_kind
from grader.report.records import Array, Evidence, Influence

MAX_MAP = 24
WAY = re.compile(r"\w+(\.\w+(\[\d+\])*)+")

Marks = Set[tuple[int, int]]


@dataclass(frozen=True)
class GridCell:
    """Describe one number: its text, any further text, its mark, and how full its cell is."""

    text: str
    note: str = ""
    mark: str = ""
    fill: float = 0.0


@dataclass(frozen=True)
class Grid:
    """Describe a matrix, or the part of it that is shown; down and across are the indices shown.

    dimensions: of its array, so the renderer knows which indices to write. wrong: the number of
    wrong cells. border: the lines between cells that may depend on something and the others, as
    (row, column, down, across). Such a line has that extent and starts at the upper left corner of
    the cell.
    """

    name: str
    shape: str
    down: tuple[int, ...] = ()
    across: tuple[int, ...] = ()
    cells: tuple[tuple[GridCell, ...], ...] = ()
    dimensions: int = 2
    note: str = ""
    wrong: int = 0
    border: tuple[tuple[int, int, int, int], ...] = ()


@dataclass(frozen=True)
class GridSize:
    """Say how much of an array is shown, and the decimals of results that agree."""

    rows: int = 12
    columns: int = 12
    slices: int = 3
    decimals: int = 3


PAGE = GridSize()


@dataclass(frozen=True)
class Exhibit:
    """Hold matrices that belong side by side. weights: rows sum to 1, so a map can be drawn."""

    grids: tuple[Grid, ...]
    weights: bool = False


def is_nested(array: Array) -> bool:
    """Return whether the name is a path inside an argument: `params.blocks[0].ln_1.gain`."""
    return WAY.fullmatch(array.name) is not None


def nest_text(arrays: Sequence[Array]) -> str:
    """Return a summary of the nested arguments: `params: embedding (5, 4), 2 blocks, ln_f`."""
    inside: dict[str, dict[str, list[str]]] = {}
    for array in filter(is_nested, arrays):
        name, part, *rest = array.name.split(".")
        key, bracket, number = part.partition("[")
        told = f"[{number}" if bracket else "" if rest else str(array.shape)
        inside.setdefault(name, {}).setdefault(key, []).append(told)
    return "; ".join(
        f"{name}: {', '.join(_part(key, told) for key, told in parts.items())}"
        for name, parts in inside.items()
    )


def _part(key: str, told: Sequence[str]) -> str:
    """Return a part of an argument: an array by its shape, a list by its length, or a name."""
    if told[0].startswith("["):
        return count_words(len({*told}), key.removesuffix("s"))
    return f"{key} {told[0]}".rstrip()


def number_text(value: Any, decimals: int) -> str:
    """Return a cell's text; a number that is exactly 0 has no decimals."""
    if isinstance(value, int) or not math.isfinite(value):
        return str(value)
    if not value:
        return "0"  # of either sign
    if not 1e-3 <= abs(value) < 1e5 and decimals <= 4:
        return f"{value:.{decimals}g}"
    return f"{value:.{decimals}f}"


def list_inputs(evidence: Evidence) -> tuple[Array, ...]:
    """Return the inputs, without the numbers that the call shows already."""
    return tuple(
        array for array in evidence.inputs if array.shape or f"{array.name}=" not in evidence.call
    )


def _tell_apart(one: Any, other: Any, least: int) -> tuple[str, str]:
    """Return two numbers, with enough decimals to show that they differ."""
    for decimals in (least, 4, 6, 8, 10, 12):
        texts = number_text(one, decimals), number_text(other, decimals)
        if texts[0] != texts[1]:
            return texts
    return repr(one), repr(other)


def _axes(array: Array) -> tuple[int, int, int]:
    """Return how many matrices an array consists of, and their rows and columns."""
    rows, columns = (1, 1, *array.shape)[-2:]
    return math.prod(array.shape[:-2]), rows, columns


def _marks(array: Array) -> dict[int, Marks]:
    """Return the row and column of each wrong cell, by the number of its slice."""
    _, rows, columns = _axes(array)
    found: dict[int, set[tuple[int, int]]] = {}
    for place in array.wrong:
        number, rest = divmod(place, rows * columns)
        found.setdefault(number, set()).add(divmod(rest, columns))
    return dict(found)


def _some(length: int, first: Set[int], most: int) -> tuple[int, ...]:
    """Return the numbers of 0..length-1 to show: those in `first` come first."""
    wanted = sorted(range(length), key=lambda i: (i not in first, i))
    return tuple(sorted(wanted[:most]))


def _shorten(rows: int, columns: int, down: int, across: int) -> str:
    parts = [
        f"{shown} of {length:,} {word}"
        for length, shown, word in ((rows, down, "rows"), (columns, across, "columns"))
        if length > shown
    ]
    return f"{' and '.join(parts)} shown" if parts else ""


def shape_text(shape: tuple[int, ...]) -> str:
    """Return a shape such as `(2, 3)`, or nothing for a single number."""
    return str(tuple(shape)) if shape else ""


def _grid(
    array: Array,
    number: int,
    size: GridSize,
    marks: Marks,
    mark: str = "wrong",
    other: Array | None = None,
    note: str = "",
) -> Grid:
    """Return one slice with the cells at `marks` marked; other: the array to compare it with."""
    _, rows, columns = _axes(array)
    values, beside = (
        np.array(one.cells, dtype=object).reshape(_axes(one))[number]
        for one in (array, other or array)
    )
    down = _some(rows, {i for i, _ in marks}, size.rows)
    across = _some(columns, {j for _, j in marks}, size.columns)

    def cell(i: int, j: int) -> GridCell:
        """Return a cell as text, with enough decimals to differ from its counterpart if marked."""
        value = values[i, j]
        fill = float(min(max(value, 0), 1)) if value == value else 0.0
        if (i, j) not in marks:
            return GridCell(number_text(value, size.decimals), fill=fill)
        if other is None:
            return GridCell(number_text(value, size.decimals), "wrong", mark, fill)
        text, right = _tell_apart(value, beside[i, j], size.decimals)
        return GridCell(text, f"wrong; {other.name}: {right}" * (mark == "wrong"), mark, fill)

    place = np.unravel_index(number, array.shape[:-2])
    shown = _shorten(rows, columns, len(down), len(across))
    return Grid(
        array.name + (f"[{', '.join(map(str, place))}]" if place else ""),
        shape_text(array.shape),
        down,
        across,
        tuple(tuple(cell(i, j) for j in across) for i in down),
        len(array.shape),
        "; ".join(filter(None, (shown, note))),
        len(marks) if mark == "wrong" else 0,
    )


def _bare(array: Array) -> Grid | None:
    """Return a grid for an array without cells to show."""
    size = math.prod(array.shape)
    if size and array.cells is not None:
        return None
    note = f"{count_words(size, 'number')}: too many to show" if size else "empty"
    return Grid(array.name, shape_text(array.shape), note=note)


def _slices(
    array: Array, marked: Set[int], first: Set[int], size: GridSize
) -> Iterator[tuple[int, str]]:
    """Yield the slices to show, those in `first` first, the last with a note on the others."""
    count = _axes(array)[0]
    numbers = sorted(range(count), key=lambda number: (number not in first, number))
    numbers, left = numbers[: size.slices], numbers[size.slices :]
    wrong = len(marked & set(left))
    also = f", {wrong} of them with wrong cells" if wrong else ""
    for number in numbers:
        is_last = left and number == numbers[-1]
        yield number, f"and {count_words(len(left), 'more slice')}{also}" if is_last else ""


def _alone(array: Array, size: GridSize, first: Set[int] = frozenset()) -> tuple[Grid, ...]:
    """Return the slices of an array that is compared with no other."""
    if bare := _bare(array):
        return (bare,)
    marks = _marks(array)
    return tuple(
        _grid(array, number, size, marks.get(number, set()), note=note)
        for number, note in _slices(array, marks.keys(), first or marks.keys(), size)
    )


def _compare_slices(expected: Array, got: Array, size: GridSize) -> Iterator[Exhibit]:
    """Yield expected and actual results side by side, slice by slice."""
    if expected.shape != got.shape or _bare(expected) or _bare(got):
        yield Exhibit((*_alone(expected, size), *_alone(got, size)))
        return
    marks = _marks(got)
    for number, note in _slices(got, marks.keys(), marks.keys(), size):
        wrong = marks.get(number, set())
        right = _grid(expected, number, size, wrong, "due", got)
        mine = _grid(got, number, size, wrong, "wrong", expected, note)
        yield Exhibit((right, mine), weights=are_weights(expected))


def are_weights(array: Array) -> bool:
    """Return whether an array looks like attention weights: its rows sum to 1 or to 0."""
    if array.cells is None or len(array.shape) < 2 or array.shape[-1] < 2:
        return False
    cells = np.array(array.cells)
    sums = cells.sum(axis=-1)
    shares = cells.dtype.kind == "f" and bool((cells >= 0).all())
    return shares and bool(sums.any() and ((abs(sums - 1) < 1e-6) | (sums == 0)).all())


def exhibits(evidence: Evidence, size: GridSize = PAGE) -> list[Exhibit]:
    """Return the matrices of a failing case: the inputs, then the results."""
    wrong = {(array.shape[:-2], number) for array in evidence.got for number in _marks(array)}
    small, inputs = replace(size, decimals=2), list[Grid]()
    for array in list_inputs(evidence):
        if not is_nested(array):
            first = {number for lead, number in wrong if lead == array.shape[:-2]}
            inputs += _alone(array, small, first)
    found = [Exhibit(tuple(inputs))] if inputs else []
    if not evidence.expected:
        return found + [Exhibit(_alone(array, size)) for array in evidence.got]
    pairs = zip(evidence.expected, evidence.got)
    return found + [exhibit for pair in pairs for exhibit in _compare_slices(*pair, size)]


def influence_grid(influence: Influence, most: int = MAX_MAP) -> Grid:
    """Return the map as a matrix, outputs down, inputs across. most: the most lines each way."""
    rows = influence.moved
    columns = len(rows[0]) if rows else 0
    wrong = of_kind(influence, "leak", "missing")
    first_down, first_across = {i for i, _ in wrong}, {j for _, j in wrong}
    if len(rows) == columns:  # the same rows and columns of a square
        first_down = first_across = first_down | first_across
    down, across = _some(len(rows), first_down, most), _some(columns, first_across, most)
    may = np.array([[is_allowed(influence, i, j) for j in across] for i in down])
    right = np.argwhere(may[..., 1:] != may[..., :-1]).tolist()
    below = np.argwhere(may[1:] != may[:-1]).tolist()

    def cell(i: int, j: int) -> GridCell:
        moved, mark = rows[i][j], kind(influence, i, j)
        text = "nan" if moved is None else f"{moved:.3g}"
        return GridCell(text, movement(influence, i, j) + VERDICTS[mark], mark)

    return Grid(
        "influence",
        f"{influence.output} down, {influence.input} across",
        down,
        across,
        tuple(tuple(cell(i, j) for j in across) for i in down),
        note=_shorten(len(rows), columns, len(down), len(across)),
        border=(*((i, j + 1, 1, 0) for i, j in right), *((i + 1, j, 0, 1) for i, j in below)),
    )
