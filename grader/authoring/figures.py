"""Draw the figures of the book: SVG files that the kit draws with its own solutions.

A figure of a lesson is what `look` shows of the lesson's functions. Seconds and bytes differ from
machine to machine, so they are drawn only in the notebook.
"""

import contextlib
import importlib
import inspect
import json
import re
import sys
import types
from collections.abc import Callable, Iterator
from html import escape, unescape
from pathlib import Path
from typing import Any

from grader.look import PICTURES
from grader.notebooks.pictures import CAPTIONS
from grader.report.files import write_changed
from grader.steps.paths import ROOT, SOLUTIONS
from grader.steps.registry import Registry, Step
from grader.steps.stubs import SELF_STUDY, solution_of

FIGURES = ROOT / "docs" / "figures"
MEASURED = frozenset({"times", "memory"})
_CAPTION = re.compile(
    rf"^# %% \[markdown\][^\n]*{SELF_STUDY}[^\n]*\n# ## To look at: ([^\n]*)\n#\n(.*?)"
    rf"^# %% [^\n]*{SELF_STUDY}[^\n]*\n.*?^# look\.(\w+)\(",
    re.DOTALL | re.MULTILINE,
)
_LOOK = re.compile(r"^# look\.(\w+)\(", re.MULTILINE)
_FIGURE = re.compile(r"<figcaption>(.*?)</figcaption>(<svg.*?</svg>)", re.DOTALL)


def name_looks(step: Step) -> list[str]:
    """Return the pictures of a lesson, by the functions' names in `look`, in order."""
    return _LOOK.findall(solution_of(step))


@contextlib.contextmanager
def import_solutions() -> Iterator[Callable[[str], types.ModuleType]]:
    """Import solutions by the name of their step, each on top of the solutions before it."""
    names = [name for name in sys.modules if name.partition(".")[0] == "exercises"]
    before = {name: sys.modules.pop(name) for name in names}
    package = types.ModuleType("exercises")
    package.__path__ = [str(SOLUTIONS)]
    sys.modules["exercises"] = package
    try:
        yield lambda step: importlib.import_module(f"exercises.{step}")
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "exercises"]:
            del sys.modules[name]
        sys.modules.update(before)


def draw_figures(registry: Registry) -> dict[Path, str]:
    """Return the text of each figure, by its path."""
    found: dict[Path, str] = {}
    functions: dict[str, Any] = {}
    with import_solutions() as load:
        for step in registry.steps:
            module = load(step.id)
            functions |= {f.name: getattr(module, f.name) for f in step.functions}
            for name in name_looks(step):
                if name in MEASURED:
                    continue
                draw = PICTURES[name]
                taken = (functions[one] for one in inspect.signature(draw).parameters)
                for number, (title, svg) in enumerate(_FIGURE.findall(draw(*taken).html), 1):
                    path = FIGURES / f"{step.id}-{name}-{number}.svg"
                    found[path] = stand_alone(svg, unescape(title))
    return found


def stand_alone(svg: str, title: str) -> str:
    """Return an SVG as a file of its own, with its title above the drawing."""
    match = re.search(r'viewBox="0 0 (\d+) (\d+)" width="(\d+)" height="(\d+)"', svg)
    if match is None:
        raise ValueError("a picture without a size")
    width, height = max(int(match[1]), round(len(title) * 7.2) + 8), int(match[2]) + 22
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    inner = svg[svg.index(">") + 1 : -len("</svg>")]
    head = svg[: svg.index(">") + 1].replace(match[0], size)
    head = head.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ')
    named = f'<text x="2" y="14" text-anchor="start" font-weight="bold">{escape(title)}</text>'
    return f'{head}{named}<g transform="translate(0 22)">{inner}</g></svg>\n'


def build_figures(registry: Registry) -> list[Path]:
    """Write the figures that are out of date; remove those that no lesson shows any more."""
    drawn = draw_figures(registry)
    stale = sorted({*FIGURES.glob("*.svg")} - drawn.keys())
    for path in stale:
        path.unlink()
    return stale + write_changed(
        {
            path: text
            for path, text in drawn.items()
            if not path.is_file() or not same_drawing(path.read_text(encoding="utf-8"), text)
        }
    )


def same_drawing(one: str, other: str) -> bool:
    """Return whether two drawings differ by rounding only: each number by less than 0.2."""
    numbers = re.compile(r"-?\d+(?:\.\d+)?")
    if numbers.sub("#", one) != numbers.sub("#", other):
        return False
    pairs = zip(numbers.findall(one), numbers.findall(other), strict=True)
    return all(abs(float(a) - float(b)) < 0.2 for a, b in pairs)


def read_captions(step: Step) -> dict[str, str]:
    """Return the title and the text above each picture of a lesson, by its name in `look`."""
    found = {}
    for title, text, name in _CAPTION.findall(solution_of(step)):
        words = " ".join(line.removeprefix("#") for line in text.splitlines()).split()
        found[name] = f"{title[0].upper()}{title[1:]}\n{' '.join(words)}"
    return found


def captions(registry: Registry) -> dict[Path, str]:
    """Return the file of the captions of all lessons."""
    found = {name: text for step in registry.steps for name, text in read_captions(step).items()}
    return {CAPTIONS: json.dumps(found, indent=1, ensure_ascii=False) + "\n"}
