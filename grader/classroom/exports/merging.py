"""Find the row that a score belongs in, and its text."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_UP, Decimal
from functools import cached_property

from grader.classroom.exports.cells import Cell
from grader.classroom.exports.options import ExportError
from grader.classroom.exports.people import Person, compose, is_of_team, may_be, trust
from grader.report.records import Graded, Who

Row = list[Cell]
DECIMALS = 2  # as many as these platforms show


EXCUSED = "EX"
_NOTHING = ("", "-", "n/a")


@dataclass(frozen=True)
class Placed:
    """The students by their row's number, and everyone who has no row of their own.

    without: the students without a score, by the row that nobody else's score goes into.
    """

    rows: Mapping[int, Graded]
    without: Mapping[int, str]
    unmatched: tuple[str, ...]
    ambiguous: tuple[str, ...]
    not_graded: tuple[str, ...]


@dataclass(frozen=True)
class Rows:
    """The rows of an instructor's file by name and by the platform's own number.

    called: the names in a row; one of them must match the name in a download. listed: the numbers
    on the instructor's own class list, if they are the platform's. owners: the people on that list
    whose id, address or number leads to a row. shared: the names of several there. known: all names
    on the list. blind: whether the file has no names. notes: what the instructor should know of it.
    """

    platform: str
    names: Mapping[str, set[int]]
    numbers: Mapping[str, set[int]]
    called: Mapping[int, Iterable[str]] = field(default_factory=dict)
    listed: frozenset[str] = field(default=frozenset(), kw_only=True)
    shared: frozenset[str] = field(default=frozenset(), kw_only=True)
    owners: Mapping[int, Sequence[Person]] = field(default_factory=dict, kw_only=True)
    known: frozenset[str] = field(default=frozenset(), kw_only=True)
    blind: bool = field(default=False, kw_only=True)
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def of(self, graded: Graded) -> set[int]:
        """Return the rows that may be a student's: by number if the download or class list has it.

        Without one, id, address and name have to lead to one row, because somebody may have taken
        another's id as a name. The names in these files are the platform's, where everybody may
        choose one, so they lead to no row of somebody else on the class list. Nor does a team's
        own name lead to any.
        """
        who = graded.who
        if is_of_team(who):
            return set()
        if who.number and who.platform == self.platform:
            # Canvas tells no names in a download, so these are from the class list.
            name = "" if self.platform == "Canvas" else who.name
            return self._numbered(who.number, name, self._find_listed(who.number))
        found = self._by_name(graded.student, who)
        if who.platform and who.number:  # of another platform
            return found
        if who.number not in self.listed:
            return found - self._listed_rows
        rows = self.numbers.get(who.number, set())
        return rows if rows & found else self._numbered(who.number, who.name)

    def _by_name(self, id: str, who: Who) -> set[int]:
        """Return the row that id, address and name lead to, or else every row that one leads to.

        A name that several people on the class list have leads to no row of its own.
        """
        names = {compose(name) for name in (id, who.name)} - {""}
        by_id = set() if compose(id) in self.shared else self._called(id)
        others = by_id & self._misnumbered(id, who.name)
        sure = [by_id - others, self._called(who.email)]
        mine = compose(id) if compose(id) in self.known else compose(who.name)
        if mine in self.known:  # else a folder may have an id of the platform
            sure = [self._free(rows, mine) for rows in sure]
        named = self._free(self._called(who.name), mine)
        if names & self.shared:
            if not any(sure):
                return named if len(named - self._listed_rows) > 1 else set()
            named = set()
        found = [rows for rows in (*sure, named) if rows]
        common = set.intersection(*found) if found else set()
        if len(common) == 1 and (others <= common or by_id & common):
            return common
        return set().union(*found, others) if found else set()

    def _free(self, rows: Iterable[int], mine: str) -> set[int]:
        """Return the rows that belong to nobody on the class list who is not called so."""
        return {row for row in rows if all(mine in one.names for one in self.owners.get(row, ()))}

    def _misnumbered(self, id: str, name: str) -> set[int]:
        """Return the rows whose number on the platform is an id, but whose name is another."""
        return self.numbers.get(id, set()) - self._numbered(id, name)

    def _called(self, name: str) -> set[int]:
        return self.names.get(compose(name), set())

    def _numbered(self, number: str, name: str, more: Iterable[str] = ()) -> set[int]:
        """Return the rows with a number and that name. more: other names that will do."""
        rows = self.numbers.get(number, set())
        return {row for row in rows if may_be(name, [*self.called.get(row, ()), *more])}

    def _find_listed(self, number: str) -> set[str]:
        """Return the names on the list beside a number of the platform's, for blind marking.

        The class list has completed the names of those whose download has the number.
        """
        rows = self.numbers.get(number, set()) if self.blind else set[int]()
        owners = (one for row in rows for one in self.owners.get(row, ()))
        return set[str]().union(*(one.names for one in owners if one.who.number == number))

    @cached_property
    def _listed_rows(self) -> set[int]:
        """Return the rows with a number on the class list."""
        return set().union(*(self.numbers.get(number, set()) for number in self.listed))

    def with_list(self, roster: Iterable[Person]) -> Rows:
        """Return the same rows, which know the people on the instructor's own class list."""
        people = [one for one in roster if not one.who.platform]
        numbered = {one.who.number for one in people} - {""}
        notes: tuple[str, ...] = ()
        if not self._trust(people):
            numbered = set()
            notes = (f"The numbers on the class list are not those of {self.platform}.",)
        placed = numbered & self.numbers.keys()
        return replace(
            self,
            listed=frozenset(numbered),
            owners=self._find_owners(people, placed),
            shared=self._find_shared(people),
            known=frozenset[str]().union(*(one.names for one in people)),
            notes=notes,
        )

    def _find_owners(
        self, people: Sequence[Person], placed: Container[str]
    ) -> dict[int, Sequence[Person]]:
        """Return the people whose id, address or number leads to a row, under whatever name.

        placed: the numbers that are in the file. If several lead to one row, those own it who have
        the number, or else most of id, address and name.
        """
        found: defaultdict[int, list[tuple[int, Person]]] = defaultdict(list)
        for one in people:
            by_id = self._called(one.id) - self._misnumbered(one.id, one.who.name)
            keys = {compose(one.id): by_id, compose(one.who.email): self._called(one.who.email)}
            named = set() if compose(one.who.name) in keys else self._called(one.who.name)
            numbered = self.numbers[one.who.number] if one.who.number in placed else set[int]()
            for row in set().union(numbered, *keys.values()):
                count = sum(row in rows for rows in (*keys.values(), named))
                found[row].append((4 if row in numbered else count, one))
        most = {row: max(count for count, _ in some) for row, some in found.items()}
        return {
            row: [one for count, one in some if count == most[row] or most[row] == 1]
            for row, some in found.items()
        }

    def _find_shared(self, people: Sequence[Person]) -> frozenset[str]:
        """Return the names of several people on the instructor's own class list.

        The file may have the last name first. So two names with the same words are one, unless it
        has most of the other names as the list has them.
        """
        names = [one.who.name for one in people if one.who.name]
        words = Counter(map(_words, names))
        lone = (name for name in names if words[_words(name)] == 1)
        there = {_words(name) for names in self.called.values() for name in names}
        same = [bool(self._called(name)) for name in lone if _words(name) in there]
        as_listed = 2 * sum(same) > len(same)
        form: Callable[[str], Hashable] = compose if as_listed else _words
        count = Counter(map(form, names))
        return frozenset(compose(name) for name in names if count[form(name)] > 1)

    def _trust(self, people: Sequence[Person]) -> bool:
        """Return whether the numbers on the instructor's own class list are this platform's."""
        right, wrong = 0, list[set[int]]()
        for one in (one for one in people if one.who.number):
            rows = self.numbers.get(one.who.number, set())
            named = self._called(one.who.name) | self._called(one.who.email)
            named |= self._called(one.id) - self._misnumbered(one.id, one.who.name)
            name = one.who.name if one.says_name else ""
            if rows & named or self._numbered(one.who.number, name):
                right += 1
            else:
                wrong.append(named)
        return trust(people, right, wrong)


