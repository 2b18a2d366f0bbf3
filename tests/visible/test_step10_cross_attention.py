"""Checks of step 10: the decoder's input, cross-attention."""

from functools import partial

import numpy as np

from grader.checks import laws
from tests.visible import standard
from tests.visible.sizes import table
from tests.visible.test_step05_output import NEAR_MILLION, some_mask, some_padding
from tests.visible.test_step09_heads import attention_params, scored_by_two_features


def unshifted(draw, batch, length, vocabulary, start="", last="", dtype="int64"):
    """Random tokens of that type, and an id to start with, which may be that of a token.

    The last token may be that of the first place as well.
    """
    tokens = draw.tokens(vocabulary, *batch, length)
    start_id = 1 + draw.whole(0, vocabulary - 1)
    start_id = {"zero": 0, "new": vocabulary}.get(start, start_id)
    if start == "repeated":
        tokens[tokens == start_id] = 0  # between the two it must not stand everywhere
        tokens[..., 0], tokens[..., -1] = start_id, start_id
    if last == "repeated":
        tokens[..., -1] = tokens[..., 0]
    return {"tokens": tokens.astype(dtype), "start_id": start_id}


def memory_mask(draw, kind, batch, t, s):
    """A mask of that kind, or what padding_mask returns for a memory padded at that place."""
    if kind in ("start", "middle", "end", "each"):
        return some_padding(kind, batch, s)
    if kind == "inner":  # without the first batch axis
        return some_mask(draw, "full", batch[1:], t, s)
    return some_mask(draw, kind, batch, t, s)


def two_texts(draw, batch, length, source, n_heads, d_head, mask=None):
    """Random inputs of a decoder, a memory, parameters, and a mask of that kind."""
    d_model = n_heads * d_head
    arguments = {
        "x": draw.normal(*batch, length, d_model),
        "memory": draw.normal(*batch, source, d_model),
        "params": attention_params(draw, d_model),
        "n_heads": n_heads,
    }
    if mask is None:
        return arguments
    return arguments | {"memory_mask": memory_mask(draw, mask, batch, length, source)}


def two_large_texts(draw, batch, length, source, n_heads, d_head, kind, size):
    """Random scores, to which x's feature 0 and the memory's feature 1 add up to ±size."""
    arguments = two_texts(draw, batch, length, source, n_heads, d_head, "middle")
    scored_by_two_features(arguments["params"], d_head, size)
    asking, answering = arguments["x"][..., 0], arguments["memory"][..., 1]
    asking[...], answering[...] = 1, 1
    match kind:
        case "low":
            answering[...] = -1
        case "rows":
            asking[...] = np.arange(length) % 3 - 1
        case "padded":
            answering[...] = ~arguments["memory_mask"][..., 0, :]
    return arguments


SHIFTED = [
    *table(unshifted, ((), 3, 9), ((), 5, 12), ((2,), 4, 20), ((), 4, 7, "zero")),
    *table(unshifted, ((), 4, 7, "repeated"), ((), 4, 7, "new", "repeated")),
]
SHIFT_SHAPES = table(
    unshifted, ((), 1, 5), ((1,), 2, 5), ((3,), 3, 11), ((2, 3), 4, 30), ((), 11, 40)
)
SHIFT_BATCH = [{"batch": (2,), "length": 4, "vocabulary": 20}]
OF_32_BITS = table(unshifted, ((), 3, 9), ((2,), 4, 50), dtype="int32")

