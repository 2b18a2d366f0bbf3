"""A report in the terminal: 80 columns, readable without colour, in ASCII, in a pipe."""

from __future__ import annotations

import math
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import click

from grader.grids import influence_grid, number_text, shape_text
from grader.influences import findings
from grader.records import Array, CheckVerdict, Evidence, Influence, Report, Status, StepVerdict

WIDTH = 80
MAX_ROWS = 8
MAX_COLUMNS = 8
MAX_MAP = 12
MAX_PRINTED_LINES = 6
MAX_MORE = 3
SIGNS = {
    Status.PASSED: ("+", "passed", "green"),
    Status.FAILED: ("x", "needs work", "red"),
    Status.NOT_ATTEMPTED: ("-", "not attempted", "dim"),
    Status.ERROR: ("!", "error", "red"),
    Status.TIMEOUT: ("!", "too slow", "red"),
    Status.MEMORY: ("!", "too much memory", "red"),
    Status.SKIPPED: ("-", "not counted", "dim"),
}
MAP_SIGNS = {"may": "#", "leak": "!", "missing": "?", "unknown": "~", "none": "."}
MAP_WORDS = {
    "may": "may, and does",
    "leak": "must not, but does",
    "missing": "should, but does not",
    "unknown": "is no number, so that nothing can be told",
    "none": "does not",
}
STYLES: dict[str, dict[str, Any]] = {
    "": {},
    "bold": {"bold": True},
    "dim": {"dim": True},
    "green": {"fg": "green"},
    "red": {"fg": "red"},
}
_ASCII = str.maketrans(
    {
        **{"√": "sqrt ", "·": "*", "−": "-", "∞": "inf", "≥": ">=", "≤": "<=", "≠": "!="},
        **{"…": "...", "ᵀ": "^T", "→": "->", "×": "x", "Σ": "sum ", "—": "-", "–": "-"},
        **{"“": '"', "”": '"', "’": "'", "²": "^2", "ₖ": "_k"},
    }
)


def clean(text: str, limit: int = 1000) -> str:
    """A student's text made harmless: nothing that moves the cursor, nothing endless."""
    cut = text if len(text) <= limit else text[:limit] + " …"
    return "".join(
        char if char.isprintable() or char == "\n" else f"\\x{ord(char):02x}" for char in cut
    )


