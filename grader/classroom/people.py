"""Say whose work each submission is: the one answer of grades, pages, exports and feedback.

The rule tries, in this order, the instructor's own word in `matches.csv`; the number on the
platform; the exact id or login; the teams of the assignment file; and last an exact name or address
that one person has. Nothing is guessed. Work that the rule finds nobody for is *unmatched*: it is
graded, listed, and exported only after the instructor has written whose it is.

Students choose their names on a platform, and so may take another's. A number or an id that tells
who somebody is therefore stands against any name. If two claim a person by name only, both are
unmatched. Without a class list every submission is a person, and nobody is unmatched.
"""

import functools
import itertools
import re
import string
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from types import MappingProxyType

from grader.classroom.lateness import read_moment
from grader.report.records import Graded, Who

# The characters that Moodle drops from the name of a file.
_LEFT_OUT = re.compile(r"""[\x00-\x1f&<>"`|':\\/]""")
# Only these: some other letters become `k` or `s`, and would be another's address.
_SMALL = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


@functools.lru_cache(maxsize=100_000)  # each name is compared with many
def compose(name: str) -> str:
    """Return a name in the one form in which ids are compared; addresses have no capitals.

    >>> compose("Anna.Abel@X.org"), compose("Anna")
    ('anna.abel@x.org', 'Anna')
    """
    composed = unicodedata.normalize("NFC", name)
    is_address = re.fullmatch(r"[^@\s]+@[^@\s]+", composed)
    return composed.translate(_SMALL) if is_address else composed


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
    words = re.split(r"[\W_]+", _LEFT_OUT.sub("", compose(name)).casefold())
    return frozenset(word for word in words if word and not word.isdigit())


def agree(one: "Person", person: "Person") -> bool:
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
    who: Who
    names: tuple[str, ...]
    logins: tuple[str, ...] = ()


def person(id: str, who: Who, names: Iterable[str] = (), logins: Iterable[str] = ()) -> Person:
    """Return a person with these names and logins besides the id, name and address."""
    ids = sorted({*map(compose, logins)} - {""})
    known = {*map(compose, (id, who.name, who.email, *names)), *ids} - {""}
    return Person(id, who, tuple(sorted(known)), tuple(ids))


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


# Whom somebody claims to be, each by the place in a list, and by what.
Claims = Sequence[tuple[Claim, int]]


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

    def find(self, one: Person, where: str = "on the class list") -> tuple[Claims, str]:
        """Return who that is and by what, as the only claim, or none and the reason.

        where: the list, for a sentence.
        A number or an id counts unless both sides tell names without a common word. A person with
        another number on the same platform has neither the id nor the name.
        """
        if one.who.platform == "Moodle" and not one.who.number:
            return [], "on Moodle only a team's folder has no number"
        reason = f"no person {where} has this name, id or number"
        for claim, keys in _keys(one).items():
            called = {place for key in keys for place in self._by[claim].get(key, ())}
            is_number = claim is Claim.NUMBER
            found = [p for p in sorted(called) if _may_be(one.who, self.people[p].who, is_number)]
            if len(found) > 1:
                return [], f"{len(found)} people have {WORDS[claim]}"
            if found:
                known = self.people[found[0]]
                if claim > Claim.ID or agree(one, known):
                    return [(claim, found[0])], ""
                called_so = known.id or known.who.name
                return [], f"it has {WORDS[claim]} of {called_so}, but another name"
            if is_number and one.who.number and one.who.platform in self.platforms:
                return [], f"nobody there has its number on {one.who.platform}"
            if called and not is_number:
                known = self.people[min(called)]
                reason = f"{known.id or known.who.name} has another number"
        return [], reason

    def find_called(self, text: str) -> list[int]:
        """Return whom an instructor means: who has the id, or else the number, or else the name."""
        keys = {Claim.ID: compose(text), Claim.NUMBER: text.casefold(), Claim.NAME: fold(text)}
        return next((found for by in keys if (found := self._by[by].get(keys[by], []))), [])

    def find_all(self, texts: Iterable[str]) -> tuple[list[int], list[str]]:
        """Return whom an instructor means, and a sentence's beginning on each text that fails."""
        found = {text: self.find_called(text) for text in texts}
        wrong = [
            f"{len(places)} people are called {text}" if places else f"nobody is called {text}"
            for text, places in found.items()
            if len(places) != 1
        ]
        return [*dict.fromkeys(one[0] for one in found.values() if len(one) == 1)], wrong

    def find_id(self, id: str) -> list[int]:
        """Return who has that id."""
        return self._by[Claim.ID].get(compose(id), [])

    def without_shared_names(self, one: Person) -> Person:
        """Return a person on the list without the names that others have, too."""
        by = self._by[Claim.NAME]
        return replace(one, names=tuple(n for n in one.names if len(by.get(fold(n), ())) < 2))

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
        Claim.ID: frozenset({*one.logins, compose(one.id)} - {""}),
        Claim.ADDRESS: frozenset({compose(one.who.email)} - {""}),
        Claim.NAME: frozenset(map(fold, one.names)) - {""},
    }


def settle(
    people: Sequence[Person], claims: Mapping[str, tuple[Claims, str]]
) -> dict[str, tuple[list[int], str]]:
    """Return the people whom each claimant gets: those on whom no other has as strong a claim.

    Who gets nobody may have the reason instead, as in the claims.
    """
    rivals: defaultdict[int, list[tuple[Claim, str]]] = defaultdict(list)
    for key, (asked, _) in claims.items():
        for claim, place in asked:
            rivals[place].append((claim, key))
    won: dict[str, list[int]] = {key: [] for key in claims}
    reasons = {key: reason for key, (_, reason) in claims.items()}
    for place, all_ in rivals.items():
        best, id = min(all_)[0], people[place].id
        keys = [key for claim, key in all_ if claim is best]
        tied = f"{len(keys)} submissions have {WORDS.get(best, 'the id')} of {id}"
        for claim, key in all_:
            if keys == [key]:
                won[key].append(place)
            elif claim is not Claim.TEAM:  # a team may have fewer members
                reasons[key] = tied if key in keys else f"other work is surely that of {id}"
    return {key: ([] if reasons[key] else won[key], reasons[key]) for key in claims}


