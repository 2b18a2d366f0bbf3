"""Read a notebook from the cells that its kernel executed.

A kernel sees texts, in most front ends with the id of the cell. A cell that was executed again has
its last text. Without ids, each text is its own cell. It is dropped when later texts define
everything that it defines. A text that could not be compiled is dropped at once, unless nothing
else defines the function.

Order matters for everything except the functions of a step. A constant must come after the import
that it uses, even if the import's cell is run once more. So a cell keeps the place where its text
was first run. Only a cell that defines a function of a step moves to the place of its last run,
because the last definition counts.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from grader.intake.cells import cut_cell
from grader.intake.ipynb import RawCell
from grader.steps.registry import Step

_DEFINED = re.compile(r"^(?:def|class) +(\w+)", re.MULTILINE)
STUB = "def {name}(*args, **options):\n    raise NotImplementedError()\n"


@dataclass(frozen=True)
class Run:
    """One execution: its number, the cell's id or "", its text, whether it failed to compile."""

    number: int
    cell: str
    text: str
    broken: bool = False

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


def standing(runs: Iterable[Run], deleted: Collection[str], names: Collection[str]) -> list[Run]:
    """Return the notebook's cells in an order in which they work.

    deleted: the ids of deleted cells. names: the functions of the steps.
    """
    latest: dict[str, Run] = {}
    first: dict[tuple[str, str], int] = {}
    for run in runs:
        latest[run.key] = run
        first.setdefault((run.key, run.text), run.number)
    found = [run for run in latest.values() if run.cell not in deleted and run.text.strip()]
    found = [run for run in found if run.cell or not _is_superseded(run, found)]

    def place(run: Run) -> int:
        return run.number if run.makes & set(names) else first[run.key, run.text]

    return sorted(found, key=place)


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
