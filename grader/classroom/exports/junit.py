"""Write JUnit XML (xunit2): one suite for each student, one case for each check."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from xml.etree.ElementTree import Element, SubElement, tostring

from grader.classroom.exports.explanation import explain_check
from grader.classroom.exports.options import Options
from grader.report.records import CheckVerdict, Graded, Status
from grader.report.sanitize import one_line

ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
WRONG = {Status.FAILED: "failure", Status.NOT_ATTEMPTED: "failure", Status.SKIPPED: "skipped"}


def legal(text: str) -> str:
    """Return the text without the characters that XML 1.0 forbids even as references."""
    return ILLEGAL.sub("", text)


def _add_check(suite: Element, step: str, check: CheckVerdict) -> None:
    """Add a wrong answer as a failure; a crash, a time-out or too much memory as an error."""
    case = SubElement(suite, "testcase", classname=step, name=check.check, time="0")
    if check.status is not Status.PASSED:
        kind, title = WRONG.get(check.status, "error"), legal(check.title)
        found = SubElement(case, kind, message=title, type=check.status.value)
        found.text = legal(explain_check(check))


def _properties(graded: Graded) -> dict[str, str]:
    """Return the properties of a grade, which may be by hand, without a report."""
    earned, report, found = graded.score, graded.report, {}
    if report or graded.grade:
        found = {"score": "" if earned is None else f"{earned:g}"}
        found["max_score"] = f"{graded.max_score or 0:g}"
    if graded.grade:
        found["changes"] = one_line(" ".join(graded.notes))
    if report:
        found |= {f"points.{step.step}": f"{step.points:g}" for step in report.steps}
        found |= {"suite": report.suite, "isolation": report.isolation, "sha256": report.sha256}
    return found


def _suite(graded: Graded) -> Element:
    suite = Element("testsuite", name=legal(one_line(graded.student)))
    if found := _properties(graded):
        properties = SubElement(suite, "properties")
        for name, value in found.items():
            SubElement(properties, "property", name=name, value=legal(value))
    for step in graded.steps:
        for check in step.checks:
            _add_check(suite, step.step, check)
    if graded.report is None:
        case = SubElement(suite, "testcase", classname="submission", name="gradable", time="0")
        SubElement(case, "error", message=legal(one_line(graded.reason)), type="not_gradable")
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
