"""Find which names a statement binds, and which it reads when it runs or only later.

A function's body runs when the function is called. Its decorators, defaults and annotations, a
class and a comprehension run at once.
"""

from __future__ import annotations

import bisect
import heapq
import math
import re
import symtable
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from grader.intake.cells import Block, cut_cell

KEPT = 4096  # texts, of a long session
LAZY = "from __future__ import annotations\n"
_FUTURE = frozenset({"annotations"})
_RUNS_AT_ONCE = frozenset({"genexpr", "listcomp", "setcomp", "dictcomp"})
_FIRST = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True)
class Names:
    """The names that a statement binds, those that it reads at once, and those of its functions.

    changed: a name whose value it changes, as `table["a"] = 1` and `table.update(b)` do.
    """

    bound: frozenset[str]
    at_once: frozenset[str]
    later: frozenset[str]
    changed: frozenset[str] = frozenset()


@dataclass(frozen=True)
class CellNames:
    """The names that a cell binds, reads at once from other cells, and reads in each function."""

    bound: frozenset[str]
    needs: frozenset[str]
    later: Mapping[str, frozenset[str]]


@lru_cache(maxsize=KEPT)
def names_of(block: Block, lazy: bool = False) -> Names:
    """Return the names of one statement. lazy: whether annotations are not read at once."""
    bound = block.bound | block.assigned | block.imports
    bound = bound.union(*(one.bound for one in block.inside))
    changes = block.kind == "call" or (block.kind == "assignment" and not block.names)
    first = _FIRST.match(block.text) if changes else None
    changed = frozenset({first[0]} if first else ())
    if block.kind == "import":
        return Names(bound, frozenset(), frozenset())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = symtable.symtable(LAZY * lazy + block.text, "cell", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # such as a bare `await`
        return Names(bound, block.read_at_once, block.words, changed)
    at_once, later = set[str](), set[str]()
    _collect(table, at_once, later)
    made = {one.get_name() for one in table.get_symbols() if one.is_assigned() or one.is_imported()}
    if block.kind == "branch":
        at_once -= made  # which it may have bound itself, and which keep their order anyway
    bound = bound.union(made) - (_FUTURE if lazy else frozenset())
    return Names(bound, frozenset(at_once), frozenset(later), changed)


def _collect(table: symtable.SymbolTable, now: set[str], later: set[str]) -> None:
    """Add the names outside of functions that a scope and those within it read."""
    at_margin = table.get_type() == "module"
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (at_margin or symbol.is_global()):
            now.add(symbol.get_name())
    for inner in table.get_children():
        if inner.get_type() == "annotation":
            continue
        at_once = inner.get_type() == "class" or inner.get_name() in _RUNS_AT_ONCE
        _collect(inner, now if at_once else later, later)


@lru_cache(maxsize=KEPT)
def names_of_cell(text: str) -> CellNames:
    """Return the names of one cell."""
    bound, needs = set[str](), set[str]()
    later: dict[str, frozenset[str]] = {}
    for block in cut_cell(text).blocks:
        names = names_of(block)
        needs |= _follow(names.at_once, later) - bound
        bound |= names.bound
        later |= dict.fromkeys(names.bound, names.later)
    return CellNames(frozenset(bound), frozenset(needs), later)


def _follow(names: Iterable[str], later: Mapping[str, frozenset[str]]) -> set[str]:
    """Return these names, and those that the functions among them read when they are called."""
    found, left = set[str](), [*names]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += later.get(name, ())
    return found


class Chain:
    """The statements of a notebook, in order, and which of them need which others.

    lazy: whether annotations are not read at once.
    """

    def __init__(self, blocks: Sequence[Block], lazy: bool) -> None:
        self.blocks = blocks
        self.names = [names_of(block, lazy) for block in blocks]
        self._touched = [names.bound | names.changed for names in self.names]
        self._binding: dict[str, list[int]] = {}
        """The numbers of the statements that bind a name or change its value, in order."""
        for number, touched in enumerate(self._touched):
            for name in touched:
                self._binding.setdefault(name, []).append(number)

    @property
    def unbound(self) -> frozenset[str]:
        """Return the names that are read and that no statement binds."""
        read = (names.at_once | names.later for names in self.names)
        return frozenset[str]().union(*read) - self._binding.keys()

    def is_last(self, number: int) -> bool:
        """Return whether a name that a statement binds is bound by none below."""
        bound = self.names[number].bound
        return not bound or any(self._list_last(name)[0] == number for name in bound)

    def find_needed(self, names: Iterable[str]) -> set[int]:
        """Return the statements that give these names, with all that they read, now or later."""
        found: set[int] = set()
        left = [number for name in names for number in self._list_last(name)]
        while left:
            number = left.pop()
            if number in found:
                continue
            found.add(number)
            mine = self.names[number]
            left += self._find_read(number).values()
            left += (other for name in mine.later for other in self._list_last(name))
            # Which may have changed a value before another statement read that.
            touching = (self._binding[name] for name in mine.bound)
            left += (n for numbers in touching for n in numbers if self.names[n].changed)
        return found

    def arrange(self, places: Mapping[str, int]) -> list[Block]:
        """Return the statements in the order of a file. places: those of the functions there.

        A statement stays below those whose names it reads at once, and above those that bind them
        again. Those that bind or change the same name keep their order.
        """
        below = self._find_below()
        waits = [0] * len(self.blocks)
        for others in below:
            for other in others:
                waits[other] += 1
        keys = self._find_keys(places)
        ready = [keys[number] for number, count in enumerate(waits) if not count]
        heapq.heapify(ready)
        arranged = []
        while ready:
            _, number = heapq.heappop(ready)
            arranged.append(self.blocks[number])
            for other in below[number]:
                waits[other] -= 1
                if not waits[other]:
                    heapq.heappush(ready, keys[other])
        return arranged

    def _find_keys(self, places: Mapping[str, int]) -> list[tuple[float, int]]:
        """Return what the statements are sorted by: the first of the functions below, and order."""
        keys = []
        first = math.inf
        for number in reversed(range(len(self.blocks))):
            own = [places[name] for name in self.names[number].bound if name in places]
            first = min([first, *own])
            keys.append((min(own, default=first), number))
        return keys[::-1]

    def _find_below(self) -> list[set[int]]:
        """Return, for each statement, others that have to stay below it."""
        below: list[set[int]] = [set() for _ in self.blocks]
        for number, touched in enumerate(self._touched):
            for name, binder in self._find_read(number).items():
                below[binder].add(number)
                below[number].update([n for n in self._binding[name] if n > number][:1])
            for name in touched:
                if (before := self._find_above(name, number)) is not None:
                    below[before].add(number)
        return below

    def _find_read(self, number: int) -> dict[str, int]:
        """Return the names that a statement reads when it runs, and who has bound each.

        A function that it calls reads names, too.
        """
        found: dict[str, int] = {}
        left = [*self.names[number].at_once, *self.names[number].changed]
        while left:
            name = left.pop()
            if name not in found and (binder := self._find_above(name, number)) is not None:
                found[name] = binder
                left += self.names[binder].later
        return found

    def _find_above(self, name: str, number: int) -> int | None:
        """Return the last statement above this one that binds or changes what has that name."""
        numbers = self._binding.get(name, [])
        at = bisect.bisect_left(numbers, number)
        return numbers[at - 1] if at else None

    def _list_last(self, name: str) -> list[int]:
        """Return the last statement that binds a name, and those below that change its value."""
        numbers = self._binding.get(name, [])
        bound = [number for number in numbers if name in self.names[number].bound]
        return [number for number in numbers if not bound or number >= bound[-1]]
