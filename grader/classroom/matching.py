"""Find whom the rules of a class are for: extensions and changes by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

from grader.classroom.class_list import ClassList, folded
from grader.classroom.course import Course
from grader.classroom.exports.people import Person, compose
from grader.classroom.tables import Override
from grader.report.records import Graded

OwnRules = TypeVar("OwnRules", bound="Matching")


def _as_in_download(graded: Graded) -> Graded:
    """Return a student whose name is as in Moodle's folder, and not as on the class list."""
    name = folded(graded.who) or graded.who.name
    return (
        graded if name == graded.who.name else replace(graded, who=replace(graded.who, name=name))
    )


def last_of_each(mine: Sequence[Override]) -> list[Override]:
    """Return the changes of a student, of those on one target only the last.

    Two people may have named the student in different ways.
    """
    last = {one.target: one.row for one in mine if one.is_grade}
    return [one for one in mine if not one.is_grade or one.row == last[one.target]]


@dataclass(frozen=True)
class Matching:
    """The assignment, class list and changes by hand, and the students whom each line is for.

    unsure: the ids of students who could be several people on the class list, and so are nobody.
    trusted: whether the numbers on the instructor's own list are those of the class.
    """

    course: Course
    overrides: Sequence[Override] = ()
    roster: Sequence[Person] = ()
    unsure: frozenset[str] = field(default=frozenset(), kw_only=True)
    trusted: bool = field(default=True, kw_only=True)

    @cached_property
    def class_list(self) -> ClassList:
        """Return the people and teams, and who of them each student is."""
        people = self.roster
        if not self.trusted:
            people = [one if one.who.platform else one.without_number() for one in people]
        return ClassList(self.course.groups, people, self.unsure)

    def unambiguous(self: OwnRules, class_: Iterable[Graded]) -> OwnRules:
        """Return the same rules without entries and people that could be several students.

        Students may choose their own names on a platform.
        """
        class_ = list(class_)
        people = self.class_list
        if pretenders := people.find_pretenders(class_):
            return self.without(pretenders).unambiguous(class_)
        shared = people.find_shared(class_)
        roster = [person for person in self.roster if person.id not in shared]
        unsure = self.unsure.union(one.student for one in class_ if len(people.near(one)) > 1)
        unsure |= people.find_like_members(class_).keys()
        unsure |= {
            student for works in people.find_equal_teams(class_).values() for student in works
        }
        rules = replace(self, roster=roster, unsure=unsure)
        if not self.overrides and not self.course.extensions:
            return rules
        everybody = list(map(rules.class_list.complete, class_))
        several = rules.ambiguous(everybody)
        # Their ids, names and addresses are not free for others.
        lost = {name for one in self.roster if one.id in shared for name in one.names}
        extensions = {
            name: when
            for name, when in self.course.extensions.items()
            if compose(name) not in lost
            and people.count_called(name) < 2
            and sum(rules.class_list.is_called(graded, name) for graded in everybody) < 2
        }
        course = replace(self.course, extensions=extensions)
        sure = [one for one in self.overrides if one.row not in several]
        overrides = [one for one in sure if compose(one.student) not in lost]
        return replace(rules, course=course, overrides=overrides)

    def without(self: OwnRules, students: Iterable[str]) -> OwnRules:
        """Return the same rules, in which these students are nobody on the class list."""
        return replace(self, unsure=self.unsure.union(students))

    def count(self, one: Override, everybody: Iterable[Graded]) -> int:
        """Return how many students a change by hand could mean.

        A team counts if it has a member of that name, and so does somebody else who may have chosen
        the name. On the instructor's own list everybody of that name counts, also without work.
        """
        people, everybody = self.class_list, list(everybody)
        meant = [graded for graded in everybody if self.is_for(one, graded)]
        named = compose(people.read_number(one.student))
        listed = people.get_listed(one.student)
        chosen = any(
            graded.who.platform
            and named not in (compose(graded.student), graded.who.number)
            and not (listed and people.has_number_of(graded, [listed]))
            for graded in meant
        )
        teams = [g for g in everybody if people.is_team(g) and g not in meant] if chosen else []
        works = len(meant) + sum(people.is_called(graded, one.student) for graded in teams)
        return max(works, people.count_called(one.student))

    def ambiguous(self, class_: Iterable[Graded]) -> frozenset[int]:
        """Return the changes that could mean more than one student."""
        everybody = list(class_)
        return frozenset(one.row for one in self.overrides if self.count(one, everybody) > 1)

    def is_for(self, change: Override, graded: Graded) -> bool:
        """Return whether a change by hand names that student, and not another by the same number.

        An id on the instructor's own class list comes before a number on a platform.
        """
        people = self.class_list
        listed = people.get_listed(change.student)
        if (number := people.read_number(change.student)) != change.student:
            known = [graded.who.number, *(one.who.number for one in people.near(graded))]
            return number in known and not people.is_team(graded)
        if people.is_team(graded):  # whose number may be a student's
            return change.is_for(replace(graded, who=replace(graded.who, number="")))
        if listed is not None:
            return people.near(graded) == [listed]
        own = people.without_chosen_name(graded)
        named = change.is_for(own) or change.is_for(_as_in_download(own))
        return named or people.is_in_row(graded, change.student)

    def list_extensions(self, graded: Graded) -> list[str]:
        """Return the extended deadlines of a student, or of a team's members."""
        extensions = self.course.extensions.items()
        return [when for name, when in extensions if self.class_list.is_called(graded, name)]