def _from_work(graded: Graded) -> Person:
    """Return a person as work tells of it. On a platform the work's own id may be a chosen name."""
    who = graded.who
    return person("" if who.platform else graded.student, who, [graded.student], [who.login])


@dataclass(frozen=True)
class Owners:
    """Say whose every work of a class is.

    directory: the people on the class list, or without one everybody who has handed in. owners: the
    places there of a work's owners, by the work's id. unmatched: the reason why work is nobody's.
    teams: the works of several people, and the teams' names. notes: sentences on teams.
    """

    directory: Directory
    class_: Sequence[Graded]
    owners: Mapping[str, Sequence[int]]
    unmatched: Mapping[str, str]
    teams: Mapping[str, str]
    notes: Sequence[str] = ()
    is_listed: bool = True

    def owners_of(self, graded: Graded) -> list[Person]:
        """Return the owners of work, with what the work itself tells of a single one."""
        people = [self.directory.people[place] for place in self.owners.get(graded.student, ())]
        if graded.student in self.teams or not people:
            return people
        listed, work = people[0].who, graded.who
        who = replace(
            work,
            platform=(listed.platform if listed.number else "") or work.platform or listed.platform,
            number=listed.number or work.number,
            name=listed.name or work.name,
            email=listed.email or work.email,
            submitted=listed.submitted or work.submitted,
        )
        return [replace(people[0], who=who)]

    def find_person(self, graded: Graded) -> int | None:
        """Return who has done some earlier work, by its place among the people; None for nobody."""
        asked, _ = self.directory.find(_from_work(graded))
        return asked[0][1] if asked else None

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
            told = [one.who.submitted for one in owners]
            times = [(when, text) for text in told if (when := read_moment(text))]
            who = replace(graded.who, submitted=max(times)[1]) if times else graded.who
        else:
            who = owners[0].who if owners else graded.who
        return replace(graded, who=who)


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
    class_ = list(class_)
    teams, members = _find_teams(class_, groups, by_hand)
    directory = Directory(people or _stand_ins(class_, members, by_hand))
    own = {one.id: place for place, one in reversed([*enumerate(directory.people)])}
    count = Counter(teams.values())
    claims: dict[str, tuple[Claims, str]] = {}
    notes: list[str] = []
    for graded in class_:
        student = graded.student
        team = teams.get(student)
        if ids := by_hand.get(student):
            places, wrong = directory.find_all(ids)
            mine = [(Claim.BY_HAND, place) for place in places if not wrong]
            claims[student] = mine, f"matches.csv: {wrong[0]}" if wrong else ""
            teams |= {student: student} if len(ids) > 1 else {}
        elif team is not None and count[team] > 1:
            claims[student] = [], f"{count[team]} submissions are called {team}"
        elif team is not None:
            places, wrong = directory.find_all(members[student])
            claims[student] = [(Claim.TEAM, place) for place in places], ""
            notes += [f"groups: {one}, who is in {team}." for one in wrong]
        elif people:
            asked, reason = directory.find(_from_work(graded))
            absent = [(Claim.ABSENT, place) for _, place in asked]
            claims[student] = absent if graded.who.absent else asked, reason
        else:
            claims[student] = [(Claim.ID, own[student])], ""
    found = settle(directory.people, claims)
    for student, team in teams.items():
        won, reason = found[student]
        if not reason:
            lost = [directory.people[at].id for _, at in claims[student][0] if at not in won]
            notes += [f"groups: {id} has other work than that of {team}." for id in lost]
            found[student] = won, "" if won else "none of its members is known to be without work"
    present = {one.student for one in class_ if not one.who.absent}
    return Owners(
        directory,
        class_,
        {key: won for key, (won, _) in found.items()},
        {key: reason for key, (_, reason) in found.items() if reason and key in present},
        teams,
        notes,
        bool(people),
    )


def _find_teams(
    class_: Sequence[Graded],
    groups: Mapping[str, Sequence[str]],
    by_hand: Mapping[str, Sequence[str]],
) -> tuple[dict[str, str], dict[str, Sequence[str]]]:
    """Return the teams' names and their members, by the ids of their works."""
    folded = {fold(name): name for name in groups}
    teams: dict[str, str] = {}
    members: dict[str, Sequence[str]] = {}
    for one in class_:
        names = {folded[n] for n in (fold(one.student), fold(one.who.name)) if n in folded}
        if (names or one.who.members) and not one.who.absent and not by_hand.get(one.student):
            teams[one.student] = min(names, default=one.student)
            members[one.student] = groups[teams[one.student]] if names else one.who.members
    return teams, members


def _stand_ins(
    class_: Sequence[Graded],
    members: Mapping[str, Sequence[str]],
    by_hand: Mapping[str, Sequence[str]],
) -> list[Person]:
    """Return a person for each work and for each name that an instructor's file has."""
    works = (one for one in class_ if one.student not in members)
    own = [person(one.student, one.who, logins=[one.who.login]) for one in works]
    known = Directory(own)
    texts = dict.fromkeys(itertools.chain(*members.values(), *by_hand.values()))
    return own + [
        person(text, Who(email=text) if "@" in text else Who(name=text))
        for text in texts
        if not known.find_called(text)
    ]
