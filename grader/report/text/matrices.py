"""Show the arrays of a failing case as blocks of text: a name and a shape, then rows of numbers."""

from collections.abc import Sequence

from grader.report.grids import Grid, GridSize, is_nested, nest_text, shape_text
from grader.report.records import Array

MAX_COLUMNS = 8
LETTERS = {"True": "T", "False": "F"}
Block = list[str]


def size_of_blocks(rows: int) -> GridSize:
    """Return how much of an array is shown in that many rows."""
    return GridSize(rows, MAX_COLUMNS, slices=1, decimals=2)


def block(grid: Grid) -> Block:
    """Return a grid as lines of equal length; rows have numbers unless they are the first ones."""
    texts = [
        [("*" if cell.mark == "wrong" else " ") + LETTERS.get(cell.text, cell.text) for cell in row]
        for row in grid.cells
    ]
    width = max((len(text) for row in texts for text in row), default=0)
    rows = [" ".join(text.rjust(width) for text in row) for row in texts]
    if grid.down != tuple(range(len(grid.down))):
        digits = len(str(grid.down[-1]))
        rows = [f"{number:>{digits}}: {row}" for number, row in zip(grid.down, rows)]
    lines = [f"{grid.name} {grid.shape}".strip(), *rows, *filter(None, [grid.note])]
    most = max(map(len, lines))
    return [line.ljust(most) for line in lines]


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
