"""Turn a report into the grade that a student sees: weights, lateness, and changes by hand.

The order is: the points of checks and steps, with changes by hand; excused or dropped steps;
weights; the scale of the assignment; lateness; and last a change of the whole grade.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from grader.classroom.course import Course, CourseError, course_from_dict
from grader.classroom.lateness import find_lateness
from grader.classroom.matches import MATCHES, read_matches
from grader.classroom.matching import Matching, last_of_each
from grader.classroom.people import person_from_dict
from grader.classroom.tables import Override, read_overrides
from grader.report.records import Grade, Graded, Status, StepVerdict
from grader.steps.registry import Registry

OVERRIDES = "overrides.csv"


@dataclass
class _Notes:
    """The notes that a student reads about a grade. by_hand: the notes on changes by hand."""

    all: list[str] = field(default_factory=list)
    by_hand: list[str] = field(default_factory=list)

    def change(self, text: str, one: Override, before: float | None = None) -> None:
        """Note a change by hand, with its author. before: the points, if there were some."""
        other = before is not None and before != one.points
        instead = f" instead of {before:g}" if other else ""
        self.all.append(f"{text}{instead}{_why(one)}")
        self.by_hand.append(self.all[-1])

    def to_grade(self, score: float | None, worth: float, **more: Any) -> Grade:
        """Return the grade with these notes."""
        notes, by_hand = tuple(self.all), tuple(self.by_hand)
        return Grade(score, worth, notes=notes, by_hand=by_hand, **more)


@dataclass(frozen=True)
class Rules(Matching):
    """The rules that turn reports into grades: assignment, class list, and changes by hand.

    worth: the points of each graded step, for students without a report.
    """

    worth: Mapping[str, float] = field(default_factory=dict)

    def apply(self, class_: Iterable[Graded]) -> Iterator[Graded]:
        """Yield the class with everybody's grade. `settle` has told whose work it is."""
        for graded in class_:
            known = self.answer.complete(graded)
            yield replace(known, grade=self._grade(known))

    def _grade(self, graded: Graded) -> Grade | None:
        mine = last_of_each(self.list_changes(graded))
        steps = graded.report.steps if graded.report else ()
        if self.course == Course() and not mine and all(step.gradable for step in steps):
            return None  # the report has no more to add
        comments = [f"{_name_comment(one, steps)}{_why(one)}" for one in mine if not one.is_grade]
        final = next((one for one in mine if one.is_grade and not one.target), None)
        most = self.course.points or 0.0
        if final is not None and final.excuse:
            notes = _Notes(comments)
            notes.change("Excused", final)
            return notes.to_grade(None, most, excused=True)
        notes = _Notes()
        points, open_ = _count_steps(steps, mine, notes)
        notes.all += comments
        if final is None and self._is_excused_from_all(steps, points):
            return notes.to_grade(None, most, excused=True)
        score, raw, late = None, None, ""
        worth = most or (self._worth_of_all() if final else 0.0)
        if graded.report is not None:
            raw, worth = self._add(steps, points, notes.all)
            found = find_lateness(self.course, graded.who, self.list_extensions(graded))
            score, late = raw * found.left / 100.0, found.told
            notes.all += [*found.notes, *(() if final else found.list_deductions(raw))]
        if open_:
            score = raw = None
            titles = ", ".join(step.title for step in open_)
            reasons = dict.fromkeys(step.message for step in open_ if step.message)
            why = f"{titles} could not be graded, so there is no score yet."
            notes.all.append(" ".join([why, *reasons]))
        if final is not None:
            notes.change(f"Points set to {final.points:g}", final, score)
            score = raw = final.points
        score = None if score is None else round(score, 6)
        known = {id: points[id] for id in points if id not in {step.step for step in open_}}
        return notes.to_grade(score, worth, steps=known, late=late, raw=raw)

    def _is_excused_from_all(
        self, steps: Sequence[StepVerdict], points: Mapping[str, float]
    ) -> bool:
        """Return whether no step is left that counts, so that a score would be 0 of nothing.

        points: those of all steps but the excused ones.
        """
        counted = {step.step for step in steps if self._counts(step.step, step.max_points)}
        return bool(counted) and counted.isdisjoint(points)

    def _worth_of_all(self) -> float:
        """Return the points of the assignment for a student with 0 points in each step."""
        steps = [StepVerdict(id, "", Status.FAILED, 0.0, m, ()) for id, m in self.worth.items()]
        return self._add(steps, dict.fromkeys(self.worth, 0.0), [])[1]

    def _counts(self, step: str, most: float) -> bool:
        """Return whether a step with that maximum adds to the maximum of the assignment."""
        weighted = most * self.course.weights.get(step, 1.0)
        return weighted > 0 and step not in self.course.extra_credit

    def _add(
        self, steps: Sequence[StepVerdict], points: Mapping[str, float], notes: list[str]
    ) -> tuple[float, float]:
        """Return the score and its maximum, with weights and scale applied."""
        course = self.course
        weight = {step.step: course.weights.get(step.step, 1.0) for step in steps}
        earned = {id: points[id] * weight[id] for id in points}
        worth = {
            step.step: step.max_points * weight[step.step]
            for step in steps
            if step.step in points and self._counts(step.step, step.max_points)
        }
        dropped = _choose_dropped(earned, worth, course.drop)
        if titles := [step.title for step in steps if step.step in dropped]:
            notes.append(f"Dropped, because the percentage is highest so: {', '.join(titles)}.")
        score = sum(earned[id] for id in earned if id not in dropped)
        most = sum(worth[id] for id in worth if id not in dropped)
        if course.points is not None and most:
            return score * course.points / most, course.points
        return score, course.points or most


