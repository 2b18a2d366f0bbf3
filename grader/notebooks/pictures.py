"""Draw pictures as inline SVG from numbers alone: heat maps, maps of influence, curves.

They take their text colour from their page, so they work on light and on dark backgrounds. Nothing
depends on colour alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape

import numpy as np

CELL = 34  # the side of a cell
LETTER = 7.2  # the width of a letter of a label
GREY, BLUE, BROWN, RED = "#8a94a0", "#2f6fde", "#b8701f", "#d1443a"
FORBIDDEN, PEEKS = "−∞", "✗"  # a hidden score; the one mark of what must not be
WIDTH, HEIGHT, LEFT, BELOW = 460, 230, 52, 40
FULL, QUIET = 0.75, ' font-size="11" fill-opacity="0.75"'
FONT = 'font-family="system-ui, sans-serif" font-size="12" fill="currentColor"'
SIGNS, LEVELS = "o*x+", "-~."  # of curves and of levels in letters
COLUMNS, LINES = 60, 13  # of a plot in letters
DASHES = ("none", "7 4", "2 3")
MOVED = "row: what moved · column: what changed"
Matrix = Sequence[Sequence[float]]
Marks = Sequence[Sequence[bool]]
Place = Callable[[float, float], tuple[float, float]]


@dataclass(frozen=True)
class Curve:
    """A named line through points."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


def number(value: float) -> str:
    """Return a number in about five characters; an exact 0 is `0`."""
    if math.isinf(value):
        return "∞" if value > 0 else FORBIDDEN
    text = f"{value:.2f}" if abs(value) < 100 else f"{value:.3g}"
    return "0" if value == 0 else text.replace("-", "−")


def label(x: float, y: float, text: str, anchor: str = "middle", more: str = "") -> str:
    """Return a word or a sentence in a picture."""
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}"{more}>{escape(text)}</text>'


def picture(width: float, height: float, title: str, parts: Iterable[str]) -> str:
    """Return the SVG of these parts."""
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    body = "".join(parts)
    style = 'style="max-width:100%;height:auto;vertical-align:top"'
    return f'<svg {size} role="img" aria-label="{escape(title)}" {style} {FONT}>{body}</svg>'


def _labels(rows: Sequence[str], columns: Sequence[str]) -> tuple[list[str], float, float]:
    """Return the labels at the left and, slanted, above; and where the cells begin."""
    left = max((len(row) for row in rows), default=0) * LETTER + 10
    top = max((len(column) for column in columns), default=0) * LETTER * 0.72 + 16
    found = [label(left - 6, top + (i + 0.62) * CELL, row, "end") for i, row in enumerate(rows)]
    for j, column in enumerate(columns):
        x, y = left + (j + 0.45) * CELL, top - 6
        turn = f' transform="rotate(-45 {x:.0f} {y:.0f})"'
        found.append(label(x, y, column, "start", turn))
    return found, left, top


@dataclass
class _Cells:
    """The cells of a matrix whose first one begins at (left, top)."""

    left: float
    top: float
    boxes: list[str] = field(default_factory=list)
    signs: list[str] = field(default_factory=list)

    def add(self, i: int, j: int, fill: str, opacity: float, title: str, sign: str = "") -> None:
        """Draw one cell: its fill, its tooltip and its text."""
        x, y = self.left + j * CELL, self.top + i * CELL
        color = f' fill="{fill}"' if fill != BLUE else ""
        place = f'x="{x + 1:.0f}" y="{y + 1:.0f}" width="{CELL - 2}" height="{CELL - 2}"'
        full = f'fill-opacity="{opacity:.2f}"{color}'
        self.boxes.append(f"<rect {place} {full}><title>{escape(title)}</title></rect>")
        if sign:
            middle = f'x="{x + CELL / 2:.0f}" y="{y + CELL * 0.62:.0f}"'
            self.signs.append(f"<text {middle}>{escape(sign)}</text>")
        if sign == FORBIDDEN:
            line = f"M {x + 2:.0f} {y + CELL - 2:.0f} L {x + CELL - 2:.0f} {y + 2:.0f}"
            self.boxes.append(f'<path d="{line}"/>')

    @property
    def drawn(self) -> str:
        """Return all cells."""
        return (
            f'<g fill="{BLUE}" stroke="{GREY}" stroke-opacity="0.5">{"".join(self.boxes)}</g>'
            '<g text-anchor="middle" font-size="10" pointer-events="none">'
            f"{''.join(self.signs)}</g>"
        )


