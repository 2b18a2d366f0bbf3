"""Draw pictures for the lessons on training and on modern attention.

Each picture uses the learner's functions as they are in the kernel.
"""

from __future__ import annotations

import tracemalloc

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
    heat,
    heats,
    show_pictures,
    table,
)
from grader.notebooks.pictures import draw_svg
from grader.steps.decoder_params import block_params, decoder_params
from grader.steps.inputs import Draw

STEPS, LENGTH, BATCH, VOCABULARY, N_HEADS = 60, 12, 8, 7, 2
POSITIONS, D_HEAD = 9, 4
CACHED, FEATURES = 4096, 64  # positions in a cache, and features of a head
STREAMED, BLOCK = (64, 128, 192, 256, 320), 16
PACKED = ("a", "a", "a", "b", "b", "a", "a")


@drawn_in(19)
def learning(new_adamw: Function, train_step: Function) -> Shown:
    """Draw the loss of a tiny decoder that learns to count, step by step."""
    draw = Draw("look", "learning")
    params = decoder_params(draw, VOCABULARY, LENGTH, [block_params(draw, 8, 16)])
    starts = np.random.RandomState(0)
    state, losses = new_adamw(params), []
    for _ in range(STEPS):
        begin = starts.randint(0, VOCABULARY, (BATCH, 1))
        tokens = (begin + np.arange(LENGTH + 1)) % VOCABULARY
        result = train_step(tokens, params, state, N_HEADS, 0.02)
        if not isinstance(result, tuple) or len(result) != 3:
            raise Broken("train_step did not return three results.")
        loss, params, state = result
        losses.append(float(array(loss, (), "train_step")))
    chance, across = float(np.log(VOCABULARY)), ("step", range(1, STEPS + 1))
    title, found = "a decoder learns to count in a circle", {"loss before each step": losses}
    drawn = chart(title, across, "nats per token", found, [("guessing", chance)])
    told = f"From {losses[0]:.2f} to {losses[-1]:.2f} in {STEPS} steps; guessing is {chance:.2f}."
    return show_pictures([drawn], told)


@drawn_in(20)
def circle(rotary_angles: Function, rotate: Function) -> Shown:
    """Draw the two pairs of one head, turned by the angles of the positions: two circles."""
    positions = np.arange(POSITIONS)
    angles = array(rotary_angles(positions, D_HEAD, 16.0), (POSITIONS, 2), "rotary_angles")
    x = np.tile([1.0, 1.0, 0.0, 0.0], (POSITIONS, 1))
    turned = array(rotate(x, angles), x.shape, "rotate")
    scores = turned @ turned.T
    apart = [scores[i, i + 3] for i in range(POSITIONS - 3)]
    pairs = [_draw_pair(f"pair {i}", turned[:, i], turned[:, i + 2]) for i in range(2)]
    told = (
        f"Three positions apart, the scores lie between {min(apart):.3f} and {max(apart):.3f}. "
        "Only the distance should count."
    )
    off = [_say_off(f"pair {i}", turned[:, i], turned[:, i + 2]) for i in range(2)]
    return show_pictures(pairs, " ".join([told, *filter(None, off)]))


def _say_off(pair: str, across: Floats, up: Floats) -> str:
    """Return a sentence on points off the circle, where a rotation puts none; "" for none."""
    far = np.hypot(across, up)
    if np.allclose(far, 1, atol=1e-6):
        return ""
    low, high = far.min(), far.max()
    return f"The points of {pair} lie off the circle, at {low:.3g} to {high:.3g} times its radius."


def _draw_pair(title: str, across: Floats, up: Floats) -> Picture:
    """Return the points on a circle and, as text, the angle of each."""
    turns = np.degrees(np.arctan2(up, across)) % 360
    text = table(["degrees"], turns[None].round(), [f"at {p}" for p in range(len(turns))])
    far = np.hypot(across, up)
    radius = 80 / far[np.isfinite(far)].max(initial=1.0)  # all points are in view
    points = list(zip(across.tolist(), up.tolist()))
    return Picture(title, draw_svg("circle", "Positions on a circle", points, radius), text)


@drawn_in(21)
def shared(repeat_heads: Function) -> Shown:
    """Draw which query heads read the keys of which key head, and the size of a cache of them."""
    n_kv_heads, n_repeats = 2, 3
    marked = np.arange(float(n_kv_heads)).reshape(n_kv_heads, 1, 1)
    n_heads = n_kv_heads * n_repeats
    read = array(repeat_heads(marked, n_repeats), (n_heads, 1, 1), "repeat_heads")[:, 0, 0]
    reads = (read[:, None] == np.arange(n_kv_heads)).astype(float)
    rows = [f"query head {head}" for head in range(n_heads)]
    columns = [f"keys {head}" for head in range(n_kv_heads)]
    told = (
        f"A cache of {CACHED:,} positions of {FEATURES} features in float32 takes "
        f"{_mib(n_heads, CACHED):.0f} MiB with {n_heads} key heads, and "
        f"{_mib(n_kv_heads, CACHED):.0f} MiB with {n_kv_heads}."
    )
    who = heat("who reads whose keys", reads, rows, columns, "row: query head · column: key head")
    return show_pictures([who, _draw_caches(n_heads, n_kv_heads)], told)


