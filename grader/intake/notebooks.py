"""Make a notebook's cells into one text, which a worker runs as their kernel would.

Cells are read as far as possible, and no code is parsed or run here. Above each cell stands a mark
with its place. A worker passes over what is not Python: the lines of IPython, and the rest of a
cell that is broken.

A step is in a notebook that binds one of its functions. Of several definitions the one counts whose
cell has the function's or the step's `grade_id`, otherwise the last one that is not a stub.
nbgrader's cells with checks are left out.
"""

import itertools
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from grader.intake.folders_and_zips import SubmissionError
from grader.isolation.survey import MARK, Survey, find_left_open, find_spot, lines_of, survey
from grader.isolation.worker.cells import CELL, GRADE_ID, NOTEBOOK, is_notebook
from grader.isolation.worker.notebook import DEFINES
from grader.report.sanitize import one_line
from grader.steps.registry import Registry, Step

MAX_NOTEBOOK = 32 * 2**20
MAX_VALUES = 2_000_000
MAX_CELLS = 5_000
TOO_LARGE = (
    f"it has more than {MAX_NOTEBOOK // 2**20} MiB, or with the notebooks before it more than "
    f"{MAX_VALUES:,} values or {MAX_VALUES // 2:,} characters of code"
)
_NOT_STRUCTURE = bytes(set(range(256)) - set(b"[]{},"))
MAX_WARNINGS = 20
NOT_PYTHON = "{}, line {}: this is not valid Python, so the rest of the cell is skipped."


@dataclass(frozen=True)
class RawCell:
    """A cell: its number, counted from 1, its nbgrader `grade_id`, and its text.

    test: whether the cell holds checks. text: None if it is not text.
    """

    number: int
    code: bool
    test: bool
    grade_id: str
    text: str | None = field(repr=False)


@dataclass
class Room:
    """How much more of one submission's notebooks is read, in values of their JSON.

    A character of code takes as much room as two values, and any 64 bytes as much as one.
    """

    left: int = MAX_VALUES

    def take(self, values: int) -> None:
        """Reserve room for a notebook. Raise SubmissionError if there is not enough."""
        self.left -= values
        if self.left < 0:
            raise SubmissionError(TOO_LARGE)


def _list_cells(data: bytes, room: Room) -> list[Any]:
    """Return the cells of a notebook file. room: for the values that its JSON has at most."""
    room.take(len(data) // 64)
    if len(data) > MAX_NOTEBOOK or data.count(b'"') > 4 * MAX_VALUES:  # counting takes long
        raise SubmissionError(TOO_LARGE)
    plain = data.replace(rb"\\", b"").replace(rb"\"", b"")
    room.take(len(re.sub(rb'"[^"]*"?', b"", plain).translate(None, _NOT_STRUCTURE)))
    try:
        # Numbers are not needed, and a whole number may have a million digits.
        notebook = json.loads(data, parse_int=float)
    except (ValueError, RecursionError) as error:
        line = f" in line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise SubmissionError(f"its JSON is broken{line}") from error
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list) or not 0 < len(cells) <= MAX_CELLS:
        raise SubmissionError(f"it has no cells, or more than {MAX_CELLS:,}")
    return cells


def _cell(number: int, cell: Mapping[str, Any]) -> RawCell:
    """Return a cell as it is written. Its text is a string or a list of lines."""
    metadata = cell.get("metadata")
    found = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    nbgrader = found if isinstance(found, dict) else {}
    grade_id = nbgrader.get("grade_id")
    tag = grade_id if isinstance(grade_id, str) else ""
    graded = nbgrader.get("grade") is True and nbgrader.get("solution") is not True
    test = graded or tag.startswith("check_")
    text = cell.get("source", "")
    if isinstance(text, list) and all(isinstance(line, str) for line in text):
        text = "".join(text)
    if not isinstance(text, str) or re.search("[\0\ud800-\udfff]", text):
        text = None
    return RawCell(number, cell.get("cell_type") == "code", test, tag, text)


def raw_cells(data: bytes, room: Room) -> Iterator[RawCell]:
    """Yield the cells of the notebook in these bytes. Raise SubmissionError if it is not one.

    room: what all notebooks of a submission share.
    """
    for number, cell in enumerate(_list_cells(data, room), 1):
        if isinstance(cell, dict):
            yield _cell(number, cell)


