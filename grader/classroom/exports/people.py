"""Know the people on a class list and the members of teams, and compare names."""

from __future__ import annotations

import dataclasses
import functools
import re
import string
import unicodedata
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from grader.report.records import Graded, Who

# The characters that Moodle drops from the name of a file, and those between words.
_LEFT_OUT = re.compile(r"""[\x00-\x1f&<>"`|':\\/]""")
_BETWEEN = re.compile(r"[\W_]+")
_ADDRESS = re.compile(r"[^@\s]+@[^@\s]+")
# Only these: some other letters become `k` or `s`, and would be another's address.
_SMALL = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


@functools.lru_cache(maxsize=100_000)  # each name is compared with many
def compose(name: str) -> str:
    """Return a name in the one form in which names are compared; addresses have no capitals.

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
    """Return a name in the one form of the class list and of a folder's name.

    >>> fold("Cy O'Cole"), fold("Li_Wei"), fold("Ann: Lee")
    ('Cy OCole', 'Li Wei', 'Ann Lee')
    """
    return compose(clean_name(compose(name)).strip())


def find_words(name: str) -> frozenset[str]:
    """Return the words of a name, as a download writes them, without numbers.

    >>> sorted(find_words("Cy O'Cole_4711"))
    ['cy', 'ocole']
    """
    words = _BETWEEN.split(_LEFT_OUT.sub("", compose(name)).casefold())
    return frozenset(word for word in words if word and not word.isdigit())


def may_be(name: str, names: Iterable[str]) -> bool:
    """Return whether a name shares a word with one of these; one without words must be the same.

    Moodle's numbers need this, because a team's folder has the number of the team.

    >>> may_be("Anna Abel", ["Abel, A."]), may_be("1", ["Abel, A."]), may_be("", ["Abel, A."])
    (True, False, True)
    """
    names = [one for one in names if one]
    if not name or not names:
        return True
    mine, theirs = find_words(name), frozenset().union(*map(find_words, names))
    if mine and theirs:
        return not mine.isdisjoint(theirs)
    return fold(name) in map(fold, names)  # a team may be called `1`, or by signs only


def is_of_team(who: Who) -> bool:
    """Return whether work from Moodle is a team's: there, each person's folder has a number."""
    return who.platform == "Moodle" and not who.number


@dataclass(frozen=True)
class Person:
    """A person on the class list. names: all names on the list."""

    id: str
    names: frozenset[str]
    who: Who

    def is_called(self, graded_id: str, who: Who) -> bool:
        """Return whether a student of a download is this person."""
        if who.platform and who.platform == self.who.platform:
            return who.number == self.who.number and may_be(who.name, self._own_names)
        # The instructor's own list may have the numbers of a platform; Canvas tells no names.
        if not self.who.platform and who.number and who.number == self.who.number:
            # In blind marking `Participant_123`, on the list `Participant 123` or `…/in123`.
            written = {fold(one).replace(" ", "") for one in self.numbers}
            blind = who.name != "" and fold(f"{who.name}{who.number}") in written
            return blind or not self.says_name or may_be(who.name, self._own_names)
        return not self._has_other_number(who) and self.has_name_of(graded_id, who)

    def has_name_of(self, graded_id: str, who: Who) -> bool:
        """Return whether a student has a name of this person, who may have another number."""
        names = filter(None, (graded_id, who.name, who.email))
        return any(compose(name) in self.names for name in names) or self._is_folded(who)

    def _has_other_number(self, who: Who) -> bool:
        """Return whether a platform says that it is somebody else: nobody chooses the number."""
        return "" not in (who.platform, who.number, self.who.number) and not self.who.platform

    @functools.cached_property
    def numbers(self) -> frozenset[str]:
        """Return the number in every form: an own list may also have it as `Participant 123`."""
        others = map(compose, (self.id, self.who.name, self.who.email))
        own = frozenset[str]() if self.who.platform else self.names.difference(others)
        return (own | {compose(self.who.number)}) - {""}

    @functools.cached_property
    def _own_names(self) -> frozenset[str]:
        """All names but `Participant 123`, which has a word that everybody has."""
        return self.names - (self.numbers - {compose(self.who.number)})

    @functools.cached_property
    def says_name(self) -> bool:
        """Return whether a name may be on the list: an id such as `s1001` says nothing of one."""
        names = (name.partition("@")[0] for name in self._own_names)
        words = {word for name in names for word in find_words(name)}
        return any(not any(letter.isdigit() for letter in word) for word in words)

    @property
    def folded(self) -> str:
        """Return the name in the form in which Moodle's folders have it; "" on a platform's list.

        Moodle leaves some characters of a name out.
        """
        return "" if self.who.platform else fold(self.who.name or self.id)

    def _is_folded(self, who: Who) -> bool:
        """Return whether a folder from Moodle has this person's name."""
        return who.platform == "Moodle" and self.folded != "" and fold(who.name) == self.folded

    def without_number(self) -> Person:
        """Return the same person, whose number on the list is of another kind."""
        others = map(compose, (self.id, self.who.name, self.who.email))
        names = self.names - self.numbers.difference(others)
        return replace(self, names=names, who=replace(self.who, number=""))

    def to_dict(self) -> dict[str, Any]:
        """Return the person as JSON data, for the gradebook."""
        return {"id": self.id, "names": sorted(self.names), "who": dataclasses.asdict(self.who)}


