"""Turn the matrices of a failing case into grids of cells: the part to show, with its marks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import Any

from grader.report.influences import VERDICTS, count_words, is_allowed, kind, movement, of_kind
from grader.report.nests import is_nested
from grader.report.records import Array, Evidence, Influence

MAX_LINES = 12
MAX_SLICES = 3
MAX_MAP = 24
WHOLE = 0  # decimals of floats without a fraction: `1.`, which is not the integer 1

Place = tuple[int, ...]
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
class Exhibit:
    """Hold matrices that belong side by side. weights: rows sum to 1, so a map can be drawn."""

    grids: tuple[Grid, ...]
    weights: bool = False


def number_text(value: Any, decimals: int) -> str:
    """Return a cell's text; a number that is exactly 0 has no decimals."""
    if isinstance(value, int) or not math.isfinite(value):
        return str(value)
    if decimals == WHOLE:
        return f"{value:#.0f}"
    if not value:
        return "0"  # of either sign
    if not 1e-3 <= abs(value) < 1e5 and decimals <= 4:
        return f"{value:.{decimals}g}"
    return f"{value:.{decimals}f}"


def _flat(cells: Any) -> Iterator[Any]:
    for line in _lines(cells if isinstance(cells, list) else [cells]):
        yield from line


def whole_beside(expected: Array, got: Array) -> bool:
    """Return whether the results are whole numbers stored as floats where integers belong."""
    if expected.cells is None or got.cells is None:
        return False
    if any(isinstance(cell, float) for cell in _flat(expected.cells)):
        return False
    cells = list(_flat(got.cells))
    return any(isinstance(cell, float) for cell in cells) and all(cell % 1 == 0 for cell in cells)


def list_inputs(evidence: Evidence) -> tuple[Array, ...]:
    """Return the inputs, without the numbers that the call shows already."""
    return tuple(
        array for array in evidence.inputs if array.shape or f"{array.name}=" not in evidence.call
    )


def _tell_apart(one: Any, other: Any) -> tuple[str, str]:
    """Return two numbers, with enough decimals to show that they differ."""
    for decimals in (3, 4, 6, 8, 10, 12):
        texts = number_text(one, decimals), number_text(other, decimals)
        if texts[0] != texts[1]:
            return texts
    return repr(one), repr(other)


def _matrix(array: Array, place: Place) -> Any:
    """Return the rows of one slice, or the whole array if it has fewer than two dimensions."""
    cells = array.cells
    for index in place:
        cells = cells[index]
    for _ in range(2 - len(array.shape)):
        cells = [cells]
    return cells


def _marks(array: Array) -> dict[Place, Marks]:
    """Return the row and column of each wrong cell, by slice."""
    found: dict[Place, set[tuple[int, int]]] = {}
    for rest in array.wrong:
        place: Place = ()
        for length in reversed(array.shape):
            rest, index = divmod(rest, length)
            place = (index, *place)
        place = (0,) * (2 - len(place)) + place
        found.setdefault(place[:-2], set()).add((place[-2], place[-1]))
    return dict(found)


def _some(length: int, first: Set[int], most: int = MAX_LINES) -> tuple[int, ...]:
    """Return the numbers of 0..length-1 to show: those in `first` come first."""
    wanted = sorted(range(length), key=lambda i: (i not in first, i))
    return tuple(sorted(wanted[:most]))


def _places(array: Array, first: Set[Place]) -> list[Place]:
    """Return the slices of an array to show; those in `first` come first."""
    every = itertools.product(*map(range, array.shape[:-2]))
    return sorted(every, key=lambda place: (place not in first, place))[:MAX_SLICES]


def _describe_left_out(array: Array, places: list[Place], marked: Set[Place]) -> str:
    """Return a note on the slices that are not shown."""
    left = math.prod(array.shape[:-2]) - len(places)
    wrong = len(marked - set(places))
    also = f", {wrong} of them with wrong cells" if wrong else ""
    return f"and {count_words(left, 'more slice')}{also}" if left > 0 else ""


def _shorten(rows: int, columns: int, most: int = MAX_LINES) -> str:
    parts = [
        f"{most} of {length:,} {word}"
        for length, word in ((rows, "rows"), (columns, "columns"))
        if length > most
    ]
    return f"{' and '.join(parts)} shown" if parts else ""


def shape_text(shape: Place) -> str:
    """Return a shape such as `(2, 3)`, or nothing for a single number."""
    return str(tuple(shape)) if shape else ""


def _fill(value: Any) -> float:
    return float(min(max(value, 0), 1)) if value == value else 0.0


def _cell(value: Any, decimals: int, mark: str, other: Any, name: str) -> GridCell:
    """Return a cell as text, with enough decimals to differ from its marked counterpart."""
    if not mark:
        return GridCell(number_text(value, decimals), fill=_fill(value))
    if not name:
        return GridCell(number_text(value, decimals), "wrong", mark, _fill(value))
    text, right = _tell_apart(value, other)
    return GridCell(text, f"wrong; {name}: {right}" if mark == "wrong" else "", mark, _fill(value))


