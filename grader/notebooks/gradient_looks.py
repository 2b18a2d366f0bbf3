"""Draw gradients for the backward lessons: where a slope comes from and where it goes.

Each picture uses the learner's functions as they are in the kernel.
"""

import numpy as np

from grader.notebooks.pictures import (
    TOKENS,
    WORDS,
    Drawn,
    Floats,
    Function,
    array,
    chart,
    drawn_in,
    heat,
    influence,
)
from grader.report.influences import of_kind
from grader.report.records import Influence
from grader.steps.inputs import Arguments, Draw, block_params, decoder_params

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
def wishes(cross_entropy_backward: Function) -> Drawn:
    """Draw a model's prediction after each prefix, and how each logit should move."""
    slopes = cross_entropy_backward(np.log(BELIEFS), np.arange(len(PREFIXES)))
    wanted = -array(slopes, BELIEFS.shape)
    for title, values in {
        "what it believes": BELIEFS,
        "how its logits should move": wanted,
    }.items():
        yield heat(title, values, PREFIXES, GUESSES, "row: text · column: next word")
    right = ", ".join(f"{value:.2f}" for value in wanted.diagonal())
    yield "The right is minus the gradient: a number above 0 says that the logit should rise."
    yield f"The true next words should rise by {right}; each row adds up to 0."


@drawn_in(16)
def reached(masked_self_attention_backward: Function) -> Drawn:
    """Draw which words a loss on one output reaches: the leak law, read backwards."""
    draw, t = Draw("look", "reached"), len(TOKENS)
    x, w = draw.normal(t, D), [draw.normal(D, D) / D**0.5 for _ in range(3)]
    moved = []
    for position in range(t):
        d_out = np.zeros((t, D))
        d_out[position] = draw.normal(D)
        d_x, *_ = masked_self_attention_backward(d_out, x, *w)
        sizes = np.abs(array(d_x, (t, D))).max(axis=-1)
        moved.append(tuple(np.where(sizes > TINY, sizes, 0.0).tolist()))
    found = Influence(tuple(moved))
    title = "a loss on the row's output has a gradient at the column's word"
    yield influence(title, found, axes="row: loss · column: gradient")
    yield f"Gradients at words of the future: {len(of_kind(found, 'leak'))}."


@drawn_in(17)
def highway(decoder_block: Function, decoder_block_backward: Function) -> Drawn:
    """Draw the size of a gradient on its way down a stack, with residual additions and without."""
    draw, t = Draw("look", "highway"), len(WORDS)
    mask = np.tri(t, dtype=bool)
    blocks = [_small_block(draw) for _ in range(BLOCKS)]
    stream = [draw.normal(t, D)]
    for block in blocks:
        stream.append(array(decoder_block(stream[-1], block, N_HEADS, mask), (t, D)))
    whole = added = draw.normal(t, D)
    found = {"through the blocks": [1.0], "through what the blocks add alone": [1.0]}

    def back(d_out: Floats, x: Floats, block: Arguments) -> Floats:
        d_x, _ = decoder_block_backward(d_out, x, block, N_HEADS, mask)
        return array(d_x, x.shape)

    size = np.linalg.norm(whole)
    for x, block in zip(reversed(stream[:-1]), reversed(blocks), strict=True):
        whole, added = back(whole, x, block), back(added, x, block) - added
        for sizes, gradient in zip(found.values(), (whole, added)):
            sizes.append(float(np.linalg.norm(gradient) / size))
    left = [one[-1] for one in found.values()]
    title, across = "a gradient on its way from the top to the embedding", range(BLOCKS + 1)
    yield chart(title, ("blocks passed", across), "size, 1 at the top", found)
    yield (
        f"After {BLOCKS} blocks {left[0]:.2f} times the gradient is left, and "
        f"{left[1]:.6f} times without the residual additions."
    )


def _small_block(draw: Draw) -> Arguments:
    """Return a block with small weights, as before training."""
    block = block_params(draw, D, 2 * D)
    for part in ("attention", "feed_forward"):
        block[part] = {name: 0.4 * one for name, one in block[part].items()}
    return block


@drawn_in(18)
def two_jobs(decoder_loss_and_gradients: Function) -> Drawn:
    """Draw the gradient of the embedding, word by word: which words were read, which were not."""
    draw = Draw("look", "two jobs")
    words = [*TOKENS[:READ], "much", "time", "never"]
    params = decoder_params(draw, len(words), READ, [block_params(draw, D, 2 * D)])
    _, grads = decoder_loss_and_gradients(np.arange(READ), params, N_HEADS)
    found = array(grads["embedding"], (len(words), D))
    jobs = ["read"] * (READ - 1) + ["target only"] + ["neither"] * (len(words) - READ)
    rows = [f"{word} ({job})" for word, job in zip(words, jobs, strict=True)]
    title = f"the embedding's gradient after “{' '.join(TOKENS[:READ])}”"
    yield heat(title, found, rows, [*map(str, range(D))], "row: word · column: feature")
    count = int((np.abs(found).max(axis=-1) > TINY).sum())
    yield (
        f"{count} of {len(words)} rows have a gradient. A word that was not read has the "
        "writer's share alone."
    )
