"""Find whom the rules of a class are for: people on the class list, extensions, changes by hand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

from grader.classroom.course import Course
from grader.classroom.exports.people import (
    Numbers,
    Person,
    compose,
    find_person,
    find_team,
    fold,
)
from grader.classroom.lateness import read_moment
from grader.classroom.tables import Override
from grader.report.influences import count_words
from grader.report.records import Graded, Who

OwnRules = TypeVar("OwnRules", bound="Matching")
FOLDED = "name in a folder from Moodle"  # a kind of key


def _numbers(who: Who) -> list[tuple[str, str]]:
    """Return the keys of a student by number, if there is one; names have no platform in theirs.

    The instructor's own list may have the numbers of a platform.
    """
    platforms = dict.fromkeys((who.platform or "no platform", "no platform"))
    return [(platform, who.number) for platform in platforms] if who.number else []


def _folded(who: Who) -> str:
    """Return the name in a folder from Moodle, which leaves some characters out; "" elsewhere."""
    return fold(who.name) if who.platform == "Moodle" else ""


def _fold_names(people: Iterable[Person]) -> frozenset[str]:
    """Return the names, addresses and numbers of these people, as Moodle's folders have names."""
    names = ({*one.names, one.who.name, one.who.number} for one in people)
    return frozenset(map(fold, set[str]().union(*names)))


def _as_in_download(graded: Graded) -> Graded:
    """Return a student whose name is as in Moodle's folder, and not as on the class list."""
    name = _folded(graded.who) or graded.who.name
    return (
        graded if name == graded.who.name else replace(graded, who=replace(graded.who, name=name))
    )


