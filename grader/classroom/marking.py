"""Turn a report into the grade that a student sees: weights, lateness, and changes by hand.

The order is: the points of checks and steps, with changes by hand; excused or dropped steps;
weights; the scale of the assignment; lateness; and last a change of the whole grade.
"""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from grader.classroom.course import Course
from grader.classroom.lateness import find_lateness
from grader.classroom.overrides import Override, last_of_each, read_overrides
from grader.classroom.people import Directory, Owners, Person, resolve
from grader.classroom.tables import MATCHES, read_matches, work_key
from grader.intake.platform_names import TITLE_ENDS
from grader.report.problem import CourseError
from grader.report.records import Grade, Graded, StepVerdict, from_plain
from grader.steps.registry import load

OVERRIDES = "overrides.csv"


@dataclass(frozen=True)
class Rules:
    """The rules that turn reports into grades: assignment, class list, and changes by hand.

    worth: the points of each graded step, for students without a report. by_hand: the owners of
    works, as `matches.csv` has them. answer: whose each work of a class is; `settle` finds it.
    """

    course: Course
    overrides: Sequence[Override] = ()
    roster: Sequence[Person] = ()
    worth: Mapping[str, float] = field(default_factory=dict)
    by_hand: Mapping[str, Sequence[str]] = field(default_factory=dict, kw_only=True)
    answer: Owners = field(default_factory=lambda: resolve([]), kw_only=True)

    def settle(self, class_: Iterable[Graded]) -> "Rules":
        """Return the same rules, which know whose each work of this class is."""
        class_ = list(class_)
        ids = {one.student: self.by_hand.get(work_key(one.student), ()) for one in class_}
        return replace(self, answer=resolve(class_, self.roster, self.course.groups, ids))

    @cached_property
    def _list(self) -> Directory:
        return Directory(self.roster)

    def has_on_list(self, name: str) -> bool:
        """Return whether the instructor's own class list has somebody with that id.

        On a platform's list, students may have chosen their own names.
        """
        return any(not self.roster[place].who.platform for place in self._list.find_id(name))

    def has_number(self, platform: str, number: str) -> bool:
        """Return whether the class list has somebody with that number or login on that platform."""
        is_login = platform in TITLE_ENDS and bool(self._list.find_id(number))
        return is_login or self._list.has_number(platform, number)

    def find_works(self, text: str, *, of_members: bool) -> tuple[set[str], int]:
        """Return the works that an instructor's text is for, and how many people it means.

        It is for nobody's work unless it means one person. of_members: whether a member's name is
        for a team's work.
        """
        people, teams = self.answer.directory, self.answer.teams
        if places := people.find_called(text):
            owned = [student for student, own in self.answer.owners.items() if places[0] in own]
            works = {student for student in owned if of_members or student not in teams}
            return (works, len(works)) if len(places) == 1 else (set(), len(places))
        works = self._works[work_key(text)]
        return (works, 1) if len(works) == 1 else (set(), len(works))

    @cached_property
    def _works(self) -> Mapping[str, set[str]]:
        """Return works by their ids, which are those of one work even if others are called so."""
        ids: defaultdict[str, set[str]] = defaultdict(set)
        for one in self.answer.class_:
            for text in (one.student, self.answer.teams.get(one.student, one.student)):
                ids[work_key(text)].add(one.student)
        return ids

    @cached_property
    def changes(self) -> Mapping[str, Sequence[Override]]:
        """Return the changes by hand, by the work that each is for."""
        return self._by_work(((one.student, one) for one in self.overrides), of_members=False)

    @cached_property
    def extensions(self) -> Mapping[str, Sequence[str]]:
        """Return the extended deadlines of students and of teams' members, by their work."""
        return self._by_work(self.course.extensions.items(), of_members=True)

    def _by_work(
        self, named: Iterable[tuple[str, Any]], *, of_members: bool
    ) -> defaultdict[str, list[Any]]:
        found: defaultdict[str, list[Any]] = defaultdict(list)
        for name, value in named:
            for student in self.find_works(name, of_members=of_members)[0]:
                found[student].append(value)
        return found

    def apply(self, class_: Iterable[Graded]) -> Iterator[Graded]:
        """Yield the class with everybody's grade. `settle` has told whose work it is."""
        for graded in class_:
            known = self.answer.complete(graded)
            yield replace(known, grade=self._grade(known))

    def _grade(self, graded: Graded) -> Grade | None:
        mine, steps = last_of_each(self.changes[graded.student]), graded.steps
        if self.course == Course() and not mine and all(step.gradable for step in steps):
            return None  # the report has no more to add
        comments = [f"{_name_comment(one, steps)}{_why(one)}" for one in mine if not one.is_grade]
        final = next((one for one in mine if one.is_grade and not one.target), None)
        most = self.course.points or 0.0
        if final is not None and final.excuse:
            told = _say_change("Excused", final)
            return Grade(None, most, notes=(*comments, told), excused=True, by_hand=(told,))
        points, open_, by_hand = _count_steps(steps, mine)
        notes = [*by_hand, *comments]
        maxima = {step.step: step.max_points for step in steps}
        counted = {id for id in maxima if self._weigh(id, maxima[id])}
        if final is None and counted and counted.isdisjoint(points):  # else a 0 of nothing
            return Grade(None, most, notes=tuple(notes), excused=True, by_hand=tuple(by_hand))
        score, raw, late = None, None, ""
        worth = most or (self._add(self.worth, dict.fromkeys(self.worth, 0.0))[1] if final else 0.0)
        if graded.report is not None:
            raw, worth, dropped = self._add(maxima, points)
            if titles := [step.title for step in steps if step.step in dropped]:
                notes.append(f"Dropped, because the percentage is highest so: {', '.join(titles)}.")
            found = find_lateness(self.course, graded.who, self.extensions[graded.student])
            score, late = raw * found.left / 100.0, found.told
            notes += found.notes
            if found.left < 100.0 and final is None:
                notes.append(f"{found.told}: {100 - found.left:g} % are taken off {raw:g} points.")
        if open_:
            score = raw = None
            named = ", ".join(step.title for step in open_)
            reasons = dict.fromkeys(step.message for step in open_ if step.message)
            why = f"{named} could not be graded, so there is no score yet."
            notes.append(" ".join([why, *reasons]))
        if final is not None:
            by_hand.append(_say_change(f"Points set to {final.points:g}", final, score))
            notes.append(by_hand[-1])
            score = raw = final.points
        known = {id: points[id] for id in points if id not in {step.step for step in open_}}
        score = None if score is None else round(score, 6)
        return Grade(score, worth, known, tuple(notes), False, late, raw, tuple(by_hand))

    def _weigh(self, step: str, most: float) -> float:
        """Return what a step with that maximum adds to the maximum of the assignment."""
        weight = self.course.weights.get(step, 1.0)
        return 0.0 if step in self.course.extra_credit else most * weight

    def _add(
        self, maxima: Mapping[str, float], points: Mapping[str, float]
    ) -> tuple[float, float, frozenset[str]]:
        """Return the score and its maximum, with weights and scale applied, and dropped steps."""
        course = self.course
        earned = {id: points[id] * course.weights.get(id, 1.0) for id in points}
        worth = {id: most for id in points if (most := self._weigh(id, maxima[id]))}
        dropped = _choose_dropped(earned, worth, course.drop)
        score = sum(earned[id] for id in earned if id not in dropped)
        most = sum(worth[id] for id in worth if id not in dropped)
        if course.points is not None and most:
            return score * course.points / most, course.points, dropped
        return score, course.points or most, dropped


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
    steps: Sequence[StepVerdict], mine: Sequence[Override]
) -> tuple[dict[str, float], list[StepVerdict], list[str]]:
    """Return the points of each step that is not excused, the ungradable steps, and changes."""
    points: dict[str, float] = {}
    open_: list[StepVerdict] = []
    told: list[str] = []
    for step in steps:
        earned = sum(check.points for check in step.checks) if step.checks else step.points
        checks = {check.check: check for check in step.checks}
        changes = [one for one in mine if one.is_grade and one.target in (step.step, *checks)]
        for one in sorted(changes, key=lambda one: one.target == step.step):
            before = earned if step.gradable else None
            if one.excuse:
                told.append(_say_change(f"{step.title}: excused", one))
            elif one.target == step.step and one.points is not None:
                told.append(_say_change(f"{step.title}: {one.points:g}", one, before))
                earned = one.points
            elif one.points is not None:
                check = checks[one.target]
                told.append(_say_change(f'"{check.title}": {one.points:g}', one, check.points))
                earned += one.points - check.points
        if not step.gradable and not changes:
            open_.append(step)
        if not any(one.excuse for one in changes):
            points[step.step] = earned
    return points, open_, told


def _say_change(text: str, one: Override, before: float | None = None) -> str:
    """Return a note on a change by hand, with its author. before: the points, if there were."""
    instead = f" instead of {before:g}" if before is not None and before != one.points else ""
    return f"{text}{instead}{_why(one)}"


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

    It is beside the grades unless the assignment file names another. That one is found from there,
    so both can be moved together. Raise CourseError if it is lost.
    """
    if not kept.get("course", {}).get("overrides"):
        return out / OVERRIDES
    place = Path(os.path.normpath(out.resolve() / kept["overrides"]))
    if not place.is_file():
        raise CourseError(
            f"the changes by hand were in {place}, which is gone: grade again, with the "
            "assignment file"
        )
    return place


def rules_of(kept: Mapping[str, Any], out: Path) -> Rules:
    """Return the rules under which a run was graded, with the present changes by hand.

    out: the folder of the results.
    """
    return Rules(
        from_plain(Course, kept.get("course", {})),
        read_overrides(overrides_in(kept, out), load()),
        tuple(from_plain(Person, one) for one in kept.get("roster", ())),
        kept.get("worth", {}),
        by_hand=read_matches(out / MATCHES),
    )
