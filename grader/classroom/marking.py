"""Turn a report into the grade that a student sees: weights, lateness, and changes by hand.

The order is: the points of checks and steps, with changes by hand; excused or dropped steps;
weights; the scale of the assignment; lateness; and last a change of the whole grade.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from grader.classroom.course import Course, CourseError, course_from_dict, days_late, moment
from grader.classroom.exports.people import (
    Person,
    compose,
    find_person,
    find_team,
    person_from_dict,
)
from grader.classroom.tables import Override, read_overrides
from grader.report.records import Grade, Graded, StepVerdict, Who
from grader.steps.registry import Registry

OVERRIDES = "overrides.csv"


@dataclass(frozen=True)
class Rules:
    """The rules that turn reports into grades: assignment, class list, and changes by hand."""

    course: Course
    overrides: Sequence[Override] = ()
    roster: Sequence[Person] = ()

    def apply(self, class_: Iterable[Graded]) -> Iterator[Graded]:
        """Yield the class with everybody's grade."""
        for graded in class_:
            known = self._complete(graded)
            yield replace(known, grade=self._grade(known))

    def unambiguous(self, class_: Iterable[Graded]) -> Rules:
        """Return the same rules without entries and people that could be several students.

        Students may choose their own names on a platform.
        """
        class_ = list(class_)
        shared = self._shared(class_)
        roster = [person for person in self.roster if person.id not in shared]
        rules = replace(self, roster=roster)
        if not self.overrides and not self.course.extensions:
            return rules
        everybody = list(map(rules._complete, class_))
        several = rules.ambiguous(everybody)
        extensions = {
            name: when
            for name, when in self.course.extensions.items()
            if sum(rules._is_called(graded, name) for graded in everybody) < 2
        }
        course = replace(self.course, extensions=extensions)
        overrides = [one for one in self.overrides if one.row not in several]
        return replace(rules, course=course, overrides=overrides)

    def _shared(self, class_: Iterable[Graded]) -> dict[str, int]:
        """Return who on the class list could be several students, by id, and how many.

        A student who has chosen another's name would get that one's time and address.
        """
        count: Counter[str] = Counter()
        for graded in class_:
            if not graded.who.absent and not self._is_team(graded):
                count.update(one.id for one in self._near(graded))
        return {id: several for id, several in count.items() if several > 1}

    def _is_team(self, graded: Graded) -> bool:
        return find_team(graded.student, graded.who, self.course.groups) is not None

    @cached_property
    def _by_name(self) -> Mapping[tuple[str, str], Sequence[Person]]:
        """The people on the class list by each of their names, and by platform and number."""
        found: defaultdict[tuple[str, str], list[Person]] = defaultdict(list)
        for person in self.roster:
            for key in [("", name) for name in person.names] + [_numbered(person.who)]:
                found[key].append(person)
        return found

    def _near(self, graded: Graded) -> list[Person]:
        """Return who on the class list a student may be; only one if it has the very id or number.

        Two people may have the same name, and one may have chosen another's address as a name.
        """
        who, student = graded.who, compose(graded.student)
        names = {student, compose(who.name), compose(who.email)} - {""}
        keys = {*(("", name) for name in names), _numbered(who)}
        near = {one.id: one for key in keys for one in self._by_name.get(key, ())}
        found = [one for one in near.values() if one.is_called(graded.student, who)]
        own = [one for one in found if not one.who.platform]
        for same in (
            [one for one in own if compose(one.id) == student],
            [one for one in own if who.number and one.who.number == who.number],
        ):
            if len(same) == 1:
                return same
        return found

    def strangers(self, class_: Iterable[Graded]) -> list[str]:
        """Return a sentence on each rule that matches nobody, or several students."""
        class_ = list(class_)
        told = [
            f"class list: {several} students are called {id}; nobody gets its time and address."
            for id, several in self._shared(class_).items()
        ]
        told += self._unread_times()
        for graded in class_:
            several = 0 if self._is_team(graded) else len(self._near(graded))
            if several > 1:
                told.append(
                    f"class list: {several} people on it could be {graded.student}, who gets "
                    "nobody's time and address."
                )
        everybody = list(map(self._complete, class_))
        for one in self.overrides:
            count = sum(one.is_for(graded) for graded in everybody)
            if count != 1:
                what = "nobody is called" if not count else f"{count} students are called"
                told.append(f"overrides, row {one.row}: {what} {one.student}; it changes nothing.")
        told += self._outdone(everybody)
        for name in self.course.extensions:
            count = sum(self._is_called(graded, name) for graded in everybody)
            if count != 1:
                what = "nobody is called" if not count else f"{count} students are called"
                told.append(f"extensions: {what} {name}.")
        return told

    def without_effect(self, class_: Iterable[Graded]) -> Iterator[str]:
        """Yield a sentence on each change by hand of a step or check that was not graded.

        class_: with the reports, which are read only if there are such changes.
        """
        aimed = [one for one in self.overrides if one.target and one.is_grade]
        for graded in map(self._complete, class_) if aimed else ():
            steps = graded.report.steps if graded.report else ()
            known = {step.step for step in steps}
            known |= {check.check for step in steps for check in step.checks}
            for one in aimed:
                if one.target not in known and one.is_for(graded):
                    yield (
                        f"overrides, row {one.row}: {one.target} of {graded.student} was not "
                        "graded; it changes nothing."
                    )

    def _outdone(self, everybody: Sequence[Graded]) -> Iterator[str]:
        """Yield a sentence on each change by hand that another row of the same student replaces."""
        several = self.ambiguous(everybody)
        sure = [one for one in self.overrides if one.row not in several]
        for graded in everybody if sure else ():
            mine = [one for one in sure if one.is_for(graded)]
            counting = _last_of_each(mine)
            for one in mine:
                if one not in counting:
                    by = next(o for o in counting if o.is_grade and o.target == one.target)
                    yield (
                        f"overrides, row {one.row}: row {by.row} changes the same thing of "
                        f"{graded.student}, and counts."
                    )

    def _unread_times(self) -> list[str]:
        """Return a sentence on texts on the class list that are not times, if it matters."""
        times = [(one.id, one.who.submitted) for one in self.roster if one.who.submitted]
        wrong = [(id, text) for id, text in times if moment(text) is None]
        if not wrong or not self.course.due:
            return []
        id, text = wrong[0]
        return [
            f"class list: {len(wrong)} of {len(times)} times in it are not read, such as {text!r} "
            f"of {id}: write 2026-11-23T23:59:00+01:00, or set `timezone`."
        ]

    def ambiguous(self, class_: Iterable[Graded]) -> frozenset[int]:
        """Return the changes that could mean more than one student."""
        everybody = list(class_)
        return frozenset(
            one.row for one in self.overrides if sum(one.is_for(graded) for graded in everybody) > 1
        )

    def has_on_list(self, name: str) -> bool:
        """Return whether the class list has somebody with that id, name or address."""
        return any(person.is_called(name, Who()) for person in self.roster)

    def _complete(self, graded: Graded) -> Graded:
        """Add the class list's data on a student, or on a team's members."""
        if members := self._members(graded):
            times = (one.who.submitted for one in members)
            submitted = next(filter(None, times), graded.who.submitted)
            return replace(graded, who=replace(graded.who, submitted=submitted))
        near = self._near(graded)
        if len(near) != 1:
            return graded
        more, who = near[0].who, graded.who
        who = replace(
            who,
            name=more.name or who.name,
            email=who.email or more.email,
            submitted=more.submitted or who.submitted,
        )
        return replace(graded, who=who)

    def _members(self, graded: Graded) -> list[Person]:
        """Return the members of a team whom the class list knows; none for a single student."""
        names = find_team(graded.student, graded.who, self.course.groups) or ()
        found = (find_person(name, self.roster) for name in names)
        return [person for person in found if person is not None]

    def _is_called(self, graded: Graded, name: str) -> bool:
        """Return whether a student, or a member of a team, has that name, number or address."""
        who, called = graded.who, compose(name)
        names = [graded.student, who.number, who.name, who.email]
        names += find_team(graded.student, who, self.course.groups) or ()
        for person in self._members(graded):
            names += [*person.names, person.who.number]
        return called in {compose(one) for one in names if one}

    def _grade(self, graded: Graded) -> Grade | None:
        mine = _last_of_each([one for one in self.overrides if one.is_for(graded)])
        notes = [
            f"Comment ({one.signed}): {one.comment}"
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
            score, raw, late = self._on_time(graded, score, notes)
        else:
            worth = self.course.points or 0.0
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

    def _on_time(self, graded: Graded, score: float, notes: list[str]) -> tuple[float, float, str]:
        """Return the score after lateness, the score before, and how late it was."""
        due, extended = self._due(graded)
        late, submitted = self.course.late, moment(graded.who.submitted)
        if extended and due is not None:
            notes.append(f"Extended until {due:%Y-%m-%d %H:%M %z}.")
        if due is None:
            return score, score, "late" if graded.who.late else ""
        if submitted is None:
            if not graded.who.late:
                return score, score, ""
            if late is not None and not extended:
                notes.append(
                    f"{graded.who.platform} marks it as late, and no time is known: nothing is "
                    "taken off."
                )
            return score, score, "" if extended else "late"
        days = days_late(submitted, due, late.grace_minutes if late else 0.0)
        if not days:
            return score, score, ""
        told = f"{days} day{'s' if days > 1 else ''} late"
        if late is None or not late.percent_per_day:
            return score, score, told
        left = max(late.floor_percent, 100.0 - late.percent_per_day * days)
        after = score * left / 100.0
        notes.append(f"Begun days late: {days}. {100 - left:g} % are taken off {score:g} points.")
        return after, score, told

    def _due(self, graded: Graded) -> tuple[datetime | None, bool]:
        """Return the student's deadline, and whether it is an extension.

        The latest counts: two members of a team may have one each, and the deadline for everybody
        may have been moved behind an extension.
        """
        extensions = self.course.extensions.items()
        mine = [moment(text) for name, text in extensions if self._is_called(graded, name)]
        due = moment(self.course.due)
        later = [one for one in mine if one is not None and (due is None or one > due)]
        return (max(later), True) if later else (due, False)


def _numbered(who: Who) -> tuple[str, str]:
    """Return the key of a student by number; names have a key without a platform."""
    return (who.platform or "no platform", who.number)


def is_by_hand(note: str) -> bool:
    """Return whether a note on a grade is about a change by hand."""
    if note.startswith(("Comment (", "No score yet: ")):
        return False  # the words in them are other people's
    return " instead of " in note or note.startswith("Excused") or ": excused" in note


def _why(one: Override) -> str:
    """Return who made the change, when and why, as the end of a sentence."""
    return f" ({one.signed}): {one.comment}" if one.comment else f" ({one.signed})."


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


def _last_of_each(mine: Sequence[Override]) -> list[Override]:
    """Return the changes of a student, of those on one target only the last.

    Two people may have named the student in different ways.
    """
    last = {one.target: one.row for one in mine if one.is_grade}
    return [one for one in mine if not one.is_grade or one.row == last[one.target]]


def rules_of(kept: Mapping[str, Any], registry: Registry, out: Path) -> Rules:
    """Return the rules under which a run was graded, with the present changes by hand.

    out: the folder of the results.
    """
    return Rules(
        course_from_dict(kept.get("course", {})),
        read_overrides(overrides_in(kept, out), registry),
        tuple(person_from_dict(one) for one in kept.get("roster", ())),
    )


def absent(
    roster: Sequence[Person],
    students: Sequence[tuple[str, Who]],
    groups: Mapping[str, Sequence[str]] | None = None,
) -> list[Person]:
    """Return everyone on the class list who is not among these students or in their teams."""
    teams = [find_team(student, who, groups or {}) for student, who in students]
    named = {name for team in teams for name in team or ()}
    found = [find_person(name, roster) for name in named]
    members = {person.id for person in found if person is not None}
    single = [one for one, team in zip(students, teams) if team is None]
    return [
        person
        for person in roster
        if person.id not in members
        and not any(person.is_called(student, who) for student, who in single)
    ]
