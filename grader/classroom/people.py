"""Say whose work each submission is: the one answer of grades, pages, exports and feedback.

The rule tries, in this order, the instructor's own word in `matches.csv`; the number on the
platform; the exact id or login; the teams of the assignment file; and last an exact name or address
that one person has. Nothing is guessed. Work that the rule finds nobody for is *unmatched*: it is
graded, listed, and exported only after the instructor has written whose it is.

Students choose their names on a platform, and so may take another's. A number or an id that tells
who somebody is therefore stands against any name. If two claim a person by name only, both are
unmatched. Without a class list every submission is a person, and nobody is unmatched.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import string
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from enum import IntEnum
from types import MappingProxyType
from typing import Any

from grader.classroom.lateness import read_moment
from grader.report.records import Graded, Who

# The characters that Moodle drops from the name of a file, and those between words.
_LEFT_OUT = re.compile(r"""[\x00-\x1f&<>"`|':\\/]""")
_BETWEEN = re.compile(r"[\W_]+")
_ADDRESS = re.compile(r"[^@\s]+@[^@\s]+")
# Only these: some other letters become `k` or `s`, and would be another's address.
_SMALL = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
NEVER = datetime.min.replace(tzinfo=timezone.utc)
NOBODY = "no person on the class list has this name, id or number"
TEAMS_FOLDER = "on Moodle only a team's folder has no number"


@functools.lru_cache(maxsize=100_000)  # each name is compared with many
def compose(name: str) -> str:
    """Return a name in the one form in which ids are compared; addresses have no capitals.

    >>> compose("Anna.Abel@X.org"), compose("Anna")
    ('anna.abel@x.org', 'Anna')
    """
    composed = unicodedata.normalize("NFC", name)
    return composed.translate(_SMALL) if _ADDRESS.fullmatch(composed) else composed


def clean_name(name: str) -> str:
    """Return a name as Moodle writes it in a folder's name."""
    return _LEFT_OUT.sub("", name.replace("_", " "))


@functools.lru_cache(maxsize=100_000)
def fold(name: str) -> str:
    """Return a name in the one form in which names are compared, that of Moodle's folders.

    >>> fold("Cy O'Cole"), fold("Li_Wei"), fold("Ann: Lee ")
    ('Cy OCole', 'Li Wei', 'Ann Lee')
    """
    return compose(clean_name(compose(name)).strip())


def _find_words(name: str) -> frozenset[str]:
    """Return the words of a name, without numbers.

    >>> sorted(_find_words("Cy O'Cole_4711"))
    ['cy', 'ocole']
    """
    words = _BETWEEN.split(_LEFT_OUT.sub("", compose(name)).casefold())
    return frozenset(word for word in words if word and not word.isdigit())


def agree(one: Person, person: Person) -> bool:
    """Return whether two may be the same: no name is known, or the names share a word.

    If the name is written otherwise, the address is enough.
    """
    name, email = one.who.name, one.who.email
    if not name or not person.who.name or (email and compose(email) == compose(person.who.email)):
        return True
    mine, theirs = _find_words(name), frozenset().union(*map(_find_words, person.names))
    if mine and theirs:
        return not mine.isdisjoint(theirs)
    return fold(name) in map(fold, person.names)  # a team may be called `1`, or by signs only


@dataclass(frozen=True)
class Person:
    """A person: on the class list, in a row of a platform's table, or as work tells it.

    names: all names, ids and addresses. logins: other ids that nobody else can have.
    """

    id: str
    names: frozenset[str]
    who: Who
    logins: frozenset[str] = frozenset()

    @property
    def ids(self) -> frozenset[str]:
        """Return every id, in the form in which ids are compared."""
        return (self.logins | {compose(self.id)}) - {""}

    def to_dict(self) -> dict[str, Any]:
        """Return the person as JSON data, for the gradebook."""
        texts = {"names": sorted(self.names), "logins": sorted(self.logins)}
        return {"id": self.id, **texts, "who": dataclasses.asdict(self.who)}


def person(id: str, who: Who, names: Iterable[str] = (), logins: Iterable[str] = ()) -> Person:
    """Return a person with these names and logins besides the id, name and address."""
    logins = [one for one in logins if one]
    known = (id, who.name, who.email, *names, *logins)
    return Person(id, frozenset(map(compose, known)) - {""}, who, frozenset(map(compose, logins)))


