"""Graded students, right, wrong and hostile, for the tests of what class grading writes."""

from dataclasses import replace

from grader.classroom.exports.gradebooks import into_gradebook
from grader.classroom.exports.grades import Options
from grader.classroom.judge import Outcome
from grader.classroom.overrides import Override
from grader.classroom.people import resolve
from grader.report.records import CheckVerdict, Diagnosis, Graded, Report, Status, StepVerdict

HOSTILE = {
    "formula": "=cmd|' /C calc'!A0",
    "formula after spaces": "  =1+1",
    "plus": "+1",
    "minus": "-2+3",
    "at": "@SUM(A1)",
    "tab": "\t=1+1",
    "element": "<script>alert(1)</script>",
    "attribute": '" onfocus="alert(1)',
    "newline": "two\nlines",
    "carriage return": "two\r\nlines",
    "null": "a\0b",
    "surrogate": "a\ud800b",
    "no character": "a\ufffeb",
    "long": "x" * 300,
    "turned round": "\u05d0\u05d1\u202eevil",
    "upwards": "../../x",
    "comma and quote": 'a,"b',
    "template": "{{ 7 * 7 }}",
    "device": "con",
    "nothing": "",
}
COLUMNS = ("step02_scores", "step03_mask")
SAYS = "The scores are not divided by √d_k."


def check(name="scores_agree", status=Status.PASSED, points=2.0, **more):
    earned = points if status is Status.PASSED else 0.0
    fields = {"function": "attention_scores", "title": f"The rule of {name}.", **more}
    return CheckVerdict(name, status=status, points=earned, max_points=points, **fields)


def step(*checks, name="step02_scores", title="Scaled scores", status=Status.FAILED):
    earned, most = (sum(getattr(c, of) for c in checks) for of in ("points", "max_points"))
    return StepVerdict(name, title, status, earned, most, checks)


def report(*steps, student="alice", **more):
    fields = {"suite": "hidden", "seed": 7, "isolation": "bubblewrap", **more}
    return Report(student, "ab" * 32, steps=steps, **fields)


def unscaled(**more):
    """A check that failed because of a known mistake."""
    return check(
        status=Status.FAILED,
        message="All 4 values are wrong.",
        diagnosis=Diagnosis("score_no_scale", "Look at the length.", SAYS),
        **more,
    )


def wrong(student="bob", **more):
    """Half of 10 points: one of two steps passed."""
    first = step(unscaled(points=5.0))
    mask = check("causal_agree", points=5.0, function="causal_mask")
    second = step(mask, name="step03_mask", title="Masks", status=Status.PASSED)
    return Graded(student, report(first, second, student=student), **{"seconds": 1.5, **more})


def right(student="alice", **more):
    """All of 10 points."""
    first = step(check(points=5.0), status=Status.PASSED)
    mask = check("causal_agree", points=5.0, function="causal_mask")
    second = step(mask, name="step03_mask", title="Masks", status=Status.PASSED)
    return Graded(student, report(first, second, student=student), **{"seconds": 0.5, **more})


def not_gradable(student="carol", reason="the zip holds more than 200 files", **more):
    return Graded(student, None, reason, **more)


def override(target="", points=None, student="bob", comment="", row=2, excuse=False):
    """A change by hand."""
    return Override(row, student, target, points, excuse, comment, "Tim", "today")


def kept(book, exam, class_, rules=None):
    """The number of a finished run with these students in it."""
    run = book.begin(exam, rules)
    for one in class_:
        key = ascii(one.student) if one.report else None
        if one.report:
            book.record(key, Outcome(one.report.to_json().encode(), "", one.seconds))
        book.mark(run, replace(one, key=key))
    book.finish(run)
    return run


def filled(platform, text, class_, answer=None, **options):
    """A platform's table with the scores of a class; without an answer the works are people."""
    options = Options(answer=answer or resolve(class_), **options)
    return into_gradebook(platform, text, class_, options)