def _latest(people: Iterable[Person]) -> str:
    """Return the latest time of these people as the class list has it; "" if it has none."""
    times = {when: one.who.submitted for one in people if (when := read_moment(one.who.submitted))}
    return times[max(times)] if times else ""


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
    """

    course: Course
    overrides: Sequence[Override] = ()
    roster: Sequence[Person] = ()
    unsure: frozenset[str] = field(default=frozenset(), kw_only=True)

    def unambiguous(self: OwnRules, class_: Iterable[Graded]) -> OwnRules:
        """Return the same rules without entries and people that could be several students.

        Students may choose their own names on a platform.
        """
        class_ = list(class_)
        if pretenders := self._find_pretenders(class_):
            return self._without(pretenders).unambiguous(class_)
        shared = self._shared(class_)
        roster = [person for person in self.roster if person.id not in shared]
        unsure = self.unsure.union(one.student for one in class_ if len(self._near(one)) > 1)
        unsure |= self._like_members(class_).keys()
        unsure |= {student for works in self._equal_teams(class_).values() for student in works}
        rules = replace(self, roster=roster, unsure=unsure)
        if not self.overrides and not self.course.extensions:
            return rules
        everybody = list(map(rules.complete, class_))
        several = rules.ambiguous(everybody)
        # Their ids, names and addresses are not free for others.
        lost = {name for one in self.roster if one.id in shared for name in one.names}
        extensions = {
            name: when
            for name, when in self.course.extensions.items()
            if compose(name) not in lost
            and sum(rules.is_called(graded, name) for graded in everybody) < 2
        }
        course = replace(self.course, extensions=extensions)
        sure = [one for one in self.overrides if one.row not in several]
        overrides = [one for one in sure if compose(one.student) not in lost]
        return replace(rules, course=course, overrides=overrides)

    def _claims(self, class_: Iterable[Graded]) -> dict[str, list[Graded]]:
        """Return the students who could be only one person on the class list, by that one's id.

        Who could be several people gets nobody's, and so takes nothing from them.
        """
        claims: defaultdict[str, list[Graded]] = defaultdict(list)
        for graded in class_:
            if not graded.who.absent and not self._is_team(graded):
                near = self._near(graded)
                if len(near) == 1:
                    claims[near[0].id].append(graded)
        return claims

    def _shared(self, class_: Iterable[Graded]) -> dict[str, int]:
        """Return who on the class list could be several students, by id, and how many.

        A student who has chosen another's name would get that one's time and address.
        """
        claims = self._claims(class_)
        return {id: len(works) for id, works in claims.items() if len(works) > 1}

    def _find_pretenders(self, class_: Iterable[Graded]) -> dict[str, str]:
        """Return the students with a name of somebody who is another student, and that one.

        Nobody chooses the number on a platform, so the only student who has it is that person. In
        folders of the instructor's own, it is the one with the very id.
        """
        found: dict[str, str] = {}
        several = ((id, works) for id, works in self._claims(class_).items() if len(works) > 1)
        for id, works in several:
            own = {one.who.number for one in self.roster if one.id == id} - {""}
            sure: list[str] = []
            if all(one.who.platform for one in works):
                sure = [one.student for one in works if one.who.number in own]
            elif not any(one.who.platform for one in works):
                sure = [one.student for one in works if compose(one.student) == compose(id)]
            if len(sure) == 1:
                found |= {one.student: id for one in works if one.student not in sure}
        return found

    def _without(self: OwnRules, pretenders: Mapping[str, str]) -> OwnRules:
        """Return the same rules, in which these students are nobody on the class list."""
        return replace(self, unsure=self.unsure | pretenders.keys())

    @cached_property
    def _teams(self) -> frozenset[str]:
        return frozenset(map(compose, self.course.groups))

    def _is_team(self, graded: Graded) -> bool:
        return not self._teams.isdisjoint(self._names_of_work(graded))

    def _names_of_work(self, graded: Graded) -> tuple[str, str]:
        return compose(graded.student), compose(graded.who.name)

    @cached_property
    def _by_name(self) -> Mapping[tuple[str, str], Sequence[Person]]:
        """The people on the class list by each of their names, and by platform and number.

        Also by their names in Moodle's folders.
        """
        found: defaultdict[tuple[str, str], list[Person]] = defaultdict(list)
        for person in self.roster:
            keys = [*(("", name) for name in person.names), *_numbers(person.who)]
            for key in [*keys, (FOLDED, person.folded)]:
                found[key].append(person)
        return found

    @cached_property
    def _listed(self) -> Mapping[str, Person]:
        """The people on the instructor's own class list, by their ids there."""
        return {compose(one.id): one for one in self.roster if not one.who.platform}

    @cached_property
    def _numbers(self) -> Numbers:
        return Numbers(self.roster)

    @cached_property
    def _known(self) -> dict[tuple[str, Who], tuple[bool, list[Person]]]:
        """The findings on each student, because each change is compared with everybody."""
        return {}

    def _has_anothers_number(self, graded: Graded) -> bool:
        """Return whether the number is that of somebody else, so that the name may be chosen."""
        return self._look_up(graded)[0]

    def _near(self, graded: Graded) -> list[Person]:
        """Return who on the class list a student may be; only one if it has the very id or number.

        Two people may have the same name, and one may have chosen another's name or address. On
        Moodle two names may be the same in a folder's name. Nobody chooses the number.
        """
        return self._look_up(graded)[1]

    def _look_up(self, graded: Graded) -> tuple[bool, list[Person]]:
        """Return whether the number is somebody else's, and who on the list it may be."""
        key = (graded.student, graded.who)
        if key not in self._known:
            team = self._is_team(graded)
            other = not team and self._numbers.are_others(graded.student, graded.who)
            nobody = other or graded.student in self.unsure
            self._known[key] = other, [] if nobody else self._find_near(graded)
        return self._known[key]

    def _find_near(self, graded: Graded) -> list[Person]:
        who, student = graded.who, compose(graded.student)
        names = {student, compose(who.name), compose(who.email)} - {""}
        if who.platform:  # nobody is called by the number of another
            names -= self._taken_numbers - {who.number}
        keys = {*(("", name) for name in names), *_numbers(who)}
        keys |= {(FOLDED, folded) for folded in [_folded(who)] if folded}
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

    def _like_members(self, class_: Iterable[Graded]) -> dict[str, str]:
        """Return the students whose name is that of a member of a team with work, and the team.

        Who is known by number is not among them.
        """
        class_ = list(class_)
        members: dict[str, str] = {}
        for graded in class_:
            if self._is_team(graded) and not graded.who.absent:
                named = find_team(graded.student, graded.who, self.course.groups) or ()
                names = {compose(name) for name in named}
                names = names.union(*(person.names for person in self._members(graded)))
                members |= dict.fromkeys(names, graded.student)
        folded = {fold(name): team for name, team in members.items()}
        found: dict[str, str] = {}
        for one in class_:
            team = members.get(compose(one.who.name)) or folded.get(_folded(one.who))
            alone = one.who.platform and not one.who.absent and not self._is_team(one)
            if team and alone and not self._has_number_of(one, self._near(one)):
                found[one.student] = team
        return found

    def _equal_teams(self, class_: Iterable[Graded]) -> dict[str, list[str]]:
        """Return the students whose work has a team's name, by team, if they are several."""
        works: defaultdict[str, list[str]] = defaultdict(list)
        teams = {compose(name): name for name in self.course.groups}
        for graded in class_:
            names = () if graded.who.absent else self._names_of_work(graded)
            for name in {teams[called] for called in names if called in teams}:
                works[name].append(graded.student)
        return {name: students for name, students in works.items() if len(students) > 1}

    def _has_number_of(self, graded: Graded, people: Iterable[Person]) -> bool:
        return graded.who.number != "" and any(o.who.number == graded.who.number for o in people)

    def _count(self, one: Override, everybody: Iterable[Graded]) -> int:
        """Return how many students a change by hand could mean.

        A team counts if it has a member of that name, and so does somebody else who may have chosen
        the name.
        """
        named, everybody = compose(one.student), list(everybody)
        meant = [graded for graded in everybody if self.is_for(one, graded)]
        listed = self._listed.get(named)
        chosen = any(
            graded.who.platform
            and named not in (compose(graded.student), graded.who.number)
            and not (listed and self._has_number_of(graded, [listed]))
            for graded in meant
        )
        teams = [g for g in everybody if self._is_team(g) and g not in meant] if chosen else []
        return len(meant) + sum(self.is_called(graded, one.student) for graded in teams)

    def identify(self, student: str, who: Who) -> set[tuple[str, str]]:
        """Return who a student is: the id, and the only person on the class list.

        Students choose their names on a platform, so there only a number tells who it is. Accents
        in an id have another form if another system has unpacked the class.
        """
        graded = Graded(student, None, who=who)
        near = [] if self._is_team(graded) else self._near(graded)
        sure = len(near) == 1 and who.number in ("", near[0].who.number)
        people = {("class list", near[0].id)} if sure else set()
        return people if who.platform else {("id", compose(student)), *people}

    def identify_members(self, student: str, who: Who) -> set[tuple[str, str]]:
        """Return who the members of a team are, likewise; nobody for a single student."""
        graded = Graded(student, None, who=who)
        if not self._is_team(graded):
            return set()
        names = find_team(student, who, self.course.groups) or ()
        ids = {("id", compose(name)) for name in names}
        return ids | {("class list", person.id) for person in self._members(graded)}

    def _say_other_name(self, graded: Graded) -> list[str]:
        """Return a sentence if somebody with that number is on the list, but under another name."""
        if graded.student in self.unsure or not self._has_anothers_number(graded):
            return []
        names = sorted(one.id for one in self._numbers.owners(graded.who))
        return [
            f"class list: {graded.student} has the number of {name} there, but another name, and "
            "gets nobody's time and address."
            for name in names
        ]

    def list_strangers(self, class_: Iterable[Graded]) -> list[str]:
        """Return a sentence on each rule that matches nobody, or several students."""
        class_ = list(class_)
        if pretenders := self._find_pretenders(class_):
            told = [
                f"class list: {student} has a name of {id}, who is another student, and gets "
                "nobody's time and address."
                for student, id in pretenders.items()
            ]
            return told + self._without(pretenders).list_strangers(class_)
        told = [
            f"class list: {several} students are called {id}; nobody gets its time and address."
            for id, several in self._shared(class_).items()
        ]
        times = self._unread_times() or self._no_times(class_)
        times += self._no_file_times(class_) + self._unread_notes(class_)
        told += times or self._no_times_at_all(class_)
        told += self._no_names(class_)
        for graded in class_:
            several = 0 if self._is_team(graded) else len(self._near(graded))
            if several > 1:
                told.append(
                    f"class list: {several} people on it could be {graded.student}, who gets "
                    "nobody's time and address."
                )
            told += self._say_other_name(graded)
        for name, works in self._equal_teams(class_).items():
            told.append(
                f"groups: {len(works)} submissions are called {name}; none gets a member's time."
            )
        for student, team in self._like_members(class_).items():
            told.append(
                f"class list: {student} has the name of a member of {team}, and gets nobody's time "
                "and address."
            )
        everybody = list(map(self.complete, class_))
        rules = self.unambiguous(class_) if self.overrides else self
        known = list(map(rules.complete, class_)) if self.overrides else []
        for one in self.overrides:
            if one in rules.overrides and any(rules.is_for(one, who) for who in known):
                continue
            count = self._count(one, everybody)
            what = "nobody is called" if not count else f"{count} students are called"
            what = "it is not sure who is called" if count == 1 else what
            told.append(f"overrides, row {one.row}: {what} {one.student}; it changes nothing.")
        told += self._outdone(everybody)
        for name in self.course.groups:
            if not any(compose(name) in self._names_of_work(graded) for graded in everybody):
                told.append(f"groups: no submission is called {name}, so its members have none.")
        for name in self.course.extensions:
            count = sum(self.is_called(graded, name) for graded in everybody)
            if count != 1:
                what = "nobody is called" if not count else f"{count} students are called"
                told.append(f"extensions: {what} {name}.")
        return told

    def list_absent(self, students: Iterable[tuple[str, Who]]) -> list[tuple[Person, bool]]:
        """Return everyone on the class list who is not among these students or in their teams.

        The second item says whether a student has that person's number, but another name.
        """
        present: set[str] = set()
        renamed: set[str] = set()
        students = list(students)
        in_use = any(self._numbers.owners(who) for _, who in students)
        for student, who in students:
            work = Graded(student, None, who=who)
            team = self._is_team(work)
            near = self._members(work) if team else self._near(work)
            if in_use and len(near) > 1 and who.number and not team:
                # Somebody with another number, who has the name of several.
                near = [one for one in near if one.who.number in ("", who.number)]
            present |= {one.id for one in near}
            if self._has_anothers_number(work):
                renamed |= {one.id for one in self._numbers.owners(who)}
        return [(one, one.id in renamed) for one in self.roster if one.id not in present]

    def without_effect(self, class_: Iterable[Graded]) -> Iterator[str]:
        """Yield a sentence on each change by hand of a step or check that was not graded.

        class_: with the reports, which are read only if there are such changes.
        """
        aimed = [one for one in self.overrides if one.target and one.is_grade]
        for graded in map(self.complete, class_) if aimed else ():
            steps = graded.report.steps if graded.report else ()
            known = {step.step for step in steps}
            known |= {check.check for step in steps for check in step.checks}
            for one in aimed:
                if one.target not in known and self.is_for(one, graded):
                    yield (
                        f"overrides, row {one.row}: {one.target} of {graded.student} was not "
                        "graded; it changes nothing."
                    )

    def _outdone(self, everybody: Sequence[Graded]) -> Iterator[str]:
        """Yield a sentence on each change by hand that another row of the same student replaces."""
        several = self.ambiguous(everybody)
        sure = [one for one in self.overrides if one.row not in several]
        for graded in everybody if sure else ():
            mine = [one for one in sure if self.is_for(one, graded)]
            counting = last_of_each(mine)
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
        wrong = [(id, text) for id, text in times if read_moment(text) is None]
        if not wrong or not self.course.due:
            return []
        id, text = wrong[0]
        return [
            f"class list: {len(wrong)} of {len(times)} times in it are not read, such as {text!r} "
            f"of {id}: write 2026-11-23T23:59:00+01:00, or set `timezone`."
        ]

    def _no_times(self, class_: Iterable[Graded]) -> list[str]:
        """Return a sentence if Moodle's worksheet says of nobody when the work came."""
        times = any(one.who.submitted for one in self.roster)
        listed = any(one.who.platform == "Moodle" for one in self.roster)
        if times or not listed or self.course.late is None or all(o.who.absent for o in class_):
            return []
        why = (
            "are not in a form that is known: use a list of your own"
            if self.course.timezone
            else "are not read without `timezone`"
        )
        return [f"class list: the times in Moodle's worksheet {why}; nobody is late by them."]

    def _unread_notes(self, class_: Iterable[Graded]) -> list[str]:
        """Return a sentence on times in nbgrader's notes that are not read, if it matters."""
        known = [self.complete(one) for one in class_] if self.course.due else []
        listed = {one.who.submitted for one in self.roster}
        times = [(one.student, one.who.submitted) for one in known if one.who.submitted]
        wrong = [one for one in times if read_moment(one[1]) is None and one[1] not in listed]
        if not wrong:
            return []
        return [
            f"late: {len(wrong)} of {len(times)} times in timestamp.txt are not read, such as "
            f"{wrong[0][1]!r} of {wrong[0][0]}: set `timezone` to the one that nbgrader has."
        ]

    def _no_file_times(self, class_: Iterable[Graded]) -> list[str]:
        """Return a sentence if the files' times are wanted, but are those of the download."""
        if self.course.late is None or not self.course.late.files:
            return []
        known = (self.complete(one).who for one in class_ if one.who.platform)
        count = sum(not who.submitted and not who.absent for who in known)
        if not count:
            return []
        return [
            f"late: a platform's download gives its own time to all files, so nobody is late by "
            f"it. {count_words(count, 'student')} without a time: the class list may have theirs."
        ]

    def _no_names(self, class_: Iterable[Graded]) -> list[str]:
        """Return a sentence on students known by number alone, which may be a team's on Moodle."""
        owners = [
            owner
            for one in class_
            if one.who.platform == "Moodle" and not one.who.absent and not self._is_team(one)
            for owner in self._numbers.owners(one.who)
        ]
        count = sum(not one.says_name for one in owners)
        if not count:
            return []
        return [
            f"class list: it has no names for {count_words(count, 'student')}, found by number "
            "alone. A team on Moodle may have a person's number: name all teams in `[groups]`."
        ]

    def _no_times_at_all(self, class_: Iterable[Graded]) -> list[str]:
        """Return a sentence if lateness costs points, and of some nobody knows when they handed in.

        Canvas marks what is late, so only that counts there.
        """
        late = self.course.late
        if late is None or not late.percent_per_day:
            return []
        sure = [one for one in class_ if self._is_team(one) or len(self._near(one)) < 2]
        known = (self.complete(one).who for one in sure)
        unknown = [who for who in known if not who.submitted and not who.absent]
        count = sum(who.late or who.platform != "Canvas" for who in unknown)
        if not count:
            return []
        return [
            f"late: no time is known for {count_words(count, 'student')}, so nothing is taken off: "
            "the class list may have their times."
        ]

    def ambiguous(self, class_: Iterable[Graded]) -> frozenset[int]:
        """Return the changes that could mean more than one student."""
        everybody = list(class_)
        return frozenset(one.row for one in self.overrides if self._count(one, everybody) > 1)

    def is_for(self, change: Override, graded: Graded) -> bool:
        """Return whether a change by hand names that student, and not another by the same number.

        An id on the instructor's own class list comes before a number on a platform.
        """
        if self._is_team(graded):  # whose number may be a student's
            return change.is_for(replace(graded, who=replace(graded.who, number="")))
        listed = self._listed.get(compose(change.student))
        if listed is not None:
            return self._near(graded) == [listed]
        own = self._without_chosen_name(graded)
        named = change.is_for(own) or change.is_for(_as_in_download(own))
        return named or self._is_in_row(graded, change.student)

    def _without_chosen_name(self, graded: Graded) -> Graded:
        """Return a student without others' name or address, if the number is on the class list."""
        if self._is_team(graded):
            return graded
        owners = self._numbers.owners(graded.who)
        own = _fold_names(owners) | {fold(graded.who.number)}
        taken = self._taken if owners else self._taken_numbers if graded.who.platform else ()

        def keep(chosen: str) -> str:
            return "" if fold(chosen) in taken and fold(chosen) not in own else chosen

        name, email = keep(graded.who.name), keep(graded.who.email)
        return replace(graded, who=replace(graded.who, name=name, email=email))

    @cached_property
    def _taken(self) -> frozenset[str]:
        """The names, addresses and numbers of everybody on the class list, as Moodle writes them.

        So are names that differ only in what a comparison passes over, such as a space at the end.
        """
        return _fold_names(self.roster)

    @cached_property
    def _taken_numbers(self) -> frozenset[str]:
        """The numbers on the class list, which nobody else may have for a name."""
        return frozenset(fold(one.who.number) for one in self.roster) - {""}

    def _is_in_row(self, graded: Graded, name: str) -> bool:
        """Return whether a platform's class list has that name in the student's row.

        Canvas' gradebook has `Abel, Anna`, and the ids of the university.
        """
        mine = (graded.who.platform, graded.who.number)
        return (
            any(
                one.who.platform and mine == (one.who.platform, one.who.number)
                for one in self._by_name.get(("", compose(name)), ())
            )
            and len(self._near(graded)) == 1
        )

    def has_on_list(self, name: str) -> bool:
        """Return whether the instructor's own class list has somebody with that id.

        On a platform's list, students may have chosen their own names.
        """
        return compose(name) in self._listed

    def has_number(self, platform: str, number: str) -> bool:
        """Return whether the class list has somebody with that number on that platform."""
        return any(key in self._by_name for key in _numbers(Who(platform, number)))

    def complete(self, graded: Graded) -> Graded:
        """Add the class list's data on a student, or on a team's members."""
        members = [] if graded.student in self.unsure else self._members(graded)
        if members:
            submitted = _latest(members) or graded.who.submitted
            return replace(graded, who=replace(graded.who, submitted=submitted))
        near = self._near(graded)
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

    def _members(self, graded: Graded) -> list[Person]:
        """Return the members of a team whom the class list knows; none for a single student."""
        names = find_team(graded.student, graded.who, self.course.groups) or ()
        found = (find_person(name, self.roster) for name in names)
        return [person for person in found if person is not None]

    def is_called(self, graded: Graded, name: str) -> bool:
        """Return whether a student, or a member of a team, has that name, number or address."""
        who, called = graded.who, compose(name)
        listed, team = self._listed.get(called), find_team(graded.student, who, self.course.groups)
        if team is None and listed is not None:
            return self._near(graded) == [listed]
        if team is None and self._is_in_row(graded, name):
            return True
        who = who if team else self._without_chosen_name(graded).who
        names = [graded.student, who.name, who.email, *([who.number] if team is None else team)]
        names.append(_folded(who))
        for person in self._members(graded):
            names += [*person.names, person.who.number]
        return called in {compose(one) for one in names if one}

    def list_extensions(self, graded: Graded) -> list[str]:
        """Return the extended deadlines of a student, or of a team's members."""
        extensions = self.course.extensions.items()
        return [when for name, when in extensions if self.is_called(graded, name)]