def person_from_dict(data: Mapping[str, Any]) -> Person:
    """Return the person from the data that `Person.to_dict` returned, also in earlier versions."""
    lists = {key: tuple(data["who"].get(key, ())) for key in ("files", "members")}
    who = Who(**{**data["who"], **lists})
    return person(data["id"], who, data["names"], data.get("logins", ()))


class Claim(IntEnum):
    """By what a person was found; the lowest stands against all others."""

    BY_HAND = 0
    NUMBER = 1
    ID = 2
    TEAM = 3
    ADDRESS = 4
    NAME = 5
    ABSENT = 6


WORDS = {
    Claim.NUMBER: "the number",
    Claim.ID: "the id",
    Claim.ADDRESS: "the address",
    Claim.NAME: "the name",
}


@dataclass(frozen=True)
class Unmatched:
    """Work of nobody, with the reason."""

    reason: str


class Directory:
    """People, found by number, id and name. A person is known by the place in the list."""

    def __init__(self, people: Sequence[Person]) -> None:
        self.people = people
        self.platforms = {one.who.platform for one in people if one.who.number}
        self._by: dict[Claim, defaultdict[str, list[int]]] = {
            claim: defaultdict(list) for claim in WORDS
        }
        for place, one in enumerate(people):
            for claim, keys in _keys(one).items():
                for key in keys:
                    self._by[claim][key].append(place)

    def find(self, one: Person) -> tuple[Claim, int] | Unmatched:
        """Return who that is and by what, or why it is nobody.

        A number or an id counts unless both sides tell names without a common word. A person with
        another number on the same platform has neither the id nor the name.
        """
        if is_of_team(one.who):
            return Unmatched(TEAMS_FOLDER)
        reason = NOBODY
        for claim, keys in _keys(one).items():
            called = {place for key in keys for place in self._by[claim].get(key, ())}
            is_number = claim is Claim.NUMBER
            found = [p for p in sorted(called) if _may_be(one.who, self.people[p].who, is_number)]
            if len(found) > 1:
                return Unmatched(f"{len(found)} people have {WORDS[claim]}")
            if found:
                known = self.people[found[0]]
                if claim > Claim.ID or agree(one, known):
                    return claim, found[0]
                called_as = known.id or known.who.name
                return Unmatched(f"it has {WORDS[claim]} of {called_as}, but another name")
            if is_number and one.who.number and one.who.platform in self.platforms:
                return Unmatched(f"nobody there has its number on {one.who.platform}")
            if called and not is_number:
                other = self.people[min(called)]
                reason = f"{other.id or other.who.name} has another number"
        return Unmatched(reason)

    def find_called(self, text: str) -> list[int]:
        """Return whom an instructor means: who has the id, or else the number, or else the name."""
        keys = {Claim.ID: compose(text), Claim.NUMBER: text.casefold(), Claim.NAME: fold(text)}
        return next((found for by in keys if (found := self._by[by].get(keys[by], []))), [])

    def find_id(self, id: str) -> list[int]:
        """Return who has that id."""
        return self._by[Claim.ID].get(compose(id), [])

    def without_shared_names(self, one: Person) -> Person:
        """Return a person on the list without the names that others have, too."""
        by = self._by[Claim.NAME]
        return replace(one, names=frozenset(n for n in one.names if len(by.get(fold(n), ())) < 2))

    def has_number(self, platform: str, number: str) -> bool:
        """Return whether somebody has that number on that platform."""
        places = self._by[Claim.NUMBER].get(number.casefold(), [])
        return any(self.people[place].who.platform in ("", platform) for place in places)


def _may_be(mine: Who, theirs: Who, by_number: bool) -> bool:
    """Return whether the platforms agree, or else the numbers, if both are known."""
    if by_number:
        return "" in (mine.platform, theirs.platform) or mine.platform == theirs.platform
    known = "" not in (mine.platform, mine.number, theirs.number)
    same_platform = theirs.platform in ("", mine.platform)
    return not (known and same_platform and mine.number.casefold() != theirs.number.casefold())


def _keys(one: Person) -> dict[Claim, frozenset[str]]:
    """Return the texts by which a person is found, in the order in which they count."""
    return {
        Claim.NUMBER: frozenset({one.who.number.casefold()} - {""}),
        Claim.ID: one.ids,
        Claim.ADDRESS: frozenset({compose(one.who.email)} - {""}),
        Claim.NAME: frozenset(map(fold, one.names)) - {""},
    }


