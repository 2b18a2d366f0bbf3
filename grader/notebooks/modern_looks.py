"""Draw pictures for the lessons on training and on modern attention.

Each picture uses the learner's functions as they are in the kernel.
"""

import tracemalloc
from typing import Any

import numpy as np

from grader.checks.compare import Broken
from grader.notebooks.pictures import (
    Drawn,
    Function,
    Picture,
    array,
    chart,
    draw_svg,
    drawn_in,
    heat,
    table,
)
from grader.steps.inputs import Draw, block_params, decoder_params

STEPS, LENGTH, BATCH, VOCABULARY, N_HEADS = 60, 12, 8, 7, 2
POSITIONS, D_HEAD = 9, 4
CACHED, FEATURES = 4096, 64  # positions in a cache, and features of a head
STREAMED, BLOCK = (64, 128, 192, 256, 320), 16
PACKED = ("a", "a", "a", "b", "b", "a", "a")


@drawn_in(19)
def learning(new_adamw: Function, train_step: Function) -> Drawn:
    """Draw the loss of a tiny decoder that learns to count, step by step."""
    draw = Draw("look", "learning")
    params = decoder_params(draw, VOCABULARY, LENGTH, [block_params(draw, 8, 16)])
    starts = np.random.RandomState(0)
    state, losses = new_adamw(params), list[float]()
    for _ in range(STEPS):
        tokens = (starts.randint(0, VOCABULARY, (BATCH, 1)) + np.arange(LENGTH + 1)) % VOCABULARY
        loss, params, state = train_step(tokens, params, state, N_HEADS, 0.02)
        if not isinstance(params, dict):
            raise Broken("train_step returned no params.")
        losses.append(float(array(loss, ())))
    chance, across = float(np.log(VOCABULARY)), ("step", range(1, STEPS + 1))
    title, found = "a decoder learns to count in a circle", {"loss before each step": losses}
    yield chart(title, across, "nats per token", found, [("guessing", chance)])
    yield f"From {losses[0]:.2f} to {losses[-1]:.2f} in {STEPS} steps; guessing is {chance:.2f}."


@drawn_in(20)
def circle(rotary_angles: Function, rotate: Function) -> Drawn:
    """Draw the two pairs of one head, turned by the angles of the positions: two circles."""
    angles = array(rotary_angles(np.arange(POSITIONS), D_HEAD, 16.0), (POSITIONS, 2))
    x = np.tile([1.0, 1.0, 0.0, 0.0], (POSITIONS, 1))
    turned = array(rotate(x, angles), x.shape)
    apart = (turned @ turned.T).diagonal(3)
    told = (
        f"Three positions apart, the scores lie between {apart.min():.3f} and {apart.max():.3f}. "
        "Only the distance should count."
    )
    for i in range(2):
        across, up = turned[:, i], turned[:, i + 2]
        far = np.hypot(across, up)
        turns = np.degrees(np.arctan2(up, across)) % 360
        text = table(["degrees"], turns[None].round(), [f"at {p}" for p in range(POSITIONS)])
        radius = 80 / far[np.isfinite(far)].max(initial=1.0)  # all points are in view
        points = list(zip(across.tolist(), up.tolist()))
        svg = draw_svg("circle", "Positions on a circle", points, radius)
        yield Picture(f"pair {i}", svg, text)
        if not np.allclose(far, 1, atol=1e-6):  # where a rotation puts none
            told += f" The points of pair {i} lie off the circle, at {far.min():.3g} to "
            told += f"{far.max():.3g} times its radius."
    yield told


