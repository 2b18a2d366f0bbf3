"""Say whose points or verdicts have changed since the pages were last written, and why."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from grader.classroom.gradebook import Gradebook
from grader.report.records import Change, Grade, Graded

BY_HAND = "changed by hand"
TAKEN_BACK = "a change by hand was taken back"
OTHER_RULES = "the assignment file or the class list changed"
SHOWN = "shown"  # the note of the gradebook on the points that were shown last
# Between two runs in which the work is the same.
REASONS = {
    "kit": "the kit changed",
    "suite": "another suite",
    "steps": "other steps are graded",
    "isolation": "graded under another isolation",
}


def note_points(book: Gradebook, run: int, class_: Iterable[Graded]) -> None:
    """Note the points that are shown now, with the changes by hand, for the next run."""
    points = {
        one.student: (one.score, one.max_score, one.grade.by_hand if one.grade else ())
        for one in class_
    }
    book.note(SHOWN, [run, points])


def list_changes(book: Gradebook, run: int, class_: Iterable[Graded]) -> Iterator[Change]:
    """Yield everybody whose published points or verdicts differ from the present ones.

    class_: the run, with grades. On a platform students choose their names, so the number there
    tells who somebody was before.
    """
    if (shown := book.recall(SHOWN)) is None:
        return
    earlier, points = shown
    old = {one.student: one for one in book.people(earlier)}
    here = {one.student: one.who for one in book.people(run)}
    renamed = {
        (one.who.platform, one.who.number): one
        for one in old.values()
        if one.who.number and one.student not in here
    }
    for graded in class_:
        who = here[graded.student]
        was = old.get(graded.student) or renamed.get((who.platform, who.number))
        if was is None:
            continue
        score, most, notes = points.get(was.student, (None, None, ()))
        before = replace(graded, student=was.student, who=was.who, grade=Grade(score, most or 0.0))
        after = graded
        if (was.key, was.who.absent) != (graded.key, graded.who.absent):
            before = replace(before, report=book.report(was.key))
            after = replace(after, report=book.report(graded.key))
        by_hand = graded.grade.by_hand if graded.grade else ()
        if verdicts_of(before) != verdicts_of(after):
            new_notes = explain(notes, by_hand, "", "")
            why = _explain_hand_in(was, graded) or _compare_runs(book, earlier, run)
            yield Change(graded.student, before, after, "; ".join(filter(None, [why, new_notes])))
        elif (score, most) != (graded.score, graded.max_score):
            yield Change(graded.student, before, after, explain(notes, by_hand))


def verdicts_of(graded: Graded) -> Any:
    """Return the parts of a report that count as a change: points and statuses, not wording."""
    if graded.report is None:
        return graded.who.absent
    return [(c.check, c.status, c.points) for step in graded.report.steps for c in step.checks]


def _explain_hand_in(was: Graded, now: Graded) -> str:
    """Return how the work itself changed, or "" if it is the same."""
    if now.who.absent:
        return now.who.absent
    if was.who.absent:
        return "handed in"
    if now.key is None:
        return f"not gradable any more: {now.reason}"
    return "handed in again" if was.sha256 != now.sha256 else ""


def _compare_runs(book: Gradebook, one: int, other: int) -> str:
    """Return the difference between two runs in which the work is the same."""
    before, after = book.exam(one), book.exam(other)
    found = [why for name, why in REASONS.items() if getattr(before, name) != getattr(after, name)]
    return " and ".join(found) or "the same work was read differently"


def explain(
    before: Sequence[str],
    now: Sequence[str],
    taken_back: str = TAKEN_BACK,
    other: str = OTHER_RULES,
) -> str:
    """Return why the points differ, from the changes by hand before and now."""
    if new := [note for note in now if note not in before]:
        return f"{BY_HAND}: {' '.join(new)}"
    return taken_back if any(note not in now for note in before) else other
