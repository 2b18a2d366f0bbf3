"""Print a report in the terminal: 80 columns, readable without colour, in ASCII and in a pipe."""

import math
import os
import re
import shutil
import sys
from collections.abc import Collection, Mapping
from typing import Any

import click

from grader.report.records import SIGNS, Status, StepVerdict, number_in
from grader.report.text.screen import compose
from grader.report.text.sheet import WIDTH, Sheet

SCREEN = 45  # rows that one command may print, so that nobody has to scroll
WIDEST = 100  # columns; longer lines are hard to read
NEXT = 3  # rows reserved for the next thing to do
LEAST = 25  # rows that a step gets, however much was printed before it
STYLES: dict[str, dict[str, Any]] = {
    "": {},
    "bold": {"bold": True},
    "dim": {"dim": True},
    "green": {"fg": "green"},
    "red": {"fg": "red"},
    "cause": {"fg": "yellow", "bold": True},
    "help": {"fg": "cyan"},
    "cells": {},
}
WRONG_CELL = re.compile(r"\*\S+")  # a star marks it


class Printer(Sheet):
    """Print the parts of a report one after another: a sheet whose rows appear at once."""

    def __init__(self, file: Any = None) -> None:
        self.file = file or sys.stdout
        self.terminal = bool(self.file.isatty())
        columns = shutil.get_terminal_size().columns if self.terminal else WIDTH
        plain = "utf" not in (getattr(self.file, "encoding", None) or "").lower()
        super().__init__(min(columns, WIDEST), plain)
        # None leaves it to click, which sends no colour without a terminal.
        self.color = False if os.environ.get("NO_COLOR") else None
        self.is_busy = False

    def row(self, text: str, style: str = "") -> None:
        """Print one line unwrapped, cut at the screen's edge."""
        self.rest()
        super().row(text, style)
        text, _ = self.rows[-1]
        shown = click.style(text, **STYLES[style])
        if style == "cells":
            shown = WRONG_CELL.sub(lambda match: click.style(match[0], fg="red"), text)
        click.echo(shown, file=self.file, color=self.color)

    def busy(self, doing: str) -> None:
        """Show on a terminal what is being done, until something else is printed."""
        if self.terminal:
            self.rest()
            text = self.spell(f" {doing} ...")[: self.width - 1]
            click.echo(click.style(text, dim=True), file=self.file, nl=False)
            self.file.flush()
            self.is_busy = True

    def rest(self) -> None:
        """Remove the text that `busy` has shown."""
        if self.is_busy:
            self.is_busy = False
            click.echo("\r\x1b[K", file=self.file, nl=False)

    def step_row(self, step: StepVerdict) -> None:
        """Print a step's line in the overview."""
        _, word, sign, style = SIGNS[step.status]
        note = ""
        if step.on_own_steps is False:
            numbers = ", ".join(str(number_in(name)) for name in step.blamed)
            which = f"step{'s' * (len(step.blamed) > 1)} {numbers}" if numbers else "own steps"
            note = f"  not yet on your {which}"
        points = f"{step.points:g}/{step.max_points:g}"
        row = f" {sign} {step.number:>2}  {step.title:<20} {word:<14} {points:>10}"
        if len(row) + len(note) <= self.width:
            self.row(row + note, style)
            return
        self.row(row, style)
        self.line(note.strip(), style, indent=7)

    def total(
        self, steps: Collection[StepVerdict], parts: Mapping[str, Collection[str]] | None = None
    ) -> None:
        """Print the bar under the overview: for the part to work on, or else for everything.

        parts: the steps of each part, by a title such as `Part I: attention`.
        """
        score, most, where = count_points(steps, parts or {})
        done = score / most if most else 0.0
        points = f"{score:g} of {most:g} points{where}"
        length = max(10, min(40, self.width - len(points) - 4))
        filled = math.floor(done * length)
        bar = "#" * filled + "." * (length - filled)
        self.row("")
        self.row(f" [{bar}] {points}")

    def step(self, step: StepVerdict) -> None:
        """Print the faults of one step, in the rest of the screen."""
        room = max(SCREEN - NEXT - len(self), LEAST)
        for text, style in compose(step, room, self.width, plain=self.plain).rows:
            self.row(text, style)


class Overview:
    """Print the steps, part by part, as they are judged.

    parts: the steps of each part, by its title, in order. A part takes one line if all of it
    passed, or if it is not the first and nobody has begun it.
    """

    def __init__(self, printer: Printer, parts: Mapping[str, Collection[str]]) -> None:
        self.printer = printer
        self.parts = parts
        self.held: list[StepVerdict] = []
        self.title = ""

    def __call__(self, verdict: StepVerdict) -> None:
        """Print the lines of the step's part, if this was its last step."""
        self.held.append(verdict)
        self.title = next((one for one, steps in self.parts.items() if verdict.step in steps), "")
        if len(self.held) >= len(self.parts.get(self.title, ())):
            self.finish()

    def finish(self) -> None:
        """Print the lines of the steps that were judged since the last part."""
        title, held, self.held = self.title, self.held, []
        kinds = {(one.status, one.on_own_steps is False) for one in held}
        passed, waits = kinds == {(Status.PASSED, False)}, kinds == {(Status.NOT_ATTEMPTED, False)}
        is_first = title == next(iter(self.parts), "")
        if len(held) == len(self.parts.get(title, ())) and (passed or (waits and not is_first)):
            _, word, sign, style = SIGNS[held[0].status]
            numbers = f"{f'{held[0].number}-{held[-1].number}':>4} {title}"
            points = f"{sum(s.points for s in held):g}/{sum(s.max_points for s in held):g}"
            self.printer.row(f" {sign} {numbers:<24} {word:<14} {points:>10}", style)
            return
        for verdict in held:
            self.printer.step_row(verdict)


def count_points(
    steps: Collection[StepVerdict], parts: Mapping[str, Collection[str]]
) -> tuple[float, float, str]:
    """Return the points earned and those there are, in the part with the first undone step.

    The third result names that part, as ` in Part I`. Without such a part, count all steps.
    """
    undone = next((step.step for step in steps if step.status is not Status.PASSED), "")
    title = next((title for title, part in parts.items() if undone in part), "")
    counted = [step for step in steps if not title or step.step in parts[title]]
    score, most = sum(step.points for step in counted), sum(step.max_points for step in counted)
    return score, most, title and f" in {title.partition(':')[0]}"