# length is T, of x; source is S, of the memory.
PLAIN = table(two_texts, ((), 2, 3, 1, 2), ((), 3, 3, 2, 2), ((), 5, 2, 2, 3), ((2,), 4, 6, 3, 2))
MASKS = [
    *table(two_texts, ((), 2, 3, 1, 2, "middle"), ((), 3, 4, 2, 2, "start")),
    *table(two_texts, ((), 3, 3, 2, 2, "end"), ((), 4, 5, 4, 1, "matrix"), ((), 4, 3, 2, 3, "row")),
    *table(two_texts, ((2,), 3, 4, 3, 2, "keys"), ((3,), 4, 5, 3, 2, "keys")),
    *table(two_texts, ((3,), 4, 4, 3, 2, "full"), ((2, 3), 3, 5, 2, 2, "full")),
    *table(two_texts, ((2,), 3, 4, 2, 2, "matrix"), ((3, 2), 2, 5, 2, 2, "matrix")),
    *table(two_texts, ((3, 2), 2, 4, 2, 2, "inner"), ((3,), 3, 4, 2, 2, "one for all")),
    *table(two_texts, ((3,), 3, 4, 2, 2, "matrix")),
]
BLOCKED = [
    *table(two_texts, ((), 2, 3, 2, 2, "nothing"), ((), 3, 2, 1, 3, "blocked")),
    *table(two_texts, ((5,), 3, 6, 2, 2, "each"), ((2,), 3, 4, 2, 2, "queries")),
]
SHAPES = [
    *table(two_texts, ((), 1, 1, 1, 1), ((), 4, 1, 3, 1), ((1,), 1, 4, 2, 2), ((3,), 3, 3, 3, 3)),
    *table(two_texts, ((2, 3), 4, 5, 2, 3), ((), 2, 11, 4, 2), ((), 11, 7, 2, 2)),
    *table(two_texts, ((), 2, 40, 1, 2)),
]
ALONE = table(two_texts, ((), 4, 3, 2, 2), ((), 4, 4, 2, 2, "middle"))
BATCH = table(two_texts, ((3,), 4, 5, 2, 3), ((3,), 2, 4, 3, 2, "keys"))
LARGE = table(
    two_large_texts,
    *(((), 2, 3, 2, 2, kind, 1e3) for kind in ("high", "low")),
    *(((2,), 4, 5, 2, 3, kind, NEAR_MILLION) for kind in ("high", "low", "rows", "padded")),
)


def test_shift_right_agree(student, given):
    """The start token first, then every token but the last, one place to the right."""
    laws.agrees(student.shift_right, given.cases(unshifted, SHIFTED))


def test_shift_right_shapes(student, given):
    """Any number of batch axes, and texts of one token: the shape stays."""
    laws.agrees(student.shift_right, given.cases(unshifted, SHIFT_SHAPES))


def test_shift_right_integers(student, given):
    """Tokens may be integers of 32 bits as well as of 64."""
    laws.agrees(student.shift_right, given.cases(unshifted, OF_32_BITS))


def test_cross_agree(student, given):
    """Queries come from x, keys and values from memory; every query sees all of the memory."""
    laws.agrees(student.cross_attention, given.cases(two_texts, PLAIN))


def test_cross_mask(student, given):
    """memory_mask hides places of the memory, wherever they stand, from every head."""
    laws.agrees(student.cross_attention, given.cases(two_texts, MASKS))


def test_cross_blocked(student, given):
    """A query that may attend to nothing gets 0 from every head; its row of the result is b_o."""
    laws.agrees(student.cross_attention, given.cases(two_texts, BLOCKED))


def test_cross_shapes(student, given):
    """Any batch axes and heads, and a memory shorter or longer than x, give the right outputs."""
    laws.agrees(student.cross_attention, given.cases(two_texts, SHAPES))


def test_cross_alone(student, given):
    """Every position of x asks by itself: the others, earlier or later, do not matter."""
    cases = given.cases(two_texts, ALONE)
    ask = student.cross_attention
    laws.keeps_all(
        partial(laws.rows_are_independent, ask, cases, batched=["x"], what="position"),
        partial(laws.prefix_gives_the_same, ask, cases, along={"x": -2}),
    )


def test_cross_rows(student, given):
    """In a batch, every text attends to its own memory, under its own mask."""
    plain, masked = given.cases(two_texts, BATCH)
    function = student.cross_attention
    laws.rows_are_independent(function, [plain], batched=("x", "memory"), sizes=(1.0, 100.0))
    laws.rows_are_independent(function, [masked], batched=("x", "memory", "memory_mask"))


test_shift_right_repeat = standard.when_repeated("shift_right", unshifted, SHIFT_BATCH)
test_shift_right_arguments = standard.untouched("shift_right", unshifted, SHIFT_BATCH)
test_cross_large = standard.when_large("cross_attention", two_large_texts, LARGE)
test_cross_float32 = standard.in_float32("cross_attention", two_texts, PLAIN + BLOCKED[1:2])
test_cross_repeat = standard.when_repeated("cross_attention", two_texts, BATCH)
test_cross_arguments = standard.untouched("cross_attention", two_texts, BATCH[1:])
