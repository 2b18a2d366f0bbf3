"""Checks of step 5: output, attention, masked self-attention."""

import numpy as np

from grader.checks import laws
from tests.visible import standard
from tests.visible.masks import padding
from tests.visible.sizes import table


def weights_and_values(draw, batch, t_q, t_k, d_v, total=100):
    """Weights that add up to so many hundredths, and random values."""
    cuts = np.sort(draw.tokens(total + 1, *batch, t_q, t_k - 1), axis=-1)
    weights = np.diff(cuts, axis=-1, prepend=0, append=total) / 100
    return {"weights": weights, "v": draw.normal(*batch, t_k, d_v)}


def some_allowed(draw, *shape):
    """A random mask; every row allows a key and, if it has more than one, blocks a key."""
    mask = draw.uniform(*shape) < 0.5
    first = draw.tokens(shape[-1], *shape[:-1], 1)
    np.put_along_axis(mask, (first + 1) % shape[-1], False, axis=-1)
    np.put_along_axis(mask, first, True, axis=-1)
    return mask


def some_mask(draw, kind, batch, t_q, t_k):
    """A mask of that kind, broadcastable to (*batch, t_q, t_k)."""
    fixed = {
        "causal": np.tri(t_q, t_k, t_k - t_q, dtype=bool),
        "nothing": np.zeros((t_q, t_k), dtype=bool),
        "queries": np.arange(t_q)[:, None] % 2 == 1,  # a query sees all keys or none
    }
    if kind in fixed:
        return fixed[kind]
    shapes = {"keys": (*batch, 1, t_k), "matrix": (t_q, t_k), "row": (t_k,)}
    shapes["one for all"] = (*(1 for _ in batch), t_q, t_k)
    mask = some_allowed(draw, *shapes.get(kind, (*batch, t_q, t_k)))
    if kind == "blocked":
        mask[..., ::2, :] = False
    return mask


def asked(draw, batch, t_q, t_k, d_k, d_v, mask=None):
    """Random queries, keys and values, and a mask of that kind."""
    arguments = {
        "q": draw.normal(*batch, t_q, d_k),
        "k": draw.normal(*batch, t_k, d_k),
        "v": draw.normal(*batch, t_k, d_v),
    }
    if mask is None:
        return arguments
    return arguments | {"mask": some_mask(draw, mask, batch, t_q, t_k)}


def leaning(kind, length):
    """Which keys get a large score, and of which sign."""
    places = np.arange(length)
    kinds = {"high": 1, "low": -1, "future": places == length - 1, "rows": places % 3 - 1}
    return kinds[kind]


def asked_large(draw, batch, t_q, t_k, d_k, d_v, kind, size):
    """Random scores, to which feature 0 adds up to ±size; under a causal mask."""
    arguments = asked(draw, batch, t_q, t_k, d_k, d_v, "causal")
    q, k = arguments["q"], arguments["k"]
    shift = size * np.sqrt(d_k)
    q[..., 0], k[..., 0] = 1, 0
    if kind == "wide":
        q *= size
    elif kind == "rows":
        q[..., 0], k[..., 0] = leaning(kind, t_q) * shift, 1
    else:
        k[..., 0] = leaning(kind, t_k) * shift
    return arguments


def some_padding(place, batch, length):
    """What padding_mask returns for texts padded at that place, or each at another one."""
    return padding(place, batch, length, each=("middle", "start", "none", "end", "all"))


def texts(draw, batch, length, d_model, d_k, d_v, padding=None):
    """Random inputs and weights, and padding at that place."""
    arguments = {
        "x": draw.normal(*batch, length, d_model),
        "w_q": draw.normal(d_model, d_k) / 2,
        "w_k": draw.normal(d_model, d_k) / 2,
        "w_v": draw.normal(d_model, d_v),
    }
    if padding is None:
        return arguments
    return arguments | {"padding": some_padding(padding, batch, length)}


def large_texts(draw, batch, length, d_model, d_k, d_v, kind, size):
    """Random scores, to which features 0 and 1 of the inputs add up to ±size."""
    padding = "middle" if kind == "padded" else None
    arguments = texts(draw, batch, length, d_model, d_k, d_v, padding)
    x, w_q, w_k = arguments["x"], arguments["w_q"], arguments["w_k"]
    w_q[:, 0], w_k[:, 0] = 0, 0
    w_q[0, 0], w_k[1, 0] = 1, size * np.sqrt(d_k)
    x[..., 0] = 1
    x[..., 1] = ~arguments["padding"][..., 0, :] if padding else leaning(kind, length)
    if kind == "rows":
        arguments["w_q"], arguments["w_k"] = w_k, w_q
    return arguments


