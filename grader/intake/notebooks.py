"""Make a notebook's cells into one text, which a worker runs as their kernel would.

Nothing is parsed or run here. Above each cell stands a mark with its place. What the survey finds
to be no Python becomes a comment: the lines of IPython, and the rest of a cell that is broken. So
the text is Python, and every line has its place in a cell.

A step is in a notebook that binds one of its functions. Of several definitions the one counts whose
cell has the function's or the step's `grade_id`, otherwise the last one that is not a stub.
nbgrader's cells with checks are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from grader.intake.ipynb import RawCell, Room, raw_cells
from grader.intake.submission import (
    LEFT_OUT,
    MARK,
    WRONG,
    find_left_open,
    lines_of,
    place,
)
from grader.isolation.survey import Survey, survey
from grader.isolation.worker.cells import CELL, GRADE_ID, NOTEBOOK, PYTHON_CELLS, is_notebook
from grader.isolation.worker.notebook import FUNCTIONS
from grader.report.names import show_name
from grader.steps.registry import Registry, Step

MAX_WARNINGS = 20


@dataclass(frozen=True)
class Notebook:
    """A notebook's contents: sources by step id, the number of written functions, and warnings.

    All sources are the same text. left_out: the place of the line that is
    not Python, by the functions that stand there and are written nowhere else.
    """

    sources: Mapping[str, str] = field(repr=False)
    written: Mapping[str, int]
    warnings: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)


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
    text, warnings = _write([*raws], name, registry, room or Room())
    found = survey(text)
    text = _leave_out(text, found)
    warnings += [*_explain_left_out(text, found), *_explain_choices(text, found, registry)]
    counts = {name: one for name in registry.homes if (one := found.last(name)) is not None}
    made = {name for name, one in counts.items() if one.kind != "import"}
    named = " ".join(name for name in registry.homes if name in made)
    text = text.replace(FUNCTIONS, FUNCTIONS + named, 1)
    left_out = {
        name: where
        for name in registry.homes
        if f"def {name}(" in text and not (name in made and counts[name].written)
        if (where := find_left_open(text, name)[0])
    }
    steps = (home.id for name, home in registry.homes.items() if name in made or name in left_out)
    written = dict.fromkeys(steps, 0)
    for function in made:
        written[registry.homes[function].id] += counts[function].written
    sources = dict.fromkeys(written, text)
    return Notebook(sources, written, tuple(warnings[:MAX_WARNINGS]), left_out)


def _write(
    raws: Sequence[RawCell], name: str, registry: Registry, room: Room
) -> tuple[str, list[str]]:
    """Return the cells as one text, and a warning for each that holds something else."""
    parts, warnings = [NOTEBOOK, FUNCTIONS], []
    for raw in raws:
        place_for = _list_places(raw.grade_id, registry)
        if raw.test or not (raw.code or place_for):
            continue
        where = f"{show_name(name)}, cell {raw.number}" if name else f"cell In[{raw.number}]"
        if raw.text is None:
            warnings.append(f"{where}: it holds something other than text, and is skipped.")
            continue
        lines = lines_of(raw.text.rstrip())
        room.take(code=len(raw.text))
        tags = f'{GRADE_ID}{" ".join(place_for)}"' if place_for else ""
        parts.append(MARK.format(cell=where) + tags)
        parts += [f"#{line}" if line.startswith(CELL) else line for line in lines]
    return "\n".join([*parts, ""]), warnings


def _list_places(grade_id: str, registry: Registry) -> list[str]:
    """Return the functions whose place is the cell with that `grade_id`."""
    return [f for f, step in registry.homes.items() if grade_id in (f, step.id)]


def _leave_out(text: str, found: Survey) -> str:
    """Return a text with comments in place of all that is not Python."""
    lines = lines_of(text)
    for number in found.commands:
        line = lines[number - 1]
        indent = line[: len(line) - len(line.lstrip())]
        lines[number - 1] = f"{indent}pass  {LEFT_OUT}{line.strip()}" if indent else LEFT_OUT + line
    for first, last, wrong in found.broken:
        lines[first - 1 : last] = [LEFT_OUT + line for line in lines[first - 1 : last]]
        lines[wrong - 1] = WRONG + lines[wrong - 1].removeprefix(LEFT_OUT)
    return "\n".join(lines)


def _explain_left_out(text: str, found: Survey) -> list[str]:
    """Return a sentence on each part of the text that is not Python."""
    warnings = []
    lines = lines_of(text)
    for first, _, wrong in found.broken:
        where, line = place(text, wrong, "")[0], lines[first - 1].removeprefix(WRONG)
        if line.startswith("%%") and line.split()[0] not in PYTHON_CELLS:
            what = show_name(line.split()[0])
            warnings.append(f"{where}: {what} is not valid Python; it is skipped.")
        else:
            warnings.append(
                f"{where}: this is not valid Python, so the rest of the cell is skipped."
            )
    return warnings


def _explain_choices(text: str, found: Survey, registry: Registry) -> Iterator[str]:
    """Yield a sentence on each function that is written in several cells."""
    cells: dict[str, dict[str, bool]] = {}  # by function: the cells, and whether each is its place
    lines = lines_of(text)
    for one in found.bindings:
        if one.name in registry.homes and one.kind in ("function", "value"):
            where, _ = place(text, one.first, "")
            cell, _, number = where.rpartition(", line ")
            mark = lines[one.first - int(number or 1) - 1]
            tags = mark.rpartition(GRADE_ID)[2].rstrip('"').split() if GRADE_ID in mark else ()
            if one.written:
                cells.setdefault(one.name, {})[cell] = one.name in tags
    for name, places in cells.items():
        chosen = [cell for cell, is_place in places.items() if is_place] or [*places]
        others = [cell.rpartition(" ")[2] for cell in places if cell != chosen[-1]]
        if others:
            yield f"{chosen[-1]}: this {name} counts; it is also in cell {', '.join(others[:9])}."


def find_code(source: str, step: Step) -> str:
    """Return the cells of a notebook's text that define a step's functions; a file as it is.

    The text is not parsed: this is for people who compare it.
    """
    if not is_notebook(source):
        return source
    functions = {function.name for function in step.functions}
    cells: list[list[str]] = [[]]
    for line in lines_of(source):
        cells += [[]] if line.startswith(CELL) else []
        cells[-1].append(line)
    kept = (cell for cell in cells if any(_names_one(line, functions) for line in cell))
    return "\n".join(line for cell in kept for line in cell)


def _names_one(line: str, functions: Collection[str]) -> bool:
    """Return whether a line defines or assigns one of these names."""
    head, _, _ = line.partition("(")
    name, equals, _ = line.partition("=")
    return (head.split()[-2:-1] == ["def"] and head.split()[-1] in functions) or (
        bool(equals) and name.strip() in functions
    )
