"""Draw a text as boxes, one for each word: the present word and, below it, the target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from grader.notebooks.pictures import BLUE, GREY, LETTER, RED, label, picture

BOX, LINE, GAP = 26, 74, 6  # heights of a box and of a line, and the room between two boxes
FRAMES = {
    "": f'stroke="{GREY}" stroke-opacity="0.6"',
    "hidden": f'stroke="{BLUE}" stroke-width="2" fill="{BLUE}" fill-opacity="0.55"',
    "another word": f'stroke="{RED}" stroke-width="2.5" stroke-dasharray="5 3"',
    "kept": f'stroke="{BLUE}" stroke-width="2.5"',
}


@dataclass(frozen=True)
class Word:
    """now: the present word; kind: a key of FRAMES, or "" for a word without a question."""

    now: str
    kind: str = ""
    target: str = ""

    @property
    def told(self) -> str:
        """Return the finding in words."""
        return f"{self.now}: {self.kind}, to be found: {self.target}" if self.kind else self.now

    @property
    def width(self) -> float:
        """Return the width of its box."""
        return max(len(self.now), len(self.target), len(self.kind) * 0.8) * LETTER + 14


def strip(title: str, lines: Sequence[Sequence[Word]]) -> str:
    """Draw lines of words.

    A word with a question has a frame of its own, with its kind and its target below.
    """
    parts, widest = [], 0.0
    for number, line in enumerate(lines):
        x = 2.0
        for word in line:
            parts.append(_box(x, 4 + number * LINE, word))
            x += word.width + GAP
        widest = max(widest, x)
    return picture(widest, len(lines) * LINE, title, parts)


def _box(x: float, y: float, word: Word) -> str:
    middle = x + word.width / 2
    place = f'x="{x:.0f}" y="{y:.0f}" width="{word.width:.0f}" height="{BOX}" rx="4"'
    fill = "" if "fill=" in FRAMES[word.kind] else ' fill="none"'
    frame = f"<rect {place} {FRAMES[word.kind]}{fill}><title>{escape(word.told)}</title></rect>"
    now = label(middle, y + BOX * 0.66, word.now, more=' pointer-events="none"')
    if not word.kind:
        return frame + now
    small = ' font-size="10.5"'
    below = label(middle, y + BOX + 15, word.target, more=' font-weight="bold"')
    return frame + now + below + label(middle, y + BOX + 29, word.kind, more=small)
