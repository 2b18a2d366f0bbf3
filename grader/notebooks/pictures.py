"""Draw the pictures of the lessons from the learner's functions, or explain why not.

While a function is a stub, or its results cannot be drawn, a sentence says so. A picture is inline
SVG for a page, by a macro of `pictures.svg`, and letters for a terminal.
"""

import functools
import inspect
import itertools
import math
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.checks.compare import Broken
from grader.notebooks.display import Shown
from grader.report.html.page import template
from grader.report.influences import kind
from grader.report.records import Influence

Function = Callable[..., Any]
Floats = NDArray[np.float64]
LOOKS: dict[int, tuple[str, ...]] = {}  # the names of the pictures of each step
PICTURES: dict[str, Callable[..., Shown]] = {}
# Generated from the lessons: a bundle has no cells for notebooks in its lessons. Above each picture
# stand a title and a paragraph below it.
CAPTIONS = Path(__file__).with_name("captions.json")

FORBIDDEN, PEEKS = "−∞", "✗"  # a hidden score; the one mark of what must not be
FULL = 0.75
LETTERS = str.maketrans(f"●{PEEKS}", "#!")  # the marks of a map in a terminal
SIGNS, LEVELS = "o*x+", "-~."  # of curves and of levels in letters
COLUMNS, LINES = 60, 13  # of a plot in letters
LOOKING = "row: looks · column: is looked at"
MOVED = "row: what moved · column: what changed"
LEGEND = f"● depends, and may · {PEEKS} depends, and must not"
# Of each kind of cell in a map: its mark, what it is, how full it is, and its words.
MOVEMENTS = {
    "leak": (PEEKS, "forbidden", 0.85, "{} moves when {} changes: a leak"),
    "may": ("●", "", 0.6, "{} moves when {} changes"),
}
STILL = ("", "", 0.0, "{} does not move when {} changes")

# The sentence that the pictures are about, and numbers made up for it. These vectors are not
# trained. They are written so that each word looks for one other, as in a trained model: an
# adjective for its noun, a verb for its subject.
TOKENS = ["It", "takes", "great", "courage", "to", "let", "go"]
KINDS = ("who", "verb", "quality", "thing", "to")
# What each word is, and what it looks for.
IS = ("who", "verb", "quality", "thing", "to", "verb", "verb")
WANTS = ("who", "who", "thing", "quality", "verb", "to", "verb")
WANTED, SELF = 6.0, 2.0

QUERIES = np.array(
    [
        [WANTED * (kind == wants) + SELF * (kind == is_) for kind in KINDS]
        for wants, is_ in zip(WANTS, IS, strict=True)
    ]
)
KEYS = np.array([[float(kind == is_) for kind in KINDS] for is_ in IS])
# The scores that come of them, for the lessons before and after that one.
SCORES = QUERIES @ KEYS.T / len(KINDS) ** 0.5
NEXT = ("let", "ask", "say", "stay", "wait", "purple")
LOGITS = np.array([2.0, 1.3, 0.9, 0.5, 0.0, -2.5])

# The beginning, where three pictures stand side by side; and what three heads look for in it.
WORDS = TOKENS[:5]
HEADS = {
    "head 0: what it goes with": SCORES[:5, :5],
    "head 1: the word before": 4.0 * np.eye(5, k=-1),
    "head 2: who does it": 3.5 * np.tile(KEYS[:5, KINDS.index("who")], (5, 1)),
}


@dataclass(frozen=True)
class Picture:
    """A picture for a page, and the same for a terminal."""

    title: str
    svg: str
    text: str


@dataclass(frozen=True)
class Curve:
    """A named line through points."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


Drawn = Iterator[Picture | str]  # pictures, and sentences below them


def drawn_in(step: int) -> Callable[[Callable[..., Drawn]], Callable[..., Shown]]:
    """Decorate a function that draws for a step's lesson, so that failures become a sentence."""

    def decorate(draw: Callable[..., Drawn]) -> Callable[..., Shown]:
        names = ", ".join(inspect.signature(draw).parameters)

        @functools.wraps(draw)
        def wrapped(*functions: Function) -> Shown:
            said = f"This picture is made with: look.{draw.__name__}({names})"
            if len(functions) == names.count(",") + 1 and all(map(callable, functions)):
                try:
                    with np.errstate(all="ignore"):
                        return _lay_out(draw(*functions))
                except NotImplementedError as error:
                    said = f"Nothing to see yet: {_raiser(error)} is still to be written."
                except Broken as broken:
                    said = f"There is no picture of that yet. {broken}"
                except Exception as error:
                    name = _raiser(error)
                    raised = f"{name} raised {type(error).__name__}"
                    what = raised if name else "a result cannot be drawn"
                    said = f"There is no picture of that yet: {what}. The checks say more."
            return Shown(f"<p>{escape(said)}</p>", said, drawn=False)

        LOOKS[step] = (*LOOKS.get(step, ()), draw.__name__)
        PICTURES[draw.__name__] = wrapped
        return wrapped

    return decorate


