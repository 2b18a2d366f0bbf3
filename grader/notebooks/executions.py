"""Read a notebook from the cells that its kernel executed.

A kernel sees texts, in most front ends with the id of the cell. A cell that was executed again has
its last text. Without ids, each text is its own cell. It is dropped when later texts define
everything that it defines, unless one that is kept had read it. A text that could not be compiled
is dropped at once, unless nothing else defines the function.

The cells come in the order of their last executions. But a cell that was edited and executed again
may bind what others had read before: they would fail. So it comes above these.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from grader.intake.cells import cut_cell
from grader.intake.ipynb import RawCell
from grader.intake.notebooks import is_code
from grader.notebooks.dataflow import names_of_cell
from grader.steps.registry import Step

_DEFINED = re.compile(r"^(?:def|class) +(\w+)", re.MULTILINE)
STUB = "def {name}(*args, **options):\n    raise NotImplementedError()\n"


@dataclass(frozen=True)
class Run:
    """One execution: its number, the cell's id or "", and its text.

    broken: whether it failed to compile. failed: whether it raised.
    """

    number: int
    cell: str
    text: str
    broken: bool = False
    failed: bool = False

    @property
    def key(self) -> str:
        """Return the key that identifies the cell."""
        return self.cell or f"text {self.text}"

    @property
    def defines(self) -> frozenset[str]:
        """Return the functions and classes that the text defines, or tries to define."""
        return frozenset(_DEFINED.findall(self.text))

    @property
    def makes(self) -> frozenset[str]:
        """Return these names and those that are assigned."""
        blocks = cut_cell(self.text).blocks
        return frozenset(n for block in blocks if block.kind != "import" for n in block.names)


def standing(runs: Iterable[Run], deleted: Collection[str]) -> list[Run]:
    """Return the notebook's cells in an order in which they work.

    deleted: the ids of deleted cells.
    """
    runs = [run for run in runs if run.text.strip() and is_code(run.text)]
    latest: dict[str, Run] = {}
    first: dict[tuple[str, str], int] = {}
    for run in runs:
        latest[run.key] = run
        first.setdefault((run.key, run.text), run.number)
    found = [run for run in latest.values() if run.cell not in deleted]
    binders = _Binders(run for run in runs if not run.broken)
    kept = [run for run in found if run.cell or not _is_superseded(run, found)]
    for run in kept:  # which grows
        read = [one for one in binders.find_read(run).values() if not (one.cell or one.failed)]
        kept += (latest[one.key] for one in read if latest[one.key] not in kept)

    def place(run: Run) -> int:
        return run.number if run.makes else first[run.key, run.text]

    return _arrange(sorted(kept, key=place), binders)


class _Binders:
    """Knows which execution had bound a name when another one read it."""

    def __init__(self, runs: Iterable[Run]) -> None:
        self._runs: dict[str, list[Run]] = {}
        for run in runs:
            for name in names_of_cell(run.text).bound:
                self._runs.setdefault(name, []).append(run)

    def find_read(self, run: Run) -> dict[str, Run]:
        """Return the names that a cell read when it was run last, and what had bound each.

        A function that it calls reads names, too.
        """
        found: dict[str, Run] = {}
        left = [*names_of_cell(run.text).needs]
        while left:
            name = left.pop()
            runs = self._runs.get(name, [])
            before = bisect.bisect_left(runs, run.number, key=lambda one: one.number)
            if name not in found and before:
                found[name] = runs[before - 1]
                left += names_of_cell(found[name].text).later.get(name, ())
        return found


def _arrange(runs: Sequence[Run], binders: _Binders) -> list[Run]:
    """Return the cells in this order, but with each below those that it needs.

    A cell that was run again, with a new import or comment, would else come too late. What has
    bound a name last also comes below all others that bind it, so that it counts.
    """
    cells = {run.key: run for run in runs}
    bound = {key: names_of_cell(run.text).bound for key, run in cells.items()}
    above = {key: set[str]() for key in cells}
    for run in runs:
        read = binders.find_read(run).items()
        above[run.key] |= {one.key for name, one in read if name in bound.get(one.key, ())}
    binding: dict[str, list[str]] = {}
    for run in sorted(runs, key=lambda run: run.number):
        for name in bound[run.key]:
            binding.setdefault(name, []).append(run.key)
    for *others, last in binding.values():
        above[last].update(others)
    order = {run.key: number for number, run in enumerate(runs)}
    arranged: dict[str, Run] = {}
    begun: set[str] = set()
    left = [*reversed(order)]
    while left:
        key = left[-1]
        waiting = sorted(above[key] - begun, key=order.__getitem__, reverse=True)
        begun.add(key)
        if waiting:
            left += waiting
        else:
            arranged.setdefault(left.pop(), cells[key])
    return [*arranged.values()]


def _is_superseded(run: Run, others: Sequence[Run]) -> bool:
    """Return whether a later execution replaced a text without a known cell."""
    later = {name for other in others if other.number > run.number for name in other.defines}
    mine = run.defines
    return mine <= later if mine else run.broken


def latest_step(runs: Sequence[Run], steps: Sequence[Step]) -> Step | None:
    """Return the step of the function that was defined last."""
    owner = {function.name: step for step in steps for function in step.functions}
    for run in sorted(runs, key=lambda run: -run.number):
        for name in run.makes:
            if name in owner:
                return owner[name]
    return None


def find_unclosed(runs: Sequence[Run], names: Collection[str]) -> Run | None:
    """Return the cell that leaves a bracket or quote open in one of these functions."""
    made = {name for run in runs for name in run.makes}
    return next((run for run in runs if (run.defines & set(names)) - made), None)


def raw_cells(runs: Sequence[Run], step: Step | None) -> Iterator[RawCell]:
    """Yield cells as if read from a notebook, with stubs for functions that no cell defines."""
    made = {name for run in runs for name in run.makes}
    for function in step.functions if step else ():
        if function.name not in made:
            yield RawCell(0, True, False, "", STUB.format(name=function.name))
    for run in runs:
        yield RawCell(run.number, True, False, "", run.text)
