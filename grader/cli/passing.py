"""Say what a learner can do after a step, once it passes for the first time."""

from __future__ import annotations

from collections.abc import Sequence

from grader.report.text.terminal import Printer
from grader.steps.commands import spell_command
from grader.steps.paths import SOLUTIONS
from grader.steps.registry import Registry
from grader.steps.stubs import find_abilities, stub_of


def show_passed(printer: Printer, registry: Registry, news: Sequence[str]) -> bool:
    """Print what the learner can do now, and the next commands, if one step alone has just passed.

    Return whether that is so.
    """
    if len(news) != 1:
        return False
    step = registry.find(news[0])
    printer.line(f"\nStep {step.number}, {step.title}, passes.", "green")
    if abilities := find_abilities(stub_of(step)):
        printer.line("You can now")
        for one in abilities:
            printer.line(f"- {one}", indent=2)
    show_ways(printer, step.number)
    return True


def show_ways(printer: Printer, number: int) -> None:
    """Print the commands for a step that passes."""
    ways = {"look": "draws what it does", "quiz": "asks about the lesson"}
    if SOLUTIONS.is_dir():
        ways["solution"] = "shows how the kit does it"
    for name, does in ways.items():
        printer.line(f"`{spell_command(name, number)}` {does}.")
