"""The commands `quiz` and `review`: ask questions about lessons in the terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import click

from grader.engine.journal import Journal
from grader.engine.review import Reviews, choose
from grader.report.problem import Problem
from grader.report.text.terminal import Printer
from grader.steps import quiz as quizzes
from grader.steps import registry as registry_module
from grader.steps.commands import spell_command
from grader.steps.paths import EXERCISES
from grader.steps.quiz import AnswerError, Question
from grader.steps.registry import Registry, Step

MEMORY = EXERCISES / ".quiz.json"
ENDS = ("q", "quit", "never")
clock = time.time  # that of a test is another


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


@click.command()
def review() -> None:
    """Ask again about steps that you have finished: a few questions, two minutes.

    Each comes back after 1, 3, 7 and 21 days; a wrong answer brings it back sooner.
    """
    registry, printer = registry_module.load(), Printer()
    due = Reviews(Journal(EXERCISES), registry).list_due(clock())
    if not due:
        printer.line("Nothing is due. Questions of a step that passes come back after some days.")
        return
    asked = choose(due)
    count = f"{len(asked)} question{'s' * (len(asked) > 1)}"
    printer.line(f"{count} of steps that you have finished, {len(due)} are due.\n", "bold")
    if sys.stdin.isatty():
        _ask(printer, quizzes.Record(MEMORY), asked)
    else:
        _list(printer, asked)


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
    printer.line("Enter alone skips a question, q ends.\n")
    for question in wanted:
        if _ask_one(printer, record, question):
            return
        printer.line()


def _ask_one(printer: Printer, record: quizzes.Record, question: Question) -> str:
    """Ask until the answer is right or empty. Return the word that ends it all, or ""."""
    _show(printer, question)
    while True:
        answer = _read_answer(printer)
        if answer.lower() in ENDS:
            return answer.lower()
        if not answer or _take(printer, record, question, answer):
            return ""


def _read_answer(printer: Printer) -> str:
    """Return what the learner types, or "q" at the end of the input."""
    try:
        return input("> ").strip()
    except (EOFError, KeyboardInterrupt):
        printer.line()
        return "q"


def ask_after(printer: Printer, journal: Journal, step: Step) -> None:
    """Ask for a prediction, then for a sentence, about a step that has just passed."""
    if not journal.asks or not (asked := quizzes.questions(step)):
        return
    record = quizzes.Record(MEMORY)
    printer.line("\nEnter skips a question, q both, `never` ends them for good.", "dim")
    closed = next((one for one in asked if one.predict and one.id not in record.done()), None)
    ended = _ask_one(printer, record, closed) if closed else ""
    if not ended:
        ended = _ask_sentence(printer, journal, step, asked)
    if ended == "never":
        journal.set_asks(False)
        command = spell_command("check")
        again = f"{command} ARGS=--ask" if command.startswith("make ") else f"{command} --ask"
        printer.line(f"They end here. `{again}` brings them back.")


def _ask_sentence(printer: Printer, journal: Journal, step: Step, asked: Sequence[Question]) -> str:
    """Keep a sentence of the learner's own, and show another. Return the word that ends it."""
    question = next(one for one in asked if one.kind == "open")
    about = question.ask.removeprefix("Explain in two sentences: ")
    printer.line(f"\nA sentence of your own, for your recap: {about}")
    said = _read_answer(printer)
    if said and said.lower() not in ENDS:
        journal.keep_sentence(step.id, said)
        printer.line(f"Kept. Ours: {quizzes.mark(question, said).why}")
        return ""
    return said.lower()


def _take(printer: Printer, record: quizzes.Record, question: Question, answer: str) -> bool:
    """Print whether the answer is right, and why; return True if it is."""
    try:
        marked = quizzes.mark(question, answer)
    except AnswerError as error:
        printer.line(str(error))
        return False
    printer.line(quizzes.verdict(question, marked), "green" if marked.right else "red")
    reviews = Reviews(Journal(EXERCISES), registry_module.load())
    reviews.note(question.id, clock(), right=marked.right)
    if marked.right:
        record.add(question.id)
    return marked.right
