"""Give hints one level at a time: first for the mistake that was recognised, then for the step."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from grader.report.files import read_notes, write_notes
from grader.report.records import Status, StepVerdict
from grader.steps.registry import DATA, Step, read_toml

BOTTOM = DATA.parent / "bottom_hints.toml"
FILE = ".hints.json"  # beside the exercises: which hints were given


def list_hints(step: Step, verdict: StepVerdict) -> list[str]:
    """Return all hints for this state of the step, each once."""
    causes = [check.diagnosis.hint for check in verdict.checks if check.diagnosis]
    return list(dict.fromkeys([*causes, *_levels(step, verdict), *_bottom(verdict)]))


def _bottom(verdict: StepVerdict) -> tuple[str, ...]:
    """Return the last two hints for the first wrong function: a tool, then nearly the answer."""
    failed = (check.function for check in verdict.checks if check.status is not Status.PASSED)
    return read_bottom().get(next(failed, ""), ())


@cache
def read_bottom() -> Mapping[str, tuple[str, ...]]:
    """Return the last two hints of each function that has them, by its name."""
    entries = read_toml(BOTTOM)
    return {name: (one["tool"], one["almost"]) for name, one in entries.items()}


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
