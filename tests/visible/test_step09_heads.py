"""Checks of step 9: splitting and merging heads, multi-head attention."""

import numpy as np

from grader.checks import laws
from tests.visible import standard
from tests.visible.sizes import table
from tests.visible.test_step05_output import NEAR_MILLION, leaning, some_mask, some_padding


def unsplit(draw, batch, length, n_heads, d_head, more=0):
    """Random features, so many for every head, and some more, or fewer, than that."""
    return {"x": draw.normal(*batch, length, n_heads * d_head + more), "n_heads": n_heads}


def split(draw, batch, length, n_heads, d_head):
    """Random features of every head apart."""
    return {"x": draw.normal(*batch, n_heads, length, d_head)}


def attention_params(draw, d_model):
    """Random weights that keep the size of what they are multiplied with, and random biases."""
    arrays = {}
    for name in "qkvo":
        weight = draw.normal(d_model, d_model) / np.sqrt(d_model)
        arrays[f"w_{name}"] = np.round(weight, 2)
        arrays[f"b_{name}"] = draw.normal(d_model)
    return arrays


def a_mask(draw, kind, batch, t_q, t_k):
    """A mask of that kind, broadcastable to (*batch, t_q, t_k)."""
    match kind:
        case "padded":
            causal = np.tri(t_q, t_k, t_k - t_q, dtype=bool)
            return causal & some_padding("each", batch, t_k)
        case "inner":
            return some_mask(draw, "full", batch[1:], t_q, t_k)
    return some_mask(draw, kind, batch, t_q, t_k)


def text(draw, batch, length, n_heads, d_head, mask=None):
    """Random inputs and parameters, and a mask of that kind."""
    d_model = n_heads * d_head
    arguments = {
        "x": draw.normal(*batch, length, d_model),
        "params": attention_params(draw, d_model),
        "n_heads": n_heads,
    }
    if mask is None:
        return arguments
    return arguments | {"mask": a_mask(draw, mask, batch, length, length)}


def large_text(draw, batch, length, n_heads, d_head, kind, size):
    """Random scores, to which features 0 and 1 of the inputs add up to ±size in every head."""
    arguments = text(draw, batch, length, n_heads, d_head, "causal")
    x, params = arguments["x"], arguments["params"]
    asking, asked = scored_by_two_features(params, d_head, size)
    x[..., 0], x[..., 1] = 1, leaning(kind, length)
    if kind == "rows":
        params["w_q"], params["w_k"] = asked, asking
    return arguments


def scored_by_two_features(params, d_head, size):
    """w_q and w_k, changed so that query feature 0 times key feature 1 adds `size` to a score."""
    w_q, w_k = params["w_q"], params["w_k"]
    for name in "qk":
        params[f"w_{name}"][:, ::d_head] = 0
        params[f"b_{name}"][::d_head] = 0
    w_q[0, ::d_head], w_k[1, ::d_head] = 1, size * np.sqrt(d_head)
    return w_q, w_k


# d_model is n_heads * d_head, whatever those two are.
SPLITS = table(split, ((), 2, 2, 2), ((), 3, 2, 4), ((2,), 4, 3, 5))
SPLIT_SHAPES = [
    *table(unsplit, ((), 1, 1, 1), ((1,), 1, 2, 1), ((), 5, 1, 3), ((3,), 3, 3, 3)),
    *table(unsplit, ((2, 3), 4, 2, 5), ((), 11, 4, 3)),
]
SPLIT_TIMED = table(split, ((), 4, 2, 3), ((2,), 5, 3, 2))
SPLIT_BATCH = [{"batch": (2,), "length": 4, "n_heads": 3, "d_head": 5}]
UNEVEN = table(unsplit, ((), 2, 2, 2, 1), ((2,), 3, 4, 1, -1))

