"""Checks of step 24: a cache that is no longer than its window."""

import numpy as np

from grader.checks import laws
from tests.visible import standard
from tests.visible.sizes import table
from tests.visible.test_step07_kv_cache import large_text, text, text_and_changing_weights

WIDTHS = {"d_model": 4, "d_k": 5, "d_v": 6}
OTHER = {"d_model": 3, "d_k": 2, "d_v": 5}


def windowed(draw, batch, chunks, window, **widths):
    """A text, weights and a window."""
    return {**text(draw, batch, chunks, **widths), "window": window}


def windowed_and_changing_weights(draw, batch, chunks, window, **widths):
    """The same, with other weights for the keys and values of every chunk."""
    return {**text_and_changing_weights(draw, batch, chunks, **widths), "window": window}


def large_windowed(draw, batch, chunks, window, sign, size, **widths):
    """Scores of about `size`, and a window."""
    arguments = large_text(draw, batch, chunks, sign=sign, size=size, **widths)
    return {**arguments, "window": window}


def a_window(draw, window):
    """A window alone."""
    return {"window": window}


# chunks: how many tokens each call gets. A text is as long as its chunks together.
PLAIN = table(windowed, (WIDTHS, (), (2, 1), 2), (OTHER, (), (5, 1), 3))
ONE_BY_ONE = table(windowed, (WIDTHS, (), (1,) * 5, 2), (OTHER, (), (1,) * 11, 3))
CHUNKS = [
    *table(windowed, (WIDTHS, (), (2, 2), 3), (OTHER, (), (3, 3, 2), 2)),
    *table(windowed, (WIDTHS, (), (1, 5, 1, 2), 4), (OTHER, (), (1, 12, 5), 3)),
    *table(windowed, (WIDTHS, (), (2, 1, 1, 4), 5)),
]
OLD_KEYS = table(windowed_and_changing_weights, (WIDTHS, (), (2, 1), 3), (OTHER, (), (4, 2, 1), 3))
GROWING = {**WIDTHS, "batch": (), "window": 12}
SHAPES = [
    {"batch": (), "chunks": (1,), "d_model": 1, "d_k": 1, "d_v": 1, "window": 1},
    {"batch": (), "chunks": (2, 3), "d_model": 2, "d_k": 3, "d_v": 4, "window": 1},
    {"batch": (1,), "chunks": (1, 2), "d_model": 2, "d_k": 1, "d_v": 4, "window": 2},
    {"batch": (3,), "chunks": (3, 3), "d_model": 3, "d_k": 3, "d_v": 3, "window": 3},
    {"batch": (2, 3), "chunks": (4, 1, 2), "d_model": 6, "d_k": 4, "d_v": 5, "window": 3},
    {"batch": (), "chunks": (2, 2), "d_model": 3, "d_k": 4, "d_v": 2, "window": 50},
]
BATCH = [{**WIDTHS, "batch": (3,), "chunks": (3, 1), "window": 2}]
TIMED = table(windowed, (WIDTHS, (), (3, 3), 2), (OTHER, (), (2, 4), 3))
LARGE = [
    *table(large_windowed, (WIDTHS, (), (2, 2), 2, 0, 1e3), (WIDTHS, (), (2, 2), 3, -1, 1e4)),
    *table(large_windowed, (OTHER, (2,), (3, 1, 2), 2, 0, 1e5)),
]
# Long texts of wide keys and values: what is kept of them stands out from everything else.
LONG = [
    {"batch": (), "chunks": (1,) * 60, "d_model": 2, "d_k": 300, "d_v": 500, "window": 1},
    {"batch": (), "chunks": (80, *(1,) * 20), "d_model": 2, "d_k": 500, "d_v": 300, "window": 3},
    {"batch": (2,), "chunks": (5,) * 30, "d_model": 2, "d_k": 150, "d_v": 250, "window": 2},
    {"batch": (), "chunks": (1,) * 60, "d_model": 400, "d_k": 2, "d_v": 3, "window": 2},
    {"batch": (), "chunks": (1,) * 20, "d_model": 1, "d_k": 2500, "d_v": 5, "window": 1},
    {"batch": (), "chunks": (150, 1, 1), "d_model": 2, "d_k": 1500, "d_v": 5, "window": 10},
]
NO_WINDOWS = [{"window": 0}, {"window": -3}]


def numbers(case):
    """How many numbers one key and one value are, in all sequences of the batch."""
    w_k, w_v = case.arguments["w_k"], case.arguments["w_v"]
    return int(np.prod(case.sizes["batch"])) * (w_k.shape[-1] + w_v.shape[-1])


def in_chunks(student, case, like="attend_in_window"):
    """The student's two functions as one function of a whole text."""
    return laws.InChunks(
        student.attend_with_window_cache,
        lambda: student.new_window_cache(case.arguments["window"]),
        like,
        case.sizes["chunks"],
        known=("window",),
    )


def test_wcache_agree(student, given):
    """After a prompt, one more token gets the last row of attention under the window's mask."""
    standard.agrees_in_parts(student, in_chunks, given.cases(windowed, PLAIN))


def test_wcache_one_by_one(student, given):
    """Token by token gives the same as one pass under the window's mask."""
    standard.agrees_in_parts(student, in_chunks, given.cases(windowed, ONE_BY_ONE))


def test_wcache_chunks(student, given):
    """However a text is cut, in chunks longer than the window as well, every row is right."""
    standard.agrees_in_parts(student, in_chunks, given.cases(windowed, CHUNKS))


def test_wcache_size(student, given):
    """What is kept does not grow: at most 2 · window + T_new keys and as many values."""
    for case in given.cases(windowed, LONG):
        window = case.arguments["window"]
        laws.does_not_grow(in_chunks(student, case), case, keys=2 * window, numbers=numbers(case))


def test_wcache_old_keys(student, given):
    """Old tokens are not projected again: new w_k and w_v hold for the new tokens only."""
    for case in given.cases(windowed_and_changing_weights, OLD_KEYS):
        laws.agrees_in_parts(in_chunks(student, case, like="attend_in_window_chunks"), [case])
    for new in (1, 3):
        both = [{**GROWING, "chunks": (old, new)} for old in (2, 30)]
        cases = [given.case(windowed, 0, sizes, "growing") for sizes in both]  # equally wide
        functions = [in_chunks(student, case) for case in cases]
        laws.new_tokens_only(functions, cases, weights=("w_q", "w_k", "w_v"))


def test_wcache_separate(student, given):
    """Two caches never share state or a window, and earlier results stay as they were."""
    for cases in (
        given.cases(windowed, TIMED[:1]) + given.cases(windowed, TIMED[:1], salt="another"),
        given.cases(windowed, TIMED),
    ):
        functions = [in_chunks(student, case) for case in cases]
        laws.are_separate(student, functions, cases)


def test_wcache_shapes(student, given):
    """A window of 1, one that is never full, and any number of batch axes."""
    standard.agrees_in_parts(student, in_chunks, given.cases(windowed, SHAPES))


test_wcache_rows = standard.in_a_batch(in_chunks, windowed, BATCH, batched=("x",))
test_wcache_large = standard.when_large(in_chunks, large_windowed, LARGE)
test_wcache_float32 = standard.in_float32(in_chunks, windowed, PLAIN)
test_wcache_arguments = standard.untouched(in_chunks, windowed, BATCH)
test_wcache_errors = standard.refused(
    "new_window_cache", a_window, NO_WINDOWS, "The window is below 1"
)
test_wcache_no_future = standard.no_future(in_chunks, windowed, TIMED, along={"x": -2})
