"""Find who on the class list each student is."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from grader.classroom.exports.people import (
    Numbers,
    Person,
    compose,
    find_person,
    find_team,
    fold,
    is_of_team,
    trust,
)
from grader.classroom.lateness import read_moment
from grader.report.records import Graded, Who

Student = tuple[str, Who]
FOLDED = "name in a folder from Moodle"  # a kind of key


def _keys_by_number(who: Who) -> list[tuple[str, str]]:
    """Return the keys of a student by number, if there is one; names have no platform in theirs.

    The instructor's own list may have the numbers of a platform.
    """
    platforms = dict.fromkeys((who.platform or "no platform", "no platform"))
    return [(platform, who.number) for platform in platforms] if who.number else []


def folded(who: Who) -> str:
    """Return the name in a folder from Moodle, which leaves some characters out; "" elsewhere."""
    return fold(who.name) if who.platform == "Moodle" else ""


def _fold_names(people: Iterable[Person]) -> frozenset[str]:
    """Return the names, addresses and numbers of these people, as Moodle's folders have names."""
    names = ({*one.names, one.who.name, one.who.number} for one in people)
    return frozenset(map(fold, set[str]().union(*names)))


def _latest(people: Iterable[Person]) -> str:
    """Return the latest time of these people as the class list has it; "" if it has none."""
    times = {when: one.who.submitted for one in people if (when := read_moment(one.who.submitted))}
    return times[max(times)] if times else ""


def trust_numbers(
    roster: Iterable[Person], groups: Mapping[str, Sequence[str]], students: Iterable[Student]
) -> bool:
    """Return whether the numbers on the instructor's own class list are those of a download."""
    people = ClassList(groups, [one for one in roster if not one.who.platform], frozenset())
    right, wrong = 0, list[set[str]]()
    for student, who in students:
        graded = Graded(student, None, who=who)
        if who.platform and who.number and not who.absent and not people.is_team(graded):
            right += bool(people.owners(who)) and not people.has_anothers_number(graded)
            wrong.append({one.id for one in people.find_others(graded)})
    return trust(people.people, right, wrong)