MIXED = [
    *table(weights_and_values, ((), 2, 3, 4), ((), 4, 3, 2), ((2,), 3, 5, 4), ((), 3, 2, 4, 75)),
    *table(weights_and_values, ((), 3, 2, 4, 0)),
]
MIXED_SHAPES = [
    *table(weights_and_values, ((), 1, 1, 1), ((), 2, 7, 3), ((1,), 1, 3, 2), ((3,), 3, 3, 3)),
    *table(weights_and_values, ((2, 3), 11, 4, 5)),
]
MIXED_BATCH = [{"batch": (3,), "t_q": 2, "t_k": 4, "d_v": 5}]
PLAIN = table(asked, ((), 2, 3, 4, 5), ((), 3, 4, 5, 2, "full"), ((2,), 4, 6, 3, 5, "full"))
SHAPES = [
    *table(asked, ((), 1, 1, 1, 1), ((), 3, 3, 2, 4), ((2,), 4, 2, 3, 2)),
    *table(asked, ((), 2, 7, 3, 4, "causal"), ((), 5, 3, 2, 4, "keys")),
    *table(asked, ((1,), 1, 3, 4, 2, "matrix"), ((2,), 3, 5, 4, 6, "matrix")),
    *table(asked, ((2,), 3, 5, 4, 6, "keys"), ((3,), 3, 3, 3, 3, "full")),
    *table(asked, ((2, 3), 4, 5, 6, 7, "row"), ((2, 3), 5, 4, 3, 2, "keys")),
    *table(asked, ((), 11, 11, 3, 2, "causal"), ((3,), 3, 4, 2, 5, "one for all")),
]
BLOCKED = [
    *table(asked, ((), 3, 2, 4, 5, "blocked"), ((), 2, 3, 5, 4, "nothing")),
    *table(asked, ((2,), 5, 4, 3, 6, "blocked"), ((2,), 3, 4, 3, 2, "queries")),
]
TIMED = [{"batch": (2,), "t_q": 5, "t_k": 5, "d_k": 4, "d_v": 3, "mask": "causal"}]
BATCH = table(asked, ((3,), 2, 4, 5, 6), ((3,), 4, 5, 2, 6, "full"))
MASKED_ONCE = [{"batch": (), "t_q": 2, "t_k": 3, "d_k": 2, "d_v": 4, "mask": "matrix"}]
NEAR_MILLION = 999_990.0  # with random scores of a few units on top
LARGE = table(
    asked_large,
    ((), 3, 4, 5, 2, "high", 1e3),
    ((), 3, 4, 5, 2, "low", 1e3),
    ((), 4, 4, 3, 5, "rows", 1e4),
    ((), 4, 4, 3, 5, "future", 1e5),
    ((2,), 4, 5, 3, 6, "wide", 1e5),
    *(((2,), 5, 5, 3, 4, kind, NEAR_MILLION) for kind in ("high", "low", "rows", "future")),
)

TEXTS = table(texts, ((), 3, 4, 2, 5), ((), 5, 3, 4, 2), ((2,), 4, 5, 3, 6))
PADDED = [
    *table(texts, ((), 3, 4, 2, 5, "middle"), ((), 4, 3, 5, 2, "start"), ((), 4, 3, 5, 2, "end")),
    *table(texts, ((5,), 6, 4, 3, 2, "each"), ((2, 3), 7, 5, 4, 3, "each")),
    *table(texts, ((), 3, 3, 2, 4, "all")),
]
TEXT_SHAPES = [
    *table(texts, ((), 1, 1, 1, 1), ((1,), 1, 3, 2, 4), ((), 11, 2, 4, 3), ((3,), 3, 3, 3, 3)),
    *table(texts, ((6,), 4, 2, 3, 5), ((2, 3), 4, 5, 2, 6), ((), 40, 2, 3, 1)),
]
TIMED_TEXTS = table(texts, ((), 5, 4, 2, 3), ((2,), 6, 3, 2, 4, "each"), ((), 11, 3, 2, 4))
TEXT_BATCH = table(texts, ((3,), 4, 5, 2, 6), ((3,), 5, 2, 4, 6, "each"))
WIDTHS = {"d_model": 4, "d_k": 2, "d_v": 6}
LARGE_TEXTS = [
    {"batch": (), "length": 3, **WIDTHS, "kind": "high", "size": 1e3},
    {"batch": (), "length": 3, **WIDTHS, "kind": "low", "size": 1e3},
    *(
        {"batch": (2,), "length": 5, **WIDTHS, "kind": kind, "size": NEAR_MILLION}
        for kind in ["high", "low", "rows", "future", "padded"]
    ),
]