@dataclass(frozen=True)
class Notebook:
    """A notebook's contents: sources by step id, and warnings.

    All sources are the same text. written: the steps of which a function is written. left_out: the
    place of the line that is not Python, by the functions that stand there and are written nowhere
    else.
    """

    sources: Mapping[str, str] = field(repr=False)
    written: Collection[str]
    warnings: tuple[str, ...]
    left_out: Mapping[str, str]


def read(data: bytes, name: str, registry: Registry, room: Room | None = None) -> Notebook:
    """Return the notebook in these bytes. Raise SubmissionError if it cannot be read.

    name is the file's, for the warnings. room: what all notebooks of a submission share.
    """
    room = room or Room()
    return of_cells(raw_cells(data, room), name, registry, room)


def of_cells(
    raws: Iterable[RawCell], name: str, registry: Registry, room: Room | None = None
) -> Notebook:
    """Return the notebook that consists of these cells. Raise SubmissionError if they are too much.

    name is the file's, or "" for cells that a kernel has run, which have numbers of their own.
    """
    text, places, warnings = _write(raws, name, registry, room or Room())
    found = survey(text)
    warnings += [NOT_PYTHON.format(*find_spot(text, wrong, "")) for *_, wrong in found.broken]
    warnings += _explain_choices(text, found, places, registry)
    lasts = {name: found.last(name) for name in registry.homes}
    made = {name: one for name, one in lasts.items() if one and one.kind != "import"}
    text = text.replace(DEFINES, DEFINES + " ".join(made), 1)
    left_out = {
        name: where
        for name in registry.homes
        if f"def {name}(" in text and not (name in made and made[name].written)
        if (where := find_left_open(text, name)[0])
    }
    homes = registry.homes
    steps = (homes[name].id for name in homes if name in made or name in left_out)
    written = {homes[name].id for name, one in made.items() if one.written}
    told = tuple(warnings[:MAX_WARNINGS])
    return Notebook(dict.fromkeys(steps, text), written, told, left_out)


def _write(
    raws: Iterable[RawCell], name: str, registry: Registry, room: Room
) -> tuple[str, dict[str, list[str]], list[str]]:
    """Return the cells as one text, the functions that each is for, and warnings."""
    parts, warnings = [NOTEBOOK, DEFINES], []
    places: dict[str, list[str]] = {}
    for raw in raws:
        for_ = [f for f, step in registry.homes.items() if raw.grade_id in (f, step.id)]
        if raw.test or not (raw.code or for_):
            continue
        where = f"{one_line(name, 80)}, cell {raw.number}" if name else f"cell In[{raw.number}]"
        if raw.text is None:
            warnings.append(f"{where}: it holds something other than text, and is skipped.")
            continue
        places[where] = for_
        room.take(2 * len(raw.text))
        parts.append(MARK.format(cell=where) + (f'{GRADE_ID}{" ".join(for_)}"' if for_ else ""))
        lines = lines_of(raw.text.rstrip())
        parts += [f"#{line}" if line.startswith(CELL) else line for line in lines]
    return "\n".join([*parts, ""]), places, warnings


def _explain_choices(
    text: str, found: Survey, places: Mapping[str, Sequence[str]], registry: Registry
) -> Iterator[str]:
    """Yield a sentence on each function that is written in several cells."""
    bound = [one for one in found.bindings if one.written and one.kind in ("function", "value")]
    for name in registry.homes:
        cells = dict.fromkeys(
            find_spot(text, one.first, "")[0] for one in bound if one.name == name
        )
        if len(cells) > 1:
            chosen = max(reversed(cells), key=lambda cell: name in places.get(cell, ()))
            others = [cell.rpartition(" ")[2] for cell in cells if cell != chosen]
            yield f"{chosen}: this {name} counts; it is also in cell {', '.join(others[:9])}."


def find_code(source: str, step: Step) -> str:
    """Return the cells of a notebook's text that define a step's functions; a file as it is.

    The text is not parsed: this is for people who compare it.
    """
    if not is_notebook(source):
        return source
    functions = {function.name for function in step.functions}
    cells = [cell.split("\n")[1:] for cell in source.split(f"\n{CELL}")]
    kept = [cell for cell in cells if any(_names_one(line, functions) for line in cell)]
    return "\n".join(itertools.chain.from_iterable(kept))


def _names_one(line: str, functions: Collection[str]) -> bool:
    """Return whether a line defines or assigns one of these names."""
    first, second, *_ = [*line.replace("(", " ").replace("=", " = ").split(), "", ""]
    return second in functions if first == "def" else second == "=" and first in functions