@dataclass(frozen=True)
class ClassList:
    """The people on the class list and the teams, and who of them each student is.

    groups: the members of each team. unsure: the ids of students who could be several people on
    the class list, and so are nobody.
    """

    groups: Mapping[str, Sequence[str]]
    people: Sequence[Person]
    unsure: frozenset[str]

    @cached_property
    def _teams(self) -> frozenset[str]:
        return frozenset(map(compose, self.groups))

    def is_team(self, graded: Graded) -> bool:
        """Return whether a submission is a team's: by its id or name, or on Moodle."""
        return self.is_in_groups(graded) or is_of_team(graded.who)

    def is_in_groups(self, graded: Graded) -> bool:
        """Return whether the id or name of a submission is that of a team with known members."""
        return not self._teams.isdisjoint(self.names_of_work(graded))

    def _find_listed_team(self, graded: Graded) -> list[Person]:
        """Return a team that is on the instructor's own list, by its id there.

        It has neither a number nor another name, and is a member of no team.
        """
        listed = self.get_listed(graded.who.name)
        if listed is None or listed.who.number or listed.who.name not in ("", listed.id):
            return []
        members = (compose(name) for names in self.groups.values() for name in names)
        return [] if not listed.names.isdisjoint(members) else [listed]

    def names_of_work(self, graded: Graded) -> tuple[str, str]:
        """Return the id and the name of a submission, in the form in which names are compared."""
        return compose(graded.student), compose(graded.who.name)

    @cached_property
    def _by_name(self) -> Mapping[tuple[str, str], Sequence[Person]]:
        """Return the people on the class list by each of their names, and by platform and number.

        Also by their names in Moodle's folders.
        """
        found: defaultdict[tuple[str, str], list[Person]] = defaultdict(list)
        for person in self.people:
            keys = [*(("", name) for name in person.names), *_keys_by_number(person.who)]
            for key in [*keys, (FOLDED, person.folded)]:
                found[key].append(person)
        return found

    @cached_property
    def _numbers(self) -> Numbers:
        return Numbers(self.people)

    @cached_property
    def _listed(self) -> Mapping[str, Person]:
        """Return the people on the instructor's own class list, by their ids there."""
        return {compose(one.id): one for one in self.people if not one.who.platform}

    @cached_property
    def _known(self) -> dict[Student, tuple[bool, list[Person]]]:
        """Return the findings on each student, because each change is compared with everybody."""
        return {}

    def has_anothers_number(self, graded: Graded) -> bool:
        """Return whether the number is that of somebody else, so that the name may be chosen."""
        return self._look_up(graded)[0]

    def near(self, graded: Graded) -> list[Person]:
        """Return who on the class list a student may be; only one if it has the very id or number.

        Two people may have the same name, and one may have chosen another's name or address. On
        Moodle two names may be the same in a folder's name. Nobody chooses the number.
        """
        return self._look_up(graded)[1]

    def _look_up(self, graded: Graded) -> tuple[bool, list[Person]]:
        """Return whether the number is somebody else's, and who on the list it may be."""
        key = (graded.student, graded.who)
        if key not in self._known:
            team = self.is_team(graded)
            other = not team and self._numbers.are_others(graded.student, graded.who)
            found: list[Person] = []
            if is_of_team(graded.who) and not self.is_in_groups(graded):
                found = self._find_listed_team(graded)
            elif not (team or other):
                found = self._find_near(graded)
            self._known[key] = other, [] if graded.student in self.unsure else found
        return self._known[key]

    def _find_near(self, graded: Graded) -> list[Person]:
        who, student = graded.who, compose(graded.student)
        called = self._find_called(graded)
        found = [one for one in called if one.is_called(graded.student, who)]
        own = [one for one in found if not one.who.platform]
        for same in (
            [one for one in own if compose(one.id) == student],
            [one for one in own if who.number and one.who.number == who.number],
        ):
            if len(same) == 1:
                return same
        return found

    def _find_called(self, graded: Graded) -> list[Person]:
        """Return who on the class list has one of a student's names, or the number."""
        who = graded.who
        names = {*self.names_of_work(graded), compose(who.email)} - {""}
        if who.platform:  # nobody is called by the number of another
            names -= self._taken_numbers - {who.number}
        keys = {*(("", name) for name in names), *_keys_by_number(who)}
        if in_folder := folded(who):
            keys.add((FOLDED, in_folder))
        found = {one.id: one for key in keys for one in self._by_name.get(key, ())}
        return list(found.values())

    def find_others(self, graded: Graded) -> list[Person]:
        """Return whose names a student has who is nobody on the list, by the number.

        Their numbers on the instructor's own list are others.
        """
        who = graded.who
        if self.is_team(graded) or not who.platform or not who.number or self.near(graded):
            return []
        found = self._find_called(graded)
        return [one for one in found if one.who.number not in ("", who.number)]

    def has_number_of(self, graded: Graded, people: Iterable[Person]) -> bool:
        """Return whether the student has the number of one of these people."""
        return graded.who.number != "" and any(o.who.number == graded.who.number for o in people)

    def _claims(self, class_: Iterable[Graded]) -> dict[str, list[Graded]]:
        """Return the students who could be only one person on the class list, by that one's id.

        Who could be several people gets nobody's, and so takes nothing from them.
        """
        claims: defaultdict[str, list[Graded]] = defaultdict(list)
        for graded in class_:
            near = [] if graded.who.absent else self.near(graded)
            if len(near) == 1:
                claims[near[0].id].append(graded)
        return claims

    def find_shared(self, class_: Iterable[Graded]) -> dict[str, int]:
        """Return who on the class list could be several students, by id, and how many.

        A student who has chosen another's name would get that one's time and address.
        """
        claims = self._claims(class_)
        return {id: len(works) for id, works in claims.items() if len(works) > 1}

    def find_pretenders(self, class_: Iterable[Graded]) -> dict[str, str]:
        """Return the students with a name of somebody who is another student, and that one.

        Nobody chooses the number on a platform, so the only student who has it is that person. In
        folders of the instructor's own, it is the one with the very id.
        """
        found: dict[str, str] = {}
        several = ((id, works) for id, works in self._claims(class_).items() if len(works) > 1)
        for id, works in several:
            own = {one.who.number for one in self.people if one.id == id} - {""}
            sure: list[str] = []
            if all(one.who.platform for one in works):
                sure = [one.student for one in works if one.who.number in own]
            elif not any(one.who.platform for one in works):
                sure = [one.student for one in works if compose(one.student) == compose(id)]
            if len(sure) == 1:
                found |= {one.student: id for one in works if one.student not in sure}
        return found

    def find_like_members(self, class_: Iterable[Graded]) -> dict[str, str]:
        """Return the students whose name is that of a member of a team with work, and the team.

        Who is known by number is not among them.
        """
        class_ = list(class_)
        members: dict[str, str] = {}
        for graded in class_:
            if self.is_team(graded) and not graded.who.absent:
                named = find_team(graded.student, graded.who, self.groups) or ()
                names = {compose(name) for name in named}
                names = names.union(*(person.names for person in self.members(graded)))
                members |= dict.fromkeys(names, graded.student)
        in_folders = {fold(name): team for name, team in members.items()}
        found: dict[str, str] = {}
        for one in class_:
            team = members.get(compose(one.who.name)) or in_folders.get(folded(one.who))
            alone = one.who.platform and not one.who.absent and not self.is_team(one)
            if team and alone and not self.has_number_of(one, self.near(one)):
                found[one.student] = team
        return found

    def find_equal_teams(self, class_: Iterable[Graded]) -> dict[str, list[str]]:
        """Return the students whose work has a team's name, by team, if they are several."""
        works: defaultdict[str, list[str]] = defaultdict(list)
        teams = {compose(name): name for name in self.groups}
        for graded in class_:
            names = () if graded.who.absent else self.names_of_work(graded)
            for name in {teams[called] for called in names if called in teams}:
                works[name].append(graded.student)
        return {name: students for name, students in works.items() if len(students) > 1}

    def complete(self, graded: Graded) -> Graded:
        """Add the class list's data on a student, or on a team's members."""
        members = [] if graded.student in self.unsure else self.members(graded)
        if members:
            submitted = _latest(members) or graded.who.submitted
            return replace(graded, who=replace(graded.who, submitted=submitted))
        near = self.near(graded)
        if len(near) != 1:
            return graded
        more, who = near[0].who, graded.who
        who = replace(
            who,
            name=more.name or who.name,
            email=who.email or more.email,
            number=who.number or ("" if who.platform or more.platform else more.number),
            submitted=more.submitted or who.submitted,
        )
        return replace(graded, who=who)

    def members(self, graded: Graded) -> list[Person]:
        """Return the members of a team whom the class list knows; none for a single student."""
        names = find_team(graded.student, graded.who, self.groups) or ()
        found = (find_person(name, self.people) for name in names)
        return [person for person in found if person is not None]

    def is_called(self, graded: Graded, name: str) -> bool:
        """Return whether a student, or a member of a team, has that name, number or address."""
        who, called = graded.who, compose(name)
        if (number := self.read_number(name)) != name:
            known = [one.who.number for one in (*self.near(graded), *self.members(graded))]
            return number in known or (number == who.number and not self.is_team(graded))
        listed, team = self.get_listed(name), find_team(graded.student, who, self.groups)
        if team is None and listed is not None:
            return self.near(graded) == [listed]
        if team is None and self.is_in_row(graded, name):
            return True
        who = who if team else self.without_chosen_name(graded).who
        names = [graded.student, who.name, who.email, *([who.number] if team is None else team)]
        names.append(folded(who))
        for person in self.members(graded):
            names += [*person.names, person.who.number]
        return called in {compose(one) for one in names if one}

    def identify(self, student: str, who: Who) -> set[tuple[str, str]]:
        """Return who a student is: the id, and the only person on the class list.

        Students choose their names on a platform, so there only a number tells who it is. Accents
        in an id have another form if another system has unpacked the class.
        """
        graded = Graded(student, None, who=who)
        near = [] if self.is_team(graded) else self.near(graded)
        sure = len(near) == 1 and who.number in ("", near[0].who.number)
        people = {("class list", near[0].id)} if sure else set()
        return people if who.platform else {("id", compose(student)), *people}

    def identify_members(self, student: str, who: Who) -> set[tuple[str, str]]:
        """Return who the members of a team are, likewise; nobody for a single student."""
        graded = Graded(student, None, who=who)
        if not self.is_team(graded):
            return set()
        names = find_team(student, who, self.groups) or ()
        ids = {("id", compose(name)) for name in names}
        return ids | {("class list", person.id) for person in self.members(graded)}

    def list_absent(self, students: Iterable[Student]) -> list[tuple[Person, bool]]:
        """Return everyone on the class list who is not among these students or in their teams.

        The second item says whether a student has that person's number, but another name. Nobody is
        absent under the id of a submission, which may be a team's.
        """
        present: set[str] = set()
        renamed: set[str] = set()
        for student, who in students:
            work = Graded(student, None, who=who)
            present |= {student, *(one.id for one in (*self.members(work), *self.near(work)))}
            if self.has_anothers_number(work):
                renamed |= {one.id for one in self.owners(who)}
        return [(one, one.id in renamed) for one in self.people if one.id not in present]

    def find_unlisted(self, class_: Iterable[Graded]) -> list[str]:
        """Return the students who are nobody on the class list, if there is one.

        Teams with known members are not among them, nor are students who could be several people.
        """
        return [
            one.student
            for one in (class_ if self.people else ())
            if not one.who.absent and one.student not in self.unsure
            if not self.is_in_groups(one) and not self.near(one)
        ]

    def without_chosen_name(self, graded: Graded) -> Graded:
        """Return a student without others' name or address, if the number tells that they are."""
        if self.is_team(graded):
            return graded
        owners, others = self.owners(graded.who), self.find_others(graded)
        own = _fold_names([*owners, *self.near(graded)]) | {fold(graded.who.number)}
        taken = self._taken_numbers if graded.who.platform else frozenset[str]()
        taken = self._taken if owners else taken | _fold_names(others)

        def keep(chosen: str) -> str:
            return "" if fold(chosen) in taken and fold(chosen) not in own else chosen

        name, email = keep(graded.who.name), keep(graded.who.email)
        return replace(graded, who=replace(graded.who, name=name, email=email))

    @cached_property
    def _taken(self) -> frozenset[str]:
        """Return names, addresses and numbers of all on the class list, as Moodle writes them.

        So are names that differ only in what a comparison passes over, such as a space at the end.
        """
        return _fold_names(self.people)

    @cached_property
    def _taken_numbers(self) -> frozenset[str]:
        """Return the numbers on the class list, which nobody else may have for a name."""
        return frozenset(fold(number) for one in self.people for number in one.numbers)

    def is_in_row(self, graded: Graded, name: str) -> bool:
        """Return whether a platform's class list has that name in the student's row.

        Canvas' gradebook has `Abel, Anna`, and the ids of the university.
        """
        mine = (graded.who.platform, graded.who.number)
        return (
            any(
                one.who.platform and mine == (one.who.platform, one.who.number)
                for one in self._by_name.get(("", compose(name)), ())
            )
            and len(self.near(graded)) == 1
        )

    @cached_property
    def _numbers_as_written(self) -> Mapping[str, str]:
        """Return the numbers on the instructor's own list, by `123` and by `Participant 123`."""
        own = [one for one in self.people if not one.who.platform]
        return {text: one.who.number for one in own for text in one.numbers}

    def read_number(self, name: str) -> str:
        """Return the number if the instructor's own list has the name for one; else the name."""
        return self._numbers_as_written.get(compose(name), name)

    @cached_property
    def _in_folders(self) -> Counter[str]:
        """How many people on the instructor's own class list have a name, in Moodle's form."""
        own = [one for one in self.people if not one.who.platform]
        return Counter(name for one in own for name in _fold_names([one]))

    def count_called(self, name: str) -> int:
        """Return how many people on the instructor's own class list a name may be for.

        An id is one person's, even if others are called so.
        """
        return 1 if self.has_on_list(name) else self._in_folders[fold(name)]

    def has_on_list(self, name: str) -> bool:
        """Return whether the instructor's own class list has somebody with that id.

        On a platform's list, students may have chosen their own names.
        """
        return self.get_listed(name) is not None

    def has_number(self, platform: str, number: str) -> bool:
        """Return whether the class list has somebody with that number on that platform."""
        return any(key in self._by_name for key in _keys_by_number(Who(platform, number)))

    def get_listed(self, name: str) -> Person | None:
        """Return the person with that id on the instructor's own class list, if there is one."""
        return self._listed.get(compose(name))

    def owners(self, who: Who) -> list[Person]:
        """Return the people on the class list who have the student's number, if there is one."""
        return self._numbers.owners(who)
