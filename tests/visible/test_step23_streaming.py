"""Checks of step 23: attention over parts of the keys, and a block at a time."""

import numpy as np

from grader.checks import laws
from tests.visible import standard
from tests.visible.sizes import table
from tests.visible.test_step05_output import LARGE, NEAR_MILLION, asked, asked_large

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
    *table(asked, (WIDTHS, (), 2, 4, "full"), (WIDTHS, (), 3, 3, "causal")),
    *table(asked, (WIDTHS, (), 3, 4, "row"), (WIDTHS, (2,), 3, 5, "keys")),
    *table(asked, (WIDTHS, (2, 3), 4, 5, "matrix"), (WIDTHS, (3,), 3, 4, "one for all")),
]
BLOCKED = [
    *table(asked, (WIDTHS, (), 2, 3, "nothing"), (WIDTHS, (), 3, 4, "blocked")),
    *table(asked, (WIDTHS, (2,), 4, 5, "blocked"), (WIDTHS, (2,), 3, 5, "queries")),
]
PART_SHAPES = [
    *table(asked, ((), 1, 1, 1, 1), ((1,), 1, 3, 2, 1), ((3,), 3, 3, 3, 3), ((2, 3), 4, 6, 2, 5)),
    *table(asked, ((), 5, 11, 3, 2)),
]
PART_LARGE = LARGE[:2] + LARGE[5:]
PART_BATCH = [{**WIDTHS, "batch": (3,), "t_q": 2, "t_k": 4}]

PAIRS = table(pair, ((), 1, 2), ((), 3, 2), ((2,), 3, 4, 5.0))
EMPTY = [
    *table(pair, ((), 2, 3, {"empty": "b"}), ((), 2, 3, {"empty": "a"})),
    *table(pair, ((), 2, 3, {"empty": "both"}), ((2,), 5, 2, {"empty": "each"})),
]
PAIR_SHAPES = table(pair, ((), 1, 1), ((1,), 2, 1), ((3,), 3, 3), ((2, 3), 4, 5))
PAIR_LARGE = [
    *table(pair, ((), 3, 2, 1e3), ((2,), 4, 3, 4e5), ((), 3, 2, {"away": 1e3})),
    *table(pair, ((2,), 5, 2, {"away": -NEAR_MILLION, "empty": "each"})),
    *table(pair, ((), 4, 3, {"away": NEAR_MILLION})),
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
    *table(streamed, ((), 1, 1, 1, 1, 1), ((1,), 1, 3, 2, 1, 2), ((3,), 3, 3, 3, 3, 3)),
    *table(streamed, ((2, 3), 4, 6, 2, 5, 4)),
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


def test_streaming_agree(student, given):
    """Block by block gives what attention gives over all keys at once."""
    laws.agrees(student.streaming_attention, given.cases(streamed, BLOCKS))


def test_streaming_blocks(student, given):
    """The last block may be shorter, and one block may be longer than all keys."""
    laws.agrees(student.streaming_attention, given.cases(streamed, UNEVEN_BLOCKS))


def test_streaming_causal(student, given):
    """With causal, the queries are the last positions, and none of them sees a later key."""
    laws.agrees(student.streaming_attention, given.cases(causal_stream, CAUSAL))


def test_streaming_shapes(student, given):
    """Any number of batch axes and sizes of 1 give (..., T_q, d_v)."""
    laws.agrees(student.streaming_attention, given.cases(streamed, STREAM_SHAPES))


def test_streaming_memory(student, given):
    """At most `block` keys at a time, and never an array over all queries and keys, nor a mask."""
    laws.works_in_blocks(student.streaming_attention, given.cases(streamed, AT_A_TIME))
    cases = [given.cases(kind, MANY_KEYS) for kind in (streamed, causal_stream)]
    laws.never_holds_everything(student.streaming_attention, cases, few=FEW, most=MOST)


test_partial_rows = standard.in_a_batch(
    "partial_attention", asked, PART_BATCH, batched=("q", "k", "v")
)
test_partial_large = standard.when_large("partial_attention", asked_large, PART_LARGE)
test_partial_float32 = standard.in_float32("partial_attention", asked, PARTS + BLOCKED[1:2])
test_partial_repeat = standard.when_repeated("partial_attention", asked, PARTS[1:])
test_partial_arguments = standard.untouched("partial_attention", asked, MASKED[3:4])
test_merging_rows = standard.in_a_batch(
    "merge_attention", pair, PAIR_BATCH, batched=("out_a", "lse_a", "out_b", "lse_b")
)
test_merging_large = standard.when_large("merge_attention", pair, PAIR_LARGE)
test_merging_float32 = standard.in_float32("merge_attention", pair, PAIRS + EMPTY)
test_merging_repeat = standard.when_repeated("merge_attention", pair, PAIR_BATCH)
test_merging_arguments = standard.untouched("merge_attention", pair, PAIR_BATCH)
test_streaming_rows = standard.in_a_batch(
    "streaming_attention", streamed, STREAM_BATCH, batched=("q", "k", "v")
)
test_streaming_large = standard.when_large("streaming_attention", large_stream, STREAM_LARGE)
test_streaming_float32 = standard.in_float32("streaming_attention", streamed, BLOCKS)
test_streaming_repeat = standard.when_repeated("streaming_attention", streamed, STREAM_BATCH)
test_streaming_arguments = standard.untouched("streaming_attention", causal_stream, STREAM_BATCH)
test_streaming_errors = standard.refused(
    "streaming_attention", streamed, NO_BLOCKS, "block is less than 1"
)
test_streaming_no_future = standard.no_future(
    "streaming_attention", causal_stream, STREAM_TIMED, along={"q": -2, "k": -2, "v": -2}
)
test_streaming_prefix = standard.prefix_alone(
    "streaming_attention", causal_stream, STREAM_TIMED, along={"q": -2, "k": -2, "v": -2}
)
