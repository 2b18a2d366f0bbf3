"""Draw pictures as inline SVG from numbers alone: heat maps, maps of influence, curves.

`pictures.svg` has a macro for each kind. Curves can be drawn in letters, too.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from grader.report.html.page import template
from grader.report.influences import kind
from grader.report.records import Influence

FORBIDDEN, PEEKS = "−∞", "✗"  # a hidden score; the one mark of what must not be
FULL = 0.75
SIGNS, LEVELS = "o*x+", "-~."  # of curves and of levels in letters
COLUMNS, LINES = 60, 13  # of a plot in letters
MOVED = "row: what moved · column: what changed"
LEGEND = f"● depends, and may · {PEEKS} depends, and must not"
Matrix = Sequence[Sequence[float]]


@dataclass(frozen=True)
class Curve:
    """A named line through points."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


def draw_svg(kind: str, *data: object) -> str:
    """Return what the macro of that name in `pictures.svg` draws, in one line."""
    macros = template("pictures.svg", Path(__file__).parent).module
    return "".join(line.strip() for line in str(getattr(macros, kind)(*data)).splitlines())


def number(value: float) -> str:
    """Return a number in about five characters; an exact 0 is `0`."""
    if math.isinf(value):
        return "∞" if value > 0 else FORBIDDEN
    text = f"{value:.2f}" if abs(value) < 100 else f"{value:.3g}"
    return "0" if value == 0 else text.replace("-", "−")


def heat_map(
    title: str, rows: Sequence[str], columns: Sequence[str], values: Matrix, axes: str = ""
) -> str:
    """Return a matrix with labels and a scale: the larger a number, the fuller its cell.

    Numbers below 0 are brown, those above are blue, and 0 is empty. −∞ is crossed out.
    axes: the names of the axes.
    """
    finite = [value for row in values for value in row if math.isfinite(value)]
    most = max(map(abs, finite), default=0.0)
    steps = range(-4 if min(finite, default=0.0) < 0 else 0, 5)
    scale = [(number(most * step / 4), _sign(step), FULL * abs(step) / 4) for step in steps]
    cells = [
        [_heat(f"{name} → {column}", value, most) for column, value in zip(columns, row)]
        for name, row in zip(rows, values)
    ]
    return draw_svg("grid", title, rows, columns, cells, axes, scale, "")


def _heat(place: str, value: float, most: float) -> tuple[str, float, str, str]:
    full = abs(value) / most if math.isfinite(value) and most > 0 else 0.0
    return _sign(value), FULL * full, f"{place}: {number(value)}", number(value)


def _sign(value: float) -> str:
    return "below 0" if value < 0 else ""


def influence_map(title: str, labels: Sequence[str], found: Influence, axes: str = MOVED) -> str:
    """Return which row moved when a column changed; ✗ marks a forbidden movement."""
    cells = [
        [_influence(row, column, kind(found, i, j)) for j, column in enumerate(labels)]
        for i, row in enumerate(labels)
    ]
    return draw_svg("grid", title, labels, labels, cells, axes, (), LEGEND)


def _influence(row: str, column: str, what: str) -> tuple[str, float, str, str]:
    moves = what in ("may", "leak")
    told = f"{row} {'moves' if moves else 'does not move'} when {column} changes"
    if what == "leak":
        return "forbidden", 0.85, f"{told}: a leak", PEEKS
    return "", 0.6 if moves else 0.0, told, "●" if moves else ""


def _ticks(most: float) -> list[float]:
    """Return four to eight round numbers from 0 to about `most`."""
    step = float(10.0 ** math.floor(math.log10(most / 4))) if most > 0 else 1.0
    step = next((step * times for times in (1, 2, 5) if most / (step * times) <= 7), step * 10)
    return [i * step for i in range(int(most / step + 1e-9) + 1)]


def curves(
    title: str, across: str, up: str, lines: Sequence[Curve], levels: Sequence[tuple[str, float]]
) -> str:
    """Return curves from 0 up, each with its own dashes; levels: named horizontal lines."""
    last = max((x for line in lines for x in line.x), default=1.0)
    most = _most(lines, levels) * 1.05
    points = [
        (line.name, [(x, y) for x, y in zip(line.x, line.y) if math.isfinite(y)]) for line in lines
    ]
    ticks = _ticks(last), _ticks(most)
    return draw_svg("curves", title, across, up, last, most, ticks, points, levels)


def _most(lines: Sequence[Curve], levels: Sequence[tuple[str, float]]) -> float:
    """Return the largest finite number that is drawn."""
    points = [value for line in lines for value in line.y if math.isfinite(value)]
    return max([*points, *(level for _, level in levels), 1e-12])


def plot(
    across: str, up: str, lines: Sequence[Curve], levels: Sequence[tuple[str, float]] = ()
) -> str:
    """Return the same curves in letters, each with its own sign."""
    first = min((x for line in lines for x in line.x), default=0.0)
    last = max((x for line in lines for x in line.x), default=1.0)
    most = _most(lines, levels)
    cells = [[" "] * COLUMNS for _ in range(LINES)]

    def put(column: int, value: float, sign: str) -> None:
        if 0 <= value <= most:
            cells[round((1 - value / most) * (LINES - 1))][column] = sign

    names = []
    for (name, level), sign in zip(levels, LEVELS, strict=False):
        for column in range(COLUMNS):
            put(column, level, sign)
        names.append(f"{sign} {name}")
    xs = np.linspace(first, last, COLUMNS)
    for line, sign in zip(lines, SIGNS, strict=False):
        for column, value in enumerate(np.interp(xs, line.x, line.y)):
            put(column, float(value), sign)
        names.append(f"{sign} {line.name}")
    marks = [f"{most:.3g}", *[""] * (LINES - 2), "0"]
    wide = max(map(len, marks))
    rows = [
        f"{mark:>{wide}} |{''.join(row).rstrip()}" for mark, row in zip(marks, cells, strict=True)
    ]
    ends = f"{first:g}{across:^{COLUMNS - len(f'{first:g}{last:g}')}}{last:g}"
    below = [f"{'':{wide}} +{'-' * COLUMNS}", f"{'':{wide}}  {ends}"]
    return "\n".join([up, *rows, *below, *names])