PLAIN = table(text, ((), 2, 1, 2), ((), 3, 2, 2), ((2,), 5, 3, 4))
MASKS = [
    *table(text, ((), 3, 1, 2, "causal"), ((), 3, 2, 2, "causal"), ((), 3, 3, 2, "matrix")),
    *table(text, ((), 4, 2, 3, "row"), ((2,), 4, 3, 2, "full"), ((3,), 4, 3, 2, "full")),
    *table(text, ((3,), 5, 3, 2, "keys"), ((2,), 5, 4, 2, "one for all")),
    *table(text, ((2, 3), 4, 2, 3, "full"), ((2, 3), 4, 2, 2, "matrix")),
    *table(text, ((2, 3), 5, 3, 2, "inner"), ((3,), 3, 2, 2, "matrix")),
]
BLOCKED = [
    *table(text, ((), 3, 2, 2, "blocked"), ((), 2, 1, 3, "nothing"), ((5,), 6, 2, 2, "padded")),
    *table(text, ((2,), 4, 3, 2, "queries")),
]
SHAPES = [
    *table(text, ((), 1, 1, 1), ((1,), 1, 2, 1), ((), 4, 3, 1), ((2,), 3, 1, 2), ((3,), 3, 3, 3)),
    *table(text, ((2, 3), 4, 2, 5), ((), 11, 4, 2), ((), 40, 1, 2)),
]
TIMED = table(text, ((), 4, 2, 2, "causal"), ((2,), 5, 3, 2, "padded"), ((), 11, 2, 3, "causal"))
BATCH = table(text, ((3,), 4, 2, 3), ((3,), 4, 3, 2, "full"))
LARGE = table(
    large_text,
    ((), 3, 1, 2, "high", 1e3),
    ((), 3, 2, 2, "low", 1e3),
    *(((2,), 4, 2, 3, kind, NEAR_MILLION) for kind in ("high", "low", "rows", "future")),
)


def test_split_agree(student, given):
    """Head h has the features h*d_head:(h+1)*d_head of every token."""
    laws.agrees(student.split_heads, given.cases(unsplit, SPLITS))


def test_split_shapes(student, given):
    """Any number of batch axes, tokens and heads, one included, give (..., n_heads, T, d_head)."""
    laws.agrees(student.split_heads, given.cases(unsplit, SPLIT_SHAPES))


def test_split_time(student, given):
    """Row t of every head holds features of token t only."""
    cases = given.cases(unsplit, SPLIT_TIMED)
    laws.future_does_not_matter(student.split_heads, cases, along={"x": -2}, sizes=[1.0])


def test_merge_agree(student, given):
    """The features of all heads stand side by side again, head 0 first."""
    laws.agrees(student.merge_heads, given.cases(split, SPLITS))


def test_merge_shapes(student, given):
    """Any number of batch axes, tokens and heads, one included, give (..., T, d_model)."""
    laws.agrees(student.merge_heads, given.cases(split, SPLIT_SHAPES))


def test_merge_time(student, given):
    """Row t holds what the heads have at position t, and nothing of other positions."""
    cases = given.cases(split, SPLIT_TIMED)
    laws.future_does_not_matter(student.merge_heads, cases, along={"x": -2}, sizes=[1.0])


def test_heads_agree(student, given):
    """Without a mask: project, split, attend in every head, merge, and mix by w_o and b_o."""
    laws.agrees(student.multi_head_attention, given.cases(text, PLAIN))


def test_heads_mask(student, given):
    """A mask holds for every head; its batch axes, if it has any, are those of x."""
    laws.agrees(student.multi_head_attention, given.cases(text, MASKS))


def test_heads_blocked(student, given):
    """A query that may attend to nothing gets 0 from every head; its row of the result is b_o."""
    laws.agrees(student.multi_head_attention, given.cases(text, BLOCKED))


def test_heads_no_future(student, given):
    """Under a causal mask no head looks ahead: an output does not depend on later tokens."""
    plain, padded, long = given.cases(text, TIMED)
    function = student.multi_head_attention
    laws.future_does_not_matter(function, [plain], along={"x": -2})
    laws.future_does_not_matter(function, [padded, long], along={"x": -2}, sizes=[1.0])


def test_heads_rows(student, given):
    """The output of one text in a batch does not depend on the other texts and their masks."""
    plain, masked = given.cases(text, BATCH)
    function = student.multi_head_attention
    laws.rows_are_independent(function, [plain], batched=["x"], sizes=(1.0, 100.0))
    laws.rows_are_independent(function, [masked], batched=("x", "mask"))


test_split_repeat = standard.when_repeated("split_heads", unsplit, SPLIT_BATCH)
test_split_arguments = standard.untouched("split_heads", unsplit, SPLIT_BATCH)
test_merge_repeat = standard.when_repeated("merge_heads", split, SPLIT_BATCH)
test_merge_arguments = standard.untouched("merge_heads", split, SPLIT_BATCH)
test_heads_shapes = standard.in_any_shape("multi_head_attention", text, SHAPES)
test_heads_large = standard.when_large("multi_head_attention", large_text, LARGE)
test_heads_float32 = standard.in_float32("multi_head_attention", text, PLAIN + BLOCKED[:1])
test_heads_repeat = standard.when_repeated("multi_head_attention", text, BATCH)
test_heads_arguments = standard.untouched("multi_head_attention", text, BATCH[1:])
test_split_errors = standard.refused("split_heads", unsplit, UNEVEN, "d_model is not divisible")
test_heads_prefix = standard.prefix_alone(
    "multi_head_attention", text, TIMED[:2], along={"x": -2}, masks=["mask"]
)
