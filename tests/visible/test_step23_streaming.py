"""Checks of step 23: attention over parts of the keys, and a block at a time."""

import numpy as np

from grader.checks import laws
from tests.visible.sizes import table
from tests.visible.test_step05_output import NEAR_MILLION, asked, asked_large

WIDTHS = {"d_k": 3, "d_v": 2}


def pair(draw, batch, t_q, d_v, size=1.0, away=0.0, empty=None):
    """Two partial results; `empty` says which of the sets of keys has none: each one's turn."""
    arguments = {
        "out_a": draw.normal(*batch, t_q, d_v),
        "lse_a": draw.normal(*batch, t_q) * size + away,
        "out_b": draw.normal(*batch, t_q, d_v),
        "lse_b": draw.normal(*batch, t_q) * size + away,
    }
    rows = np.arange(t_q)
    gone = {
        "a": {"a": rows >= 0, "b": rows < 0, "both": rows >= 0, "each": rows % 3 == 0},
        "b": {"a": rows < 0, "b": rows >= 0, "both": rows >= 0, "each": rows % 4 == 0},
    }
    for side in "ab" if empty else "":
        arguments[f"lse_{side}"][..., gone[side][empty]] = -np.inf
        arguments[f"out_{side}"][..., gone[side][empty], :] = 0
    return arguments


def streamed(draw, batch, t_q, t_k, d_k, d_v, block, causal=None):
    """Random queries, keys and values, and a block."""
    arguments = {**asked(draw, batch, t_q, t_k, d_k, d_v), "block": block}
    return arguments if causal is None else {**arguments, "causal": causal}


def causal_stream(draw, **sizes):
    """The same under the causal mask."""
    return {**streamed(draw, **sizes), "causal": True}


def large_stream(draw, block, **sizes):
    """Queries and keys with very large scores, and a block; no mask of their own."""
    arguments = asked_large(draw, **sizes)
    causal = arguments.pop("mask", None) is not None
    return {**arguments, "block": block, "causal": causal}


PARTS = table(asked, (WIDTHS, (), 1, 2), (WIDTHS, (), 2, 4), ((2,), 3, 5, 4, 6))
MASKED = [
    {**WIDTHS, "batch": (), "t_q": 2, "t_k": 4, "mask": "full"},
    {**WIDTHS, "batch": (), "t_q": 3, "t_k": 3, "mask": "causal"},
    {**WIDTHS, "batch": (), "t_q": 3, "t_k": 4, "mask": "row"},
    {**WIDTHS, "batch": (2,), "t_q": 3, "t_k": 5, "mask": "keys"},
    {**WIDTHS, "batch": (2, 3), "t_q": 4, "t_k": 5, "mask": "matrix"},
    {**WIDTHS, "batch": (3,), "t_q": 3, "t_k": 4, "mask": "one for all"},
]
BLOCKED = [
    {**WIDTHS, "batch": (), "t_q": 2, "t_k": 3, "mask": "nothing"},
    {**WIDTHS, "batch": (), "t_q": 3, "t_k": 4, "mask": "blocked"},
    {**WIDTHS, "batch": (2,), "t_q": 4, "t_k": 5, "mask": "blocked"},
    {**WIDTHS, "batch": (2,), "t_q": 3, "t_k": 5, "mask": "queries"},
]
PART_SHAPES = [
    {"batch": (), "t_q": 1, "t_k": 1, "d_k": 1, "d_v": 1},
    {"batch": (1,), "t_q": 1, "t_k": 3, "d_k": 2, "d_v": 1},
    {"batch": (3,), "t_q": 3, "t_k": 3, "d_k": 3, "d_v": 3},
    {"batch": (2, 3), "t_q": 4, "t_k": 6, "d_k": 2, "d_v": 5},
    {"batch": (), "t_q": 5, "t_k": 11, "d_k": 3, "d_v": 2},
]
PART_LARGE = [
    {"batch": (), "t_q": 3, "t_k": 4, "d_k": 5, "d_v": 2, "kind": "high", "size": 1e3},
    {"batch": (), "t_q": 3, "t_k": 4, "d_k": 5, "d_v": 2, "kind": "low", "size": 1e3},
    *(
        {"batch": (2,), "t_q": 5, "t_k": 5, "d_k": 3, "d_v": 4, "kind": kind, "size": NEAR_MILLION}
        for kind in ["high", "low", "rows", "future"]
    ),
]
PART_BATCH = [{**WIDTHS, "batch": (3,), "t_q": 2, "t_k": 4}]