def _mib(n_kv_heads: int, positions: int) -> float:
    """Return the size of the keys and values of so many heads in float32, in MiB."""
    return 2 * n_kv_heads * positions * FEATURES * 4 / 2**20


def _draw_caches(n_heads: int, n_kv_heads: int) -> Picture:
    positions = range(0, CACHED + 1, CACHED // 32)
    heads = {
        f"{n_heads} key heads, one for each query head": n_heads,
        f"{n_kv_heads} key heads, each shared {n_heads // n_kv_heads} ways": n_kv_heads,
        f"1 key head, shared {n_heads} ways": 1,
    }
    found = {name: [_mib(count, length) for length in positions] for name, count in heads.items()}
    title = f"the cache of {n_heads} query heads"
    return chart(title, ("positions so far", positions), "MiB", found)


@drawn_in(22)
def masks(sliding_window_mask: Function, prefix_mask: Function, document_mask: Function) -> Shown:
    """Draw three masks of seven positions side by side."""
    t = len(PACKED)
    documents = np.array([ord(letter) for letter in PACKED])
    found = {
        "a window of 3": array(sliding_window_mask(t, 3), (t, t), "sliding_window_mask"),
        "a prefix of 3": array(prefix_mask(t, 3), (t, t), "prefix_mask"),
        "documents": array(document_mask(documents), (t, t), "document_mask"),
    }
    labels = [f"{letter}{place}" for place, letter in enumerate(PACKED)]
    told = (
        "The row may look at the column where there is a 1. "
        "The last two belong to a third document, though its number is that of the first."
    )
    return heats(found, told, rows=labels, columns=labels)


@drawn_in(23)
def running(partial_attention: Function, merge_attention: Function) -> Shown:
    """Draw the log of the sum and the output of one query as more and more keys are merged."""
    draw = Draw("look", "running")
    q, k, v = draw.normal(1, 4), 2 * draw.normal(24, 4), draw.normal(24, 1)
    so_far = np.zeros((1, 1)), np.full(1, -np.inf)
    sums, outputs = [], []
    for start in range(0, len(k), 2):
        part = partial_attention(q, k[start : start + 2], v[start : start + 2])
        so_far = merge_attention(*so_far, *part)
        outputs.append(float(array(so_far[0], (1, 1), "merge_attention")[0, 0]))
        sums.append(float(array(so_far[1], (1,), "merge_attention")[0]))
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
    drawn = chart(title, ("keys so far", keys), up, found)
    weights = np.exp(scores - scores.max())
    right = float(weights @ v[:, 0] / weights.sum())
    told = f"The output after all keys is {outputs[-1]:.4f}; over all keys at once {right:.4f}."
    return show_pictures([drawn], told)


@drawn_in(23)
def memory(streaming_attention: Function) -> Shown:
    """Draw the most memory that streaming needs at once, and the size of all scores."""
    needed = [_measure_peak(streaming_attention, length) / 2**10 for length in STREAMED]
    whole = [length**2 * 8 / 2**10 for length in STREAMED]
    mine = f"your streaming_attention, {BLOCK} keys at a time"
    found = {"a matrix of all scores": whole, mine: needed}
    drawn = chart("memory needed at once", ("queries, and keys", STREAMED), "KiB", found)
    told = (
        f"With {STREAMED[-1]} queries and keys: {needed[-1]:,.0f} KiB, and {whole[-1]:,.0f} KiB "
        "for all scores. Twice the length doubles the first, and makes the second 4 times as large."
    )
    return show_pictures([drawn], told)


def _measure_peak(streaming_attention: Function, length: int) -> int:
    """Return the most bytes in use at once during a call, beyond those in use before."""
    q, k, v = np.random.RandomState(length).standard_normal((3, length, D_HEAD))
    traced = tracemalloc.is_tracing()
    if not traced:
        tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        out = streaming_attention(q, k, v, BLOCK)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        if not traced:
            tracemalloc.stop()
    array(out, (length, D_HEAD), "streaming_attention")
    return most - before


@drawn_in(24)
def kept(new_window_cache: Function, attend_with_window_cache: Function) -> Shown:
    """Draw what a cache must keep as the sequence grows: all keys and values, or a window."""
    window, length, d = 8, 64, 4
    draw = Draw("look", "window")
    x, w = draw.normal(length, d), [draw.normal(d, d) for _ in range(3)]
    cache, rows = new_window_cache(window), []
    for t in range(length):
        y, cache = attend_with_window_cache(x[t : t + 1], cache, *w)
        rows.append(array(y, (1, d), "attend_with_window_cache"))
    sizes = range(1, length + 1)
    found = {
        "a cache of all tokens": [2.0 * d * t for t in sizes],
        "a cache of a window": [2.0 * d * min(t, window - 1) for t in sizes],
    }
    drawn = chart("what must be kept", ("tokens so far", sizes), "numbers kept", found)
    told = (
        f"With {length} tokens, {d} features and a window of {window}: {2 * d * length} numbers "
        f"for all keys and values, {2 * d * (window - 1)} for those that are still seen."
    )
    return show_pictures([drawn], told)
