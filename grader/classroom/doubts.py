"""Name changes by hand that may be mistakes: above the maximum, or older than the work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from grader.classroom.lateness import read_moment
from grader.classroom.matching import Matching, last_of_each
from grader.classroom.tables import Override
from grader.report.records import Change, Graded

AGAIN = "handed in again"  # why a result has changed


def list_doubtful(
    rules: Matching, class_: Iterable[Graded], changes: Sequence[Change] = ()
) -> Iterator[str]:
    """Yield a sentence on each change above the maximum, or older than the newest work.

    class_: with the reports, which are read only if there are changes by hand. changes: the results
    that this run has changed.
    """
    again = {one.student for one in changes if one.because.startswith(AGAIN)}
    for graded in class_ if any(one.is_grade for one in rules.overrides) else ():
        known = rules.answer.complete(graded)
        for one in last_of_each(rules.list_changes(graded)):
            what = f"overrides, row {one.row}"
            most = _find_maximum(rules, graded, one.target)
            if one.points is not None and most is not None and one.points > most:
                given = f"{one.points:g} points for {graded.student}"
                yield f"{what}: {given} are more than the {most:g} possible."
            if one.is_grade and (graded.student in again or is_older(one, known.who.submitted)):
                yield f"{what}, is older than {graded.student}'s newest work: is it still right?"


def _find_maximum(rules: Matching, graded: Graded, target: str) -> float | None:
    steps = graded.report.steps if graded.report else ()
    if not target:
        return rules.course.points or (graded.report.max_score if graded.report else None)
    found = {step.step: step.max_points for step in steps}
    found |= {check.check: check.max_points for step in steps for check in step.checks}
    return found.get(target)


def is_older(change: Override, submitted: str) -> bool:
    """Return whether a change was made before the work came, as far as both times can be read.

    A day alone is older only if the work came on a later one.
    """
    came = read_moment(submitted)
    try:
        made = datetime.fromisoformat(change.when)
    except ValueError:
        return False
    if came is None or (made.tzinfo and made >= came):
        return False
    return bool(made.tzinfo) or made.date() < came.date()
