"""The commands `quiz` and `review`: ask questions about the lessons, at once or after days."""

import sys
from collections.abc import Sequence

import click

from grader.learner.asking import NOTHING, Asking, choose
from grader.report.problem import Problem
from grader.report.text.terminal import Printer
from grader.steps import quiz as quizzes
from grader.steps.commands import spell_answer, spell_command
from grader.steps.paths import EXERCISES
from grader.steps.quiz import Question
from grader.steps.registry import load


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("about", required=False)
@click.argument("answer", nargs=-1, type=click.UNPROCESSED)
def quiz(about: str | None, answer: Sequence[str]) -> None:
    """Ask about a lesson (quiz 3), or answer one question (quiz 3b 12)."""
    registry, printer = load(), Printer()
    asking = Asking(EXERCISES, registry)
    done = asking.journal.answered()
    if not (about or answer):
        for step in (quizzes.PREFACE, *registry.steps):
            if asked := quizzes.questions(step):
                count = f"{sum(one.id in done for one in asked)} of {len(asked)} answered"
                printer.line(f"{step.number:2}  {step.title}: {count}")
        again = spell_command("quiz", 3)
        printer.line(f"\nQuestions earn no points. `{again}` asks those of step 3.")
        return
    try:
        asked, one = quizzes.find_question(registry, about or "1")
    except ValueError as error:
        raise Problem(str(error)) from None
    if one is not None and answer:
        sys.exit(0 if asking.take(printer.line, one, " ".join(answer)) else 1)
    if answer:
        raise Problem(f"name the question too: {_how(asked[0])}")
    wanted = [one] if one is not None else [q for q in asked if q.id not in done]
    if not wanted:
        printer.line(f"All {len(asked)} questions are answered. Name one to be asked again.")
        return
    _ask(printer, asking, wanted)


@click.command()
def review() -> None:
    """Ask again about steps that you have finished: a few questions, two minutes.

    Each comes back after 1, 3, 7 and 21 days; a wrong answer brings it back sooner.
    """
    asking, printer = Asking(EXERCISES, load()), Printer()
    if not (found := asking.list_now()):
        printer.line(NOTHING)
        return
    asked, said = choose(found)
    printer.line(f"{said}\n", "bold")
    _ask(printer, asking, asked)


def _ask(printer: Printer, asking: Asking, wanted: Sequence[Question]) -> None:
    """Ask, or print the questions and how to answer them if there is nobody to ask."""
    if sys.stdin.isatty():
        asking.ask(printer.line, wanted)
        return
    for question in wanted:
        for line in quizzes.show_question(question):
            printer.line(line)
        printer.line()
    printer.line(f"To answer: {_how(wanted[0])}")


def _how(question: Question) -> str:
    """Return the command that answers a question."""
    return spell_answer(spell_command("quiz", question.id), "...")
