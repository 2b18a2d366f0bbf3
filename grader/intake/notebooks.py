"""Read a notebook: its solution cells become one source for each step. No kernel is started.

**Which cell counts.** A function of a step is taken from the cell that defines it and whose
nbgrader `grade_id` is the function's name (`attention_scores`) or its step's (`step02_scores`). If
there is no such cell, it is taken from the last cell with `def attention_scores` at its left
margin. A cell that still raises `NotImplementedError` gives way to one that does not. Test cells
(`grade` and not `solution`, or a `grade_id` that begins with `check_`) are left out.

**What a step's source consists of.** It has all imports, definitions, classes and assignments at
the left margin of the notebook's code cells, in order, so a helper may be in any cell. Of the
steps' functions it has only those of this step, each from the cell that counts. An earlier version
of such a function is kept if something at the margin reads it before it is bound anew, as in
`softmax = timed(softmax)`.

Some statements are left out, because a trial that takes long must not keep the solutions from being
imported. They are imports of modules that the judge lacks (torch, matplotlib), assignments that
call anything but built-in types, imported names and small functions, and all other statements
(calls, prints, loops, plots). Only they are left out of a line with several statements, or of an
import of several modules. A `try`, an `if` or a `with` is kept under the rule for assignments. If
it is left out, its imports are kept if nothing else binds their names; the first part that can
import counts.

What is kept may still fail in a judge: a class on top of torch, a default that is a skipped value.
Nothing that fails keeps the rest from being imported, except the step's own functions and imports
at the margin. A cell that is not Python is left out, unless those functions need a name from it
that nothing else binds. A notebook with several steps may use a function of an earlier step without
importing it. Such a function is imported from that step.

Lines keep their place below a mark that names the cell, so a message can name cell and line. A
statement that shares its line with one before it stands below a mark of its own. Cells are counted
from 1, including text cells.
"""

from __future__ import annotations

import builtins
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from grader.intake.cells import Block, Cut, Known, cut_cell, find_bindings, idle
from grader.intake.folders import SubmissionError
from grader.intake.ipynb import MAX_NOTEBOOK, MAX_VALUES, RawCell, raw_cells
from grader.intake.submission import GUARD, LEFT_OPEN, MARK, MAX_SOURCE, NOTEBOOK
from grader.report.names import show_name
from grader.steps.registry import Registry, Step

MAX_STATEMENTS = 10_000
MAX_LINES = 100_000
MAX_DATA = 4 * MAX_NOTEBOOK
MAX_VALUES_TOGETHER = 2 * MAX_VALUES
_PYTHON_CELLS = {"%%time", "%%timeit", "%%capture", "%%prun"}
_QUIET = "from contextlib import suppress as _suppress"


@dataclass
class Room:
    """How much more of one submission's notebooks is read.

    code: in characters. data, values: the size of the files in bytes, and the values in their JSON.
    """

    code: int = MAX_SOURCE
    statements: int = MAX_STATEMENTS
    lines: int = MAX_LINES
    data: int = MAX_DATA
    values: int = MAX_VALUES_TOGETHER

    def take(
        self, code: int = 0, statements: int = 0, data: int = 0, values: int = 0, lines: int = 0
    ) -> None:
        """Reserve room for a notebook. Raise SubmissionError if there is not enough."""
        self.code -= code
        self.statements -= statements
        self.lines -= lines
        self.data -= data
        self.values -= values
        alone = code > MAX_SOURCE or statements > MAX_STATEMENTS or lines > MAX_LINES
        together = "" if alone else ", together with the notebooks before it"
        if self.code < 0:
            raise SubmissionError(f"its code is longer than {MAX_SOURCE:,} characters{together}")
        if self.lines < 0:
            raise SubmissionError(f"its code has more than {MAX_LINES:,} lines{together}")
        if self.statements < 0:
            raise SubmissionError(f"it has more than {MAX_STATEMENTS:,} statements{together}")
        if self.data < 0:
            raise SubmissionError(f"it is larger than {MAX_DATA // 2**20} MiB{together}")
        if self.values < 0:
            raise SubmissionError(f"it holds more than {MAX_VALUES_TOGETHER:,} values{together}")