def _raiser(error: BaseException) -> str:
    """Return the learner's function that raised, and its place if it is not in this notebook.

    Return "" if the kit could not use what one has returned.
    """
    for frame, _ in reversed([*traceback.walk_tb(error.__traceback__)]):
        module = str(frame.f_globals.get("__name__"))
        if module.partition(".")[0] not in ("grader", "numpy"):
            where = f" in {module.replace('.', '/')}.py" if module.startswith("exercises.") else ""
            return frame.f_code.co_name + where
    return ""


def _lay_out(items: Iterable[Picture | str]) -> Shown:
    """Return pictures side by side, with sentences below; in a terminal, one below another."""
    rows, texts = [], []
    for _, group in itertools.groupby(items, type):
        some = [*group]
        pictures = [(one.title, one.svg) for one in some if isinstance(one, Picture)]
        words = [one for one in some if isinstance(one, str)]
        rows.append(draw_svg("row", pictures, words))
        texts += [f"{one.title}\n{one.text}" for one in some if isinstance(one, Picture)]
        texts += [text.translate(LETTERS) for text in words]
    return Shown("".join(rows), "\n".join(texts))


def draw_svg(kind: str, *data: object) -> str:
    """Return what the macro of that name in `pictures.svg` draws, in one line."""
    macros = template("pictures.svg", Path(__file__).parent).module
    return "".join(line.strip() for line in str(getattr(macros, kind)(*data)).splitlines())


def array(value: Any, shape: tuple[int, ...]) -> Floats:
    """Return a result as an array of floats. Raise Broken if it has another shape."""
    found = np.asarray(value, dtype=np.float64)
    if found.shape != shape:
        raise Broken(f"A result has the shape {found.shape}, and {shape} is drawn here.")
    return found


def number(value: float) -> str:
    """Return a number in about five characters; an exact 0 is `0`."""
    if math.isinf(value):
        return "∞" if value > 0 else FORBIDDEN
    text = f"{value:.2f}" if abs(value) < 100 else f"{value:.3g}"
    return "0" if value == 0 else text.replace("-", "−")


def heat(
    title: str,
    values: Any,
    rows: Sequence[str] = TOKENS,
    columns: Sequence[str] = TOKENS,
    axes: str = LOOKING,
) -> Picture:
    """Return a matrix with labels and a scale, by default of the sentence with itself.

    The larger a number, the fuller its cell. Numbers below 0 are brown, those above are blue, and 0
    is empty. −∞ is crossed out. Raise Broken if the matrix has another shape.
    """
    found = array(values, (len(rows), len(columns)))
    finite = found[np.isfinite(found)]
    most = float(np.abs(finite).max(initial=0.0))

    def shade(value: float) -> tuple[str, str, float]:
        full = abs(value) / most if math.isfinite(value) and most > 0 else 0.0
        return number(value), "below 0" if value < 0 else "", FULL * full

    steps = range(-4 if finite.min(initial=0.0) < 0 else 0, 5)
    cells = [
        [
            (*shade(value), f"{name} → {column}: {number(value)}")
            for column, value in zip(columns, row)
        ]
        for name, row in zip(rows, found.tolist())
    ]
    scale = [shade(most * step / 4) for step in steps]
    svg = draw_svg("grid", title, rows, columns, cells, axes, scale, "")
    return Picture(title, svg, table(rows, found, columns))


def table(rows: Sequence[str], values: Floats, columns: Sequence[str]) -> str:
    """Return a matrix as text, with its columns' names above."""
    wide, cell = max(map(len, rows)), max(6, *map(len, columns))
    lines = [
        f"{row:>{wide}}  " + " ".join(f"{number(float(value)):>{cell}}" for value in line)
        for row, line in zip(rows, values, strict=True)
    ]
    return "\n".join([f"{'':{wide}}  " + " ".join(f"{one:>{cell}}" for one in columns), *lines])


def influence(
    title: str, found: Influence, labels: Sequence[str] = TOKENS, axes: str = MOVED
) -> Picture:
    """Return which row moved when which column changed; ✗ marks a forbidden movement."""
    wide, cells, lines = max(map(len, labels)), [], []
    for i, row in enumerate(labels):
        kinds = [MOVEMENTS.get(kind(found, i, j), STILL) for j in range(len(labels))]
        cells.append([(*cell, says.format(row, one)) for one, (*cell, says) in zip(labels, kinds)])
        marks = ((mark or ".").translate(LETTERS) for mark, *_ in kinds)
        lines.append(f"{row:>{wide}}  {' '.join(marks)}")
    svg = draw_svg("grid", title, labels, labels, cells, axes, (), LEGEND)
    return Picture(title, svg, "\n".join(lines))


def chart(
    title: str,
    across: tuple[str, Sequence[float]],
    up: str,
    found: Mapping[str, Sequence[float]],
    levels: Sequence[tuple[str, float]] = (),
) -> Picture:
    """Return curves over an axis, by name. across: its name and numbers; levels: named heights."""
    name, numbers = across
    lines = [Curve(one, numbers[: len(values)], values) for one, values in found.items()]
    return Picture(title, curves(title, name, up, lines, levels), plot(name, up, lines, levels))


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