def find_best(claims: Sequence[tuple[Claim, str]]) -> list[str]:
    """Return who has the strongest claim on a person; several, if theirs are the same."""
    best = min(claim for claim, _ in claims)
    return [key for claim, key in claims if claim is best]


def is_of_team(who: Who) -> bool:
    """Return whether work from Moodle is a team's: there, each person's folder has a number."""
    return who.platform == "Moodle" and not who.number


def _from_work(graded: Graded) -> Person:
    """Return a person as work tells of it. On a platform the work's own id may be a chosen name."""
    who = graded.who
    return person("" if who.platform else graded.student, who, [graded.student], [who.login])


def _by_name_only(name: str) -> Person:
    return person(name, Who(email=name) if "@" in name else Who(name=name))


@dataclass(frozen=True)
class Owners:
    """Say whose every work of a class is.

    directory: the people on the class list, or without one everybody who has handed in. owners: the
    places there of a work's owners, by the work's id. unmatched: the reason why work is nobody's.
    teams: the works of several people, and the teams' names. claims: who a single work says it is
    of, even if other work is surely theirs. notes: sentences on teams.
    """

    directory: Directory
    class_: Sequence[Graded]
    owners: Mapping[str, Sequence[int]]
    unmatched: Mapping[str, str]
    teams: Mapping[str, str]
    claims: Mapping[str, int]
    notes: Sequence[str] = ()
    is_listed: bool = True

    def owners_of(self, graded: Graded) -> list[Person]:
        """Return the owners of work, with what the work itself tells of a single one."""
        people = [self.directory.people[place] for place in self.owners.get(graded.student, ())]
        if graded.student in self.teams:
            return people
        return [replace(one, who=_merge(one.who, graded.who)) for one in people]

    def find_person(self, graded: Graded) -> int | None:
        """Return who has done some earlier work, by its place among the people; None for nobody."""
        found = self.directory.find(_from_work(graded))
        return None if isinstance(found, Unmatched) else found[1]

    def is_by_several(self, students: Iterable[str]) -> bool:
        """Return whether some works are of several people, or of several teams."""
        return len({self.claims.get(student, student) for student in students}) > 1

    def list_absent(self) -> list[Person]:
        """Return everybody on the class list who owns no work.

        Nobody is absent under the id of a submission.
        """
        present = {place for places in self.owners.values() for place in places}
        people = enumerate(self.directory.people) if self.is_listed else ()
        return [one for place, one in people if place not in present and one.id not in self.owners]

    def complete(self, graded: Graded) -> Graded:
        """Add to work what the class list has of its owner, or of a team's members."""
        owners = self.owners_of(graded)
        if graded.student in self.teams:
            late = [one.who.submitted for one in owners if read_moment(one.who.submitted)]
            when = max(late, key=lambda text: read_moment(text) or NEVER, default="")
            who = replace(graded.who, submitted=when or graded.who.submitted)
        else:
            who = owners[0].who if owners else graded.who
        return replace(graded, who=who)


def _merge(listed: Who, work: Who) -> Who:
    """Return what is known of a person on the class list and of the only work."""
    same = listed.number or work.number
    platform = (listed.platform if listed.number else "") or work.platform or listed.platform
    return replace(
        work,
        platform=platform,
        number=same,
        name=listed.name or work.name,
        email=listed.email or work.email,
        submitted=listed.submitted or work.submitted,
    )


