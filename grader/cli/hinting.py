"""Show a hint, mark the order of a function's lines, and give both to programs."""

from __future__ import annotations

from typing import Any

from grader.learner.hints import GivenHint, find_puzzle
from grader.report.problem import Problem
from grader.report.records import Status, StepVerdict
from grader.report.text.terminal import Printer
from grader.steps.registry import Step


def show_hint(printer: Printer, given: GivenHint) -> None:
    """Print a hint."""
    printer.line(given.heading, "bold")
    printer.line()
    printer.line(given.told, indent=1)
    for line in given.code:
        printer.row(f"  {line}")


def mark_order(printer: Printer, verdict: StepVerdict, answer: str) -> bool:
    """Print and return whether an order of the first wrong function's lines is right."""
    puzzle = find_puzzle(verdict)
    if puzzle is None:
        raise Problem("no lines of this step can be put in order now: ask for hints first")
    is_right, said = puzzle.mark(answer)
    printer.line(said, "green" if is_right else "red")
    return is_right


def as_data(step: Step, verdict: StepVerdict, given: GivenHint, again: str) -> dict[str, Any]:
    """Return a hint for a program; of the step's checks, only what the learner sees."""
    failed = next((one for one in verdict.checks if one.status is not Status.PASSED), None)
    return {
        "step": step.number,
        "title": step.title,
        "file": f"exercises/{step.filename}",
        "passed": False,
        "function": failed.function if failed else "",
        "check": failed.title if failed else "",
        "hint": "\n".join([given.told, *given.code]),
        "number": given.number,
        "of": given.count,
        "next": again,
    }
