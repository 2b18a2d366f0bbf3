"""Give hints one level at a time: first for the mistake that was recognised, then for the step."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grader.learner.journal import Journal
from grader.learner.parsons import Puzzle, make_puzzle
from grader.report.records import CheckVerdict, Status, StepVerdict
from grader.steps.registry import DATA, Step, read_toml

BOTTOM = DATA.parent / "bottom_hints.toml"


def list_hints(step: Step, verdict: StepVerdict) -> list[str]:
    """Return all hints for this state of the step, each once.

    After the causes come the hints of the first check that did not pass, or else those of the step.
    The last are those of its function: a tool, its lines, nearly the answer.
    """
    causes = [check.diagnosis.hint for check in verdict.checks if check.diagnosis]
    failed, bottom, puzzle = _find_failed(verdict), _find_bottom(verdict), find_puzzle(verdict)
    own = [check.hints for check in step.checks if failed and check.id == failed.check]
    lines = [puzzle.text] if puzzle else []
    last = [bottom.tool, *lines, bottom.almost] if bottom else []
    return list(dict.fromkeys([*causes, *(next(iter(own), ()) or step.hints), *last]))


def _find_failed(verdict: StepVerdict) -> CheckVerdict | None:
    """Return the first check that did not pass."""
    return next((one for one in verdict.checks if one.status is not Status.PASSED), None)


def _find_bottom(verdict: StepVerdict) -> Bottom | None:
    """Return the last hints of the first wrong function, if it has any."""
    failed = _find_failed(verdict)
    return read_bottom().get(failed.function) if failed else None


def find_puzzle(verdict: StepVerdict) -> Puzzle | None:
    """Return the puzzle of the first wrong function; None until its learner has tried it."""
    failed, bottom = _find_failed(verdict), _find_bottom(verdict)
    tried = {check.function for check in verdict.checks if check.failing}
    return bottom.puzzle if bottom and failed and failed.function in tried else None


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


def _name(hint: str) -> str:
    return hashlib.sha256(hint.encode()).hexdigest()[:12]


def are_all_given(step: Step, hints: Sequence[str], folder: Path) -> bool:
    """Return whether each of these hints was given before."""
    return {*map(_name, hints)} <= {*Journal(folder).given_hints(step.id)}


def next_hint(step: Step, hints: Sequence[str], folder: Path) -> tuple[int, str]:
    """Return the number and the text of the first new hint, or of the last if all were given.

    It is noted in the journal of that folder, if that is possible.
    """
    journal = Journal(folder)
    before = journal.given_hints(step.id)
    number = next((i for i, hint in enumerate(hints) if _name(hint) not in before), len(hints) - 1)
    journal.note_hint(step.id, _name(hints[number]))
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


def give(step: Step, verdict: StepVerdict, folder: Path) -> GivenHint:
    """Return the next hint for a step, and note that it was given."""
    known, puzzle = list_hints(step, verdict), find_puzzle(verdict)
    number, text = next_hint(step, known, folder)
    heading = f"Step {step.number}, {step.title}: hint {number} of {len(known)}"
    if number == 2 and _read_help(verdict):
        heading += " (hint 1 is the check's help)"
    told, *code = text.strip("\n").split("\n")
    is_puzzle = puzzle is not None and text == puzzle.text
    return GivenHint(number, len(known), heading, told, tuple(code), is_puzzle)


def note_shown(verdict: StepVerdict, folder: Path) -> None:
    """Note that a screen shows the first failing check's own help: the next hint follows it."""
    if shown := _read_help(verdict):
        Journal(folder).note_hint(verdict.step, _name(shown))


def _read_help(verdict: StepVerdict) -> str:
    """Return the hint that is the first failing check's help line, or "" if it has none."""
    failed = _find_failed(verdict)
    return failed.diagnosis.hint if failed and failed.diagnosis else ""