def resolve(
    class_: Iterable[Graded],
    people: Sequence[Person] = (),
    groups: Mapping[str, Sequence[str]] = MappingProxyType({}),
    by_hand: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> Owners:
    """Return whose each work of a class is.

    people: the class list. groups: the members of each team. by_hand: the ids of works' owners, as
    the instructor has written them.
    """
    return _Resolving(list(class_), people, groups, by_hand).answer()


class _Resolving:
    """Collects who claims whom, and settles that."""

    def __init__(
        self,
        class_: Sequence[Graded],
        people: Sequence[Person],
        groups: Mapping[str, Sequence[str]],
        by_hand: Mapping[str, Sequence[str]],
    ) -> None:
        self.class_, self.by_hand, self.is_listed = class_, by_hand, bool(people)
        self.teams: dict[str, str] = {}
        self.members: dict[str, Sequence[str]] = {}  # of each team's work
        folded = {fold(name): name for name in groups}
        for one in class_:
            names = {folded[n] for n in (fold(one.student), fold(one.who.name)) if n in folded}
            if (names or one.who.members) and not one.who.absent and not by_hand.get(one.student):
                team = self.teams[one.student] = min(names, default=one.student)
                self.members[one.student] = groups[team] if names else one.who.members
        self.directory = Directory(people or self._stand_ins())
        self.own = {one.id: place for place, one in reversed([*enumerate(self.directory.people)])}
        self.claims: defaultdict[int, list[tuple[Claim, str]]] = defaultdict(list)
        self.owners: dict[str, list[int]] = {one.student: [] for one in class_}
        self.unmatched: dict[str, str] = {}
        self.notes: list[str] = []

    def _stand_ins(self) -> list[Person]:
        """Return a person for each work and for each name that an instructor's file has."""
        works = (one for one in self.class_ if one.student not in self.teams)
        own = [person(one.student, one.who, logins=[one.who.login]) for one in works]
        known = Directory(own)
        lists = (*self.members.values(), *self.by_hand.values())
        texts = dict.fromkeys(name for names in lists for name in names)
        return own + [_by_name_only(name) for name in texts if not known.find_called(name)]

    def answer(self) -> Owners:
        """Return the answer."""
        works = Counter(self.teams.values())
        for graded in self.class_:
            student = graded.student
            if ids := self.by_hand.get(student):
                self._claim_by_hand(student, ids)
            elif student not in self.teams:
                self._claim_own(graded)
            elif (count := works[self.teams[student]]) > 1:
                self.unmatched[student] = f"{count} submissions are called {self.teams[student]}"
            else:
                self._claim_members(student)
        for place, claims in self.claims.items():
            self._settle(place, claims)
        for student in self.teams:
            if not self.owners[student]:
                reason = "none of its members is known to be without work"
                self.unmatched.setdefault(student, reason)
        owners = {
            student: () if student in self.unmatched else tuple(places)
            for student, places in self.owners.items()
        }
        of_one = {
            student: place
            for place, claims in self.claims.items()
            for _, student in claims
            if student not in self.teams
        }
        return Owners(
            *(self.directory, self.class_, owners, self.unmatched, self.teams, of_one, self.notes),
            self.is_listed,
        )

    def _claim_by_hand(self, student: str, ids: Sequence[str]) -> None:
        places = {id: self.directory.find_called(id) for id in ids}
        for id, found in places.items():
            if len(found) != 1:
                self.unmatched[student] = f"matches.csv: {_count(found)} called {id}"
                return
        for (place,) in places.values():
            self.claims[place].append((Claim.BY_HAND, student))
        if len(places) > 1:
            self.teams[student] = student

    def _claim_members(self, student: str) -> None:
        for name in self.members[student]:
            found = self.directory.find_called(name)
            if len(found) == 1:
                self.claims[found[0]].append((Claim.TEAM, student))
            else:
                team = self.teams[student]
                self.notes.append(f"groups: {_count(found)} called {name}, who is in {team}.")

    def _claim_own(self, graded: Graded) -> None:
        if self.is_listed:
            found = self.directory.find(_from_work(graded))
        else:
            found = Claim.ID, self.own[graded.student]
        if isinstance(found, Unmatched):
            if not graded.who.absent:
                self.unmatched[graded.student] = found.reason
            return
        claim, place = found
        self.claims[place].append((Claim.ABSENT if graded.who.absent else claim, graded.student))

    def _settle(self, place: int, claims: Sequence[tuple[Claim, str]]) -> None:
        """Give a person to the only work with the best claim; say what becomes of the others."""
        best, id = find_best(claims), self.directory.people[place].id
        if len(best) == 1:
            self.owners[best[0]].append(place)
        for claim, student in claims:
            if best == [student] or claim is Claim.ABSENT:
                continue
            if claim is Claim.TEAM:
                team = self.teams[student]
                self.notes.append(f"groups: {id} has other work than that of {team}.")
            elif student in best:
                what = WORDS.get(claim, "the id")
                self.unmatched[student] = f"{len(best)} submissions have {what} of {id}"
            else:
                self.unmatched[student] = f"other work is surely that of {id}"


def _count(people: Sequence[int]) -> str:
    return f"{len(people)} people are" if people else "nobody is"
