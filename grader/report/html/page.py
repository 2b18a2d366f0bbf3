"""Render a report as one HTML page that needs nothing else: no network, script or other file."""

import functools
import itertools
import re
from collections.abc import Mapping
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from grader.report.grids import exhibits, influence_grid, nest_text
from grader.report.influences import count_words, findings, worth_drawing
from grader.report.records import (
    SIGNS,
    CheckVerdict,
    Graded,
    Report,
    Status,
    StepVerdict,
    find_first_undone,
)
from grader.report.sanitize import visible

MAX_PRINTED_LINES = 40
NOT_DRAWN = "Your work was graded, but this page could not be drawn. Ask your instructor."
UNIT = 24  # the side of a cell in a map
SEVERAL = {Status.FAILED: "need work", Status.ERROR: "errors"}


def _finish(value: Any) -> Any:
    """Return a value for the page, before it is escaped."""
    return value if isinstance(value, Markup) else visible(str(value))


def prose(text: str) -> Markup:
    """Return one of the kit's sentences as HTML, with text in backticks as code."""
    escaped = str(escape(visible(text)))  # a str: Markup would escape the tags added below
    return Markup(re.sub(r"`([^`\n]+)`", r"<code>\1</code>", escaped))


def cut_printed(text: str) -> tuple[str, str]:
    """Return the first lines of what the code printed, and how many more there are."""
    lines = text.rstrip().split("\n")
    left = len(lines) - MAX_PRINTED_LINES
    more = f"… and {count_words(left, 'more line')}" if left > 0 else ""
    return "\n".join(lines[:MAX_PRINTED_LINES]), more


def number_step(step: StepVerdict) -> str:
    """Return `3. Masks` for step03_mask."""
    return f"{step.number}. {step.title}" if step.number else step.title


def by_function(step: StepVerdict) -> list[tuple[str, list[CheckVerdict]]]:
    """Return a step's checks grouped by function; failures come first in both."""
    fails = attrgetter("failing")
    groups = itertools.groupby(step.checks, key=attrgetter("function"))
    found = [(name, sorted(checks, key=fails, reverse=True)) for name, checks in groups]
    return sorted(found, key=lambda group: group[1][0].failing, reverse=True)


def anchor(step: StepVerdict) -> str:
    """Return `step-3` for step03_mask: the target of links to the step."""
    return f"step-{step.number}" if step.number else step.step


def group_alike(checks: list[CheckVerdict]) -> list[tuple[CheckVerdict, list[CheckVerdict]]]:
    """Return each check with the failed ones whose messages are the same except for numbers.

    If a message comes nineteen times with other numbers, the reader reads it once. Two checks that
    agree are not worth a group.
    """
    groups: dict[object, list[CheckVerdict]] = {}
    for place, check in enumerate(checks):
        key = (check.status, re.sub(r"\d+", "#", check.message)) if check.failing else place
        groups.setdefault(key, []).append(check)
    found = []
    for first, *alike in groups.values():
        found += [(first, alike)] if len(alike) > 1 else [(one, []) for one in (first, *alike)]
    return found


def shared_message(checks: list[CheckVerdict]) -> str:
    """Return the message that all these checks share, if there are several."""
    messages = {check.message for check in checks}
    return messages.pop() if len(checks) > 1 and len(messages) == 1 else ""


def summary(step: StepVerdict) -> str:
    """Return how many checks passed, failed or were skipped."""
    words = []
    for status, (_, word, _, _) in SIGNS.items():
        if count := sum(check.status is status for check in step.checks):
            words.append(f"{count} {word if count == 1 else SEVERAL.get(status, word)}")
    return f"{count_words(len(step.checks), 'check')}: {', '.join(words)}."


def describe_isolation(held: Mapping[str, bool]) -> list[str]:
    """Return in words which promises the isolation kept when it was probed, and which it broke."""
    named = {True: "held", False: "did not hold"}
    sides = {
        side: [name.replace("_", " ") for name in held if held[name] is side] for side in named
    }
    return [f"{named[side]}: {', '.join(names)}" for side, names in sides.items() if names]


@functools.cache
def template(name: str, folder: Path = Path(__file__).parent) -> Template:
    """Return one of the kit's pages, in which every value is made visible and escaped.

    folder: the folder of the page, if it is not beside the templates that it may include.
    """
    environment = Environment(
        loader=FileSystemLoader([folder, Path(__file__).parent]),
        autoescape=True,
        finalize=_finish,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    shows = (exhibits, influence_grid, nest_text, findings, worth_drawing, cut_printed, summary)
    words = (number_step, by_function, shared_message, anchor, group_alike, count_words)
    environment.globals.update({use.__name__: use for use in (*shows, *words)})
    environment.globals.update(SIGNS=SIGNS, UNIT=UNIT, describe_isolation=describe_isolation)
    environment.filters["points"] = "{:g}".format
    environment.filters["prose"] = prose
    return environment.get_template(name)


def page(report: Report, graded: Graded | None = None) -> str:
    """Return the report as a whole HTML page. graded: whose it is, and the grade.

    Steps that are excused or made full by hand are not to do.
    """
    left = report.steps
    if graded is not None and graded.grade is not None and graded.grade.steps:
        points = graded.grade.steps
        left = tuple(one for one in left if points.get(one.step, one.max_points) < one.max_points)
    data = {"report": report, "todo": find_first_undone(left), "graded": graded}
    return template("page.html").render(data).lstrip()


def feedback_or_apology(graded: Graded) -> tuple[str, bool]:
    """Return a student's feedback page, or one that says that it could not be drawn; and which.

    One page that cannot be drawn must not keep the pages of the others from being written.
    """
    try:
        return feedback(graded), True
    except Exception:  # whatever it is, the points are right, and the run says whose page it was
        return feedback(replace(graded.without_report(), reason=NOT_DRAWN)), False


def feedback(graded: Graded) -> str:
    """Return a student's feedback page: the report or the reason for its absence, and notes."""
    if graded.report is None:
        return template("no_report.html").render(graded=graded).lstrip()
    points = graded.grade.steps if graded.grade else {}
    steps = (replace(one, points=points.get(one.step, one.points)) for one in graded.report.steps)
    return page(replace(graded.report, submission=graded.student, steps=tuple(steps)), graded)
