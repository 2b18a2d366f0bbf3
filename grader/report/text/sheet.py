"""Lay out lines of text for a terminal: wrapped, harmless, and in ASCII where necessary."""

import textwrap
from dataclasses import dataclass, field
from functools import partial

from grader.report.sanitize import visible

WIDTH = 80
_ASCII = str.maketrans(
    {
        **{"√": "sqrt ", "·": "*", "−": "-", "∞": "inf", "≥": ">=", "≤": "<=", "≠": "!="},
        **{"…": "...", "ᵀ": "^T", "→": "->", "×": "x", "Σ": "sum ", "—": "-", "–": "-"},
        **{"“": '"', "”": '"', "’": "'", "²": "^2", "ₖ": "_k"},
    }
)


clean = partial(visible, limit=1000, kept="\n")  # a student's text, so that it moves no cursor


@dataclass
class Sheet:
    """Collect rows of at most `width` characters, each with its style; plain: in ASCII."""

    width: int = WIDTH
    plain: bool = False
    rows: list[tuple[str, str]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.rows)

    def line(self, text: str = "", style: str = "", indent: int = 0, most: int = 0) -> None:
        """Add a wrapped paragraph of at most `most` rows; 0 means no limit."""
        room = self.width - indent - 1
        pieces: list[str] = []
        for part in self.spell(text).split("\n"):
            hang = "  " if part.startswith("- ") else ""  # an item of a list
            wrapped = textwrap.wrap(part, room, subsequent_indent=hang, break_on_hyphens=False)
            pieces += wrapped or [""]
        if most and len(pieces) > most:
            rest = " ".join(pieces[most - 1 :])
            mark = self.spell(" …")
            pieces[most - 1 :] = [textwrap.shorten(rest, room, placeholder=mark)]
        for piece in pieces:
            self.row(" " * indent + piece, style)

    def row(self, text: str, style: str = "") -> None:
        """Add one line unwrapped, cut at the screen's edge."""
        text = self.spell(text).rstrip()
        if len(text) > self.width:
            text = text[: self.width - 3] + "..."
        self.rows.append((text, style))

    def gap(self) -> None:
        """Add a blank line, unless there is one already."""
        if not self.rows or self.rows[-1][0]:
            self.row("")

    def spell(self, text: str) -> str:
        """Return the text in ASCII if necessary."""
        if not self.plain:
            return text
        return text.translate(_ASCII).encode("ascii", "replace").decode()
