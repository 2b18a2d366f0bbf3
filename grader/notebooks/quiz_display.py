"""Ask questions about a lesson in a notebook with one call, and mark an answer with another."""

from __future__ import annotations

import time
from collections.abc import Sequence
from html import escape
from pathlib import Path

from grader.engine.journal import Journal
from grader.engine.review import Reviews, choose
from grader.notebooks.display import Shown
from grader.steps import quiz, registry


def answer_quiz(about: str, answer: object, exercises: Path) -> Shown:
    """Ask the questions of a step, or one of them, or mark an answer; ValueError otherwise."""
    asked, one = quiz.find_question(registry.load(), about)
    record = quiz.Record(exercises / ".quiz.json")
    if answer is None:
        return _find_asked(asked if one is None else (one,), record)
    if one is None:
        raise ValueError(f'name the question too: quiz("{asked[0].id}", answer)')
    marked = quiz.mark(one, answer)
    if marked.right:
        record.add(one.id)
    reviews = Reviews(Journal(exercises), registry.load())
    reviews.note(one.id, time.time(), right=marked.right)
    return _show([quiz.verdict(one, marked)], right=marked.right)


def check_lesson(name: str) -> None:
    """Raise ValueError if there is no lesson of that name."""
    quiz.find_lesson(registry.load(), name)


def list_due(exercises: Path) -> Shown:
    """Show the questions of finished steps that are due."""
    due = choose(Reviews(Journal(exercises), registry.load()).list_due(time.time()))
    if not due:
        return _show(["Nothing is due. Questions of a step that passes come back after some days."])
    return _find_asked(due, quiz.Record(exercises / ".quiz.json"))


def _find_asked(asked: Sequence[quiz.Question], record: quiz.Record) -> Shown:
    lines = []
    for one in asked:
        first, *more = quiz.show_question(one)
        lines += [f"{first}{' (answered)' if one.id in record.done() else ''}", *more, ""]
    return _show([*lines, f'To answer: quiz("{asked[0].id}", ...)'])


def _show(lines: list[str], **data: bool) -> Shown:
    text = "\n".join(lines)
    html = f'<div style="white-space: pre-wrap; max-width: 48em">{escape(text)}</div>'
    return Shown(html, text, **data)