PAIRS = table(pair, ((), 1, 2), ((), 3, 2), ((2,), 3, 4, 5.0))
EMPTY = [
    {"batch": (), "t_q": 2, "d_v": 3, "empty": "b"},
    {"batch": (), "t_q": 2, "d_v": 3, "empty": "a"},
    {"batch": (), "t_q": 2, "d_v": 3, "empty": "both"},
    {"batch": (2,), "t_q": 5, "d_v": 2, "empty": "each"},
]
PAIR_SHAPES = table(pair, ((), 1, 1), ((1,), 2, 1), ((3,), 3, 3), ((2, 3), 4, 5))
PAIR_LARGE = [
    {"batch": (), "t_q": 3, "d_v": 2, "size": 1e3},
    {"batch": (2,), "t_q": 4, "d_v": 3, "size": 4e5},
    {"batch": (), "t_q": 3, "d_v": 2, "away": 1e3},
    {"batch": (2,), "t_q": 5, "d_v": 2, "away": -NEAR_MILLION, "empty": "each"},
    {"batch": (), "t_q": 4, "d_v": 3, "away": NEAR_MILLION},
]
PAIR_BATCH = [{"batch": (3,), "t_q": 2, "d_v": 4}]

BLOCKS = table(streamed, (WIDTHS, (), 2, 4, 2), (WIDTHS, (), 3, 6, 3), ((2,), 3, 4, 4, 5, 1))
UNEVEN_BLOCKS = table(
    streamed, ((), 2, 5, 2), ((), 2, 3, 9), ((), 3, 3, 3), ((2,), 6, 4, 3), ((), 2, 17, 4), **WIDTHS
)
CAUSAL = [
    {**WIDTHS, "batch": (), "t_q": 3, "t_k": 3, "block": 1},
    {**WIDTHS, "batch": (), "t_q": 4, "t_k": 4, "block": 3},
    {**WIDTHS, "batch": (), "t_q": 2, "t_k": 5, "block": 2},
    {**WIDTHS, "batch": (2,), "t_q": 3, "t_k": 7, "block": 2},
    {**WIDTHS, "batch": (), "t_q": 1, "t_k": 4, "block": 9},
    {**WIDTHS, "batch": (), "t_q": 4, "t_k": 5, "block": 13},
    {**WIDTHS, "batch": (), "t_q": 11, "t_k": 11, "block": 4},
]
STREAM_SHAPES = [
    {"batch": (), "t_q": 1, "t_k": 1, "d_k": 1, "d_v": 1, "block": 1},
    {"batch": (1,), "t_q": 1, "t_k": 3, "d_k": 2, "d_v": 1, "block": 2},
    {"batch": (3,), "t_q": 3, "t_k": 3, "d_k": 3, "d_v": 3, "block": 3},
    {"batch": (2, 3), "t_q": 4, "t_k": 6, "d_k": 2, "d_v": 5, "block": 4},
]
STREAM_LARGE = [{**sizes, "block": 2} for sizes in PART_LARGE]
STREAM_TIMED = [{**WIDTHS, "batch": (), "t_q": 5, "t_k": 5, "block": 2}]
STREAM_BATCH = [{**WIDTHS, "batch": (3,), "t_q": 3, "t_k": 5, "block": 2}]
NO_BLOCKS = table(streamed, ((), 2, 3, 0), ((), 2, 3, -2), **WIDTHS)
AT_A_TIME = table(streamed, ((), 3, 70, 2, 3, 4), ((2,), 2, 7, 3, 2, 3), ((), 4, 50, 3, 1, 2, True))
# Few queries and very many keys, never enlarged at random; not more than loops over single numbers
# get through. A program is right if it needs little in one of the sizes. Few blocks suit a small
# result of each block for each query. Many small blocks suit lists of a block's scores. In the
# third, some copies of a block's scores and the results of all blocks, both for all queries at
# once, take half of a mask in any precision. In the last, so do some copies in float64 and the
# results of all blocks in lists.
FEW, MOST = 2, (9, 11, 9, 9)  # queries; most in each size
SIZES = {"batch": (), "t_q": max(MOST) + 1, "d_k": 1, "d_v": 1}
MANY_KEYS = table(streamed, (2**12, 2**10), (2**12, 2**3), (2**14, 2**7), (2**16, 700), **SIZES)


