"""Draw the figures of the book: SVG files that the kit draws with its own solutions.

A figure of a lesson is what `look` shows of the lesson's functions. Seconds and bytes differ from
machine to machine, so they are drawn only in the notebook.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import itertools
import json
import re
import sys
import types
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any

from grader.notebooks.looks import CAPTIONS, find_look
from grader.notebooks.pictures import BLUE, GREY, RED, label, picture
from grader.notebooks.sentence import TOKENS
from grader.report.files import write_changed
from grader.steps.paths import ROOT, SOLUTIONS
from grader.steps.registry import Registry, Step
from grader.steps.stubs import SELF_STUDY, solution_of

FIGURES = ROOT / "docs" / "figures"
MEASURED = frozenset({"times", "decoder_times", "memory"})
WORDS = TOKENS[:4]
_CAPTION = re.compile(
    rf"^# %% \[markdown\][^\n]*{SELF_STUDY}[^\n]*\n# ## To look at: ([^\n]*)\n#\n(.*?)"
    rf"^# %% [^\n]*{SELF_STUDY}[^\n]*\n.*?^# look\.(\w+)\(",
    re.DOTALL | re.MULTILINE,
)
_LOOK = re.compile(r"^# look\.(\w+)\(", re.MULTILINE)
_FIGURE = re.compile(r"<figcaption>(.*?)</figcaption>(<svg.*?</svg>)", re.DOTALL)
ACROSS, DOWN = 84, 150
HEADS = "".join(
    f'<marker id="{name}-head" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" '
    f'markerHeight="7" orient="auto"><path d="M 0 0 L 8 4 L 0 8 z" fill="{color}"/></marker>'
    for name, color in (("blue", BLUE), ("red", RED))
)
# Of each box of the map: where it begins, its width, its name, and the steps that build it.
MAP = (
    *((8, 84, "text", "words, ids"), (112, 84, "vectors", "step 0")),
    *((216, 126, "attention", "steps 1 to 5, 9"), (362, 126, "feed-forward", "step 11")),
    *((508, 116, "scores", "steps 6 and 12"), (644, 98, "next word", "step 8")),
)


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
    found = {
        FIGURES / "step00-map.svg": course_map(),
        FIGURES / "step00-routing-1.svg": routing("all arrows", lambda i, j: True),
        FIGURES / "step00-routing-2.svg": routing("the future removed", lambda i, j: j <= i),
    }
    functions: dict[str, Any] = {}
    with import_solutions() as load:
        for step in registry.steps:
            module = load(step.id)
            functions |= {f.name: getattr(module, f.name) for f in step.functions}
            for name in name_looks(step):
                if name in MEASURED:
                    continue
                draw = find_look(name)
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
    named = label(2, 14, title, "start", ' font-weight="bold"')
    return f'{head}{named}<g transform="translate(0 22)">{inner}</g></svg>\n'


def routing(title: str, may: Callable[[int, int], bool]) -> str:
    """Draw which position may look at which: an arrow for each pair that may."""
    parts = [HEADS, *_arrows(title, may)]
    parts.append(label(8, DOWN + 84, "dashed: from the future", "start"))
    return _alone(picture(16 + len(WORDS) * ACROSS, DOWN + 94, title, parts))


def _alone(svg: str) -> str:
    return svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1) + "\n"


def _arrows(title: str, may: Callable[[int, int], bool]) -> Iterator[str]:
    left = 8.0
    yield label(left, 14, title, "start", ' font-weight="bold"')
    yield label(left, 32, "who looks", "start", ' font-size="11"')
    yield label(left, DOWN + 68, "who is looked at", "start", ' font-size="11"')
    for i, word in enumerate(WORDS):
        x = left + (i + 0.5) * ACROSS
        yield label(x, 46, word, more=' font-style="italic"')
        yield label(x, DOWN + 52, word)
        for j in range(len(WORDS)):
            if may(i, j):
                start = left + (j + 0.5) * ACROSS
                line = f"M {start:.0f} {DOWN + 38} L {x + 0.06 * (start - x):.0f} 58"
                yield _arrow(line, ahead=j > i)


def _arrow(line: str, *, ahead: bool = False) -> str:
    """Return an arrow along a path; ahead: it comes from the future."""
    color, dash, head = (RED, ' stroke-dasharray="5 4"', "red") if ahead else (BLUE, "", "blue")
    end = f'marker-end="url(#{head}-head)"'
    return f'<path d="{line}" fill="none" stroke="{color}"{dash} stroke-width="1.5" {end}/>'


def course_map() -> str:
    """Draw how a text becomes a guess of the next word, and which steps build each part."""
    parts = [HEADS]
    for x, wide, title, steps in MAP:
        look = f'fill="{BLUE}" fill-opacity="0.12" stroke="{BLUE}"'
        parts.append(f'<rect x="{x}" y="70" width="{wide}" height="54" rx="6" {look}/>')
        parts.append(label(x + wide / 2, 93, title, more=' font-weight="bold"'))
        parts.append(label(x + wide / 2, 112, steps, more=' font-size="11"'))
    for (x, wide, *_), (after, *_) in itertools.pairwise(MAP):
        parts.append(_arrow(f"M {x + wide + 2} 97 H {after - 3}"))
    stack = f'fill="none" stroke="{GREY}" stroke-dasharray="2 3"'
    parts.append(f'<rect x="206" y="56" width="292" height="100" rx="8" {stack}/>')
    parts.append(label(352, 145, "a block, N times (steps 9 to 14)"))
    parts.append(_arrow("M 566 66 C 566 20, 352 20, 352 52"))
    parts.append(label(460, 22, "training: the loss sends gradients back (steps 6, 15 to 19)"))
    parts.append(_arrow("M 690 128 C 690 200, 50 200, 50 128"))
    parts.append(label(370, 200, "writing: the guess is appended, and a cache keeps the past"))
    parts.append(label(370, 216, "(steps 7, 8 and 13; what is used today: steps 20 to 25)"))
    return _alone(picture(750, 224, "The map of the course", parts))


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
