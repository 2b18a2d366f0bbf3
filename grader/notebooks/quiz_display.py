"""Ask questions about a lesson in a notebook with one call, and mark an answer with another."""

from __future__ import annotations

from html import escape
from pathlib import Path

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
    return _show([quiz.verdict(one, marked)], right=marked.right)


def _find_asked(asked: tuple[quiz.Question, ...], record: quiz.Record) -> Shown:
    lines = []
    for one in asked:
        first, *more = quiz.show_question(one)
        lines += [f"{first}{' (answered)' if one.id in record.done() else ''}", *more, ""]
    return _show([*lines, f'To answer: quiz("{asked[0].id}", ...)'])


def _show(lines: list[str], **data: bool) -> Shown:
    text = "\n".join(lines)
    html = f'<div style="white-space: pre-wrap; max-width: 48em">{escape(text)}</div>'
    return Shown(html, text, **data)