def test_partial_agree(student, given):
    """The output over these keys, and the log of the sum of the exponentials of their scores."""
    laws.agrees(student.partial_attention, given.cases(asked, PARTS))


def test_partial_mask(student, given):
    """Hidden keys count neither in the output nor in the sum."""
    laws.agrees(student.partial_attention, given.cases(asked, MASKED))


def test_partial_blocked(student, given):
    """Where nothing is allowed the output is 0, and the log of the sum is -inf."""
    laws.agrees(student.partial_attention, given.cases(asked, BLOCKED))


def test_partial_shapes(student, given):
    """Any number of batch axes and sizes of 1 give (..., T_q, d_v) and (..., T_q)."""
    laws.agrees(student.partial_attention, given.cases(asked, PART_SHAPES))


def test_partial_rows(student, given):
    """What one sequence of a batch gets does not depend on the others."""
    cases = given.cases(asked, PART_BATCH)
    laws.rows_are_independent(student.partial_attention, cases, batched=("q", "k", "v"))


def test_partial_large(student, given):
    """Scores of up to a million in size give finite and right results."""
    laws.stays_right_when_large(student.partial_attention, given.cases(asked_large, PART_LARGE))


def test_partial_float32(student, given):
    """float32 inputs give results that are right to float32's precision."""
    laws.agrees_in_float32(student.partial_attention, given.cases(asked, PARTS + BLOCKED[1:2]))


def test_partial_repeat(student, given):
    """The same question gets the right answer again, and an earlier answer stays as it was."""
    laws.answers_the_same_again(student, student.partial_attention, *given.twice(asked, PARTS[1:]))


def test_partial_arguments(student, given):
    """q, k, v and mask may be read-only or have gaps in memory, and are never changed."""
    laws.leaves_arguments_alone(student.partial_attention, given.cases(asked, MASKED[3:4]))


def test_merging_agree(student, given):
    """Each set of keys has its share, and the logs of the sums are joined."""
    laws.agrees(student.merge_attention, given.cases(pair, PAIRS))


def test_merging_empty(student, given):
    """An empty set of keys changes nothing, on either side; two of them stay empty."""
    laws.agrees(student.merge_attention, given.cases(pair, EMPTY))


def test_merging_order(student, given):
    """Three sets give the same whichever two are merged first, and whichever comes first."""
    cases = given.cases(pair, PAIRS) + given.cases(pair, EMPTY[3:])
    others = given.cases(pair, PAIRS, salt="c") + given.cases(pair, EMPTY[3:], salt="c")
    laws.merges_in_any_order(student.merge_attention, cases, others)


def test_merging_shapes(student, given):
    """Any number of batch axes and sizes of 1 give (..., T_q, d_v) and (..., T_q)."""
    laws.agrees(student.merge_attention, given.cases(pair, PAIR_SHAPES))


def test_merging_rows(student, given):
    """What one sequence of a batch gets does not depend on the others."""
    names = ("out_a", "lse_a", "out_b", "lse_b")
    laws.rows_are_independent(student.merge_attention, given.cases(pair, PAIR_BATCH), batched=names)