def person_from_dict(data: Mapping[str, Any]) -> Person:
    """Return the person from the data that `Person.to_dict` returned."""
    who = Who(**{**data["who"], "files": tuple(data["who"]["files"])})
    return Person(data["id"], frozenset(map(compose, data["names"])), who)


class Numbers:
    """Know whose numbers on a platform the class list has. Nobody chooses the number."""

    def __init__(self, roster: Iterable[Person]) -> None:
        self._people: defaultdict[str, list[Person]] = defaultdict(list)
        for person in roster:
            self._people[person.who.number].append(person)

    def owners(self, who: Who) -> list[Person]:
        """Return the people on the class list who have the student's number, if there is one."""
        people = self._people.get(who.number, ()) if who.number else ()
        return [one for one in people if one.who.platform in ("", who.platform)]

    def are_others(self, student: str, who: Who) -> bool:
        """Return whether the student's number is that of somebody with another name."""
        owners = self.owners(who)
        return bool(owners) and not any(one.is_called(student, who) for one in owners)


def trust(people: Sequence[Person], right: int, wrong: Iterable[Set[Hashable]]) -> bool:
    """Return whether the numbers of these people on the instructor's list are a platform's.

    They are, unless more have their names beside other numbers than beside their own. A single
    student may have chosen a name, and several may have the same, so both sides are counted. Nor
    do chosen names outvote a list that has numbers for a few, if one of these is right.

    right: how many have their own numbers. wrong: for each one on one side, who or what it may be
    on the other side.
    """
    found = [one for one in wrong if one]
    against = min(len(found), len(set[Hashable]().union(*found)))
    few = 2 * sum(one.who.number != "" for one in people) <= len(people)
    return against <= max(right, 1) or (few and right > 0)


def find_team(student: str, who: Who, groups: Mapping[str, Sequence[str]]) -> Sequence[str] | None:
    """Return the members of the team with this id or name; None if there is no such team."""
    named = {compose(name): people for name, people in groups.items()}
    return named.get(compose(student)) or named.get(compose(who.name))


def find_person(name: str, roster: Iterable[Person]) -> Person | None:
    """Return the only person with that name, number or address on the class list, if there is one.

    Students may choose their own names on a platform. An id on the instructor's own list comes
    before all others.
    """
    called, roster = compose(name), list(roster)
    found = [one for one in roster if not one.who.platform and called == compose(one.id)]
    found = found or [one for one in roster if called in one.names or called == one.who.number]
    return found[0] if len(found) == 1 else None


def members(
    class_: Iterable[Graded], groups: Mapping[str, Sequence[str]], roster: Sequence[Person] = ()
) -> Iterator[Graded]:
    """Yield the class with each team's members in its place, and the class list's data on them."""
    for graded in class_:
        people = find_team(graded.student, graded.who, groups)
        if people is None:
            yield graded
        for name in people or ():
            person = find_person(name, roster)
            yield replace(graded, student=name, who=person.who if person else Who())