def test_output_agree(student, given):
    """Output row i is the sum of the rows of v, each times its weight in row i, as it is."""
    laws.agrees(student.attention_output, given.cases(weights_and_values, MIXED))


def test_output_shapes(student, given):
    """Any number of batch axes, queries and keys give outputs as wide as the values."""
    laws.agrees(student.attention_output, given.cases(weights_and_values, MIXED_SHAPES))


def test_attention_agree(student, given):
    """attention mixes the values by the softmax of the scores, without a mask and with one."""
    laws.agrees(student.attention, given.cases(asked, PLAIN))


def test_attention_shapes(student, given):
    """Any batch axes, T_q and T_k, and every mask that broadcasts, give the right outputs."""
    laws.agrees(student.attention, given.cases(asked, SHAPES))


def test_attention_blocked(student, given):
    """A query that may attend to nothing has output 0, and the others stay right."""
    laws.agrees(student.attention, given.cases(asked, BLOCKED))


def test_attention_no_future(student, given):
    """Under a causal mask an output does not depend on later keys, values and queries."""
    cases = given.cases(asked, TIMED)
    laws.future_does_not_matter(
        student.attention, cases, along={"k": -2, "v": -2}, sizes=(1.0, 1e3, 1e5)
    )
    laws.future_does_not_matter(student.attention, cases, along={"q": -2, "k": -2, "v": -2})


def test_attention_repeat(student, given):
    """The same question gets the right answer again, and an earlier answer stays as it was."""
    cases, also = given.cases(asked, BATCH), given.cases(asked, BATCH, salt="also")
    laws.answers_the_same_again(student, student.attention, cases, also)
    masked = given.cases(asked, MASKED_ONCE)
    laws.agrees(student.attention, [*masked, *(case.changed(mask=None) for case in masked)])


def test_self_attention_agree(student, given):
    """Token t attends to tokens 0..t: causal attention with q, k, v projected from x."""
    laws.agrees(student.masked_self_attention, given.cases(texts, TEXTS))


def test_self_attention_padding(student, given):
    """Padding hides its keys, wherever it stands; what sees nothing has output 0."""
    laws.agrees(student.masked_self_attention, given.cases(texts, PADDED))


def test_self_attention_no_future(student, given):
    """An output does not depend on later tokens, with padding or without."""
    plain, padded, long = given.cases(texts, TIMED_TEXTS)
    function = student.masked_self_attention
    laws.future_does_not_matter(function, [plain], along={"x": -2})
    laws.future_does_not_matter(function, [padded], along={"x": -2, "padding": -1})
    laws.future_does_not_matter(function, [long], along={"x": -2}, sizes=[1.0])


def test_self_attention_prefix(student, given):
    """The first tokens by themselves give the same outputs as within the whole text."""
    plain, padded, _ = given.cases(texts, TIMED_TEXTS)
    function = student.masked_self_attention
    laws.prefix_gives_the_same(function, [plain], along={"x": -2})
    laws.prefix_gives_the_same(function, [padded], along={"x": -2, "padding": -1})


def test_self_attention_rows(student, given):
    """The output of one text in a batch does not depend on the other texts."""
    cases = given.cases(texts, TEXT_BATCH)
    function = student.masked_self_attention
    laws.rows_are_independent(function, cases[:1], batched=["x"], sizes=(1.0, 100.0))
    laws.rows_are_independent(function, cases[1:], batched=("x", "padding"))


test_output_rows = standard.in_a_batch(
    "attention_output", weights_and_values, MIXED_BATCH, batched=["v"]
)
test_output_float32 = standard.in_float32("attention_output", weights_and_values, MIXED)
test_output_repeat = standard.when_repeated("attention_output", weights_and_values, MIXED_BATCH)
test_output_arguments = standard.untouched("attention_output", weights_and_values, MIXED_BATCH)
test_attention_rows = standard.in_a_batch(
    "attention", asked, BATCH, batched=("q", "k", "v"), sizes=(1.0, 100.0)
)
test_attention_large = standard.when_large("attention", asked_large, LARGE)
test_attention_float32 = standard.in_float32("attention", asked, PLAIN + BLOCKED[:1])
test_attention_arguments = standard.untouched("attention", asked, BATCH[1:])
test_self_attention_shapes = standard.in_any_shape("masked_self_attention", texts, TEXT_SHAPES)
test_self_attention_large = standard.when_large("masked_self_attention", large_texts, LARGE_TEXTS)
test_self_attention_float32 = standard.in_float32(
    "masked_self_attention", texts, TEXTS + PADDED[1:2]
)
test_self_attention_repeat = standard.when_repeated("masked_self_attention", texts, TEXT_BATCH)
test_self_attention_arguments = standard.untouched("masked_self_attention", texts, TEXT_BATCH[1:])
