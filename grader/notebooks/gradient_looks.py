"""Draw gradients for the backward lessons: where a slope comes from and where it goes.

Each picture uses the learner's functions as they are in the kernel.
"""

from __future__ import annotations

import numpy as np

from grader.checks.compare import Broken
from grader.notebooks.display import Shown
from grader.notebooks.drawing import (
    Floats,
    Function,
    Picture,
    array,
    chart,
    drawn_in,
    heats,
    pair,
    show_pictures,
    table,
)
from grader.notebooks.pictures import influence_map
from grader.notebooks.sentence import TOKENS, WORDS
from grader.steps.decoder_params import block_params, decoder_params
from grader.steps.inputs import Arguments, Draw

GUESSES = ("takes", "great", "courage", "much", "time")
PREFIXES = ("It", "It takes", "It takes great")
# What a model might believe after each prefix; made up. The true words are the first three.
BELIEFS = np.array(
    [
        [0.50, 0.10, 0.05, 0.15, 0.20],
        [0.05, 0.25, 0.10, 0.25, 0.35],
        [0.05, 0.05, 0.70, 0.05, 0.15],
    ]
)
D, N_HEADS, BLOCKS = 8, 2, 12
READ = 4  # words that the text of step 18 has
TINY = 1e-12


@drawn_in(15)
def wishes(cross_entropy_backward: Function) -> Shown:
    """Draw a model's prediction after each prefix, and how each logit should move."""
    targets = np.arange(len(PREFIXES))
    slopes = cross_entropy_backward(np.log(BELIEFS), targets)
    wanted = -array(slopes, BELIEFS.shape, "cross_entropy_backward")
    right = [f"{wanted[i, i]:.2f}" for i in range(len(PREFIXES))]
    return heats(
        {"what it believes": BELIEFS, "how its logits should move": wanted},
        "The right is minus the gradient: a number above 0 says that the logit should rise.",
        f"The true next words should rise by {', '.join(right)}; each row adds up to 0.",
        rows=PREFIXES,
        columns=GUESSES,
        axes="row: text · column: next word",
    )


@drawn_in(16)
def reached(masked_self_attention_backward: Function) -> Shown:
    """Draw which words a loss on one output reaches: the leak law, read backwards."""
    draw, t = Draw("look", "reached"), len(TOKENS)
    x, w = draw.normal(t, D), [draw.normal(D, D) / D**0.5 for _ in range(3)]
    sizes = np.zeros((t, t))
    for position in range(t):
        d_out = np.zeros((t, D))
        d_out[position] = draw.normal(D)
        result = masked_self_attention_backward(d_out, x, *w)
        if not isinstance(result, tuple) or len(result) != 4:
            raise Broken("masked_self_attention_backward did not return 4 results.")
        d_x = array(result[0], (t, D), "masked_self_attention_backward")
        sizes[position] = np.sqrt((d_x**2).sum(axis=-1))
    moved, may = sizes > TINY, np.tri(t, dtype=bool)
    svg = influence_map(
        "Gradients", TOKENS, moved.tolist(), may.tolist(), "row: loss · column: gradient"
    )
    told = f"Gradients at words of the future: {int((moved & ~may).sum())}."
    title = "a loss on the row's output has a gradient at the column's word"
    return show_pictures([Picture(title, svg, table(TOKENS, sizes, TOKENS))], told)


@drawn_in(17)
def highway(decoder_block: Function, decoder_block_backward: Function) -> Shown:
    """Draw the size of a gradient on its way down a stack, with residual additions and without."""
    draw, t = Draw("look", "highway"), len(WORDS)
    mask = np.tri(t, dtype=bool)
    blocks = [_small_block(draw) for _ in range(BLOCKS)]
    stream = [draw.normal(t, D)]
    for block in blocks:
        y = decoder_block(stream[-1], block, N_HEADS, mask)
        stream.append(array(y, (t, D), "decoder_block"))
    whole = added = draw.normal(t, D)
    sizes = [[_size(whole)], [_size(added)]]
    for x, block in zip(reversed(stream[:-1]), reversed(blocks), strict=True):
        whole = _back(decoder_block_backward, whole, x, block, mask)
        added = _back(decoder_block_backward, added, x, block, mask) - added
        sizes[0].append(_size(whole))
        sizes[1].append(_size(added))
    names = "through the blocks", "through what the blocks add alone"
    found = {name: [size / all_[0] for size in all_] for name, all_ in zip(names, sizes)}
    left = [one[-1] for one in found.values()]
    told = (
        f"After {BLOCKS} blocks {left[0]:.2f} times the gradient is left, and "
        f"{left[1]:.6f} times without the residual additions."
    )
    title, across = "a gradient on its way from the top to the embedding", range(BLOCKS + 1)
    drawn = chart(title, ("blocks passed", across), "size, 1 at the top", found)
    return show_pictures([drawn], told)


def _small_block(draw: Draw) -> Arguments:
    """Return a block with small weights, as before training."""
    block = block_params(draw, D, 2 * D)
    for part in ("attention", "feed_forward"):
        block[part] = {name: 0.4 * one for name, one in block[part].items()}
    return block


def _back(
    decoder_block_backward: Function, d_out: Floats, x: Floats, block: Arguments, mask: object
) -> Floats:
    both = pair(decoder_block_backward(d_out, x, block, N_HEADS, mask), "decoder_block_backward")
    return array(both[0], x.shape, "decoder_block_backward")


def _size(gradient: Floats) -> float:
    return float(np.sqrt((gradient**2).sum()))


@drawn_in(18)
def two_jobs(decoder_loss_and_gradients: Function) -> Shown:
    """Draw the gradient of the embedding, word by word: which words were read, which were not."""
    draw = Draw("look", "two jobs")
    words = [*TOKENS[:READ], "much", "time", "never"]
    params = decoder_params(draw, len(words), READ, [block_params(draw, D, 2 * D)])
    _, grads = pair(
        decoder_loss_and_gradients(np.arange(READ), params, N_HEADS), "decoder_loss_and_gradients"
    )
    if not isinstance(grads, dict) or "embedding" not in grads:
        raise Broken("decoder_loss_and_gradients returned no gradient of the embedding.")
    found = array(grads["embedding"], (len(words), D), "decoder_loss_and_gradients")
    jobs = [
        "read" if i < READ - 1 else "target only" if i < READ else "neither"
        for i in range(len(words))
    ]
    rows = [f"{word} ({job})" for word, job in zip(words, jobs, strict=True)]
    count = int((np.abs(found).max(axis=-1) > TINY).sum())
    return heats(
        {f"the embedding's gradient after “{' '.join(TOKENS[:READ])}”": found},
        f"{count} of {len(words)} rows have a gradient. A word that was not read has the "
        "writer's share alone.",
        rows=rows,
        columns=[str(feature) for feature in range(D)],
        axes="row: word · column: feature",
    )
