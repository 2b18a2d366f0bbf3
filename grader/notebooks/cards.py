"""Show a verdict in a notebook's cell, in a compact form, as HTML and as text."""

import functools
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from jinja2 import Template

from grader.notebooks.display import Shown
from grader.report.html.page import number_step, template
from grader.report.influences import count_words
from grader.report.records import SIGNS, CheckVerdict, Status, StepVerdict
from grader.report.text.screen import compose
from grader.report.text.sheet import WIDTH
from grader.report.text.terminal import Printer

ROOM = 40  # rows of text
OUTCOMES = (Status.PASSED, Status.NOT_ATTEMPTED)


@dataclass(frozen=True)
class State:
    """The state of all checks of one function, in words; rest: of those that did not fail."""

    status: Status
    word: str
    rest: str = ""


def state_of(checks: Sequence[CheckVerdict]) -> State:
    """Return the state of the checks of one function, taken together."""
    wrong = wrong_of(checks)
    passed = sum(check.status is Status.PASSED for check in checks)
    if wrong:
        rest = f"{count_words(passed, 'other check')} passed." if passed else ""
        return State(Status.FAILED, "needs work", rest)
    if passed == len(checks):
        return State(Status.PASSED, f"{count_words(passed, 'check')} passed")
    return State(Status.NOT_ATTEMPTED, "not attempted")


def word_of(step: StepVerdict) -> str:
    """Return the step's state in words; a half-written step is not called wrong."""
    unfinished = step.status is Status.FAILED and not wrong_of(step.checks)
    return "right so far" if unfinished and not step.message else SIGNS[step.status][1]


def has_one_reason(step: StepVerdict) -> bool:
    """Return whether all checks share one reason, which is the step's message."""
    return bool(step.message) and all(check.message == step.message for check in step.checks)


def wrong_of(checks: Sequence[CheckVerdict]) -> list[CheckVerdict]:
    """Return the checks that failed."""
    return [check for check in checks if check.failing]


def only(step: StepVerdict, function: str) -> StepVerdict:
    """Return the verdict on one function, as if the step had no other."""
    checks = tuple(check for check in step.checks if check.function == function)
    points, of = sum(c.points for c in checks), sum(c.max_points for c in checks)
    shared = step.message if has_one_reason(step) else ""
    status = step.status if shared else state_of(checks).status
    return replace(step, checks=checks, points=points, max_points=of, status=status, message=shared)


@functools.cache
def _template() -> Template:
    found = template("card.html")
    uses = (state_of, word_of, has_one_reason, wrong_of)
    found.globals.update({use.__name__: use for use in uses})
    return found


def _html(**data: object) -> str:
    blank = {"step": None, "title": "", "several": False, "steps": (), "told": (), "drawn": ""}
    return _template().render({**blank, "notes": (), "says": (), **data}).strip()


def _lines(rows: Sequence[str], texts: Sequence[str]) -> str:
    return "\n".join([*rows, *(line for text in texts if text for line in ("", text))])


def step_card(step: StepVerdict, function: str, says: Sequence[str], notes: Sequence[str]) -> Shown:
    """Return a step's verdict, or that on one of its functions, if one is named."""
    shown = only(step, function) if function else step
    title = function or number_step(step)
    html = _html(step=shown, title=title, several=not function, says=says, notes=notes)
    sign = "-" if word_of(shown) == "right so far" else SIGNS[shown.status][2]
    rows = [f" {sign} {title}: {word_of(shown)}, {shown.points:g}/{shown.max_points:g} points"]
    if shown.status not in OUTCOMES or (shown.message and not has_one_reason(shown)):
        rows += [text for text, _ in compose(shown, ROOM, WIDTH, plain=False).rows]
    elif shown.message:
        rows += ["", shown.message]
    return Shown(html, _lines(rows, [*notes, *says]), status=step.status.value, points=step.points)


def steps_card(steps: Sequence[StepVerdict], told: Sequence[str], says: Sequence[str]) -> Shown:
    """Return the state of all steps. told: a word on each step."""
    out = io.StringIO()
    printer = Printer(out)
    printer.plain = False
    for step, word in zip(steps, told, strict=True):
        printer.step_row(step)
        if word:
            printer.row(f"       {word}")
    return Shown(_html(steps=steps, told=told, says=says), _lines([out.getvalue().rstrip()], says))


def drawn_card(text: str) -> Shown:
    """Return a card with a text whose columns count, such as a map."""
    return Shown(_html(drawn=text), text)


def words_card(*says: str, **data: Any) -> Shown:
    """Return a card of these sentences that are not empty. data: what else the judge has found."""
    told = [*filter(None, says)]
    return Shown(_html(says=told), "\n\n".join(told), **data)
