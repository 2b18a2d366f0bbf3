"""Draw the pictures of the lessons from the learner's functions, or explain why not.

While a function is a stub, or its results cannot be drawn, a sentence says so.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.checks.compare import Broken
from grader.notebooks.display import Shown
from grader.notebooks.pictures import (
    Curve,
    curves,
    draw_svg,
    heat_map,
    influence_map,
    number,
    plot,
)
from grader.notebooks.sentence import TOKENS
from grader.report.records import Influence

Function = Callable[..., Any]
Floats = NDArray[np.float64]
LETTERS = str.maketrans("●✗", "#!")  # the marks of a map in a terminal
PICTURES: dict[int, dict[str, Callable[..., Any]]] = {}  # by step and name
LOOKING = "row: looks · column: is looked at"


@dataclass(frozen=True)
class Picture:
    """A picture for a page, and the same for a terminal."""

    title: str
    svg: str
    text: str


def drawn_in(step: int) -> Callable[[Callable[..., Shown]], Callable[..., Shown]]:
    """Decorate the function of a picture in a step's lesson."""

    def decorate(draw: Callable[..., Shown]) -> Callable[..., Shown]:
        PICTURES.setdefault(step, {})[draw.__name__] = made = _draw_or_explain(draw)
        return made

    return decorate


def _draw_or_explain(draw: Callable[..., Shown]) -> Callable[..., Shown]:
    """Return a function that shows a sentence if the learner's function fails."""
    names = ", ".join(inspect.signature(draw).parameters)

    @functools.wraps(draw)
    def wrapped(*functions: Function) -> Shown:
        if len(functions) != names.count(",") + 1 or not all(map(callable, functions)):
            return _words(f"This picture is made with: look.{draw.__name__}({names})")
        try:
            with np.errstate(all="ignore"):
                return draw(*functions)
        except NotImplementedError as error:
            return _words(f"Nothing to see yet: {_raiser(error)} is still to be written.")
        except Broken as broken:
            return _words(f"There is no picture of that yet. {broken}")
        except Exception as error:
            what = f"{_raiser(error)} raised {type(error).__name__}"
            return _words(f"There is no picture of that yet: {what}. The checks say more.")

    return wrapped


def _raiser(error: BaseException) -> str:
    """Return the function that raised, and its place if it is not in this notebook."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "a function"
    code, module = trace.tb_frame.f_code, str(trace.tb_frame.f_globals.get("__name__"))
    where = f" in {module.replace('.', '/')}.py" if module.startswith("exercises.") else ""
    return code.co_name + where


def _words(text: str) -> Shown:
    return Shown(f"<p>{escape(text)}</p>", text, drawn=False)


def array(value: Any, shape: tuple[int, ...], name: str) -> Floats:
    """Return the result as an array of floats. Raise Broken if it has another shape."""
    found = np.asarray(value, dtype=np.float64)
    if found.shape != shape:
        raise Broken(f"{name} returned the shape {found.shape}, and {shape} is drawn here.")
    return found


def pair(value: Any, name: str) -> tuple[Any, Any]:
    """Return the two results of a function. Raise Broken, with a sentence, if there are not two."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise Broken(f"{name} did not return two results.")
    return value[0], value[1]


def heat(
    title: str,
    values: Floats,
    rows: Sequence[str] = TOKENS,
    columns: Sequence[str] = TOKENS,
    axes: str = LOOKING,
) -> Picture:
    """Return a matrix with labels, by default of the sentence with itself."""
    svg = heat_map(title, rows, columns, values.tolist(), axes)
    return Picture(title, svg, table(rows, values, columns))


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


def show_pictures(pictures: Sequence[Picture], *words: str, **data: Any) -> Shown:
    """Return pictures side by side with sentences below; in a terminal, one below another."""
    texts = [f"{one.title}\n{one.text}" for one in pictures]
    html = draw_svg("side_by_side", [(one.title, one.svg) for one in pictures], words)
    return Shown(html, "\n".join([*texts, *(text.translate(LETTERS) for text in words)]), **data)


def heats(
    found: Mapping[str, Floats],
    *words: str,
    rows: Sequence[str] = TOKENS,
    columns: Sequence[str] = TOKENS,
    axes: str = LOOKING,
) -> Shown:
    """Return matrices with titles and labels side by side. axes: the names of their axes."""
    maps = [heat(title, values, rows, columns, axes) for title, values in found.items()]
    return show_pictures(maps, *words)


def influences(
    found: Mapping[str, Influence],
    may: NDArray[np.bool_],
    *words: str,
    labels: Sequence[str] = TOKENS,
) -> Shown:
    """Return maps with titles side by side. may: where a movement is allowed."""
    return show_pictures([influence(name, one, may, labels) for name, one in found.items()], *words)


def influence(
    title: str, found: Influence, may: NDArray[np.bool_], labels: Sequence[str] = TOKENS
) -> Picture:
    """Return which row moved when which column changed; may: where this is allowed."""
    moved = [[bool(value) for value in row] for row in found.moved]
    allowed = may.tolist()
    svg = influence_map(title, labels, moved, allowed)
    return Picture(title, svg, _signs(labels, moved, allowed))


def _signs(
    labels: Sequence[str], moved: Sequence[Sequence[bool]], allowed: Sequence[Sequence[bool]]
) -> str:
    """Return a map of influence as text."""
    signs = [
        " ".join("!" if m and not a else "#" if m else "." for m, a in zip(row, may, strict=True))
        for row, may in zip(moved, allowed, strict=True)
    ]
    wide = max(map(len, labels))
    return "\n".join(f"{label:>{wide}}  {row}" for label, row in zip(labels, signs, strict=True))


def below(*parts: Shown) -> Shown:
    """Return several rows of pictures, each with its own sentences."""
    html = "".join(f'<div style="margin-bottom:1.2em">{part.html}</div>' for part in parts)
    return Shown(html, "\n".join(part.text for part in parts))