def test_merging_large(student, given):
    """Sums whose logs are up to a million in size, or far apart, give right results."""
    laws.stays_right_when_large(student.merge_attention, given.cases(pair, PAIR_LARGE))


def test_merging_float32(student, given):
    """float32 inputs give results that are right to float32's precision."""
    laws.agrees_in_float32(student.merge_attention, given.cases(pair, PAIRS + EMPTY))


def test_merging_repeat(student, given):
    """The same question gets the right answer again, and an earlier answer stays as it was."""
    laws.answers_the_same_again(student, student.merge_attention, *given.twice(pair, PAIR_BATCH))


def test_merging_arguments(student, given):
    """All four may be read-only or have gaps in memory, and are never changed."""
    laws.leaves_arguments_alone(student.merge_attention, given.cases(pair, PAIR_BATCH))


def test_streaming_agree(student, given):
    """Block by block gives what attention gives over all keys at once."""
    laws.agrees(student.streaming_attention, given.cases(streamed, BLOCKS))


def test_streaming_blocks(student, given):
    """The last block may be shorter, and one block may be longer than all keys."""
    laws.agrees(student.streaming_attention, given.cases(streamed, UNEVEN_BLOCKS))


def test_streaming_causal(student, given):
    """With causal, the queries are the last positions, and none of them sees a later key."""
    laws.agrees(student.streaming_attention, given.cases(causal_stream, CAUSAL))


def test_streaming_no_future(student, given):
    """With causal, an output does not depend on later keys and values."""
    cases = given.cases(causal_stream, STREAM_TIMED)
    along = {"q": -2, "k": -2, "v": -2}
    laws.future_does_not_matter(student.streaming_attention, cases, along=along)


def test_streaming_prefix(student, given):
    """With causal, the first positions by themselves give the same outputs."""
    cases = given.cases(causal_stream, STREAM_TIMED)
    along = {"q": -2, "k": -2, "v": -2}
    laws.prefix_gives_the_same(student.streaming_attention, cases, along=along)


def test_streaming_shapes(student, given):
    """Any number of batch axes and sizes of 1 give (..., T_q, d_v)."""
    laws.agrees(student.streaming_attention, given.cases(streamed, STREAM_SHAPES))


def test_streaming_rows(student, given):
    """What one sequence of a batch gets does not depend on the others."""
    cases = given.cases(streamed, STREAM_BATCH)
    laws.rows_are_independent(student.streaming_attention, cases, batched=("q", "k", "v"))


def test_streaming_large(student, given):
    """Scores of up to a million in size give finite and right results."""
    laws.stays_right_when_large(
        student.streaming_attention, given.cases(large_stream, STREAM_LARGE)
    )


def test_streaming_float32(student, given):
    """float32 inputs give results that are right to float32's precision."""
    laws.agrees_in_float32(student.streaming_attention, given.cases(streamed, BLOCKS))


def test_streaming_errors(student, given):
    """A block of less than 1 key is a ValueError."""
    laws.rejects(
        student.streaming_attention, given.cases(streamed, NO_BLOCKS), "block is less than 1"
    )


def test_streaming_repeat(student, given):
    """The same question gets the right answer again, and an earlier answer stays as it was."""
    laws.answers_the_same_again(
        student, student.streaming_attention, *given.twice(streamed, STREAM_BATCH)
    )


def test_streaming_arguments(student, given):
    """q, k and v may be read-only or have gaps in memory, and are never changed."""
    laws.leaves_arguments_alone(
        student.streaming_attention, given.cases(causal_stream, STREAM_BATCH)
    )


def test_streaming_memory(student, given):
    """At most `block` keys at a time, and never an array over all queries and keys, nor a mask."""
    laws.works_in_blocks(student.streaming_attention, given.cases(streamed, AT_A_TIME))
    cases = [given.cases(kind, MANY_KEYS) for kind in (streamed, causal_stream)]
    laws.never_holds_everything(student.streaming_attention, cases, few=FEW, most=MOST)
