"""Write changes.csv: whose result has changed, why, and in which checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from grader.classroom.exports.spreadsheet import number, protect_cell, row
from grader.report.records import Change, Graded

HEADER = ("student_id", "before", "after", "because", "checks")


def _statuses(graded: Graded) -> dict[str, str]:
    steps = graded.report.steps if graded.report else ()
    return {check.check: check.status.value for step in steps for check in step.checks}


def list_moves(change: Change) -> list[str]:
    """Return `scores_agree: failed -> passed` for every check that ended differently."""
    before, after = _statuses(change.before), _statuses(change.after)
    return [
        f"{check}: {before.get(check, 'absent')} -> {after.get(check, 'absent')}"
        for check in {**before, **after}
        if before.get(check) != after.get(check)
    ]


def changes(found: Iterable[Change]) -> Iterator[str]:
    """Yield the file, one line at a time."""
    yield row(HEADER)
    for change in found:
        scores = (graded.score for graded in (change.before, change.after))
        yield row(
            [
                protect_cell(change.student),
                *map(number, scores),
                protect_cell(change.because),
                protect_cell("; ".join(list_moves(change)), 10_000),
            ]
        )
