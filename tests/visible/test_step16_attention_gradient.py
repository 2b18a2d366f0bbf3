"""Checks of step 16: gradients of attention and of masked self-attention."""

import numpy as np

from grader.checks import laws
from tests.visible import standard
from tests.visible.masks import any_keys, padding
from tests.visible.sizes import table


def attended(draw, batch, t_q, t_k, d_k, d_v, mask=None, size=1.0):
    """Random queries, keys and values, slopes, and a mask; scores of a few units times `size`."""
    arguments = {
        "d_out": draw.normal(*batch, t_q, d_v) * 2,
        "q": draw.normal(*batch, t_q, d_k) * size,
        "k": draw.normal(*batch, t_k, d_k),
        "v": draw.normal(*batch, t_k, d_v),
    }
    if mask is None:
        return arguments
    seen = any_keys(draw, t_q, t_k)
    if mask == "blocked":
        seen[t_q // 2] = False
    masks = {
        "nothing": np.zeros((t_q, t_k), dtype=bool),
        "queries": np.arange(t_q)[:, None] % 2 == 1,  # a query sees all keys or none
        "keys": padding("each", batch, t_k),  # one row for all queries, another in each sequence
        "row": seen[0],  # one row for all, without an axis of queries
        "one for all": seen[None],
    }
    return {**arguments, "mask": masks.get(mask, seen)}


def text(draw, batch, length, d_model, d_k, d_v, place=None, size=1.0):
    """Random vectors, weights and slopes; `place` is where padding is, `size` that of scores."""
    arguments = {
        "d_out": draw.normal(*batch, length, d_v) * 2,
        "x": draw.normal(*batch, length, d_model),
        "w_q": draw.normal(d_model, d_k) / 2 * size,
        "w_k": draw.normal(d_model, d_k) / 2,
        "w_v": draw.normal(d_model, d_v),
    }
    return arguments if place is None else {**arguments, "padding": padding(place, batch, length)}


PLAIN = table(attended, ((), 2, 3, 4, 5), ((), 3, 5, 2, 4), ((2,), 4, 3, 5, 2))
MASKED = [
    *table(attended, ((), 2, 3, 2, 4, "any"), ((2,), 3, 4, 5, 2, "any")),
    *table(attended, ((3,), 4, 4, 3, 2, "keys"), ((3,), 3, 4, 2, 4, "one for all")),
]
ONE_ROW = [{"batch": (2,), "t_q": 3, "t_k": 4, "d_k": 2, "d_v": 3, "mask": "row"}]
BLOCKED = [
    *table(attended, ((), 2, 3, 4, 2, "blocked"), ((), 3, 2, 3, 2, "nothing")),
    *table(attended, ((2,), 4, 3, 2, 5, "blocked"), ((2,), 3, 4, 2, 3, "queries")),
]
SHAPES = [
    *table(attended, ((), 1, 1, 1, 1), ((1,), 1, 4, 2, 3), ((3,), 3, 3, 3, 3)),
    *table(attended, ((2, 3), 4, 2, 5, 6), ((), 2, 11, 3, 4)),
]
BATCH = [{"batch": (3,), "t_q": 2, "t_k": 4, "d_k": 3, "d_v": 5, "mask": "any"}]
LARGE = table(attended, ((), 2, 3, 4, 2, {"size": 1e3}), ((2,), 3, 4, 2, 3, "any", 1e5))

TEXTS = table(text, ((), 2, 3, 2, 4), ((), 4, 2, 5, 3), ((2,), 3, 5, 4, 2))
PADDED = [
    *table(text, ((), 3, 2, 3, 4, "middle"), ((), 4, 3, 2, 5, "start"), ((3,), 5, 4, 3, 2, "each")),
    *table(text, ((), 3, 3, 2, 4, "all")),
]
TEXT_SHAPES = [
    *table(text, ((), 1, 2, 1, 3), ((1,), 1, 1, 1, 1), ((3,), 3, 3, 3, 3), ((2, 3), 4, 6, 5, 2)),
    *table(text, ((), 11, 2, 3, 4)),
]
TIMED = table(text, ((), 4, 3, 2, 5), ((2,), 6, 2, 4, 3))
TEXT_BATCH = [{"batch": (3,), "length": 3, "d_model": 4, "d_k": 2, "d_v": 5}]
PADDED_BATCH = [{**TEXT_BATCH[0], "place": "each"}]
TEXT_LARGE = table(text, ((), 3, 2, 4, 3, {"size": 1e3}), ((2,), 4, 3, 2, 5, {"size": 1e5}))


def test_attention_back_agree(student, given):
    """q, k and v get the gradients that autograd finds for attention."""
    laws.agrees(student.attention_backward, given.cases(attended, PLAIN))


def test_attention_back_mask(student, given):
    """Under any mask, of one row or of many, the gradients are right."""
    laws.agrees(student.attention_backward, given.cases(attended, MASKED + ONE_ROW))


def test_attention_back_hidden(student, given):
    """A loss on one query has no gradient at a key that is hidden from it."""
    laws.hidden_keys_get_nothing(student.attention_backward, given.cases(attended, MASKED))


def test_attention_back_blocked(student, given):
    """A query that may attend to nothing contributes nothing, and makes no NaN."""
    laws.agrees(student.attention_backward, given.cases(attended, BLOCKED))


def test_attention_back_slope(student, given):
    """Gradients are linear in d_out: twice the slope, twice the gradient."""
    laws.is_linear_in(student.attention_backward, given.cases(attended, PLAIN + MASKED), "d_out")


def test_self_back_agree(student, given):
    """x and the three weights get the gradients that autograd finds, under the causal mask."""
    laws.agrees(student.masked_self_attention_backward, given.cases(text, TEXTS))


def test_self_back_no_future(student, given):
    """A loss on positions up to t has no gradient at any later position."""
    function = student.masked_self_attention_backward
    laws.no_gradient_from_the_future(function, given.cases(text, TIMED))


def test_self_back_padding(student, given):
    """Padding hides keys, wherever it stands: no loss on other positions reaches it."""
    function, cases = student.masked_self_attention_backward, given.cases(text, PADDED)
    laws.agrees(function, cases)
    laws.no_gradient_through_padding(function, cases, mask="padding")


test_attention_back_shapes = standard.in_any_shape("attention_backward", attended, SHAPES)
test_attention_back_large = standard.when_large("attention_backward", attended, LARGE)
test_attention_back_float32 = standard.in_float32(
    "attention_backward", attended, PLAIN + MASKED[:1] + BLOCKED[:1]
)
test_attention_back_repeat = standard.when_repeated("attention_backward", attended, BATCH)
test_attention_back_arguments = standard.untouched("attention_backward", attended, BATCH)
test_self_back_shapes = standard.in_any_shape("masked_self_attention_backward", text, TEXT_SHAPES)
test_self_back_large = standard.when_large("masked_self_attention_backward", text, TEXT_LARGE)
test_self_back_float32 = standard.in_float32(
    "masked_self_attention_backward", text, TEXTS + PADDED[1:2]
)
test_self_back_repeat = standard.when_repeated("masked_self_attention_backward", text, PADDED_BATCH)
test_self_back_arguments = standard.untouched("masked_self_attention_backward", text, PADDED_BATCH)
test_self_back_batch = standard.summed_over_a_batch(
    "masked_self_attention_backward", text, TEXT_BATCH
)
