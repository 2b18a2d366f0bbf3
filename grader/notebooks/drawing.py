"""Draw the pictures of the lessons from the learner's functions, or explain why not.

While a function is a stub, or its results cannot be drawn, a sentence says so.
"""

import functools
import inspect
import itertools
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.checks.compare import Broken
from grader.notebooks.display import Shown
from grader.notebooks.pictures import (
    MOVED,
    Curve,
    curves,
    draw_svg,
    heat_map,
    influence_map,
    number,
    plot,
)
from grader.notebooks.sentence import TOKENS
from grader.report.influences import kind
from grader.report.records import Influence

Function = Callable[..., Any]
Floats = NDArray[np.float64]
LETTERS = str.maketrans("●✗", "#!")  # the marks of a map in a terminal
PICTURES: dict[int, dict[str, Callable[..., Shown]]] = {}  # by step and name
LOOKING = "row: looks · column: is looked at"


@dataclass(frozen=True)
class Picture:
    """A picture for a page, and the same for a terminal."""

    title: str
    svg: str
    text: str


Drawn = Iterator[Picture | str]  # pictures, and sentences below them


def drawn_in(step: int) -> Callable[[Callable[..., Drawn]], Callable[..., Shown]]:
    """Decorate a function that draws for a step's lesson."""

    def decorate(draw: Callable[..., Drawn]) -> Callable[..., Shown]:
        PICTURES.setdefault(step, {})[draw.__name__] = made = _draw_or_explain(draw)
        return made

    return decorate


def _draw_or_explain(draw: Callable[..., Drawn]) -> Callable[..., Shown]:
    """Return a function that shows a sentence if the learner's function fails."""
    names = ", ".join(inspect.signature(draw).parameters)

    @functools.wraps(draw)
    def wrapped(*functions: Function) -> Shown:
        if len(functions) != names.count(",") + 1 or not all(map(callable, functions)):
            return _words(f"This picture is made with: look.{draw.__name__}({names})")
        try:
            with np.errstate(all="ignore"):
                return _lay_out(draw(*functions))
        except NotImplementedError as error:
            return _words(f"Nothing to see yet: {_raiser(error)} is still to be written.")
        except Broken as broken:
            return _words(f"There is no picture of that yet. {broken}")
        except Exception as error:
            raiser = _raiser(error)
            what = (
                f"{raiser} raised {type(error).__name__}" if raiser else "a result cannot be drawn"
            )
            return _words(f"There is no picture of that yet: {what}. The checks say more.")

    return wrapped


def _raiser(error: BaseException) -> str:
    """Return the learner's function that raised, and its place if it is not in this notebook.

    Return "" if the kit could not use what one has returned.
    """
    for frame, _ in reversed([*traceback.walk_tb(error.__traceback__)]):
        module = str(frame.f_globals.get("__name__"))
        if module.partition(".")[0] not in ("grader", "numpy"):
            is_file = module.startswith("exercises.")
            where = f" in {module.replace('.', '/')}.py" if is_file else ""
            return frame.f_code.co_name + where
    return ""


def _words(text: str) -> Shown:
    return Shown(f"<p>{escape(text)}</p>", text, drawn=False)


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


def array(value: Any, shape: tuple[int, ...]) -> Floats:
    """Return a result as an array of floats. Raise Broken if it has another shape."""
    found = np.asarray(value, dtype=np.float64)
    if found.shape != shape:
        raise Broken(f"A result has the shape {found.shape}, and {shape} is drawn here.")
    return found


def heat(
    title: str,
    values: Any,
    rows: Sequence[str] = TOKENS,
    columns: Sequence[str] = TOKENS,
    axes: str = LOOKING,
) -> Picture:
    """Return a matrix with labels, by default of the sentence with itself.

    Raise Broken if it has another shape.
    """
    found = array(values, (len(rows), len(columns)))
    svg = heat_map(title, rows, columns, found.tolist(), axes)
    return Picture(title, svg, table(rows, found, columns))


def table(rows: Sequence[str], values: Floats, columns: Sequence[str]) -> str:
    """Return a matrix as text, with its columns' names above."""
    wide, cell = max(map(len, rows)), max(6, *map(len, columns))
    lines = [
        f"{row:>{wide}}  " + " ".join(f"{number(float(value)):>{cell}}" for value in line)
        for row, line in zip(rows, values, strict=True)
    ]
    return "\n".join([f"{'':{wide}}  " + " ".join(f"{one:>{cell}}" for one in columns), *lines])


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
    svg = curves(title, name, up, lines, levels)
    return Picture(title, svg, plot(name, up, lines, levels))


def influence(
    title: str, found: Influence, labels: Sequence[str] = TOKENS, axes: str = MOVED
) -> Picture:
    """Return which row moved when which column changed."""
    signs = {"may": "#", "leak": "!"}
    size = range(len(labels))
    rows = [" ".join(signs.get(kind(found, i, j), ".") for j in size) for i in size]
    wide = max(map(len, labels))
    text = "\n".join(f"{label:>{wide}}  {row}" for label, row in zip(labels, rows, strict=True))
    return Picture(title, influence_map(title, labels, found, axes), text)