class Printer:
    """Prints parts of a report as they come."""

    def __init__(self, file: Any = None) -> None:
        self.file = file or sys.stdout
        self.terminal = bool(self.file.isatty())
        self.width = min(shutil.get_terminal_size().columns, WIDTH) if self.terminal else WIDTH
        self.plain = "utf" not in (getattr(self.file, "encoding", None) or "").lower()
        # None leaves it to click, which sends no colour where there is no terminal.
        self.color = False if os.environ.get("NO_COLOR") else None

    def line(self, text: str = "", style: str = "", indent: int = 0) -> None:
        """One paragraph, wrapped."""
        room = self.width - indent - 1
        for part in text.split("\n"):
            for piece in textwrap.wrap(part, room, break_on_hyphens=False) or [""]:
                self.row(" " * indent + piece, style)

    def row(self, text: str, style: str = "") -> None:
        """One line as it is, cut where the screen ends."""
        text = text.rstrip()
        if self.plain:
            text = text.translate(_ASCII).encode("ascii", "replace").decode()
        if len(text) > self.width:
            text = text[: self.width - 3] + "..."
        click.echo(click.style(text, **STYLES[style]), file=self.file, color=self.color)

    def clear(self) -> None:
        """An empty screen, where there is one; a blank line elsewhere."""
        if self.terminal:
            click.clear()
        else:
            self.line()

    def step_row(self, number: int, step: StepVerdict) -> None:
        """A step's line in the overview."""
        sign, word, style = SIGNS[step.status]
        note = "  not yet on your own steps" if step.on_own_steps is False else ""
        points = f"{step.points:g}/{step.max_points:g}"
        self.row(f" {sign} {number:>2}  {step.title:<20} {word:<14} {points:>10}{note}", style)

    def total(self, report: Report) -> None:
        """The bar under the overview."""
        done = report.score / report.max_score if report.max_score else 0.0
        filled = math.floor(done * 40)
        bar = "#" * filled + "." * (40 - filled)
        self.row("")
        self.row(f" [{bar}] {report.score:g} of {report.max_score:g} points")

    def step(self, number: int, step: StepVerdict) -> None:
        """What is wrong in one step: the first failed check with its case, the others in a line."""
        failed = [check for check in step.checks if check.status not in _FINE]
        self.line()
        if step.message and not failed:
            self.line(f"Step {number}, {step.title}: {clean(step.message)}")
            return
        if len({check.message for check in failed}) == 1 and step.message == failed[0].message:
            self.line(f"Step {number}, {step.title}: this file cannot be judged.", "bold")
            self.line()
            self.line(clean(step.message), indent=4)
            return
        self.line(f"Step {number}, {step.title}: {_summary(step, failed)}", "bold")
        self.check(failed[0], whole=True)
        self.diagnosis(failed[0])
        mine = [check for check in failed[1:] if check.function == failed[0].function]
        telling = [check for check in mine if _telling(check, failed[0])]
        drawn = bool(failed[0].evidence and failed[0].evidence.influence)
        for check in telling[:MAX_MORE]:
            self.check(_without_map(check) if drawn else check, whole=False)
            drawn = drawn or bool(check.evidence and check.evidence.influence)
        others = [check for check in failed[1:] if check not in telling[:MAX_MORE]]
        if others:
            self.line()
            self.line(f"Also failing: {_by_function(others)}", indent=1)
        if step.message:
            self.line()
            self.line(clean(step.message), indent=1)

    def check(self, check: CheckVerdict, *, whole: bool) -> None:
        """One failed check; whole: with its case and what the code printed."""
        sign, word, style = SIGNS[check.status]
        word = "" if check.status is Status.FAILED else f"({word}) "
        if whole:
            self.line()
        self.line(f"{sign} {word}{check.title}", style, indent=1)
        self.line(clean(check.message), indent=3)
        if whole and check.evidence:
            self.evidence(check.evidence)
        elif check.evidence and check.evidence.influence:
            self.influence(check.evidence.influence)
        if whole and check.printed:
            self.printed(check.printed)

    def diagnosis(self, check: CheckVerdict) -> None:
        """The known mistake, or what can be said of the results; and where to look."""
        if check.diagnosis is not None:
            self.line()
            label = "looks like" if check.diagnosis.known else "what can be said"
            self.line(f"{label}: {clean(check.diagnosis.says)}", indent=1)
            self.line(f"help: {clean(check.diagnosis.hint)}", indent=1)

    def evidence(self, evidence: Evidence) -> None:
        """The failing case as small matrices, wrong cells marked."""
        self.line()
        self.line(evidence.call, indent=5)
        self._blocks([block(array) for array in evidence.inputs])
        pairs = zip(evidence.expected, evidence.got) if evidence.expected else ()
        results = [part for expected, got in pairs for part in compared(expected, got)]
        self._blocks(results or [block(array) for array in evidence.got])
        if any(array.wrong for array in evidence.got):
            self.line("* marks what is wrong", "dim", indent=5)
        if evidence.influence is not None:
            self.influence(evidence.influence)

    def influence(self, influence: Influence) -> None:
        """The map of which output depends on which input, and in words what is wrong in it."""
        grid = influence_grid(influence, MAX_MAP)
        width = len(str(max((*grid.down, *grid.across), default=0))) + 1
        self.line()
        axes = f"rows: {influence.output}, columns: {influence.input}"
        self.line(f"which row moves when one column changes ({axes}):", indent=5)
        self.row(" " * (5 + width) + "".join(str(j).rjust(width) for j in grid.across))
        for i, row in zip(grid.down, grid.cells):
            signs = "".join(MAP_SIGNS[cell.mark].rjust(width) for cell in row)
            self.row(" " * 5 + str(i).rjust(width) + signs)
        kinds = {cell.mark for row in grid.cells for cell in row}
        for legend in ("may leak none", "missing", "unknown"):
            if kinds & set(legend.split()):
                words = (f"{MAP_SIGNS[kind]} {MAP_WORDS[kind]}" for kind in legend.split())
                self.line("   ".join(words), "dim", indent=5)
        if grid.note:
            self.line(f"{grid.note}", "dim", indent=5)
        for sentence in (*findings(influence), *filter(None, [influence.how])):
            self.line(clean(sentence), indent=5)

    def printed(self, text: str) -> None:
        """What the student's code printed in the call that failed."""
        lines = clean(text).rstrip().split("\n")
        self.line("your code printed:", "dim", indent=5)
        for line in lines[:MAX_PRINTED_LINES]:
            self.line(line, indent=7)
        if len(lines) > MAX_PRINTED_LINES:
            self.line(f"… and {len(lines) - MAX_PRINTED_LINES} more lines", "dim", indent=7)

    def _blocks(self, blocks: Sequence[list[str]]) -> None:
        """Matrices beside each other as long as they fit."""
        row: list[list[str]] = []
        for one in blocks:
            width = sum(len(other[0]) + 3 for other in row) + len(one[0])
            if row and width > self.width - 8:
                self._row(row)
                row = []
            row.append(one)
        if row:
            self._row(row)

    def _row(self, row: Sequence[list[str]]) -> None:
        height = max(map(len, row))
        for i in range(height):
            cells = [one[i] if i < len(one) else " " * len(one[0]) for one in row]
            self.row(" " * 5 + "   ".join(cells))


