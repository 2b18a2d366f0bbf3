"""Find whom the rules of a class are for: extensions and changes by hand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

from grader.classroom.course import Course
from grader.classroom.exports.spreadsheet import protect_cell, text_of
from grader.classroom.matches import key_of
from grader.classroom.people import Directory, Owners, Person, compose, resolve
from grader.classroom.tables import Override
from grader.intake.platform_names import TITLE_ENDS
from grader.report.records import Graded

OwnRules = TypeVar("OwnRules", bound="Matching")


def last_of_each(mine: Sequence[Override]) -> list[Override]:
    """Return the changes of a student, of those on one target only the last.

    Two people may have named the student in different ways.
    """
    last = {one.target: one.row for one in mine if one.is_grade}
    return [one for one in mine if not one.is_grade or one.row == last[one.target]]


@dataclass(frozen=True)
class Matching:
    """The assignment, class list and changes by hand, and the students whom each line is for.

    by_hand: the owners of works, as `matches.csv` has them. answer: whose each work of a class is;
    `settle` finds it.
    """

    course: Course
    overrides: Sequence[Override] = ()
    roster: Sequence[Person] = ()
    by_hand: Mapping[str, Sequence[str]] = field(default_factory=dict, kw_only=True)
    answer: Owners = field(default_factory=lambda: resolve([]), kw_only=True)

    def settle(self: OwnRules, class_: Iterable[Graded]) -> OwnRules:
        """Return the same rules, which know whose each work of this class is."""
        class_ = list(class_)
        ids = {one.student: self.by_hand.get(key_of(one.student), ()) for one in class_}
        answer = resolve(class_, self.roster, self.course.groups, ids)
        return replace(self, answer=answer)

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
        if places := people.find_called(text) or people.find_called(text_of(text)):
            owned = [student for student, own in self.answer.owners.items() if places[0] in own]
            works = {student for student in owned if of_members or student not in teams}
            return (works, len(works)) if len(places) == 1 else (set(), len(places))
        works = self._works.get(text) or self._works.get(compose(text)) or set()
        return (works, 1) if len(works) == 1 else (set(), len(works))

    @cached_property
    def _works(self) -> Mapping[str, set[str]]:
        """Return works by their ids, which are those of one work even if others are called so."""
        ids: defaultdict[str, set[str]] = defaultdict(set)
        for one in self.answer.class_:
            student, team = one.student, self.answer.teams.get(one.student, "")
            for text in {student, compose(student), protect_cell(student.strip()), team} - {""}:
                ids[text].add(student)
        return ids

    @cached_property
    def _changes(self) -> Mapping[str, Sequence[Override]]:
        found: defaultdict[str, list[Override]] = defaultdict(list)
        for one in self.overrides:
            for student in self.find_works(one.student, of_members=False)[0]:
                found[student].append(one)
        return found

    @cached_property
    def _extensions(self) -> Mapping[str, Sequence[str]]:
        found: defaultdict[str, list[str]] = defaultdict(list)
        for name, when in self.course.extensions.items():
            for student in self.find_works(name, of_members=True)[0]:
                found[student].append(when)
        return found

    def list_changes(self, graded: Graded) -> Sequence[Override]:
        """Return the changes by hand of a student's work."""
        return self._changes.get(graded.student, ())

    def list_extensions(self, graded: Graded) -> Sequence[str]:
        """Return the extended deadlines of a student, or of a team's members."""
        return self._extensions.get(graded.student, ())
