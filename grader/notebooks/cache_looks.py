"""Draw what a cache does: texts that come in pieces, and the time of one more token.

Each picture uses the learner's functions as they are in the kernel.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from grader.checks.laws.influence import Moves, Nudge, past
from grader.notebooks.display import Shown
from grader.notebooks.drawing import (
    Floats,
    Function,
    array,
    chart,
    drawn_in,
    influences,
    pair,
    show_pictures,
)
from grader.notebooks.sentence import WORDS
from grader.report.influences import count_words, of_kind
from grader.steps.decoder_params import block_params, decoder_params
from grader.steps.inputs import Arguments, Draw

SIZE, D, N_HEADS, LAYERS = len(WORDS), 8, 2, 2
TIMED = (1, 32, 64, 128, 192, 256)  # tokens
FEW = 5  # calls, of which the shortest time counts: what else the machine does makes some longer
CUTS = {
    "all at once": ((0, SIZE),),
    "in pieces of 2, 1 and 2": ((0, 2), (2, 3), (3, SIZE)),
    "word by word": tuple((t, t + 1) for t in range(SIZE)),
}


@drawn_in(7)
def pieces(attend_with_cache: Function, new_cache: Function) -> Shown:
    """Draw which outputs move with which words, if the words come in pieces."""
    draw = Draw("look", "pieces")
    x, w = draw.normal(SIZE, D), [draw.normal(D, D) / D**0.5 for _ in range(3)]

    def read(part: Floats, cache: Any) -> Any:
        return attend_with_cache(part, new_cache() if cache is None else cache, *w)

    return _map_cuts(Nudge({"x": x}, {"x": x + 1}, {"x": -2}), read, "attend_with_cache")


@drawn_in(7)
def times(
    masked_self_attention: Function, attend_with_cache: Function, new_cache: Function
) -> Shown:
    """Draw the time of one more token as the sequence grows, with the cache and without."""
    draw = Draw("look", "times")
    x, w = draw.normal(TIMED[-1] + FEW, 64), draw.normal(3, 64, 64) / 8

    def append(start: int, end: int, cache: Any) -> Any:
        return pair(attend_with_cache(x[start:end], cache, *w), "attend_with_cache")[1]

    cached, again = list[float](), list[float]()
    for length in TIMED:
        cache, trials = append(0, length, new_cache()), []
        for t in range(length, length + FEW):
            begun = time.perf_counter()
            cache = append(t, t + 1, cache)
            middle = time.perf_counter()
            masked_self_attention(x[: length + 1], *w)
            trials.append((middle - begun, time.perf_counter() - middle))
        for found, seconds in zip((cached, again), zip(*trials)):
            found.append(min(seconds) * 1e3)
    lines = {"with the cache": cached, "all again": again}
    picture = chart("one more token takes", ("tokens so far", TIMED), "milliseconds", lines)
    told = f"After {TIMED[-1]} tokens: {cached[-1]:.2f} ms with the cache, {again[-1]:.2f} without."
    return show_pictures([picture], told)


@drawn_in(13)
def decoder_pieces(decoder_step: Function, new_decoder_cache: Function) -> Shown:
    """Draw which logits of a decoder of two blocks move with which words."""
    draw = Draw("look", "decoder pieces")
    blocks = [block_params(draw, D, 2 * D) for _ in range(LAYERS)]
    params = decoder_params(draw, 2 * SIZE, SIZE, blocks)

    def read(part: Floats, cache: Any) -> Any:
        return decoder_step(
            part, new_decoder_cache(LAYERS) if cache is None else cache, params, N_HEADS
        )

    return _map_cuts(_words(), read, "decoder_step")


@drawn_in(25)
def llama_pieces(llama_step: Function, new_llama_cache: Function) -> Shown:
    """Draw which logits of a small Llama of two blocks move with which words."""
    draw = Draw("look", "llama pieces")
    blocks = [_llama_block(draw) for _ in range(LAYERS)]
    params = {
        **{"embedding": draw.normal(2 * SIZE, D), "blocks": blocks},
        **{"norm_f": np.ones(D), "w_out": draw.normal(D, 2 * SIZE)},
    }

    def read(part: Floats, cache: Any) -> Any:
        cache = new_llama_cache(LAYERS) if cache is None else cache
        return llama_step(part, cache, params, N_HEADS, 1)

    return _map_cuts(_words(), read, "llama_step")


def _llama_block(draw: Draw) -> Arguments:
    def weight(rows: int, columns: int) -> Floats:
        return np.asarray(draw.normal(rows, columns) / rows**0.5)

    heads = {"w_q": weight(D, D), "w_k": weight(D, D // 2), "w_v": weight(D, D // 2)}
    gates = {"w_gate": weight(D, 2 * D), "w_up": weight(D, 2 * D), "w_down": weight(2 * D, D)}
    return {
        **{"norm_1": np.ones(D), "norm_2": np.ones(D)},
        **{"attention": {**heads, "w_o": weight(D, D)}, "feed_forward": gates},
    }


def _words() -> Nudge:
    """Return a sequence of different words, each with its replacement."""
    tokens = np.arange(SIZE)
    return Nudge({"x": tokens}, {"x": tokens + SIZE}, {"x": -1})


def _map_cuts(change: Nudge, read: Function, name: str) -> Shown:
    """Return a map for each way to cut the text. read: from new words and a cache to both results.

    The cache is None before the first piece.
    """
    found = {}
    for title, cuts in CUTS.items():

        def run(x: Any, cuts: tuple[tuple[int, int], ...] = cuts) -> Floats:
            cache, rows = None, []
            for start, end in cuts:
                y, cache = pair(read(x[start:end], cache), name)
                wide = np.shape(y)[-1] if np.ndim(y) == 2 else 0
                rows.append(array(y, (end - start, wide), name))
            return np.concatenate(rows)

        found[title] = Moves(change, past(SIZE)).draw(run)
    leaks = sum(len(of_kind(one, "leak")) for one in found.values())
    gaps = sum(len(of_kind(one, "missing")) for one in found.values())
    told = (
        "However the text is cut, the picture should be the same triangle. "
        f"Here, in all three: {count_words(leaks, 'leak')}, {count_words(gaps, 'gap')} in the past."
    )
    legend = "● the row's output moved when the column's word changed."
    return influences(found, past(SIZE), legend, told, labels=WORDS)
