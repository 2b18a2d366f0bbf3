"""Read a notebook from the cells that its kernel executed.

A kernel sees texts, in most front ends with the id of the cell. A cell counts with its last text;
without ids, each text is a cell of its own. The cells come in the order of their last executions.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from grader.intake.notebooks import RawCell
from grader.isolation.survey import survey
from grader.steps.registry import Registry, Step

STUB = "def {name}(*args, **options):\n    raise NotImplementedError()\n"


@dataclass(frozen=True)
class Run:
    """One execution: its number, the cell's id or "", and its text."""

    number: int
    cell: str
    text: str

    @property
    def asks(self) -> bool:
        """Return whether it is one line that begins by asking for a check."""
        return self.text.startswith("check(") and "\n" not in self.text.strip()


def standing(runs: Iterable[Run], deleted: Collection[str] = ()) -> list[Run]:
    """Return the notebook's cells in the order of their last executions.

    A line that only asks for a check does not count: each check would read a new notebook.
    deleted: the ids of deleted cells.
    """
    written = [run for run in runs if run.text.strip() and not run.asks]
    latest = {run.cell or f"text {run.text}": run for run in written}
    kept = [run for run in latest.values() if run.cell not in deleted]
    return sorted(kept, key=lambda run: run.number)


def latest_step(runs: Sequence[Run], registry: Registry) -> Step | None:
    """Return the step of the function that was defined last."""
    for run in reversed(runs):
        found = survey(run.text).bindings
        own = [one.name for one in found if one.kind not in ("import", "module")]
        made = [name for name in own if name in registry.homes]
        if made:
            return registry.homes[made[-1]]
    return None


def raw_cells(runs: Sequence[Run], step: Step | None) -> Iterator[RawCell]:
    """Yield cells as if read from a notebook, above them stubs for the step's functions.

    A stub never replaces a function that is written.
    """
    for function in step.functions if step else ():
        yield RawCell(0, True, False, "", STUB.format(name=function.name))
    for run in runs:
        yield RawCell(run.number, True, False, "", run.text)
