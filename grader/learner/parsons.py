"""Ask for the order of a function's lines: they are shuffled, and some do not belong.

The lines are those of the last hint, so the decisive expression is a hole here, too.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

LETTERS = "abcdefghijklmnop"
FIXED = re.compile(r"\s|#|(if|for|return|raise|then)\b|[^=]*$")  # lines that keep their place
NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Puzzle:
    """The lines of a function in order, and those that do not belong to it."""

    lines: tuple[str, ...]
    wrong: tuple[str, ...]

    @property
    def shown(self) -> list[str]:
        """Return all lines, shuffled in the same way each time."""
        lines = sorted({*self.lines, *self.wrong}, key=_hash)
        is_solved = [line for line in lines if line in self.lines] == [*self.lines]
        return lines[::-1] if is_solved else lines

    @property
    def text(self) -> str:
        """Return the hint that asks for the order."""
        rows = [f"{letter}) {line}" for letter, line in zip(LETTERS, self.shown, strict=False)]
        count = "one line does not" if len(self.wrong) == 1 else f"{len(self.wrong)} lines do not"
        return "\n".join([f"In which order? These are the lines, and {count} belong.", *rows])

    def mark(self, answer: str) -> tuple[bool, str]:
        """Return whether an order of letters is right, and what to say about it."""
        shown = dict(zip(LETTERS, self.shown, strict=False))
        letters = re.findall(r"\w", answer.lower())
        unknown = [letter for letter in letters if letter not in shown]
        if unknown or not letters:
            return False, f"The answer is the letters in order, for example {' '.join(shown)}."
        chosen = [shown[letter] for letter in letters]
        for letter, line in zip(letters, chosen, strict=True):
            if line in self.wrong:
                return False, f"Not yet: {letter}) does not belong. Which mistake is it?"
        if sorted(chosen) != sorted(self.lines):
            return False, f"Not yet: {len(self.lines)} lines belong, each once."
        for place, line in enumerate(chosen):
            for later in chosen[place + 1 :]:
                if self.lines.index(later) < self.lines.index(line) and _depend(later, line):
                    early = letters[place]
                    return False, f"Not yet: {early}) comes too early. What has to be there first?"
        return True, "Right, this order works. Now write the expression in the hole."


def _hash(line: str) -> str:
    return hashlib.sha256(line.encode()).hexdigest()


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


def make_puzzle(almost: str, wrong: Sequence[str]) -> Puzzle | None:
    """Return the puzzle of a last hint's lines; None if there are too few."""
    lines = tuple(almost.strip("\n").splitlines()[1:])
    return Puzzle(lines, tuple(wrong)) if wrong and len(lines) > 1 else None
