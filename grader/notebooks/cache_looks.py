"""Draw what a cache does: texts that come in pieces, and the time of one more token.

Each picture uses the learner's functions as they are in the kernel.
"""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from grader.checks.laws.influence import Moves, Nudge, past
from grader.notebooks.drawing import Drawn, Floats, Function, array, chart, drawn_in, influence
from grader.notebooks.sentence import WORDS
from grader.report.influences import count_words, of_kind
from grader.steps.inputs import Arguments, Draw, block_params, decoder_params

SIZE, D, N_HEADS, LAYERS = len(WORDS), 8, 2, 2
TIMED = (1, 32, 64, 128, 192, 256)  # tokens
FEW = 5  # calls, of which the shortest time counts: what else the machine does makes some longer
CUTS = {
    "all at once": ((0, SIZE),),
    "in pieces of 2, 1 and 2": ((0, 2), (2, 3), (3, SIZE)),
    "word by word": tuple((t, t + 1) for t in range(SIZE)),
}
# A sequence of different words, each with its replacement.
IDS = Nudge({"x": np.arange(SIZE)}, {"x": np.arange(SIZE) + SIZE}, {"x": -1})


@drawn_in(7)
def pieces(attend_with_cache: Function, new_cache: Function) -> Drawn:
    """Draw which outputs move with which words, if the words come in pieces."""
    draw = Draw("look", "pieces")
    x, w = draw.normal(SIZE, D), [draw.normal(D, D) / D**0.5 for _ in range(3)]
    change = Nudge({"x": x}, {"x": x + 1}, {"x": -2})
    return _map_cuts(change, attend_with_cache, new_cache, *w)


@drawn_in(7)
def times(
    masked_self_attention: Function, attend_with_cache: Function, new_cache: Function
) -> Drawn:
    """Draw the time of one more token as the sequence grows, with the cache and without."""
    draw = Draw("look", "times")
    x, w = draw.normal(TIMED[-1] + FEW, 64), draw.normal(3, 64, 64) / 8
    cached, again = list[float](), list[float]()
    for length in TIMED:
        _, cache = attend_with_cache(x[:length], new_cache(), *w)
        trials = []
        for t in range(length, length + FEW):
            begun = time.perf_counter()
            _, cache = attend_with_cache(x[t : t + 1], cache, *w)
            middle = time.perf_counter()
            masked_self_attention(x[: length + 1], *w)
            trials.append((middle - begun, time.perf_counter() - middle))
        for found, seconds in zip((cached, again), zip(*trials)):
            found.append(min(seconds) * 1e3)
    lines = {"with the cache": cached, "all again": again}
    yield chart("one more token takes", ("tokens so far", TIMED), "milliseconds", lines)
    yield f"After {TIMED[-1]} tokens: {cached[-1]:.2f} ms with the cache, {again[-1]:.2f} without."


@drawn_in(13)
def decoder_pieces(decoder_step: Function, new_decoder_cache: Function) -> Drawn:
    """Draw which logits of a decoder of two blocks move with which words."""
    draw = Draw("look", "decoder pieces")
    blocks = [block_params(draw, D, 2 * D) for _ in range(LAYERS)]
    params = decoder_params(draw, 2 * SIZE, SIZE, blocks)
    return _map_cuts(IDS, decoder_step, lambda: new_decoder_cache(LAYERS), params, N_HEADS)


@drawn_in(25)
def llama_pieces(llama_step: Function, new_llama_cache: Function) -> Drawn:
    """Draw which logits of a small Llama of two blocks move with which words."""
    draw = Draw("look", "llama pieces")
    blocks = [_llama_block(draw) for _ in range(LAYERS)]
    params = {
        **{"embedding": draw.normal(2 * SIZE, D), "blocks": blocks},
        **{"norm_f": np.ones(D), "w_out": draw.normal(D, 2 * SIZE)},
    }
    return _map_cuts(IDS, llama_step, lambda: new_llama_cache(LAYERS), params, N_HEADS, 1)


def _llama_block(draw: Draw) -> Arguments:
    def weight(rows: int, columns: int) -> Floats:
        return np.asarray(draw.normal(rows, columns) / rows**0.5)

    heads = {"w_q": weight(D, D), "w_k": weight(D, D // 2), "w_v": weight(D, D // 2)}
    gates = {"w_gate": weight(D, 2 * D), "w_up": weight(D, 2 * D), "w_down": weight(2 * D, D)}
    return {
        **{"norm_1": np.ones(D), "norm_2": np.ones(D)},
        **{"attention": {**heads, "w_o": weight(D, D)}, "feed_forward": gates},
    }


def _map_cuts(change: Nudge, read: Function, new_cache: Function, *more: Any) -> Drawn:
    """Draw a map for each way to cut the text.

    read: from new words, a cache, and more, to outputs and the next cache.
    """
    found = {}
    for title, cuts in CUTS.items():

        def run(x: Any, cuts: Sequence[tuple[int, int]] = cuts) -> Floats:
            cache, rows = new_cache(), []
            for start, end in cuts:
                y, cache = read(x[start:end], cache, *more)
                rows.append(array(y, (end - start, np.shape(y)[-1])))
            return np.concatenate(rows)

        found[title] = Moves(change, past(SIZE)).draw(run)
        yield influence(title, found[title], WORDS)
    leaks, gaps = (sum(len(of_kind(one, k)) for one in found.values()) for k in ("leak", "missing"))
    yield "● the row's output moved when the column's word changed."
    yield (
        "However the text is cut, the picture should be the same triangle. "
        f"Here, in all three: {count_words(leaks, 'leak')}, {count_words(gaps, 'gap')} in the past."
    )