def _choose_dropped(
    earned: Mapping[str, float], worth: Mapping[str, float], count: int
) -> frozenset[str]:
    """Return the steps without which the percentage is highest; of equal ones, those worth least.

    earned: the points of all steps, extra credit too. worth: the maximum of those that count.
    """
    # Dinkelbach's method: leave out what earns least beyond the share so far, until it stays so.
    share, dropped = 0.0, frozenset[str]()
    for _ in range(2 * len(worth)):
        order = sorted(worth, key=lambda id: (round(earned[id] - share * worth[id], 9), worth[id]))
        chosen = frozenset(order[: min(count, len(worth) - 1)])
        if chosen == dropped:
            break
        dropped = chosen
        points = sum(earned[id] for id in earned if id not in dropped)
        share = points / sum(worth[id] for id in worth if id not in dropped)
    return dropped


def _count_steps(
    steps: Sequence[StepVerdict], mine: Sequence[Override], notes: _Notes
) -> tuple[dict[str, float], list[StepVerdict]]:
    """Return the points of each step that is not excused, and the ungradable steps."""
    points: dict[str, float] = {}
    open_: list[StepVerdict] = []
    for step in steps:
        earned = sum(check.points for check in step.checks) if step.checks else step.points
        checks = {check.check: check for check in step.checks}
        changes = [one for one in mine if one.is_grade and one.target in (step.step, *checks)]
        for one in sorted(changes, key=lambda one: one.target == step.step):
            before = earned if step.gradable else None
            if one.excuse:
                notes.change(f"{step.title}: excused", one)
            elif one.target == step.step and one.points is not None:
                notes.change(f"{step.title}: {one.points:g}", one, before)
                earned = one.points
            elif one.points is not None:
                check = checks[one.target]
                notes.change(f'"{check.title}": {one.points:g}', one, check.points)
                earned += one.points - check.points
        if not step.gradable and not changes:
            open_.append(step)
        if not any(one.excuse for one in changes):
            points[step.step] = earned
    return points, open_


def _name_comment(one: Override, steps: Sequence[StepVerdict]) -> str:
    """Return the beginning of a comment: what it is on."""
    titles = {step.step: step.title for step in steps}
    titles |= {check.check: f'"{check.title}"' for step in steps for check in step.checks}
    line = f", line {one.line}" if one.line else ""
    return f"Comment on {titles.get(one.target, one.target)}{line}" if one.target else "Comment"


def _why(one: Override) -> str:
    """Return who made the change, when and why, as the end of a sentence."""
    if not one.comment:
        return f" ({one.signed})."
    stop = "" if one.comment.endswith((".", "!", "?", "…")) else "."
    return f" ({one.signed}): {one.comment}{stop}"


def overrides_in(kept: Mapping[str, Any], out: Path) -> Path:
    """Return the file of changes by hand. kept: the rules that the gradebook in out keeps.

    It is beside the grades unless the assignment file names another. Since the class was graded,
    somebody may have moved or copied the results, or the assignment file with them. Raise
    CourseError if the file that was named is lost.
    """
    if not kept.get("course", {}).get("overrides"):
        return out / OVERRIDES
    named = Path(kept["overrides"])
    places = [named]
    if "overrides_from_here" in kept:  # not on another drive of Windows
        places.insert(0, out / kept["overrides_from_here"])
    for place in places:
        if place.is_file():
            return place
    if named.parent.is_dir():
        return named
    raise CourseError(
        f"the changes by hand were in {named}, which is gone: grade again, with the assignment file"
    )


def rules_of(kept: Mapping[str, Any], registry: Registry, out: Path) -> Rules:
    """Return the rules under which a run was graded, with the present changes by hand.

    out: the folder of the results.
    """
    return Rules(
        course_from_dict(kept.get("course", {})),
        read_overrides(overrides_in(kept, out), registry),
        tuple(person_from_dict(one) for one in kept.get("roster", ())),
        kept.get("worth", {}),
        by_hand=read_matches(out / MATCHES),
    )
