"""Give hints one level at a time: first for the mistake that was recognised, then for the step."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grader.engine.parsons import Puzzle, make_puzzle
from grader.report.files import read_notes, write_notes
from grader.report.records import Status, StepVerdict
from grader.steps.registry import DATA, Step, read_toml

BOTTOM = DATA.parent / "bottom_hints.toml"
UNTRIED = (Status.NOT_ATTEMPTED, Status.SKIPPED, Status.PASSED)
FILE = ".hints.json"  # beside the exercises: which hints were given


def list_hints(step: Step, verdict: StepVerdict) -> list[str]:
    """Return all hints for this state of the step, each once."""
    causes = [check.diagnosis.hint for check in verdict.checks if check.diagnosis]
    return list(dict.fromkeys([*causes, *_levels(step, verdict), *_bottom(verdict)]))


def _bottom(verdict: StepVerdict) -> list[str]:
    """Return the last hints for the first wrong function: a tool, its lines, nearly the answer."""
    bottom = read_bottom().get(_find_wrong(verdict))
    if bottom is None:
        return []
    puzzle = find_puzzle(verdict)
    return [bottom.tool, *([puzzle.text] if puzzle else []), bottom.almost]


def _find_wrong(verdict: StepVerdict) -> str:
    """Return the first function with a check that did not pass."""
    failed = (check.function for check in verdict.checks if check.status is not Status.PASSED)
    return next(failed, "")


def find_puzzle(verdict: StepVerdict) -> Puzzle | None:
    """Return the puzzle of the first wrong function; None until its learner has tried it."""
    name = _find_wrong(verdict)
    tried = {check.function for check in verdict.checks if check.status not in UNTRIED}
    return read_bottom()[name].puzzle if name in tried and name in read_bottom() else None


@dataclass(frozen=True)
class Bottom:
    """The last hints of a function: a tool, its lines to be put in order, nearly the answer."""

    tool: str
    almost: str
    puzzle: Puzzle | None


@cache
def read_bottom() -> Mapping[str, Bottom]:
    """Return the last hints of each function that has them, by its name."""
    return {
        name: Bottom(one["tool"], one["almost"], make_puzzle(one["almost"], one.get("wrong", ())))
        for name, one in read_toml(BOTTOM).items()
    }


def _levels(step: Step, verdict: StepVerdict) -> tuple[str, ...]:
    """Return the hints of the first check that did not pass, or else those of the step."""
    known = {check.id: check.hints for check in step.checks}
    failed = (check.check for check in verdict.checks if check.status is not Status.PASSED)
    return known.get(next(failed, ""), ()) or step.hints


def _name(hint: str) -> str:
    return hashlib.sha256(hint.encode()).hexdigest()[:12]


def _read_given(step: str, memory: Path) -> set[str]:
    """Return the names of the hints that were given for a step."""
    names = read_notes(memory).get(step)
    return {name for name in names if isinstance(name, str)} if isinstance(names, list) else set()


def are_all_given(step: Step, hints: Sequence[str], memory: Path) -> bool:
    """Return whether each of these hints was given before."""
    return {*map(_name, hints)} <= _read_given(step.id, memory)


def next_hint(step: Step, hints: Sequence[str], memory: Path) -> tuple[int, str]:
    """Return the number and the text of the first new hint, or of the last if all were given.

    memory: the file that remembers which hints were given. A hint is given even if the file cannot
    be read or written.
    """
    before = _read_given(step.id, memory)
    number = next((i for i, hint in enumerate(hints) if _name(hint) not in before), len(hints) - 1)
    _note_given(step.id, hints[number], memory)
    return number + 1, hints[number]


@dataclass(frozen=True)
class GivenHint:
    """One hint: its number of how many, a heading, its sentence, and the lines of code below."""

    number: int
    count: int
    heading: str
    told: str
    code: tuple[str, ...]
    is_puzzle: bool

    @property
    def is_last(self) -> bool:
        """Return whether no other hint follows."""
        return self.number == self.count


def give(step: Step, verdict: StepVerdict, memory: Path) -> GivenHint:
    """Return the next hint for a step, and note that it was given."""
    known, puzzle = list_hints(step, verdict), find_puzzle(verdict)
    number, text = next_hint(step, known, memory)
    heading = f"Step {step.number}, {step.title}: {count_hint(verdict, number, len(known))}"
    told, *code = text.strip("\n").split("\n")
    is_puzzle = puzzle is not None and text == puzzle.text
    return GivenHint(number, len(known), heading, told, tuple(code), is_puzzle)


def find_memory(folder: Path) -> Path:
    """Return the file of a folder's hints; one for temporary files if nothing can be written."""
    if os.access(folder, os.W_OK) or not folder.is_dir():
        return folder / FILE
    return Path(tempfile.gettempdir()) / f"nopeek-{_name(str(folder.resolve()))}{FILE}"


def note_shown(verdict: StepVerdict, memory: Path) -> None:
    """Note that a screen shows the first failing check's own help: the next hint follows it."""
    if shown := _read_help(verdict):
        _note_given(verdict.step, shown, memory)


def count_hint(verdict: StepVerdict, number: int, count: int) -> str:
    """Return which hint of how many this is, and where the first one was if it was a help line."""
    said = f"hint {number} of {count}"
    return f"{said} (hint 1 is the check's help)" if number == 2 and _read_help(verdict) else said


def _read_help(verdict: StepVerdict) -> str:
    """Return the hint that is the first failing check's help line, or "" if it has none."""
    failed = (check for check in verdict.checks if check.status is not Status.PASSED)
    first = next(failed, None)
    return first.diagnosis.hint if first is not None and first.diagnosis else ""


def _note_given(step: str, hint: str, memory: Path) -> None:
    given = sorted(_read_given(step, memory) | {_name(hint)})
    write_notes(memory, {**read_notes(memory), step: given})
