"""Say whose points or verdicts have changed since the pages were last written, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from grader.classroom.gradebook import Gradebook, Mark
from grader.report.records import Change, Grade, Graded

BY_HAND = "changed by hand"
TAKEN_BACK = "a change by hand was taken back"
OTHER_RULES = "the assignment file or the class list changed"


def list_changes(book: Gradebook, run: int, class_: Iterable[Graded]) -> Iterator[Change]:
    """Yield everybody whose published points or verdicts differ from the present ones.

    class_: the run, with grades. On a platform students choose their names, so the number there
    tells who somebody was before.
    """
    earlier = book.told()
    if earlier is None:
        return
    old, new, published = book.marks(earlier), book.marks(run), book.published()
    renamed = {
        (mark.who.platform, mark.who.number): mark
        for mark in old.values()
        if mark.who.number and mark.student not in new
    }
    for graded in class_:
        mark = new[graded.student]
        was = old.get(mark.student) or renamed.get((mark.who.platform, mark.who.number))
        if was is None:
            continue
        score, most, notes = published.get(was.student, (None, None, ""))
        before = replace(graded, student=was.student, who=was.who, grade=Grade(score, most or 0.0))
        after = graded
        if (was.key, was.who.absent) != (mark.key, mark.who.absent):
            before = replace(before, report=book.report(was.key))
            after = replace(after, report=book.report(mark.key))
        by_hand = graded.grade.by_hand if graded.grade else ()
        if verdicts_of(before) != verdicts_of(after):
            new_notes = explain(notes, by_hand, "", "")
            why = _explain_hand_in(was, mark) or book.compare_runs(earlier, run)
            yield Change(graded.student, before, after, "; ".join(filter(None, [why, new_notes])))
        elif (score, most) != (graded.score, graded.max_score):
            yield Change(graded.student, before, after, explain(notes, by_hand))


def verdicts_of(graded: Graded) -> Any:
    """Return the parts of a report that count as a change: points and statuses, not wording."""
    if graded.report is None:
        return graded.who.absent
    return [(c.check, c.status, c.points) for step in graded.report.steps for c in step.checks]


def _explain_hand_in(was: Mark, now: Mark) -> str:
    """Return how the work itself changed, or "" if it is the same."""
    if now.who.absent:
        return now.who.absent
    if was.who.absent:
        return "handed in"
    if now.key is None:
        return f"not gradable any more: {now.reason}"
    return "handed in again" if was.sha256 != now.sha256 else ""


def explain(
    before: str, now: Sequence[str], taken_back: str = TAKEN_BACK, other: str = OTHER_RULES
) -> str:
    """Return why the points differ, from the changes by hand and the old ones, one a line."""
    if new := [note for note in now if note not in before.split("\n")]:
        return f"{BY_HAND}: {' '.join(new)}"
    return taken_back if before and any(note not in now for note in before.split("\n")) else other