@drawn_in(21)
def shared(repeat_heads: Function) -> Drawn:
    """Draw which query heads read the keys of which key head, and the size of a cache of them."""
    n_kv_heads, n_repeats = 2, 3
    n_heads = n_kv_heads * n_repeats
    marked = np.arange(float(n_kv_heads)).reshape(n_kv_heads, 1, 1)
    read = array(repeat_heads(marked, n_repeats), (n_heads, 1, 1))[:, 0, 0]
    reads = (read[:, None] == np.arange(n_kv_heads)).astype(float)
    rows = [f"query head {head}" for head in range(n_heads)]
    columns = [f"keys {head}" for head in range(n_kv_heads)]
    yield heat("who reads whose keys", reads, rows, columns, "row: query head · column: key head")
    positions = range(0, CACHED + 1, CACHED // 32)
    caches = {
        f"{n_heads} key heads, one for each query head": n_heads,
        f"{n_kv_heads} key heads, each shared {n_repeats} ways": n_kv_heads,
        f"1 key head, shared {n_heads} ways": 1,
    }
    # Keys and values of so many heads in float32, in MiB.
    each = 2 * FEATURES * 4 / 2**20
    found = {name: [each * count * p for p in positions] for name, count in caches.items()}
    yield chart(
        f"the cache of {n_heads} query heads", ("positions so far", positions), "MiB", found
    )
    yield (
        f"A cache of {CACHED:,} positions of {FEATURES} features in float32 takes "
        f"{each * n_heads * CACHED:.0f} MiB with {n_heads} key heads, and "
        f"{each * n_kv_heads * CACHED:.0f} MiB with {n_kv_heads}."
    )


@drawn_in(22)
def masks(sliding_window_mask: Function, prefix_mask: Function, document_mask: Function) -> Drawn:
    """Draw three masks of seven positions side by side."""
    t = len(PACKED)
    labels = [f"{letter}{place}" for place, letter in enumerate(PACKED)]
    yield heat("a window of 3", sliding_window_mask(t, 3), labels, labels)
    yield heat("a prefix of 3", prefix_mask(t, 3), labels, labels)
    yield heat("documents", document_mask(np.array([*map(ord, PACKED)])), labels, labels)
    yield (
        "The row may look at the column where there is a 1. "
        "The last two belong to a third document, though its number is that of the first."
    )


@drawn_in(23)
def running(partial_attention: Function, merge_attention: Function) -> Drawn:
    """Draw the log of the sum and the output of one query as more and more keys are merged."""
    draw = Draw("look", "running")
    q, k, v = draw.normal(1, 4), 2 * draw.normal(24, 4), draw.normal(24, 1)
    so_far = np.zeros((1, 1)), np.full(1, -np.inf)
    sums, output = list[float](), 0.0
    for start in range(0, len(k), 2):
        part = partial_attention(q, k[start : start + 2], v[start : start + 2])
        so_far = merge_attention(*so_far, *part)
        output = float(array(so_far[0], (1, 1))[0, 0])
        sums.append(float(array(so_far[1], (1,))[0]))
    keys = range(2, len(k) + 1, 2)
    scores = (k @ q[0]) / 2
    most = [float(scores[:end].max()) for end in keys]
    low = min(0.0, *sums, *most)
    found = {
        "log of the sum of exponentials": [one - low for one in sums],
        "largest score so far": [one - low for one in most],
    }
    title = "a softmax that has not seen all keys yet"
    up = f"score, {-low:.1f} added" if low else "score"
    yield chart(title, ("keys so far", keys), up, found)
    weights = np.exp(scores - scores.max())
    right = float(weights @ v[:, 0] / weights.sum())
    yield f"The output after all keys is {output:.4f}; over all keys at once {right:.4f}."


@drawn_in(23)
def memory(streaming_attention: Function) -> Drawn:
    """Draw the most memory that streaming needs at once, and the size of all scores."""
    needed = []
    for length in STREAMED:
        q, k, v = np.random.RandomState(length).standard_normal((3, length, D_HEAD))
        out, most = measure_peak(streaming_attention, q, k, v, BLOCK)
        array(out, (length, D_HEAD))
        needed.append(most / 2**10)
    whole = [length**2 * 8 / 2**10 for length in STREAMED]
    mine = f"your streaming_attention, {BLOCK} keys at a time"
    found = {"a matrix of all scores": whole, mine: needed}
    yield chart("memory needed at once", ("queries, and keys", STREAMED), "KiB", found)
    yield (
        f"With {STREAMED[-1]} queries and keys: {needed[-1]:,.0f} KiB, and {whole[-1]:,.0f} KiB "
        "for all scores. Twice the length doubles the first, and makes the second 4 times as large."
    )


def measure_peak(function: Function, *arguments: object) -> tuple[Any, int]:
    """Return the result of a call, and the most bytes that it had in use at once."""
    tracemalloc.start()
    try:
        return function(*arguments), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@drawn_in(24)
def kept(new_window_cache: Function, attend_with_window_cache: Function) -> Drawn:
    """Draw what a cache must keep as the sequence grows: all keys and values, or a window."""
    window, length, d = 8, 64, 4
    draw = Draw("look", "window")
    x, w = draw.normal(length, d), [draw.normal(d, d) for _ in range(3)]
    cache = new_window_cache(window)
    for t in range(length):
        y, cache = attend_with_window_cache(x[t : t + 1], cache, *w)
        array(y, (1, d))
    sizes = range(1, length + 1)
    found = {
        "a cache of all tokens": [2.0 * d * t for t in sizes],
        "a cache of a window": [2.0 * d * min(t, window - 1) for t in sizes],
    }
    yield chart("what must be kept", ("tokens so far", sizes), "numbers kept", found)
    yield (
        f"With {length} tokens, {d} features and a window of {window}: {2 * d * length} numbers "
        f"for all keys and values, {2 * d * (window - 1)} for those that are still seen."
    )
