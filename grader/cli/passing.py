"""Say what a learner can do after a step, once it passes for the first time."""

from __future__ import annotations

from pathlib import Path

from grader.engine.abilities import find_abilities
from grader.report.text.terminal import Printer
from grader.steps.commands import spell_command
from grader.steps.paths import SOLUTIONS
from grader.steps.registry import Step


def show_passed(printer: Printer, step: Step, folder: Path) -> None:
    """Print that the step passes, what the learner can do now, and where to look at it again."""
    printer.line(f"\nStep {step.number}, {step.title}, passes.", "green")
    try:
        abilities = find_abilities((folder / step.filename).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        abilities = []
    if abilities:
        printer.line("You can now")
        for one in abilities:
            printer.line(f"- {one}", indent=2)
    show_ways(printer, step.number)


def show_ways(printer: Printer, number: int) -> None:
    """Print the commands for a step that passes."""
    ways = {"look": "draws what it does", "quiz": "asks about the lesson"}
    if SOLUTIONS.is_dir():
        ways["solution"] = "shows how the kit does it"
    for name, does in ways.items():
        printer.line(f"`{spell_command(name, number)}` {does}.")
