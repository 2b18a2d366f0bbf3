"""Show the grader a student's source beside the verdicts, with forms to change them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.classroom.exports.spreadsheet import protect_cell, row
from grader.classroom.own_source import drop_lessons, find_lessons, show_source
from grader.classroom.tables import Override
from grader.intake.notebooks import find_code
from grader.report.html.page import template
from grader.report.names import safe_name
from grader.report.records import Graded
from grader.steps.registry import Registry, load


@dataclass(frozen=True)
class Form:
    """The data of a page with forms. token: returns with every form, or nothing is changed.

    who: signs the changes. changes: those of this student, each with the key that removes it.
    problem: why the last change was not made. comments: those of the class, to be used again.
    """

    token: str
    who: str
    changes: Sequence[tuple[str, Override]] = ()
    problem: str = ""
    comments: Sequence[str] = ()


def find_all_lessons(registry: Registry) -> dict[str, frozenset[str]]:
    """Return the lessons, in which a student has nothing to write, by step."""
    return {step.id: find_lessons(step) for step in registry.steps}


def work_page(
    graded: Graded,
    files: Mapping[str, str],
    lessons: Mapping[str, frozenset[str]],
    form: Form | None = None,
) -> str:
    """Return the page. files: the submission by step; the student's own modules by file name."""
    steps = graded.report.steps if graded.report else ()
    first = steps[0].step if steps else ""
    return (
        template("work.html", Path(__file__).parent)
        .render(
            graded=graded,
            steps=steps,
            points=graded.grade.steps if graded.grade else {},
            file=safe_name(graded.student),
            sources={
                step.step: show_source(
                    drop_lessons(
                        find_code(files.get(step.step, ""), load().find(step.step)),
                        lessons[step.step],
                    )
                )
                for step in steps
            },
            modules={
                name: show_source(list(enumerate(text.split("\n"), 1)))
                for name, text in files.items()
                if name not in lessons
            },
            example=row(
                [protect_cell(graded.student), first, "5", "", "why", "your name", "today"]
            ),
            form=form,
        )
        .lstrip()
    )