def _summary(step: StepVerdict, failed: Sequence[CheckVerdict]) -> str:
    waiting = sum(check.status is Status.NOT_ATTEMPTED for check in step.checks)
    text = f"{len(failed)} of {len(step.checks)} checks failed"
    return text + (f", {waiting} wait for code not written yet." if waiting else ".")


def _telling(check: CheckVerdict, first: CheckVerdict) -> bool:
    """Whether a failure says something that the first one does not."""
    return check.message != first.message and "wrong" not in check.message


def _without_map(check: CheckVerdict) -> CheckVerdict:
    """The same check, its map left out: one picture is enough."""
    return replace(check, evidence=None)


def _by_function(checks: Sequence[CheckVerdict]) -> str:
    names = {check.function: [] for check in checks}  # type: dict[str, list[str]]
    for check in checks:
        names[check.function].append(check.check)
    return "; ".join(f"{name} ({', '.join(found)})" for name, found in names.items())


_FINE = (Status.PASSED, Status.SKIPPED, Status.NOT_ATTEMPTED)


def _cell_text(value: Any, decimals: int) -> str:
    """A cell's text; booleans in one letter."""
    return ("T" if value else "F") if isinstance(value, bool) else number_text(value, decimals)


def _flat(cells: Any) -> Iterable[Any]:
    if isinstance(cells, list):
        for cell in cells:
            yield from _flat(cell)
    else:
        yield cells


def _texts(array: Array, decimals: int) -> list[str]:
    wrong = set(array.wrong)
    return [
        ("*" if i in wrong else " ") + _cell_text(cell, decimals)
        for i, cell in enumerate(_flat(array.cells))
    ]


def _slice(array: Array) -> tuple[str, int]:
    """Which matrix of a larger array to show: the first with a wrong cell; its name and start."""
    if len(array.shape) <= 2:
        return "", 0
    size = array.shape[-1] * array.shape[-2]
    index = min(array.wrong) // size if array.wrong and size else 0
    position, rest = [], index
    for length in reversed(array.shape[:-2]):
        position.append(rest % length)
        rest //= length
    return f"[{', '.join(map(str, reversed(position)))}]", index * size


def block(array: Array, decimals: int = 2, like: Array | None = None) -> list[str]:
    """An array as lines of equal length: its name and shape, then its rows."""
    part, start = _slice(like or array)
    title = f"{array.name}{part} {shape_text(array.shape)}"
    if array.cells is None:
        return [title]
    texts = _texts(array, decimals)
    if not array.shape:
        return _even([title, texts[0]])
    columns = array.shape[-1]
    rows = array.shape[-2] if len(array.shape) > 1 else 1
    width = max(map(len, texts), default=1)
    lines = []
    for row in range(min(rows, MAX_ROWS)):
        cells = texts[start + row * columns : start + row * columns + min(columns, MAX_COLUMNS)]
        more = " …" if columns > MAX_COLUMNS else ""
        lines.append(" ".join(cell.rjust(width) for cell in cells) + more)
    return _even([title, *lines, *(["…"] if rows > MAX_ROWS else [])])


def _even(lines: list[str]) -> list[str]:
    width = max(map(len, lines))
    return [line.ljust(width) for line in lines]


def compared(expected: Array, got: Array) -> list[list[str]]:
    """Two arrays with as many decimals as it takes to see that they differ."""
    for decimals in (2, 3, 4, 6, 8, 10, 12):
        one, other = _texts(expected, decimals), _texts(got, decimals)
        if len(one) != len(other) or any(one[i][1:] != other[i][1:] for i in got.wrong):
            break
    like = got if got.shape == expected.shape else None
    return [block(expected, decimals, like), block(got, decimals)]


def first_to_do(report: Report) -> StepVerdict | None:
    """The first step that is not done."""
    undone = (step for step in report.steps if step.status is not Status.PASSED)
    return next(undone, None)


def numbered(step: StepVerdict) -> int:
    """3 for `step03_mask`."""
    match = re.match(r"step(\d+)", step.step)
    return int(match[1]) if match else 0
