"""Save a notebook as an exercise file and load it again, so that a learner can switch at any time.

The file is the notebook's text with the lesson in it: the texts of a function stand above the cell
that defines it. Plain Python imports it, because the statements that do not run are comments. A
judge runs it as it runs the notebook.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from grader.isolation.margins import Skipped
from grader.isolation.places import lines_of
from grader.isolation.survey import Survey, survey
from grader.isolation.worker.cells import CELL, NOTEBOOK
from grader.isolation.worker.notebook import DEFINES
from grader.steps.registry import Step
from grader.steps.stubs import find_defined, without_self_study

PART = "# %%"
TEXT = "# %% [markdown]"
KIT = (
    *("case", "check", "hint", "lesson", "load_work", "look", "quiz", "recap", "review"),
    *("save_work", "write"),
)
FUTURE = "from __future__ import "
LEFT_OUT = "#| "  # before a line that plain Python does not run


@dataclass(frozen=True)
class _Part:
    """A cell of a file: its first line, and the lines below."""

    head: str
    lines: tuple[str, ...]

    @property
    def code(self) -> str:
        """Return the code in it; in a cell of text, any code below the text."""
        lines = [*self.lines]
        while self.head.startswith(TEXT) and lines and lines[0].startswith("#"):
            del lines[0]
        return "\n".join(lines).strip("\n")

    @property
    def text(self) -> str:
        """Return the whole part."""
        return "\n".join([self.head, *self.lines]).strip("\n")


def _split(file: str) -> list[_Part]:
    """Return the cells of a file; the lines above the first one are a cell, too."""
    parts: list[_Part] = []
    head, lines = PART, list[str]()
    for line in lines_of(file):
        if line.startswith(PART):
            parts.append(_Part(head, tuple(lines)))
            head, lines = line, []
        else:
            lines.append(line)
    parts.append(_Part(head, tuple(lines)))
    return [part for part in parts if part.text != PART]


def cell_of(file: str) -> str:
    """Return the code of an exercise file as one cell, without what makes it a notebook's."""
    head = (NOTEBOOK, DEFINES, LEFT_OUT)
    cells = []
    for part in _split(without_self_study(file)):
        lines = [line for line in lines_of(part.code) if not line.lstrip().startswith(head)]
        cells.append("\n".join(lines).strip("\n"))
    return "\n\n\n".join(filter(None, cells))


def file_of(text: str, skipped: Collection[Skipped], step: Step, lesson: str) -> str:
    """Return the exercise file of a notebook's text.

    skipped: its statements that did not run, or do not count. lesson: the step's file with stubs.
    """
    lines, future = _leave_out(lines_of(text), survey(text), skipped)
    found = survey("\n".join(lines))
    counts = {f.name: one for f in step.functions if (one := found.last(f.name)) and one.written}
    starts = [at for at, line in enumerate(lines) if line.startswith(CELL)]
    parts = _Parts(lesson, step, {*counts}, {*lines})
    done = [*lines[: starts[0]], *(["", PART, *future] if future else []), ""]
    done += parts.take_head()
    for start, end in zip(starts, [*starts[1:], len(lines)]):
        cell = _Part(PART, tuple(lines[start + 1 : end]))
        here = [name for name, one in counts.items() if start < one.first <= end]
        done += parts.take_through(here)
        if not _is_empty(cell):
            done += [PART, cell.code, ""]
    return "\n".join([*done, *parts.take_all()]).strip("\n") + "\n"


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


def _is_empty(cell: _Part) -> bool:
    """Return whether a cell has nothing but calls of the kit, which a file has no use for."""
    lines = [line for line in lines_of(cell.code) if line.strip()]
    return all(line.startswith(LEFT_OUT) and _is_kits(line) for line in lines)


def _is_kits(line: str) -> bool:
    words = line.removeprefix(LEFT_OUT).replace("(", " ").replace(".", " ").split()
    return not words or words[0] in KIT or words[:2] in (["from", "grader"], ["import", "grader"])


class _Parts:
    """The parts of a lesson that are not in the file yet.

    written: the functions to be replaced. lines: those of the notebook.
    """

    def __init__(
        self, lesson: str, step: Step, written: Collection[str], lines: Collection[str]
    ) -> None:
        self.left = deque(_split(lesson))
        self.step = step
        self.written = written
        self.lines = lines

    def take_head(self) -> list[str]:
        """Return the parts above the text of the first function: a title, and imports."""
        parts = [*self.left]
        code = [at for at, part in enumerate(parts) if not part.head.startswith(TEXT)]
        first = code[0] if code else 0
        return self._take(first + (not self._list_functions(parts[first])))

    def take_through(self, names: Collection[str]) -> list[str]:
        """Return the parts up to the last one that has one of these functions."""
        holds = (not {*names}.isdisjoint(self._list_functions(part)) for part in self.left)
        return self._take(max((at + 1 for at, has in enumerate(holds) if has), default=0))

    def take_all(self) -> list[str]:
        """Return all that are left."""
        return self._take(len(self.left))

    def _take(self, count: int) -> list[str]:
        lines: list[str] = []
        for _ in range(count):
            part = self.left.popleft()
            functions = self._list_functions(part)
            replaced = functions <= {*self.written} if functions else self._is_there(part)
            lines += [] if replaced else [part.text, ""]
        return lines

    def _is_there(self, part: _Part) -> bool:
        """Return whether the notebook has the imports of a part."""
        is_text = part.head.startswith(TEXT)
        return not is_text and all(not line or line in self.lines for line in part.lines)

    def _list_functions(self, part: _Part) -> set[str]:
        return {function.name for function in find_defined(part.text, self.step)}
