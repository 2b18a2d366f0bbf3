"""Write JUnit XML (xunit2): one suite for each student, one case for each check."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from xml.etree.ElementTree import Element, SubElement, tostring

from grader.classroom.exports.explanation import explain_check
from grader.classroom.exports.options import Options
from grader.report.records import CheckVerdict, Graded, Report, Status
from grader.report.sanitize import one_line

ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
WRONG = {Status.FAILED: "failure", Status.NOT_ATTEMPTED: "failure", Status.SKIPPED: "skipped"}


def legal(text: str) -> str:
    """Return the text without the characters that XML 1.0 forbids even as references."""
    return ILLEGAL.sub("", text)


def _case(suite: Element, step: str, check: CheckVerdict) -> None:
    """Add a wrong answer as a failure; a crash, a time-out or too much memory as an error."""
    case = SubElement(suite, "testcase", classname=step, name=check.check, time="0")
    if check.status is Status.PASSED:
        return
    kind = WRONG.get(check.status, "error")
    found = SubElement(case, kind, message=legal(check.title), type=check.status.value)
    found.text = legal(explain_check(check))


def _properties(suite: Element, values: dict[str, str]) -> None:
    properties = SubElement(suite, "properties")
    for name, value in values.items():
        SubElement(properties, "property", name=name, value=legal(value))


def _grade(graded: Graded) -> dict[str, str]:
    """Return the properties of a grade, which may be by hand, without a report."""
    earned, most = graded.score, graded.max_score
    score = {"score": "" if earned is None else f"{earned:g}", "max_score": f"{most or 0:g}"}
    notes = {"changes": one_line(" ".join(graded.grade.notes))} if graded.grade else {}
    return {**score, **notes}


def _add_graded(suite: Element, graded: Graded, report: Report) -> None:
    points = {f"points.{step.step}": f"{step.points:g}" for step in report.steps}
    ran = {"suite": report.suite, "isolation": report.isolation}
    _properties(suite, {**_grade(graded), **points, **ran, "sha256": report.sha256})
    for step in report.steps:
        for check in step.checks:
            _case(suite, step.step, check)


def _add_not_graded(suite: Element, graded: Graded) -> None:
    if graded.grade is not None:
        _properties(suite, _grade(graded))
    case = SubElement(suite, "testcase", classname="submission", name="gradable", time="0")
    SubElement(case, "error", message=legal(one_line(graded.reason)), type="not_gradable")


def _suite(graded: Graded) -> Element:
    suite = Element("testsuite", name=legal(one_line(graded.student)))
    if graded.report is None:
        _add_not_graded(suite, graded)
    else:
        _add_graded(suite, graded, graded.report)
    count = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
    for name, tag in count.items():
        suite.set(name, str(sum(1 for _ in suite.iter(tag))))
    suite.set("time", f"{graded.seconds:.3f}")
    return suite


def junit(class_: Iterable[Graded], options: Options) -> Iterator[str]:
    """Yield the file, one suite at a time."""
    yield '<?xml version="1.0" encoding="utf-8"?>\n<testsuites name="nopeek">\n'
    for graded in class_:
        yield tostring(_suite(graded), encoding="unicode") + "\n"
    yield "</testsuites>\n"
