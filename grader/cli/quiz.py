"""The command `quiz`: ask questions about a lesson in the terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from grader.report.problem import Problem
from grader.report.text.terminal import Printer
from grader.steps import quiz as quizzes
from grader.steps import registry as registry_module
from grader.steps.commands import spell_command
from grader.steps.paths import EXERCISES
from grader.steps.quiz import AnswerError, Question
from grader.steps.registry import Registry

MEMORY = EXERCISES / ".quiz.json"


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("about", required=False)
@click.argument("answer", nargs=-1, type=click.UNPROCESSED)
def quiz(about: str | None, answer: Sequence[str]) -> None:
    """Ask about a lesson (quiz 3), or answer one question (quiz 3b 12)."""
    registry, printer = registry_module.load(), Printer()
    record = quizzes.Record(MEMORY)
    if about == "" and answer:
        raise Problem(f"name the question too: {_how(quizzes.questions(registry.steps[0])[0])}")
    if not about:
        _overview(registry, printer, record)
        return
    try:
        asked, one = quizzes.find_question(registry, about)
    except ValueError as error:
        raise Problem(str(error)) from None
    if one is not None and answer:
        sys.exit(0 if _take(printer, record, one, " ".join(answer)) else 1)
    if answer:
        raise Problem(f"name the question too: {_how(asked[0])}")
    wanted = [one] if one is not None else [q for q in asked if q.id not in record.done()]
    if not wanted:
        printer.line(f"All {len(asked)} questions are answered. Name one to be asked again.")
    elif sys.stdin.isatty():
        _ask(printer, record, wanted)
    else:
        _list(printer, wanted)


def _overview(registry: Registry, printer: Printer, record: quizzes.Record) -> None:
    done = record.done()
    for step in (quizzes.PREFACE, *registry.steps):
        asked = quizzes.questions(step)
        answered = sum(one.id in done for one in asked)
        if asked:
            printer.line(f"{step.number:2}  {step.title}: {answered} of {len(asked)} answered")
    printer.line(f"\nQuestions earn no points. `{spell_command('quiz', 3)}` asks those of step 3.")


def _how(question: Question) -> str:
    """Return the command that answers a question."""
    command = spell_command("quiz")
    if command.startswith("make "):
        return f'{command} STEP={question.id} ANSWER="..."'
    return f'{command} {question.id} "..."'


def _show(printer: Printer, question: Question) -> None:
    for line in quizzes.show_question(question):
        printer.line(line)


def _list(printer: Printer, wanted: Sequence[Question]) -> None:
    """Print the questions and how to answer them, if there is nobody to ask."""
    for question in wanted:
        _show(printer, question)
        printer.line()
    printer.line(f"To answer: {_how(wanted[0])}")


def _ask(printer: Printer, record: quizzes.Record, wanted: Sequence[Question]) -> None:
    printer.line("Enter alone skips a question, Ctrl-D ends.\n")
    for question in wanted:
        _show(printer, question)
        while True:
            try:
                answer = input("> ").strip()
            except (EOFError, KeyboardInterrupt):
                printer.line()
                return
            if not answer or _take(printer, record, question, answer):
                break
        printer.line()


def _take(printer: Printer, record: quizzes.Record, question: Question, answer: str) -> bool:
    """Print whether the answer is right, and why; return True if it is."""
    try:
        marked = quizzes.mark(question, answer)
    except AnswerError as error:
        printer.line(str(error))
        return False
    printer.line(quizzes.verdict(question, marked), "green" if marked.right else "red")
    if marked.right:
        record.add(question.id)
    return marked.right
