"""Save a notebook as an exercise file and load it again, so that a learner can switch at any time.

The file is the notebook's text with the lesson in it: the texts of a function stand above the cell
that defines it. Plain Python imports it, because the statements that do not run are comments. A
judge runs it as it runs the notebook.

Notebooks share progress in a small file beside the exercises. For each step it holds the result of
its notebook's last check, and what `save_work()` wrote last. A file that cannot be read or written
is ignored.
"""

import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from grader.isolation.margins import Skipped
from grader.isolation.survey import Survey, lines_of, survey
from grader.isolation.worker.cells import CELL, NOTEBOOK
from grader.isolation.worker.notebook import DEFINES
from grader.report.files import read_notes, write_notes
from grader.report.records import Status, StepVerdict
from grader.steps.registry import Step
from grader.steps.stubs import find_defined, split_cells, text_hash, without_self_study

TEXT = f"{CELL} [markdown]"
KIT = (
    *("case", "check", "hint", "lesson", "load_work", "look", "quiz", "recap", "review"),
    *("save_work", "write"),
)
FUTURE = "from __future__ import "
LEFT_OUT = "#| "  # before a line that plain Python does not run


def _code_of(cell: str) -> list[str]:
    """Return the lines of code in a cell of a file: in a cell of text, those below the text."""
    lines = [*lines_of(cell)]
    mark = lines.pop(0) if cell.startswith(CELL) else ""
    while mark.startswith(TEXT) and lines and lines[0].startswith("#"):
        del lines[0]
    return lines


def cell_of(file: str) -> str:
    """Return the code of an exercise file as one cell, without what makes it a notebook's."""
    head = (NOTEBOOK, DEFINES, LEFT_OUT)
    cells = []
    for cell in split_cells(without_self_study(file)):
        lines = [line for line in _code_of(cell) if not line.lstrip().startswith(head)]
        cells.append("\n".join(lines).strip("\n"))
    return "\n\n\n".join(filter(None, cells))


def file_of(text: str, skipped: Collection[Skipped], step: Step, lesson: str) -> str:
    """Return the exercise file of a notebook's text.

    skipped: its statements that did not run, or do not count. lesson: the step's file with stubs.
    """
    lines, future = _leave_out(lines_of(text), survey(text), skipped)
    found = survey("\n".join(lines))
    counts = {f.name: one for f in step.functions if (one := found.last(f.name)) and one.written}
    parts, names = _list_parts(lesson, step, {*counts}, lines)
    code = (at for at, part in enumerate(parts) if not part.startswith(TEXT))
    taken = next(code, 0)
    taken += not names[taken]  # a title, and imports
    starts = [at for at, line in enumerate(lines) if line.startswith(CELL)]
    done = [*lines[: starts[0]], *(["", CELL, *future] if future else []), ""]
    done += filter(None, parts[:taken])
    for start, end in zip(starts, [*starts[1:], len(lines)]):
        here = {name for name, one in counts.items() if start < one.first <= end}
        through = max((at + 1 for at, own in enumerate(names) if own & here), default=taken)
        done += filter(None, parts[taken:through])
        taken = max(taken, through)
        cell = lines[start + 1 : end]
        if not all(map(_is_useless, cell)):
            done += [CELL, "\n".join(cell).strip("\n"), ""]
    return "\n".join([*done, *filter(None, parts[taken:])]).strip("\n") + "\n"


def _leave_out(
    lines: Sequence[str], found: Survey, skipped: Collection[Skipped]
) -> tuple[list[str], list[str]]:
    """Return the lines with comments in place of what does not run, and what belongs on top."""
    kept = [*lines]
    for number in found.commands:
        line = kept[number - 1]
        indent = line[: len(line) - len(line.lstrip())]
        kept[number - 1] = f"{indent}pass  {LEFT_OUT}{line.strip()}" if indent else LEFT_OUT + line
    for first, last in [(a, b) for a, b, _ in found.broken] + [(s.first, s.last) for s in skipped]:
        for number in range(first, min(last, len(kept)) + 1):
            if not kept[number - 1].startswith(LEFT_OUT):
                kept[number - 1] = LEFT_OUT + kept[number - 1]
    future = dict.fromkeys(line for line in kept if line.startswith(FUTURE))
    return [LEFT_OUT + line if line in future else line for line in kept], [*future]


def _is_useless(line: str) -> bool:
    """Return whether a file has no use for a line: it is empty, or only calls the kit."""
    words = line.removeprefix(LEFT_OUT).replace("(", " ").replace(".", " ").split() or [""]
    is_kits = words[0] in ("", *KIT) or words[:2] in (["from", "grader"], ["import", "grader"])
    return not line.strip() or (line.startswith(LEFT_OUT) and is_kits)


def _list_parts(
    lesson: str, step: Step, written: Collection[str], lines: Collection[str]
) -> tuple[list[str], list[set[str]]]:
    """Return the lesson's parts, and the functions in each; what the notebook has is "".

    written: the notebook's functions. lines: all of its lines.
    """
    parts, names = [], []
    for part in split_cells(lesson):
        functions = {function.name for function in find_defined(part, step)}
        imports = not part.startswith(TEXT) and {*_code_of(part)} <= {"", *lines}
        there = functions <= {*written} if functions else imports
        parts.append("" if there else part.strip("\n") + "\n")
        names.append(functions)
    return parts, names


class ProgressFile:
    """The file, read again each time, because other notebooks write it too."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / ".notebooks.json"

    def _write(self, step: str, **news: Any) -> None:
        data = read_notes(self.path)
        entry = data.get(step)
        data[step] = {**(entry if isinstance(entry, dict) else {}), **news}
        write_notes(self.path, data)

    def note_checked(self, verdict: StepVerdict) -> None:
        """Note that a notebook's step was checked as a whole."""
        points = [verdict.status.value, verdict.points, verdict.on_own_steps]
        self._write(verdict.step, checked=points, at=time.time())

    def last(self, step: Step, file: Path) -> StepVerdict | None:
        """Return a notebook's last check, or None if the file is newer or unchecked."""
        entry = read_notes(self.path).get(step.id)
        try:
            status, points, own = entry["checked"]  # type: ignore[index]
            newer = file.exists() and file.stat().st_mtime > entry["at"]  # type: ignore[index]
            verdict = StepVerdict(
                *(step.id, step.title, Status(status), float(points), step.max_points, (), own)
            )
        except (KeyError, TypeError, ValueError, OSError):
            return None
        return None if newer else verdict

    def note_saved(self, step: Step, text: str) -> None:
        """Note that this text was written into the exercises."""
        self._write(step.id, saved=text_hash(text))

    def is_ours(self, step: Step, text: str) -> bool:
        """Return whether that is the text which was written last."""
        entry = read_notes(self.path).get(step.id)
        return isinstance(entry, dict) and entry.get("saved") == text_hash(text)
