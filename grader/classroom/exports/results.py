"""Write results for programs: JSON for Gradescope, PrairieLearn and Classroom 50; JUnit XML."""

import json
import math
import re
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from grader.classroom.exports.grades import Options
from grader.report.records import CheckVerdict, Graded, Status, StepVerdict
from grader.report.sanitize import one_line, visible

_SHOWN = {"output_format": "text", "visibility": "visible", "stdout_visibility": "hidden"}
SCHEMA = "classroom50/result/v1"
VARIABLES = {
    "classroom": "CLASSROOM",
    "assignment": "ASSIGNMENT",
    "assignment_type": "ASSIGNMENT_TYPE",
    "submission": "SUBMISSION_TAG",
    "commit": "COMMIT_URL",
    "release": "RELEASE_URL",
    "review": "REVIEW_URL",
}
ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
WRONG = {Status.FAILED: "failure", Status.NOT_ATTEMPTED: "failure", Status.SKIPPED: "skipped"}


def _write(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=1) + "\n"


def _checks(graded: Graded) -> Iterator[tuple[StepVerdict, CheckVerdict, str]]:
    """Yield every check with its step and a number, such as `3.1`."""
    for place, step in enumerate(graded.steps, start=1):
        for number, check in enumerate(step.checks, start=1):
            yield step, check, f"{step.number or place}.{number}"


def explain_check(check: CheckVerdict) -> str:
    """Return the fault of a check, its known cause and the hint; nothing if it passed."""
    parts = [check.message]
    if check.diagnosis is not None:
        parts += [check.diagnosis.says, f"Hint: {check.diagnosis.hint}"]
    return visible("\n".join(part for part in parts if part))


def results(graded: Graded) -> dict[str, Any]:
    """Return the results of a submission with a score as a Gradescope autograder's JSON data."""
    of = f" ({graded.report.suite} checks)" if graded.report else ""
    lines = [f"{graded.score or 0:g} of {graded.max_score or 0:g} points{of}."]
    lines += [*([graded.reason] if graded.reason else []), *graded.notes]
    lines += [f"{step.title}: {step.message}" for step in graded.steps if step.message]
    return {
        "score": graded.score,
        "execution_time": round(graded.seconds),
        "output": visible("\n".join([*lines, *graded.warnings])),
        **_SHOWN,
        "tests": [
            {
                "score": check.points,
                "max_score": check.max_points,
                "status": "passed" if check.status is Status.PASSED else "failed",
                "name": f"{step.title}: {check.title}",
                "number": number,
                "output": explain_check(check),
                "output_format": "text",
                "tags": [check.check, check.function],
                "visibility": "visible",
            }
            for step, check, number in _checks(graded)
        ],
    }


def failure(reason: str) -> dict[str, Any]:
    """Return empty results: no points, and the reason."""
    return {"score": 0.0, "output": visible(reason), **_SHOWN, "tests": []}


def gradescope(graded: Graded, options: Options) -> str | None:
    """Return one student's file, or None for a student without a score."""
    return _write(results(graded)) if graded.score is not None else None


def prairielearn(graded: Graded, options: Options) -> str:
    """Return one student's file; a submission that is not gradable costs no attempt."""
    score, most = graded.score, graded.max_score or 0.0
    if score is None:
        reason = one_line(" ".join(filter(None, [graded.reason, *graded.notes])))
        return _write(
            {"gradable": False, "score": 0.0, "message": reason, "output": "", "tests": []}
        )
    return _write(
        {
            "gradable": True,
            "score": min(1.0, max(0.0, score / most)) if most else 0.0,
            "message": f"{score:g} of {most:g} points.",
            "output": visible("\n".join([*graded.notes, *graded.warnings])),
            "tests": [
                {
                    "name": f"{step.title}: {check.title}",
                    "points": check.points,
                    "max_points": check.max_points,
                    "message": explain_check(check),
                    "output": "",
                }
                for step, check, _ in _checks(graded)
            ],
        }
    )


def classroom50(graded: Graded, options: Options) -> str | None:
    """Return one student's file, or None for a student without a score.

    Points there are whole: all are multiplied by the number that makes them so, and none is more
    than was earned. Points by hand need no report, if it is known what the assignment is worth.
    """
    score, worth = graded.score, graded.max_score
    if score is None or not (graded.report or worth):
        return None
    found = [(step, check) for step, check, _ in _checks(graded)]
    # Nothing is worth less than a hundredth of a point.
    exact = (Fraction(check.max_points).limit_denominator(100) for _, check in found)
    unit = math.lcm(*(one.denominator for one in exact))
    tests: list[dict[str, Any]] = [
        {
            "test-name": f"{step.step}.{check.check}",
            "passed": check.status is Status.PASSED,
            "score": math.floor(check.points * unit + 1e-6),
            "max-score": math.floor(check.max_points * unit + 1e-6),
        }
        for step, check in found
    ]
    most = sum(test["max-score"] for test in tests) or math.ceil(worth or 0)
    earned = sum(test["score"] for test in tests)
    if graded.grade is not None and worth:
        share = most / worth
        earned = math.floor(score * share + 1e-6 * (1 + share))  # the score has six decimals
    return _write(
        {
            "schema": SCHEMA,
            **{name: options.environment.get(key, "") for name, key in VARIABLES.items()},
            "owner": one_line(graded.student),
            "datetime": options.graded_at,
            "graded_at": options.graded_at,
            "score": earned,
            "max-score": most,
            "tests": tests,
        }
    )


def legal(text: str) -> str:
    """Return the text without the characters that XML 1.0 forbids even as references."""
    return ILLEGAL.sub("", text)


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
    """Return a student's suite. A crash, a time-out or too much memory is an error."""
    suite = Element("testsuite", name=legal(one_line(graded.student)))
    if told := _properties(graded):
        properties = SubElement(suite, "properties")
        for name, value in told.items():
            SubElement(properties, "property", name=name, value=legal(value))
    for step, check, _ in _checks(graded):
        case = SubElement(suite, "testcase", classname=step.step, name=check.check, time="0")
        if check.status is not Status.PASSED:
            kind, title = WRONG.get(check.status, "error"), legal(check.title)
            found = SubElement(case, kind, message=title, type=check.status.value)
            found.text = legal(explain_check(check))
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
