"""Ask questions about a lesson in a notebook with one call, and mark an answer with another."""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from textwrap import fill

from grader.learner.asking import NOTHING, Asking, choose
from grader.notebooks.display import Shown
from grader.steps import quiz, registry

WIDTH = 80


def answer_quiz(about: str, answer: object, exercises: Path) -> Shown:
    """Ask the questions of a step, or one of them, or mark an answer; ValueError otherwise."""
    asking = Asking(exercises, registry.load())
    asked, one = quiz.find_question(asking.registry, about)
    if answer is None:
        return _list(asked if one is None else (one,), asking)
    if one is None:
        raise ValueError(f'name the question too: quiz("{asked[0].id}", answer)')
    reply, right = asking.mark(one, answer)
    return _show([reply], right=right)


def check_lesson(name: str) -> None:
    """Raise ValueError if there is no lesson of that name."""
    quiz.find_lesson(registry.load(), name)


def ask_now(exercises: Path, *, has_input: bool) -> Shown | None:
    """Ask about finished steps in a field; where there is none, show the questions."""
    asking = Asking(exercises, registry.load())
    if not (found := asking.list_now()):
        return _show([NOTHING])
    asked, said = choose(found)
    if not has_input:
        return _list(asked, asking)
    print(said)
    asking.ask(lambda text, style: print(fill(text, WIDTH)), asked)
    return None


def _list(asked: Sequence[quiz.Question], asking: Asking) -> Shown:
    """Show questions, and how to answer them."""
    lines, done = list[str](), asking.journal.answered()
    for one in asked:
        first, *more = quiz.show_question(one)
        lines += [f"{first}{' (answered)' if one.id in done else ''}", *more, ""]
    return _show([*lines, f'To answer: quiz("{asked[0].id}", ...)'])


def _show(lines: list[str], **data: bool) -> Shown:
    text = "\n".join(lines)
    html = f'<div style="white-space: pre-wrap; max-width: 48em">{escape(text)}</div>'
    return Shown(html, text, **data)
