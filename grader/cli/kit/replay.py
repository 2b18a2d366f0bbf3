"""The command `replay`: judge a student's work once more, exactly as it was graded."""

import sys
from dataclasses import replace
from pathlib import Path

import click

from grader.classroom import judge
from grader.classroom.gradebook import Gradebook
from grader.classroom.hidden_inputs import derive_key
from grader.classroom.publishing import verdicts_of
from grader.cli.checking import write_report
from grader.cli.options import PATH, html_option, json_option
from grader.engine.kit_digest import kit_digest
from grader.report.problem import Problem, need_torch
from grader.report.sanitize import one_line
from grader.report.text.terminal import Printer


@click.command()
@click.argument("graded", type=PATH)
@click.argument("student")
@json_option
@html_option
def replay(graded: Path, student: str, json_file: Path | None, html_file: Path | None) -> None:
    """Judge the work of STUDENT in the class GRADED once more, as it was graded: for an appeal.

    The sources, the steps, the round's inputs and the isolation are those of the last run.
    """
    with Gradebook(graded) as book:
        found, submission = next(book.graded(student=student), None), book.handed_in(student)
        exam, secret = book.exam(), book.secret()
    if found is None:
        raise Problem(f"there is no {student!r} in {book.path}")
    if (before := found.report) is None:
        raise Problem(f"nothing of {student!r} was graded")
    if exam.suite == "hidden" and secret is not None:
        need_torch()
        seed = found.round or 0
        exam = replace(exam, seed=seed, key=derive_key(secret, seed))
    kit, exam = exam.kit, replace(exam, kit=kit_digest())
    unread = {step.step: step.message for step in before.steps if not step.gradable}
    submission = replace(submission, refused=unread)
    printer, name = Printer(), one_line(student, 60)
    printer.line(f"nopeek: {exam.suite} checks on the work of {name}, as graded\n", "bold")
    try:
        judge.probe_isolation(exam.isolation)
        outcome = judge.grade_submission(exam, submission)
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
    is_same = verdicts_of(found) == verdicts_of(replace(found, report=report))
    points = f"{before.score:g} of {before.max_score:g} points"
    other = f"This is not what was graded: it was {points} then."
    click.echo(f"\nThis is what was graded: {points}." if is_same else f"\n{other}")
    if kit != exam.kit:
        click.echo("The kit has changed since; grade the class again to see whose points change.")
    write_report(report, json_file, html_file)
    sys.exit(0 if is_same else 1)