def _width(left: float, columns: Sequence[str]) -> float:
    slant = len(columns[-1]) * LETTER * 0.72 if columns else 0
    return left + len(columns) * CELL + max(4, slant - CELL * 0.4)


def heat_map(
    title: str, rows: Sequence[str], columns: Sequence[str], values: Matrix, axes: str = ""
) -> str:
    """Return a matrix with labels and a scale: the larger a number, the fuller its cell.

    Numbers below 0 are brown, those above are blue, and 0 is empty. −∞ is crossed out.
    axes: the names of the axes.
    """
    labels, left, top = _labels(rows, columns)
    finite = [abs(value) for row in values for value in row if math.isfinite(value)]
    most = max(finite, default=0.0)
    cells = _Cells(left, top)
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            full = abs(value) / most if math.isfinite(value) and most > 0 else 0.0
            told = f"{rows[i]} → {columns[j]}: {number(value)}"
            cells.add(i, j, BROWN if value < 0 else BLUE, FULL * full, told, number(value))
    below = top + len(rows) * CELL
    signed = any(value < 0 for row in values for value in row if math.isfinite(value))
    scale = list(_scale(below + 18, -most if signed else 0.0, most))
    parts = [*labels, cells.drawn, *scale, label(2, below + 38, axes, "start", QUIET)]
    width = max(_width(left, columns), len(axes) * 6.1 + 4, 130)
    return picture(width, below + (44 if axes else 24), title, parts)


def _scale(y: float, least: float, most: float) -> Iterator[str]:
    """Yield the legend of a heat map: its colours from the least number to the largest."""
    yield label(2, y, number(least), "start", QUIET)
    x = 6 + 7 * len(number(least))
    for step in range(-4 if least < 0 else 0, 5):
        color = BROWN if step < 0 else BLUE
        look = f'fill="{color}" fill-opacity="{FULL * abs(step) / 4:.2f}" stroke="{GREY}"'
        yield f'<rect x="{x}" y="{y - 9:.0f}" width="10" height="10" {look}/>'
        x += 10
    yield label(x + 4, y, number(most), "start", QUIET)


def influence_map(
    title: str, labels: Sequence[str], moved: Marks, allowed: Marks, axes: str = MOVED
) -> str:
    """Return which row moved when a column changed; ✗ marks a forbidden movement."""
    names, left, top = _labels(labels, labels)
    cells = _Cells(left, top)
    for i, row in enumerate(moved):
        for j, moves in enumerate(row):
            leak = moves and not allowed[i][j]
            sign = PEEKS if leak else "●" if moves else ""
            fill, opacity = (RED, 0.85) if leak else (BLUE, 0.6 if moves else 0.0)
            did = "moves" if moves else "does not move"
            told = f"{labels[i]} {did} when {labels[j]} changes{': a leak' if leak else ''}"
            cells.add(i, j, fill, opacity, told, sign)
    below = top + len(labels) * CELL
    legend = [label(2, below + 18, "● depends, and may · ✗ depends, and must not", "start", QUIET)]
    legend.append(label(2, below + 36, axes, "start", QUIET))
    width = max(_width(left, labels), 268)
    return picture(width, below + 42, title, [*names, cells.drawn, *legend])


def _ticks(most: float) -> list[float]:
    """Return four to eight round numbers from 0 to about `most`."""
    step = float(10.0 ** math.floor(math.log10(most / 4))) if most > 0 else 1.0
    step = next((step * times for times in (1, 2, 5) if most / (step * times) <= 7), step * 10)
    return [i * step for i in range(int(most / step + 1e-9) + 1)]


