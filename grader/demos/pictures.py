"""Draw `leakmap` and `costs` as HTML pages that need nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.demos.curves import Curves, ticks
from grader.demos.growth import Growth, curves_of, describe_growth
from grader.demos.own_maps import OwnMap
from grader.demos.stacks import Stack, describe_stack
from grader.report.html.page import template
from grader.steps.registry import Step

WIDTH, HEIGHT = 460, 320
LEFT, RIGHT, TOP, BOTTOM = 90, 440, 20, 280
NAMES = (("whole", "without a cache"), ("cached", "with the cache"))


@dataclass(frozen=True)
class Line:
    """One curve, as points of the drawing."""

    name: str
    label: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Drawing:
    """A plot with its places: levels are powers of ten, lengths the ticks below."""

    lines: tuple[Line, ...]
    levels: tuple[tuple[float, str], ...]
    lengths: tuple[tuple[float, str], ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = RIGHT
    bottom: int = BOTTOM


def drawing(curves: Curves) -> Drawing:
    """Return the places of everything in the plot of these curves."""
    lines = tuple(
        Line(*names, tuple((_x(across), _y(up)) for across, up in curves.points(number)))
        for number, names in enumerate(NAMES)
    )
    levels = tuple((_y(up), text) for up, text in ticks(curves))
    lengths = tuple((_x(curves.across(length)), str(length)) for length in curves.lengths)
    return Drawing(lines, levels, lengths)


def _x(across: float) -> float:
    return round(LEFT + across * (RIGHT - LEFT), 1)


def _y(up: float) -> float:
    return round(BOTTOM - up * (BOTTOM - TOP), 1)


def stack_page(stack: Stack) -> str:
    """Return the page that shows who depends on whom, layer by layer."""
    data = {
        "title": f"Who depends on whom in {stack.code}",
        "stack": stack,
        "told": describe_stack(stack),
    }
    return template("picture.html").render(growth=None, **data).lstrip()


def own_page(step: Step, maps: Sequence[OwnMap]) -> str:
    """Return the page that shows who depends on whom in the learner's functions of a step."""
    return (
        template("own_maps.html")
        .render(title=f"Who listens to whom in your step {step.number}, {step.title}", maps=maps)
        .lstrip()
    )


def growth_page(growth: Growth) -> str:
    """Return the page that shows the cost of the next token."""
    products, seconds = curves_of(growth)
    return (
        template("picture.html")
        .render(
            title=f"What the next token costs, with the decoder in {growth.code}",
            stack=None,
            growth=growth,
            products=drawing(products),
            seconds=drawing(seconds),
            told=describe_growth(growth),
        )
        .lstrip()
    )
