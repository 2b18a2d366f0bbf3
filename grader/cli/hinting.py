"""The commands `hint` and `solution`: give hints one by one, and then the kit's code."""

import json
import sys
from pathlib import Path

import click

from grader.cli.checking import judge
from grader.cli.options import need_steps, submission_option
from grader.cli.paths import name_other, show_place
from grader.learner import hints
from grader.learner.hints import GivenHint
from grader.report.problem import Problem, find_steps
from grader.report.records import Status, find_first_undone
from grader.report.text.terminal import Printer
from grader.steps.commands import spell_answer, spell_command
from grader.steps.paths import SOLUTIONS
from grader.steps.registry import load
from grader.steps.stubs import list_solutions

NOTHING_TO_FIX = "There is nothing to fix: everything passes."


@click.command()
@click.argument("step", required=False)
@click.argument("order", nargs=-1)
@submission_option
@click.option("--json", "as_json", is_flag=True, help="Print the hint for a program to read.")
def hint(step: str | None, order: tuple[str, ...], submission: Path, as_json: bool) -> None:
    """Give the next hint for a step; by default, for the first unfinished one.

    ORDER answers a hint that asks for the order of a function's lines.
    """
    registry = load()
    steps = find_steps(registry, (step,) if step else ())
    report, _, printer = judge(registry, steps, submission)
    todo = find_first_undone(report.steps)
    if todo is None:
        printer.line(json.dumps({"passed": True}) if as_json else NOTHING_TO_FIX)
        return
    found = registry.find(todo.step)
    if order:
        puzzle = hints.find_puzzle(todo)
        if puzzle is None:
            raise Problem("no lines of this step can be put in order now: ask for hints first")
        is_right, said = puzzle.mark(" ".join(order))
        printer.line(said, "green" if is_right else "red")
        sys.exit(0 if is_right else 1)
    given = hints.give(found, todo, _find_folder(submission))
    again = spell_command("hint", found.number, submission=name_other(submission))
    if as_json:
        failed = hints.find_failed(todo)  # of the checks, only what the learner sees
        data = {
            "step": found.number,
            "title": found.title,
            "file": f"exercises/{found.filename}",
            "passed": False,
            "function": failed.function if failed else "",
            "check": failed.title if failed else "",
            "hint": "\n".join([given.told, *given.code]),
            "number": given.number,
            "of": given.count,
            "next": again,
        }
        click.echo(json.dumps(data, indent=1))
        return
    show_hint(printer, given)
    printer.line()
    if given.is_puzzle:
        printer.line(f"`{spell_answer(again)}` checks your order.")
    if given.number == given.count:
        printer.line(f"That was the last one. The lesson is in exercises/{found.filename}.")
    else:
        printer.line(f"`{again}` gives the next.")


@click.command()
@click.argument("step", required=False)
@submission_option
def solution(step: str | None, submission: Path) -> None:
    """Show the kit's solution of a step: once yours passes, or after the last hint."""
    found, *_ = need_steps(step, "solution")
    if not SOLUTIONS.is_dir():
        raise Problem("the solutions are your instructor's: this bundle has none")
    report, _, printer = judge(load(), (found,), submission)
    (verdict,) = report.steps
    known, folder = hints.list_hints(found, verdict), _find_folder(submission)
    if verdict.status is not Status.PASSED and not hints.are_all_given(found, known, folder):
        again = spell_command("hint", found.number, submission=name_other(submission))
        raise Problem(
            f"step {found.number} does not pass yet, and there are hints left: `{again}` gives "
            "the next"
        )
    printer.line(f"Step {found.number}, {found.title}: the kit's solution", "bold")
    for name, text in list_solutions(found):
        printer.line()
        click.echo(f"def {name}{text}", file=printer.file)
    yours = show_place(submission, found.id)
    printer.line(f"\nCompare it with {yours}: what did you do differently, and what is missing?")


def _find_folder(submission: Path) -> Path:
    """Return the folder whose journal remembers which hints were given."""
    return submission if submission.is_dir() else submission.parent


def show_hint(printer: Printer, given: GivenHint) -> None:
    """Print a hint."""
    printer.line(given.heading, "bold")
    printer.line()
    printer.line(given.told, indent=1)
    for line in given.code:
        printer.row(f"  {line}")