def _grid(
    array: Array,
    place: Place,
    marks: Marks = frozenset(),
    *,
    mark: str = "wrong",
    other: Array | None = None,
    decimals: int = 3,
    note: str = "",
) -> Grid:
    """Return one slice with the cells at `marks` marked; other: the array to compare it with."""
    rows = _matrix(array, place)
    beside = rows if other is None else _matrix(other, place)
    down = _some(len(rows), {i for i, _ in marks})
    across = _some(len(rows[0]) if rows else 0, {j for _, j in marks})
    name = "" if other is None else other.name

    def cell(i: int, j: int) -> GridCell:
        sign = mark if (i, j) in marks else ""
        return _cell(rows[i][j], decimals, sign, beside[i][j], name)

    cells = tuple(tuple(cell(i, j) for j in across) for i in down)
    notes = (_shorten(len(rows), len(rows[0]) if rows else 0), note)
    return Grid(
        array.name + (f"[{', '.join(map(str, place))}]" if place else ""),
        shape_text(array.shape),
        *(down, across, cells, len(array.shape)),
        "; ".join(filter(None, notes)),
        len(marks) if mark == "wrong" else 0,
    )


def _bare(array: Array) -> Grid | None:
    """Return a grid for an array without cells to show."""
    size = math.prod(array.shape)
    if size and array.cells is not None:
        return None
    note = f"{count_words(size, 'number')}: too many to show" if size else "empty"
    return Grid(array.name, shape_text(array.shape), note=note)


def _grids(array: Array, first: Set[Place], decimals: int = 3) -> Iterator[Grid]:
    """Yield the slices of an array that is shown on its own."""
    if bare := _bare(array):
        yield bare
        return
    marks = _marks(array)
    places = _places(array, first or set(marks))
    for place in places:
        note = _describe_left_out(array, places, set(marks)) if place == places[-1] else ""
        yield _grid(array, place, marks.get(place, set()), decimals=decimals, note=note)


def _comparable(expected: Array, got: Array) -> bool:
    return expected.shape == got.shape and not _bare(expected) and not _bare(got)


def _compare_slices(expected: Array, got: Array) -> Iterator[Exhibit]:
    """Yield expected and actual results side by side, slice by slice."""
    if not _comparable(expected, got):
        yield Exhibit((*_grids(expected, set()), *_grids(got, set())))
        return
    marks = _marks(got)
    places = _places(got, set(marks))
    decimals = WHOLE if whole_beside(expected, got) else 3
    for place in places:
        wrong = marks.get(place, set())
        note = _describe_left_out(got, places, set(marks)) if place == places[-1] else ""
        right = _grid(expected, place, wrong, mark="due", other=got)
        mine = _grid(got, place, wrong, other=expected, decimals=decimals, note=note)
        yield Exhibit((right, mine), weights=are_weights(expected))


def _lines(cells: Any) -> Iterator[list[Any]]:
    """Yield the innermost lists."""
    if cells and isinstance(cells[0], list):
        for part in cells:
            yield from _lines(part)
    else:
        yield cells


def are_weights(array: Array) -> bool:
    """Return whether an array looks like attention weights: its rows sum to 1 or to 0."""
    if array.cells is None or len(array.shape) < 2 or array.shape[-1] < 2:
        return False
    rows = list(_lines(array.cells))
    shares = all(isinstance(cell, float) and cell >= 0 for row in rows for cell in row)
    return shares and any(map(any, rows)) and all(_is_one(row) or not any(row) for row in rows)


def _is_one(row: list[float]) -> bool:
    return abs(sum(row) - 1) < 1e-6


def exhibits(evidence: Evidence) -> list[Exhibit]:
    """Return the matrices of a failing case: the inputs, then the results."""
    wrong = {place for array in evidence.got for place in _marks(array)}
    arrays = list_inputs(evidence)
    flat = [array for array in arrays if not is_nested(array)]
    inputs = tuple(grid for array in flat for grid in _grids(array, wrong, 2))
    found = [Exhibit(inputs)] if inputs else []
    if not evidence.expected:
        return found + [Exhibit(tuple(_grids(array, set()))) for array in evidence.got]
    pairs = zip(evidence.expected, evidence.got)
    return found + [exhibit for pair in pairs for exhibit in _compare_slices(*pair)]


def influence_grid(influence: Influence, most: int = MAX_MAP) -> Grid:
    """Return the map as a matrix, outputs down, inputs across. most: the most lines each way."""
    rows = influence.moved
    columns = len(rows[0]) if rows else 0
    first_down, first_across = _find_involved(influence, square=len(rows) == columns)
    down, across = _some(len(rows), first_down, most), _some(columns, first_across, most)

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
        note=_shorten(len(rows), columns, most),
        border=_border([[is_allowed(influence, i, j) for j in across] for i in down]),
    )


def _find_involved(influence: Influence, *, square: bool) -> tuple[set[int], set[int]]:
    """Return the rows and columns with a wrong cell; the same of both if the map is square."""
    wrong = of_kind(influence, "leak", "missing")
    down, across = {i for i, _ in wrong}, {j for _, j in wrong}
    return (down | across, down | across) if square else (down, across)


def _border(may: list[list[bool]]) -> tuple[tuple[int, int, int, int], ...]:
    """Return the sides that an allowed cell shares with a forbidden one."""
    rows, columns = len(may), len(may[0]) if may else 0
    right = [
        (i, j + 1, 1, 0)
        for i in range(rows)
        for j in range(columns - 1)
        if may[i][j] != may[i][j + 1]
    ]
    below = [
        (i + 1, j, 0, 1)
        for i in range(rows - 1)
        for j in range(columns)
        if may[i][j] != may[i + 1][j]
    ]
    return (*right, *below)
