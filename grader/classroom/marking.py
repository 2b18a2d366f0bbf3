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
from grader.classroom.lateness import take_off
from grader.classroom.matches import MATCHES, read_matches
from grader.classroom.matching import Matching, last_of_each
from grader.classroom.people import person_from_dict
from grader.classroom.tables import Override, read_overrides
from grader.report.records import Grade, Graded, StepVerdict
from grader.steps.registry import Registry

OVERRIDES = "overrides.csv"


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
        notes = [
            f"Comment{_why(one)}"
            for one in mine
            if one.comment and one.points is None and not one.excuse
        ]
        whole = [one for one in mine if not one.target and (one.points is not None or one.excuse)]
        if any(one.excuse for one in whole):
            notes += [f"Excused{_why(one)}" for one in whole]
            return Grade(None, self.course.points or 0.0, {}, tuple(notes), excused=True)
        steps = graded.report.steps if graded.report else ()
        fine = all(step.gradable for step in steps)
        if self.course == Course() and not mine and fine:
            return None  # the report has no more to add
        points, most, told, open_ = self._steps(graded, mine)
        notes = told + notes
        if not whole and self._is_excused_from_all(steps, points):
            return Grade(None, self.course.points or 0.0, {}, tuple(notes), excused=True)
        score: float | None = None
        raw: float | None = None
        late = ""
        if graded.report is not None:
            score, worth = self._add(graded.report.steps, points, most, mine, notes)
            raw = score
            extensions = self.list_extensions(graded)
            course = self.course
            if whole and course.late is not None:  # from final points nothing is taken off
                course = replace(course, late=replace(course.late, percent_per_day=0.0))
            score, late = take_off(course, graded.who, extensions, score, notes)
        else:
            worth = self.course.points or (self._worth_of_all() if whole else 0.0)
        if open_:
            score = raw = None
            titles = ", ".join(step.title for step in open_)
            reasons = dict.fromkeys(step.message for step in open_ if step.message)
            notes.append(" ".join([f"No score yet: {titles} could not be graded.", *reasons]))
        for one in whole:
            before = "no score" if score is None else f"{score:g}"
            score = raw = one.points
            notes.append(f"Points set to {one.points:g} instead of {before}{_why(one)}")
        if score is not None:
            score = round(score, 6)
        return Grade(score, worth, points, tuple(notes), late=late, raw=raw)

    def _steps(
        self, graded: Graded, mine: Sequence[Override]
    ) -> tuple[dict[str, float], dict[str, float], list[str], list[StepVerdict]]:
        """Return each step's points and maximum, the changes, and the ungradable steps."""
        points: dict[str, float] = {}
        most: dict[str, float] = {}
        notes: list[str] = []
        open_: list[StepVerdict] = []
        for step in graded.report.steps if graded.report else ():
            earned = sum(check.points for check in step.checks) if step.checks else step.points
            changed = False
            for one in mine:
                check = next((c for c in step.checks if c.check == one.target), None)
                if check is not None and one.points is not None:
                    earned += one.points - check.points
                    changed = True
                    notes.append(
                        f'"{check.title}": {one.points:g} instead of {check.points:g}{_why(one)}'
                    )
            for one in mine:
                if one.target == step.step and one.points is not None:
                    notes.append(f"{step.title}: {one.points:g} instead of {earned:g}{_why(one)}")
                    earned, changed = one.points, True
                elif one.target == step.step and one.excuse:
                    notes.append(f"{step.title}: excused{_why(one)}")
                    changed = True
            if not step.gradable and not changed:
                open_.append(step)
            if any(one.target == step.step and one.excuse for one in mine):
                continue
            points[step.step], most[step.step] = earned, step.max_points
        return points, most, notes, open_

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
        return self._add((), dict.fromkeys(self.worth, 0.0), self.worth, (), [])[1]

    def _counts(self, step: str, most: float) -> bool:
        """Return whether a step with that maximum adds to the maximum of the assignment."""
        weighted = most * self.course.weights.get(step, 1.0)
        return weighted > 0 and step not in self.course.extra_credit

    def _add(
        self,
        steps: Sequence[StepVerdict],
        points: Mapping[str, float],
        most: Mapping[str, float],
        mine: Sequence[Override],
        notes: list[str],
    ) -> tuple[float, float]:
        """Return the score and its maximum, with weights and scale applied."""
        course = self.course
        weight = {id: course.weights.get(id, 1.0) for id in points}
        counted = [id for id in points if self._counts(id, most[id])]
        shares = sorted(counted, key=lambda id: points[id] / most[id])
        dropped = set(shares[: min(course.drop, max(0, len(counted) - 1))])
        for step in steps:
            if step.step in dropped:
                notes.append(f"{step.title} is dropped, as the lowest.")
        score = sum(points[id] * weight[id] for id in points if id not in dropped)
        worth = sum(most[id] * weight[id] for id in counted if id not in dropped)
        if course.points is not None and worth:
            return score * course.points / worth, course.points
        return score, course.points or worth


def is_by_hand(note: str) -> bool:
    """Return whether a note on a grade is about a change by hand."""
    if note.startswith(("Comment (", "No score yet: ")):
        return False  # the words in them are other people's
    return " instead of " in note or note.startswith("Excused") or ": excused" in note


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
    if "overrides_from_here" in kept:  # gradebooks of earlier versions do not have it
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