def curves(
    title: str, across: str, up: str, lines: Sequence[Curve], levels: Sequence[tuple[str, float]]
) -> str:
    """Return curves from 0 up, each with its own dashes; levels: named horizontal lines."""
    points = [value for line in lines for value in line.y if math.isfinite(value)]
    most = max([*points, *(level for _, level in levels), 1e-12]) * 1.05
    last = max((x for line in lines for x in line.x), default=1.0)
    wide, high = WIDTH - LEFT - 12, HEIGHT - BELOW - 12

    def place(x: float, y: float) -> tuple[float, float]:
        return LEFT + x / last * wide, 12 + (1 - y / most) * high

    parts = [*_axes(across, up, last, most, place), *_levels(levels, place, last)]
    for count, line in enumerate(lines):
        pairs = [place(x, y) for x, y in zip(line.x, line.y, strict=True) if math.isfinite(y)]
        path = " L ".join(f"{x:.1f} {y:.1f}" for x, y in pairs)
        look = f'stroke="{(BLUE, RED, GREY)[count % 3]}" stroke-dasharray="{DASHES[count % 3]}"'
        parts.append(f'<path d="M {path}" fill="none" stroke-width="2.5" {look}/>')
        y = HEIGHT + 14 + 18 * count
        parts.append(f'<path d="M {LEFT} {y - 4} h 34" stroke-width="2.5" {look}/>')
        parts.append(label(LEFT + 42, y, line.name, "start"))
    return picture(WIDTH, HEIGHT + 6 + 18 * len(lines), title, parts)


def _axes(across: str, up: str, last: float, most: float, place: Place) -> list[str]:
    (left, bottom), (right, top) = place(0, 0), place(last, most)
    frame = f"M {left:.0f} {top:.0f} V {bottom:.0f} H {right:.0f}"
    parts = [f'<path d="{frame}" fill="none" stroke="{GREY}"/>']
    for tick in _ticks(most):
        parts.append(label(left - 6, place(0, tick)[1] + 4, f"{tick:g}", "end"))
    for tick in _ticks(last):
        parts.append(label(place(tick, 0)[0], bottom + 16, f"{tick:g}"))
    turn = f' transform="rotate(-90 12 {(top + bottom) / 2:.0f})"'
    parts.append(label(12, (top + bottom) / 2, up, more=turn))
    return [*parts, label((left + right) / 2, bottom + 33, across)]


def _levels(levels: Sequence[tuple[str, float]], place: Place, last: float) -> list[str]:
    parts = []
    for name, level in levels:
        (left, y), (right, _) = place(0, level), place(last, level)
        line = f"M {left:.0f} {y:.0f} H {right:.0f}"
        parts.append(f'<path d="{line}" stroke="{GREY}" stroke-dasharray="1 3"/>')
        parts.append(label(right, y - 4, name, "end", ' font-size="11"'))
    return parts


def plot(
    across: str, up: str, lines: Sequence[Curve], levels: Sequence[tuple[str, float]] = ()
) -> str:
    """Return the same curves in letters, each with its own sign."""
    first = min((x for line in lines for x in line.x), default=0.0)
    last = max((x for line in lines for x in line.x), default=1.0)
    points = [value for line in lines for value in line.y if math.isfinite(value)]
    most = max([*points, *(level for _, level in levels), 1e-12])
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


def side_by_side(pictures: Sequence[tuple[str, str]], words: Sequence[str]) -> str:
    """Return pictures, each with a title, and sentences below."""
    figures = "".join(
        f'<figure style="margin:0"><figcaption>{escape(title)}</figcaption>{svg}</figure>'
        for title, svg in pictures
    )
    told = "".join(f'<p style="margin:.3em 0 0">{escape(text)}</p>' for text in words)
    row = "display:flex;flex-wrap:wrap;gap:1rem 2rem"
    return f'<div style="{row}">{figures}</div>{told}'
