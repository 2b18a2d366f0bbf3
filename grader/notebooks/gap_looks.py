"""Draw pictures for the lesson on hidden words: a text with gaps, and what may fill them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grader.checks.compare import Broken
from grader.checks.laws.influence import Bools, Moves, Nudge, everything, past
from grader.notebooks.display import Shown
from grader.notebooks.drawing import (
    Floats,
    Function,
    Picture,
    array,
    drawn_in,
    influence,
    pair,
    show_pictures,
)
from grader.notebooks.pictures import draw_svg
from grader.notebooks.sentence import TOKENS
from grader.report.influences import of_kind
from grader.steps.decoder_params import block_params
from grader.steps.inputs import Draw

Ints = NDArray[np.int64]
T = len(TOKENS)
SENTENCE = (
    "It takes great courage to let go of what you know "
    "and look at the world as if you had never seen it before"
)
TEXT = SENTENCE.split()
LINE = 8  # words
MASK, OTHER = "[MASK]", "teapot"
VOCABULARY = [MASK, OTHER, *dict.fromkeys(TEXT)]
# By place: the two uniform numbers of the words that are chosen, so that all three kinds occur.
CHOSEN = {2: (0.02, 0.31), 10: (0.10, 0.55), 15: (0.05, 0.85), 21: (0.12, 0.95)}
NOT_CHOSEN = (0.6, 0.4)
MANY = 20_000
LETTER = 7.2  # the width of a letter


@dataclass(frozen=True)
class Word:
    """now: the present word; kind: what became of it, or "" for a word without a question."""

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


def _draw_hidden(
    mask_tokens: Function, tokens: Ints, select: Floats, replace: Floats, random_ids: Ints
) -> tuple[Ints, Ints]:
    """Return both results of the learner's function, as integers.

    Raise Broken if they cannot be drawn.
    """
    both = pair(mask_tokens(tokens, select, replace, random_ids, 0), "mask_tokens")
    corrupted, targets = (array(one, tokens.shape, "mask_tokens").astype(int) for one in both)
    return corrupted, targets


@drawn_in(14)
def hidden(mask_tokens: Function) -> Shown:
    """Draw a text as the learner's function corrupts it, and the fate of many words."""
    tokens = np.array([VOCABULARY.index(word) for word in TEXT])
    draws = np.array([CHOSEN.get(place, NOT_CHOSEN) for place in range(len(TEXT))])
    others = np.full(len(TEXT), VOCABULARY.index(OTHER))
    corrupted, targets = _draw_hidden(mask_tokens, tokens, draws[:, 0], draws[:, 1], others)
    words = [_word(*ids) for ids in zip(tokens, corrupted, targets, strict=True)]
    lines = [words[start : start + LINE] for start in range(0, len(words), LINE)]
    title = "what the model reads, and below it what it is to find"
    told = [" ".join(word.now for word in line) for line in lines]
    text = "\n".join([*told, *(word.told for word in words if word.kind)])
    return show_pictures(
        [Picture(title, draw_svg("strip", title, lines), text)], _shares(mask_tokens)
    )


def _name(number: int) -> str:
    return VOCABULARY[number] if 0 <= number < len(VOCABULARY) else str(number)


def _word(was: int, now: int, target: int) -> Word:
    if target == -100:
        return Word(_name(now))
    kind = "hidden" if now == 0 else "kept" if now == was else "another word"
    return Word(_name(now), kind, _name(target))


def _shares(mask_tokens: Function) -> str:
    """Return counts of the fates of many words."""
    draw = Draw("look", "hidden")
    tokens = 1 + draw.tokens(50, MANY)
    others = 1 + (tokens + draw.tokens(49, MANY)) % 50  # never the word itself
    numbers = draw.uniform(2, MANY)
    corrupted, targets = _draw_hidden(mask_tokens, tokens, numbers[0], numbers[1], others)
    chosen = targets != -100
    if not chosen.any():
        return f"Of {MANY:,} words none was chosen."
    now, was = corrupted[chosen], tokens[chosen]
    shares = [np.mean(now == 0), np.mean((now != 0) & (now != was)), np.mean(now == was)]
    masked, changed, kept = (f"{100 * share:.0f}" for share in shares)
    return (
        f"Of {MANY:,} words {100 * np.mean(chosen):.0f} in 100 were chosen. Of 100 of these "
        f"{masked} are hidden behind {MASK}, {changed} are another word, {kept} are kept."
    )


@drawn_in(14)
def both_sides(mask_tokens: Function, decoder_block: Function) -> Shown:
    """Draw which words the answer in a gap depends on, looking both ways or only back."""
    gaps = {
        "it looks both ways": (everything(T, T), ~np.eye(T, dtype=bool)),
        "under a causal mask": (past(T), np.tri(T, k=-1, dtype=bool)),
    }
    tokens = np.arange(1, T + 1)
    change = Nudge({"tokens": tokens}, {"tokens": tokens + T}, {"tokens": -1})
    found = {
        name: (Moves(change, sees).draw(_answers(mask_tokens, decoder_block, mask)), sees)
        for name, (mask, sees) in gaps.items()
    }
    clues = [sum(i == 0 for i, _ in of_kind(one, "may", "leak")) for one, _ in found.values()]
    return show_pictures(
        [influence(name, one, sees) for name, (one, sees) in found.items()],
        "● the answer in the row's gap moved when the column's word was changed; ✗ it must not.",
        f"Clues for a gap at “{TOKENS[0]}”: {clues[0]}, and {clues[1]} under the mask.",
    )


def _answers(mask_tokens: Function, decoder_block: Function, mask: Bools) -> Function:
    """Return a function of a text (T,): the vector in each gap, (T, d_model), one gap at a time."""
    draw = Draw("look", "gaps")
    table, places = draw.normal(2 * T + 1, 8), draw.normal(T, 8)
    params = block_params(draw, 8, 16)
    gap = np.eye(T, dtype=bool)

    def run(tokens: Ints) -> Floats:
        texts, zeros = np.tile(tokens, (T, 1)), np.zeros((T, T))
        select = np.where(gap, 0.0, 0.5)
        read, _ = _draw_hidden(mask_tokens, texts, select, zeros, zeros.astype(int))
        if not ((read >= 0) & (read < len(table))).all():
            raise Broken("mask_tokens returned an id outside the vocabulary.")
        x = np.stack([table[row] + places for row in read])
        filled = array(decoder_block(x, params, 2, mask), x.shape, "decoder_block")
        return np.asarray(filled[gap])

    return run
