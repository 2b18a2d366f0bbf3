"""Judge a student's work once more, exactly as it was graded: for an appeal."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from grader.report.problem import Problem, need_torch
from grader.report.records import Report
from grader.report.sanitize import one_line

SAME = "This is what was graded: {:g} of {:g} points."
OTHER = "This is not what was graded: it was {:g} of {:g} points then."
NEWER = "The kit has changed since; grade the class again to see whose points change."


def replay(folder: Path, student: str) -> tuple[Report, bool]:
    """Print and return the report on the student's work, and whether it is the graded one.

    The sources, the steps, the round's inputs and the isolation are those of the last run.
    """
    from grader.classroom import judge
    from grader.classroom.changed import verdicts_of
    from grader.classroom.gradebook import Gradebook
    from grader.engine.kit_digest import kit_digest
    from grader.isolation import SandboxError, probe
    from grader.report.text import terminal
    from grader.steps.registry import load

    with Gradebook(folder) as book:
        exam, submission = book.replay(student)
        (graded,) = book.graded(student=student)
    if exam.suite == "hidden":
        need_torch()
    kit, exam = exam.kit, replace(exam, kit=kit_digest())
    before = graded.report
    unread = [step for step in before.steps if not step.gradable] if before else []
    submission = replace(submission, refused={step.step: step.message for step in unread})
    printer = terminal.Printer()
    name = one_line(student, 60)
    printer.line(f"nopeek: {exam.suite} checks on the work of {name}, as graded\n", "bold")
    try:
        judge.remember_held(probe.isolation_for_grading(exam.isolation, load().limits))
        outcome = judge.grade_submission(exam, submission)
    except SandboxError as error:
        raise Problem(str(error)) from None
    finally:
        judge.dismiss()
    if (report := outcome.report) is None:
        raise Problem(outcome.reason.rstrip("."))
    for verdict in report.steps:
        printer.step_row(verdict)
    printer.total(report.steps)
    for verdict in report.steps:
        if verdict.checks and verdict.points < verdict.max_points:
            printer.step(verdict)
    is_same = verdicts_of(graded) == verdicts_of(replace(graded, report=report))
    if before is not None:
        told = SAME if is_same else OTHER
        click.echo(f"\n{told.format(before.score, before.max_score)}")
    if kit != exam.kit:
        click.echo(NEWER)
    return report, is_same