@dataclass(frozen=True)
class Cell:
    """A code cell: its number in the notebook, its `grade_id`, and its blocks."""

    number: int
    grade_id: str
    cut: Cut = field(repr=False)

    def defines(self, name: str) -> bool:
        """Return whether that name is defined at its left margin."""
        return name in self._definers

    def written(self, name: str) -> bool:
        """Return whether that function exists and is not a stub."""
        return name in self._definers and not self._definers[name].unfinished

    @cached_property
    def _definers(self) -> dict[str, Block]:
        """Return the last statement that defines each name, except imports from steps."""
        made = (block for block in self.cut.blocks if not block.steps)
        kept = (block for block in made if not block.missing)
        return {name: block for block in kept for name in block.names}


def is_code(text: str) -> bool:
    """Return whether a cell is Python, and not in another language, as below `%%html`."""
    first = text.lstrip().split(None, 1)[:1]
    return not (first and first[0].startswith("%%") and first[0] not in _PYTHON_CELLS)


@dataclass(frozen=True)
class Notebook:
    """A notebook's contents: sources by step id, the number of functions, and warnings.

    left_out: the last of the warnings, if calls, plots and similar statements were ignored.
    """

    sources: Mapping[str, str] = field(repr=False)
    written: Mapping[str, int]
    warnings: tuple[str, ...]
    left_out: str = ""


