"""Give hints one level at a time: first for the mistake that was recognised, then for the step.

One of the last asks for the order of a function's lines: they are shuffled, and some do not belong.
The lines are those of the very last hint, so the decisive expression is a hole here, too.
"""

import hashlib
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grader.learner.journal import Journal
from grader.report.records import CheckVerdict, Status, StepVerdict
from grader.steps.registry import DATA, Step, read_toml

BOTTOM = DATA.parent / "bottom_hints.toml"
LETTERS = "abcdefghijklmnop"
FIXED = re.compile(r"\s|#|(if|for|return|raise|then)\b|[^=]*$")  # lines that keep their place
NAME = re.compile(r"[A-Za-z_]\w*")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclass(frozen=True)
class LastHints:
    """The last hints of a function: a tool, its lines to be put in order, nearly the answer.

    almost: a sentence, then the lines in order. wrong: lines that do not belong to them.
    """

    tool: str
    almost: str
    wrong: Sequence[str] = ()

    @property
    def lines(self) -> list[str]:
        """Return the lines in order."""
        return self.almost.strip("\n").splitlines()[1:]

    @property
    def is_puzzle(self) -> bool:
        """Return whether there are enough lines to be put in order."""
        return bool(self.wrong) and len(self.lines) > 1

    @property
    def shown(self) -> list[str]:
        """Return all lines, shuffled in the same way each time."""
        lines = sorted({*self.lines, *self.wrong}, key=_hash)
        is_solved = [line for line in lines if line in self.lines] == self.lines
        return lines[::-1] if is_solved else lines

    @property
    def puzzle(self) -> str:
        """Return the hint that asks for the order."""
        rows = [f"{letter}) {line}" for letter, line in zip(LETTERS, self.shown, strict=False)]
        count = "one line does not" if len(self.wrong) == 1 else f"{len(self.wrong)} lines do not"
        return "\n".join([f"In which order? These are the lines, and {count} belong.", *rows])

    def mark(self, answer: str) -> tuple[bool, str]:
        """Return whether an order of letters is right, and what to say about it."""
        shown = dict(zip(LETTERS, self.shown, strict=False))
        letters = re.findall(r"\w", answer.lower())
        if not letters or not {*letters} <= shown.keys():
            return False, f"The answer is the letters in order, for example {' '.join(shown)}."
        chosen = [shown[letter] for letter in letters]
        for letter, line in zip(letters, chosen, strict=True):
            if line in self.wrong:
                return False, f"Not yet: {letter}) does not belong. Which mistake is it?"
        if sorted(chosen) != sorted(self.lines):
            return False, f"Not yet: {len(self.lines)} lines belong, each once."
        places = [self.lines.index(line) for line in chosen]
        for early, late in itertools.combinations(range(len(chosen)), 2):
            if places[late] < places[early] and _depend(chosen[late], chosen[early]):
                told = f"{letters[early]}) comes too early. What has to be there first?"
                return False, f"Not yet: {told}"
        return True, "Right, this order works. Now write the expression in the hole."


def _depend(first: str, second: str) -> bool:
    """Return whether two lines may not be exchanged: one needs what the other sets."""
    if FIXED.match(first) or FIXED.match(second):
        return True
    (sets, reads), (others, needs) = _split(first), _split(second)
    return bool(sets & (others | needs) or others & reads)


def _split(line: str) -> tuple[set[str], set[str]]:
    """Return the names that an assignment sets, and those that it reads."""
    left, _, right = line.partition("#")[0].partition("=")
    return {*NAME.findall(left)}, {*NAME.findall(right)}


@cache
def read_last_hints() -> Mapping[str, LastHints]:
    """Return the last hints of each function that has them, by its name."""
    return {name: LastHints(**one) for name, one in read_toml(BOTTOM).items()}


def list_hints(step: Step, verdict: StepVerdict) -> list[str]:
    """Return all hints for this state of the step, each once.

    After the causes come the hints of the first check that did not pass, or else those of the step.
    The last are those of its function: a tool, its lines, nearly the answer.
    """
    causes = [check.diagnosis.hint for check in verdict.checks if check.diagnosis]
    failed, shuffled = find_failed(verdict), find_puzzle(verdict)
    own = [check.hints for check in step.checks if failed and check.id == failed.check]
    bottom = read_last_hints().get(failed.function if failed else "")
    lines = [shuffled.puzzle] if shuffled else []
    last = [bottom.tool, *lines, bottom.almost] if bottom else []
    return list(dict.fromkeys([*causes, *(next(iter(own), ()) or step.hints), *last]))


def find_failed(verdict: StepVerdict) -> CheckVerdict | None:
    """Return the first check that did not pass."""
    return next((one for one in verdict.checks if one.status is not Status.PASSED), None)


def find_puzzle(verdict: StepVerdict) -> LastHints | None:
    """Return the puzzle of the first wrong function; None until its learner has tried it."""
    failed = find_failed(verdict)
    last = read_last_hints().get(failed.function) if failed else None
    tried = {check.function for check in verdict.checks if check.failing}
    return last if last and last.is_puzzle and failed and failed.function in tried else None


def are_all_given(step: Step, hints: Sequence[str], folder: Path) -> bool:
    """Return whether each of these hints was given before."""
    return {*map(_hash, hints)} <= {*Journal(folder).on_step(step.id)["hints"]}


def next_hint(step: Step, hints: Sequence[str], folder: Path) -> tuple[int, str]:
    """Return the number and the text of the first new hint, or of the last if all were given.

    It is noted in the journal of that folder, if that is possible.
    """
    journal = Journal(folder)
    before = journal.on_step(step.id)["hints"]
    number = next((i for i, hint in enumerate(hints) if _hash(hint) not in before), len(hints) - 1)
    journal.note_hint(step.id, _hash(hints[number]))
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


def give(step: Step, verdict: StepVerdict, folder: Path) -> GivenHint:
    """Return the next hint for a step, and note that it was given."""
    known, last = list_hints(step, verdict), find_puzzle(verdict)
    number, text = next_hint(step, known, folder)
    heading = f"Step {step.number}, {step.title}: hint {number} of {len(known)}"
    if number == 2 and _read_help(verdict):
        heading += " (hint 1 is the check's help)"
    told, *code = text.strip("\n").split("\n")
    is_puzzle = last is not None and text == last.puzzle
    return GivenHint(number, len(known), heading, told, tuple(code), is_puzzle)


def note_shown(verdict: StepVerdict, folder: Path) -> None:
    """Note that a screen shows the first failing check's own help: the next hint follows it."""
    if shown := _read_help(verdict):
        Journal(folder).note_hint(verdict.step, _hash(shown))


def _read_help(verdict: StepVerdict) -> str:
    """Return the hint that is the first failing check's help line, or "" if it has none."""
    failed = find_failed(verdict)
    return failed.diagnosis.hint if failed and failed.diagnosis else ""
