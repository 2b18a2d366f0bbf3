"""Checks of step 7: the KV cache."""

import numpy as np

from grader.checks import laws
from tests.visible import standard
from tests.visible.sizes import table


def text(draw, batch, chunks, d_model, d_k, d_v):
    """Random vectors and weights; the scores are a few units in size."""
    return {
        "x": draw.normal(*batch, sum(chunks), d_model),
        "w_q": draw.normal(d_model, d_k) / 2,
        "w_k": draw.normal(d_model, d_k) / 2,
        "w_v": draw.normal(d_model, d_v),
    }


def text_and_changing_weights(draw, batch, chunks, d_model, d_k, d_v):
    """A text cut into chunks, and other weights for the keys and values of every chunk."""
    return {
        "x": tuple(draw.normal(*batch, size, d_model) for size in chunks),
        "w_q": draw.normal(d_model, d_k) / 2,
        "w_k": tuple(draw.normal(d_model, d_k) / 2 for _ in chunks),
        "w_v": tuple(draw.normal(d_model, d_v) for _ in chunks),
    }


def large_text(draw, batch, chunks, d_model, d_k, d_v, sign, size):
    """Scores of about `size`; all of that sign if it is not 0."""
    arguments = text(draw, batch, chunks, d_model, d_k, d_v)
    if sign:
        arguments = {name: np.abs(array) for name, array in arguments.items()}
    return {**arguments, "w_q": arguments["w_q"] * (sign or 1) * size}


def in_chunks(student, case, like="masked_self_attention"):
    """The student's two functions as one function of a whole text."""
    return laws.InChunks(student.attend_with_cache, student.new_cache, like, case.sizes["chunks"])


# chunks: how many tokens each call gets. A text is as long as its chunks together.
PLAIN = table(text, ((), (2, 1), 4, 5, 6), ((), (4, 1), 3, 6, 2))
ONE_BY_ONE = table(text, ((), (1, 1, 1), 4, 2, 5), ((), (1,) * 11, 3, 5, 4))
CHUNKS = [
    *table(text, ((), (2, 2), 3, 5, 6), ((), (3, 3, 2), 4, 5, 6), ((), (5, 1, 1), 3, 4, 2)),
    *table(text, ((), (1, 4, 1, 2), 5, 3, 6), ((), (1, 12, 5), 3, 2, 4), ((), (1, 30, 9), 2, 3, 1)),
]
SHAPES = [
    *table(text, ((), (1,), 1, 1, 1), ((1,), (1, 2), 2, 1, 4), ((3,), (3, 3), 3, 3, 3)),
    *table(text, ((2, 3), (4, 1, 2), 6, 4, 5)),
]
OLD_KEYS = table(text_and_changing_weights, ((), (2, 1), 4, 5, 6), ((), (3, 2, 1), 4, 3, 5))
GROWING = {"batch": (), "d_model": 4, "d_k": 3, "d_v": 5}
BATCH = [{"batch": (3,), "chunks": (2, 1), "d_model": 4, "d_k": 5, "d_v": 6}]
TIMED = [{"batch": (), "chunks": (3, 3), "d_model": 4, "d_k": 5, "d_v": 2}]
LARGE = [
    *table(large_text, ((), (2, 2), 3, 5, 6, 0, 1e3), ((), (2, 2), 3, 5, 6, -1, 1e4)),
    *table(large_text, ((2,), (3, 1, 2), 4, 5, 3, 0, 1e5)),
]


def test_cache_agree(student, given):
    """After a prompt, one more token gets the last row of masked_self_attention over all."""
    standard.agrees_in_parts(student, in_chunks, given.cases(text, PLAIN))


def test_cache_one_by_one(student, given):
    """Token by token gives the same as masked_self_attention over the whole text."""
    standard.agrees_in_parts(student, in_chunks, given.cases(text, ONE_BY_ONE))


def test_cache_chunks(student, given):
    """However a text is cut into chunks, every row is that of masked_self_attention over it."""
    standard.agrees_in_parts(student, in_chunks, given.cases(text, CHUNKS))


def test_cache_old_keys(student, given):
    """Old tokens are not projected again: new w_k and w_v hold for the new tokens only."""
    for case in given.cases(text_and_changing_weights, OLD_KEYS):
        laws.agrees_in_parts(in_chunks(student, case, like="attend_in_chunks"), [case])
    for new in (1, 3):
        both = [{**GROWING, "chunks": (old, new)} for old in (2, 40)]
        cases = [given.case(text, 0, sizes, "growing") for sizes in both]  # as wide as each other
        functions = [in_chunks(student, case) for case in cases]
        laws.new_tokens_only(functions, cases, weights=("w_q", "w_k", "w_v"))


test_cache_rows = standard.in_a_batch(in_chunks, text, BATCH, batched=("x",))
test_cache_shapes = standard.in_any_shape(in_chunks, text, SHAPES)
test_cache_large = standard.when_large(in_chunks, large_text, LARGE)
test_cache_float32 = standard.in_float32(in_chunks, text, PLAIN)
test_cache_arguments = standard.untouched(in_chunks, text, BATCH)
test_cache_no_future = standard.no_future(in_chunks, text, TIMED, along={"x": -2})
test_cache_separate = standard.separate(in_chunks, text, TIMED, salt="another text")