class _Reading:
    """One notebook, while it is being read."""

    def __init__(self, name: str, registry: Registry, room: Room) -> None:
        self.name = show_name(name)
        self.room = room
        self.registry = registry
        self.functions = registry.homes
        self.warnings: dict[str, None] = {}  # there may be thousands, each made for every step
        self.left_out: set[int] = set()
        self.outer: frozenset[str] = frozenset()
        """The names that are bound elsewhere than by imports on a condition; `*` is all others."""
        self.allowed: set[int] = set()
        """The `id` of each assignment, call or branch that may run, because it returns soon."""
        self.bindings: set[tuple[int, str]] = set()
        """The bindings of steps' functions that count: the `id` of a block, and a function."""

    def label(self, *numbers: int) -> str:
        """Return the reader's name for these cells: their file, or their numbers in a kernel."""
        if self.name:
            return f"{self.name}, cell {', '.join(map(str, numbers))}"
        return f"cell {', '.join(f'In[{number}]' for number in numbers)}"

    def warn(self, where: Cell | int, text: str) -> None:
        """Note one warning, which names the cell."""
        number = where if isinstance(where, int) else where.number
        self.warnings[f"{self.label(number)}: {text}"] = None

    def cells(self, raws: Iterable[RawCell]) -> list[Cell]:
        """Return the code cells that may count. Raise SubmissionError if their code is too long."""
        found: list[Cell] = []
        for raw in raws:
            if raw.test or not (raw.code or self._names(raw.grade_id)):
                continue
            if raw.text is None:
                self.warn(raw.number, "it holds something other than text, and is skipped.")
                continue
            breaks = sum(map(raw.text.count, "\n\r;"))  # a cut looks at every line
            self.room.take(code=len(raw.text), lines=breaks)
            cells = self._cell(raw.number, raw.grade_id, raw.text)
            blocks = [block for cell in cells for block in cell.cut.blocks]
            self.room.take(statements=sum(1 + len(block.inside) for block in blocks))
            found += cells
        return found

    def _names(self, grade_id: str) -> bool:
        return grade_id in self.functions or any(
            grade_id == step.id for step in self.registry.steps
        )

    def _cell(self, number: int, grade_id: str, text: str) -> list[Cell]:
        if not is_code(text):
            what = show_name(text.split(None, 1)[0])
            self.warn(number, f"{what} is not valid Python; it is skipped.")
            return []
        cell = Cell(number, grade_id, cut_cell(text))
        if cell.cut.magics:
            what = ", ".join(sorted({show_name(magic) for magic in cell.cut.magics})[:5])
            self.warn(cell, f"notebook commands were removed ({what}).")
        if not cell.cut.closed:
            self.warn(cell, "a bracket or a quote is never closed; the code after it is skipped.")
        return [cell]

    def owner(self, name: str, cells: Sequence[Cell]) -> Cell | None:
        """Return the cell that a function is taken from."""
        defining = [cell for cell in cells if cell.defines(name)]
        if not defining:
            return None
        tags = (name, self.functions[name].id)
        tagged = [cell for cell in defining if cell.grade_id in tags]
        written = [cell for some in (tagged, defining) for cell in some[::-1] if cell.written(name)]
        chosen = (written or (tagged or defining)[::-1])[0]
        others = [str(cell.number) for cell in defining if cell is not chosen]
        if others:
            self.warn(chosen, f"this {name} counts; it is also in cell {', '.join(others[:9])}.")
        elif tagged == [] and any(cell.grade_id for cell in cells):
            self.warn(chosen, f"read as {name} because of its name; it has no such grade_id.")
        return chosen

    def find_unclosed(self, cells: Sequence[Cell], owners: Mapping[str, Cell]) -> dict[str, Cell]:
        """Return the functions that a cell would define if its brackets and quotes were closed."""
        return {
            name: cell
            for cell in cells
            for name, _ in cell.cut.lost
            if name in self.functions and name not in owners
        }

    def source(self, step: Step, cells: Sequence[Cell], owners: Mapping[str, Cell]) -> str:
        """Return the step's module.

        A function that an open bracket hides leaves a note there.
        """
        pieces = []
        bound: set[str] = set()
        future: list[str] = []
        for cell in cells:
            parts: list[tuple[int, list[str]]] = []
            for block, may_fail in self._keep(step, cell):
                bound.update(block.names)
                if "__future__" in block.modules:
                    future.append(block.text.strip())
                else:
                    _place(block.first, GUARD * may_fail + block.text, parts)
            for name, number in cell.cut.lost:
                if self.functions.get(name) is step and name not in owners:
                    _place(number, LEFT_OPEN.format(name=name), parts)
            tag = f" ({cell.grade_id})" if re.fullmatch(r"\w{1,60}", cell.grade_id) else ""
            for first, lines in parts:
                line = f", line {first + 1}" if first else ""
                mark = MARK.format(cell=self.label(cell.number), line=line, grade_id=tag)
                pieces.append("\n".join([mark, *lines, ""]))
        above = "\n".join([*future, _QUIET, *self._earlier(step, "".join(pieces), bound), ""])
        lengths = (piece.count("\n") for piece in ["\n", above, *pieces])
        starts = list(itertools.accumulate(lengths, initial=1))[2:-1]
        functions = ", ".join(function.name for function in step.functions)
        head = NOTEBOOK.format(functions=functions, lines=" ".join(map(str, starts)))
        return "".join([head, "\n", above, *pieces])

    def _keep(self, step: Step, cell: Cell) -> Iterator[tuple[Block, bool]]:
        """Yield the blocks of a cell that a step's module has, and whether each may fail."""
        for block in cell.cut.blocks:
            if self._keep_block(block, step, cell):
                yield block, block.kind in ("assignment", "call")
            elif block.inside and id(block) not in self.allowed:
                parts = (one for one in block.inside if self._is_needed(one))
                yield from ((one, True) for one in parts if self._keep_import(one, step, cell))

    def _keep_block(self, block: Block, step: Step, cell: Cell) -> bool:
        if block.kind == "import":
            return self._keep_import(block, step, cell)
        if bound := block.bound & self.functions.keys():
            mine = (name for name in bound if self.functions[name] is step)
            return any((id(block), name) in self.bindings for name in mine)
        return block.kind == "definition" or id(block) in self.allowed

    def find_allowed(self, cells: Sequence[Cell]) -> None:
        """Find what may run of the statements of all steps, and note the cells with others."""
        known = Known(block for cell in cells for block in cell.cut.blocks)
        for cell in cells:
            for block in cell.cut.blocks:
                of_step = not block.bound.isdisjoint(self.functions)
                if block.kind == "import":
                    if not block.missing:
                        known.note(block)
                elif block.kind == "definition":
                    if not of_step:
                        known.note(block)
                elif self._is_plain(block) and known.allows(block):
                    self.allowed.add(id(block))
                    known.note(block)
                else:
                    if not (of_step or idle(block)):
                        self.left_out.add(cell.number)
                    for one in block.inside:
                        known.note(one)

    def find_bindings(self, cells: Sequence[Cell], owners: Mapping[str, Cell]) -> None:
        """Find the bindings of functions that count: in the owner's cell, or read below."""
        names = frozenset(self.functions)
        blocks = ((block, cell) for cell in cells for block in cell.cut.blocks)
        made = [(block, cell) for block, cell in blocks if block.kind != "import"]
        last = {
            (id(block), name)
            for block, cell in made
            for name in block.bound & names
            if owners[name] is cell
        }
        kept = [
            block
            for block, _ in made
            if block.kind == "definition" or id(block) in self.allowed or block.bound & names
        ]
        self.bindings = find_bindings(kept, names, last)

    def _keep_import(self, block: Block, step: Step, cell: Cell) -> bool:
        if self._imports_itself(block, step):
            return False
        missing = block.missing[:1]
        if missing and missing[0] != "grader":  # which a self-study notebook is opened with
            self.warn(cell, f"the import of {show_name(missing[0])!r} is left out.")
        return not missing

    def _is_plain(self, block: Block) -> bool:
        """Return whether a statement runs here as in a kernel: no branch may be about steps."""
        if block.kind == "branch":
            steps = not block.words.isdisjoint(self.functions) or "exercises" in block.words
            return not steps and "__name__" not in block.words
        return block.kind in ("assignment", "call")

    def find_outer(self, cells: Sequence[Cell]) -> frozenset[str]:
        """Return the names of Python and the steps, and those that a margin's statements bind."""
        blocks = [one for cell in cells for one in cell.cut.blocks if not one.missing]
        bound = (block.bound for block in blocks)
        stars = {block.imports for block in blocks}  # each has hundreds of names
        return frozenset(dir(builtins)).union(self.functions, ["*"], *bound, *stars)

    def _is_needed(self, block: Block) -> bool:
        """Return whether nothing else binds the names that are imported on a condition."""
        return bool(block.bound) and block.bound.isdisjoint(self.outer)

    def _imports_itself(self, block: Block, step: Step) -> bool:
        """Return whether a block imports from this step or a later one; then it is for others."""
        known = {one.id for one in self.registry.steps}
        earlier = {one.id for one in self.registry.before(step)}
        return bool(block.steps & (known - earlier))

    def _earlier(self, step: Step, text: str, bound: set[str]) -> list[str]:
        """Return the imports that the source lacks for functions of earlier steps."""
        words = set(re.findall(r"\w+", text))
        return [
            f"from exercises.{earlier.id} import {function.name}"
            for earlier in self.registry.before(step)
            for function in earlier.functions
            if function.name in words and function.name not in bound
        ]


