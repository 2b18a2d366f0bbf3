"""Draw pictures for the lesson on hidden words: a text with gaps, and what may fill them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grader.checks.laws.influence import Bools, Moves, Nudge, everything, past
from grader.notebooks.drawing import Drawn, Floats, Function, Picture, array, drawn_in, influence
from grader.notebooks.pictures import draw_svg
from grader.notebooks.sentence import TOKENS
from grader.report.influences import of_kind
from grader.steps.inputs import Draw, block_params

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


def _hide(mask_tokens: Function, tokens: Ints, *drawn: NDArray[np.generic]) -> tuple[Ints, Ints]:
    """Return both results of the learner's function, as integers."""
    corrupted, targets = mask_tokens(tokens, *drawn, 0)
    return array(corrupted, tokens.shape).astype(int), array(targets, tokens.shape).astype(int)


@drawn_in(14)
def hidden(mask_tokens: Function) -> Drawn:
    """Draw a text as the learner's function corrupts it, and the fate of many words."""
    tokens = np.array([VOCABULARY.index(word) for word in TEXT])
    draws = np.array([CHOSEN.get(place, NOT_CHOSEN) for place in range(len(TEXT))])
    others = np.full(len(TEXT), VOCABULARY.index(OTHER))
    corrupted, targets = _hide(mask_tokens, tokens, draws[:, 0], draws[:, 1], others)
    words = [_word(*ids) for ids in zip(tokens, corrupted, targets, strict=True)]
    lines = [words[start : start + LINE] for start in range(0, len(words), LINE)]
    title = "what the model reads, and below it what it is to find"
    told = [" ".join(word.now for word in line) for line in lines]
    text = "\n".join([*told, *(word.told for word in words if word.kind)])
    yield Picture(title, draw_svg("strip", title, lines), text)
    yield _count_fates(mask_tokens)


def _word(was: int, now: int, target: int) -> Word:
    names = dict(enumerate(VOCABULARY))
    name = names.get(now, str(now))
    if target == -100:
        return Word(name)
    kind = "hidden" if now == 0 else "kept" if now == was else "another word"
    return Word(name, kind, names.get(target, str(target)))


def _count_fates(mask_tokens: Function) -> str:
    """Return a sentence on the fates of many words."""
    draw = Draw("look", "hidden")
    tokens = 1 + draw.tokens(50, MANY)
    others = 1 + (tokens + draw.tokens(49, MANY)) % 50  # never the word itself
    corrupted, targets = _hide(mask_tokens, tokens, *draw.uniform(2, MANY), others)
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
def both_sides(mask_tokens: Function, decoder_block: Function) -> Drawn:
    """Draw which words the answer in a gap depends on, looking both ways or only back."""
    gaps = {
        "it looks both ways": (everything(T, T), ~np.eye(T, dtype=bool)),
        "under a causal mask": (past(T), np.tri(T, k=-1, dtype=bool)),
    }
    tokens = np.arange(1, T + 1)
    change = Nudge({"tokens": tokens}, {"tokens": tokens + T}, {"tokens": -1})
    clues = []
    for title, (mask, sees) in gaps.items():
        found = Moves(change, sees).draw(_answer(mask_tokens, decoder_block, mask))
        clues.append(sum(i == 0 for i, _ in of_kind(found, "may", "leak")))
        yield influence(title, found)
    yield "● the answer in the row's gap moved when the column's word was changed; ✗ it must not."
    yield f"Clues for a gap at “{TOKENS[0]}”: {clues[0]}, and {clues[1]} under the mask."


def _answer(mask_tokens: Function, decoder_block: Function, mask: Bools) -> Function:
    """Return a function of a text (T,): the vector in each gap, (T, d_model), one gap at a time."""
    draw = Draw("look", "gaps")
    table, places = draw.normal(2 * T + 1, 8), draw.normal(T, 8)
    params = block_params(draw, 8, 16)
    gap = np.eye(T, dtype=bool)
    select, zeros = np.where(gap, 0.0, 0.5), np.zeros((T, T))

    def run(tokens: Ints) -> Floats:
        texts = np.tile(tokens, (T, 1))
        read, _ = _hide(mask_tokens, texts, select, zeros, zeros.astype(int))
        x = np.stack([table[row] + places for row in read])
        filled = array(decoder_block(x, params, 2, mask), x.shape)
        return np.asarray(filled[gap])

    return run