def _words(name: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", compose(name).casefold()))


def column(header: Row, name: str) -> int:
    """Return the place of the only column with that header. Raise ExportError otherwise."""
    places = [place for place, cell in enumerate(header) if cell.text == name]
    if not places:
        raise ExportError(f"it has no column {name!r}")
    if len(places) > 1:
        raise ExportError(f"it has {len(places)} columns {name!r}: rename all but one")
    return places[0]


def all_as_wide(table: list[Row]) -> None:
    """Raise ExportError if a row and the header have different numbers of cells."""
    for number, row in enumerate(table, start=1):
        if row and len(row) != len(table[0]):
            raise ExportError(
                f"its row {number} has {len(row)} cells and its header {len(table[0])}: "
                "download the file again"
            )


def keys_of(table: Mapping[int, Iterable[str]]) -> dict[str, set[int]]:
    """Return for each name the rows that it matches; accents are compared in one form."""
    found: defaultdict[str, set[int]] = defaultdict(set)
    for number, names in table.items():
        for name in map(compose, names):
            if name:
                found[name].add(number)
    return dict(found)


def place(class_: Iterable[Graded], rows: Rows) -> Placed:
    """Return each student's own row, if no other student matches it."""
    homes: list[tuple[int, Graded]] = []  # a student may be there twice, by the name of a team
    lost: dict[str, list[str]] = {"unmatched": [], "ambiguous": [], "not_graded": []}
    without: dict[int, str] = {}
    for graded in class_:
        mine = rows.of(graded)
        if graded.score is None and not graded.excused:
            lost["not_graded"].append(graded.student)
            without |= {row: graded.student for row in mine if len(mine) == 1}
        elif len(mine) == 1:
            homes += [(row, graded) for row in mine]
        else:
            lost["ambiguous" if mine else "unmatched"].append(graded.student)
    taken = Counter(row for row, _ in homes)
    lost["ambiguous"] += [graded.student for row, graded in homes if taken[row] > 1]
    alone = {row: graded for row, graded in homes if taken[row] == 1}
    without = {row: student for row, student in without.items() if not taken[row]}
    return Placed(alone, without, **{name: tuple(dict.fromkeys(lost[name])) for name in lost})


def earlier(placed: Placed, table: list[Row], at: int) -> tuple[str, ...]:
    """Return the students without a score who have a grade in that column."""
    return tuple(one for number, one in placed.without.items() if has_grade(table[number][at].text))


def has_grade(cell: str) -> bool:
    """Return whether a cell holds a grade or an excuse."""
    return cell.strip().casefold() not in _NOTHING


def is_ours(cell: str, texts: Collection[str], decimals: int = DECIMALS) -> bool:
    """Return whether a cell is empty, or holds one of these grades or excuses.

    decimals: as many as the platform writes, which may be fewer than nopeek's.

    >>> is_ours("8.3", ["8.33"]), is_ours("8.3", ["8.33"], decimals=1)
    (False, True)
    """
    now = cell.strip()
    if not has_grade(now) or now in texts:
        return True
    number = read_number(now)
    known = [one for one in map(read_number, texts) if one is not None]
    near = 0.5 * 10**-decimals + 1e-9 if decimals < DECIMALS else 0.0
    return number is not None and any(abs(number - one) <= near for one in known)


def count_decimals(cells: Iterable[str]) -> int:
    """Return how many decimals the numbers in these cells have at most."""
    found = (re.fullmatch(r"\s*\d+[.,](\d+)\s*", text, re.ASCII) for text in cells)
    return max((len(match[1]) for match in found if match), default=0)


def read_number(text: str) -> float | None:
    """Return a cell's number, with decimal point or comma, or None if it is not a number."""
    if not re.fullmatch(r"\s*\d+([.,]\d+)?\s*", text, re.ASCII):
        return None
    return float(text.replace(",", "."))


def amount(text: str) -> float | None:
    """Return a cell's number, or None if it has none above 0."""
    return read_number(text) or None


def decimal_mark(cells: Iterable[str]) -> str:
    """Return the file's own decimal mark."""
    return "," if any(re.fullmatch(r"\s*\d+,\d+\s*", text) for text in cells) else "."


def scale_score(graded: Graded, most: float | None) -> float:
    """Return the score, scaled to the points of the platform's assignment, if these are known."""
    score, worth = graded.score or 0.0, graded.max_score
    return score * (most / worth if most and worth else 1.0)


def score_text(graded: Graded, most: float | None, mark: str) -> str:
    """Return the scaled score as text; half of the last decimal is rounded up."""
    # Six decimals, so that 15.625 is a half and 0.1 + 0.2 has no tail.
    exact = Decimal(str(round(scale_score(graded, most), 6)))
    text = str(exact.quantize(Decimal(1).scaleb(-DECIMALS), ROUND_HALF_UP))
    return text.rstrip("0").rstrip(".").replace(".", mark)


def scale_note(rows: Mapping[int, Graded], most: float | None) -> tuple[str, ...]:
    """Return a note on how the scores were scaled, if they were."""
    worth = sorted({graded.max_score or 0.0 for graded in rows.values()})
    if not worth or (most is not None and worth == [most]):
        return ()
    here = " or ".join(f"{points:g}" for points in worth)
    if most is None:
        return (f"The file does not say what the assignment is worth: scores are out of {here}.",)
    return (f"Scores are out of {here} here and out of {most:g} there: they were scaled.",)
