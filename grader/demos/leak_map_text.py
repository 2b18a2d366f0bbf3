"""Draw a stack of blocks in a terminal: its layers' maps side by side, and a conclusion."""

from __future__ import annotations

from collections.abc import Sequence

from grader.demos.stacks import Stack, describe_stack
from grader.report.influences import kind
from grader.report.text.influence_map import MAP_SIGNS, MAP_WORDS
from grader.report.text.sheet import Sheet, clean

WORDS = MAP_WORDS | {"leak": "moved, and stands before that token"}
LABEL = 12
GAP = "   "


def draw_stack(sheet: Sheet, stack: Stack) -> None:
    """Draw the maps of all layers, the signs and the conclusion."""
    sheet.line(f"Who depends on whom in {clean(stack.code)}", "bold")
    sheet.line("Column: the token that was replaced. Row: the position that moved.")
    labels = [f"{i:>2} {_shorten(token)}" for i, token in enumerate(stack.tokens)]
    width = max(map(len, labels)) + 2
    column = max(2 * len(stack.tokens), *(len(stack.heading(i)) for i in _all(stack)))
    beside = max(1, (sheet.width - 1 - width + len(GAP)) // (column + len(GAP)))
    for first in range(0, len(stack.layers), beside):
        sheet.gap()
        _row_of_maps(sheet, stack, _all(stack)[first : first + beside], labels, width, column)
    sheet.gap()
    _legend(sheet, stack)
    for sentence in describe_stack(stack):
        sheet.gap()
        sheet.line(sentence)


def _all(stack: Stack) -> Sequence[int]:
    return range(len(stack.layers))


def _shorten(token: str) -> str:
    text = clean(token)
    return text if len(text) <= LABEL else f"{text[: LABEL - 1]}…"


def _row_of_maps(
    sheet: Sheet,
    stack: Stack,
    layers: Sequence[int],
    labels: Sequence[str],
    width: int,
    column: int,
) -> None:
    """Draw the maps of some layers side by side."""
    heads = [stack.heading(number).ljust(column) for number in layers]
    sheet.row(" " * width + GAP.join(heads), "bold")
    numbers = " ".join(str(j % 10) for j in range(len(labels)))  # their last digits
    sheet.row(" " * width + GAP.join(numbers.ljust(column) for _ in layers))
    for i, label in enumerate(labels):
        rows = []
        for number in layers:
            marks = (kind(stack.layers[number], i, j) for j in range(len(labels)))
            rows.append(" ".join(MAP_SIGNS[mark] for mark in marks).ljust(column))
        sheet.row(label.ljust(width) + GAP.join(rows))


def _legend(sheet: Sheet, stack: Stack) -> None:
    """Explain the signs that were used."""
    size = range(len(stack.tokens))
    used = {kind(layer, i, j) for layer in stack.layers for i in size for j in size}
    shown = (f"{MAP_SIGNS[mark]} {words}" for mark, words in WORDS.items() if mark in used)
    sheet.line("   ".join(shown), "dim")