def _place(first: int, text: str, parts: list[tuple[int, list[str]]]) -> None:
    """Put a text into its lines, counted from 0. Each part has the number of its first line.

    A text that begins in a line with another one begins a part. If they shared the line, and one
    were an assignment that fails, the other would be lost.
    """
    start, lines = parts[-1] if parts else (0, [])
    gap = first - start - len(lines)
    if not parts or gap < 0:
        parts.append((first, text.split("\n")))
        return
    lines += [*[""] * gap, *text.split("\n")]


def read(data: bytes, name: str, registry: Registry, room: Room | None = None) -> Notebook:
    """Return the notebook in these bytes. Raise SubmissionError if it cannot be read.

    name is the file's, for the warnings. room: what all notebooks of a submission share.
    """
    room = room or Room()
    room.take(data=len(data))
    cells = raw_cells(data, lambda values: room.take(values=values))
    return of_cells(cells, name, registry, room)


def of_cells(
    raws: Iterable[RawCell], name: str, registry: Registry, room: Room | None = None
) -> Notebook:
    """Return the notebook that consists of these cells. Raise SubmissionError if they are too much.

    name is the file's, or "" for cells that a kernel has run, which have numbers of their own.
    """
    reading = _Reading(name, registry, room or Room())
    cells = reading.cells(raws)
    reading.outer = reading.find_outer(cells)
    reading.find_allowed(cells)
    owners = {
        function: cell
        for function in reading.functions
        if (cell := reading.owner(function, cells)) is not None
    }
    reading.find_bindings(cells, owners)
    steps = {
        reading.functions[function].id: reading.functions[function]
        for function in (*owners, *reading.find_unclosed(cells, owners))
    }
    sources = {id: reading.source(step, cells, owners) for id, step in steps.items()}
    written = {
        id: sum(
            owners[function.name].written(function.name)
            for function in step.functions
            if function.name in owners
        )
        for id, step in steps.items()
    }
    left_out = ""
    if reading.left_out:
        left_out = (
            f"{reading.label(*sorted(reading.left_out))}: statements that are neither imports, "
            "definitions nor constants are skipped."
        )
    warnings = (*reading.warnings, left_out) if left_out else tuple(reading.warnings)
    return Notebook(sources, written, warnings, left_out)
