"""Checks of step 11: layer norm, gelu, the feed-forward network, the decoder block."""

import numpy as np

from grader.checks import laws
from tests.visible import decoders, standard
from tests.visible.masks import causal, some_mask
from tests.visible.sizes import table


def vectors(draw, batch, length, d_model, eps=None, flat=False):
    """Random vectors of mean 0.5, a gain and a bias; if flat, the first has equal features."""
    x = draw.normal(*batch, length, d_model) * 2 + 0.5
    if flat:
        x[..., 0, :] = x[..., 0, :1]
    # The gain is nowhere near 0 or exactly 1.
    gain, bias = 1.5 + draw.uniform(d_model).round(2), draw.normal(d_model)
    arguments = {"x": x, "gain": gain, "bias": bias}
    return arguments if eps is None else arguments | {"eps": eps}


def large_vectors(draw, batch, length, d_model, kind, size):
    """Vectors as large as that, by themselves or by what is added to all of their features."""
    arguments = vectors(draw, batch, length, d_model)
    x, rows = arguments["x"], np.where(np.arange(length) % 2, 1.0, size)[:, None]
    larger = {"wide": x * size, "high": x + size, "low": x - size, "rows": x * rows}
    return {**arguments, "x": larger[kind]}


def numbers(draw, batch, length, d_ff, size=1.0):
    """Random numbers, mostly between -3 and 3 times `size`."""
    return {"x": draw.normal(*batch, length, d_ff) * 1.5 * size}


def fed(draw, batch, length, d_model, d_ff, size=1.0):
    """Random vectors and a feed-forward network; `size` makes its hidden values large."""
    params = decoders.feed_forward(draw, d_model, d_ff)
    params["w_in"] = params["w_in"] * size
    return {"x": draw.normal(*batch, length, d_model), "params": params}


def block(draw, batch, length, n_heads, d_head, d_ff, mask="causal", silent=None, size=1, stream=1):
    """Random vectors, a block and a mask; `size` is that of the scores, `stream` that of x."""
    d_model = n_heads * d_head
    params = decoders.block(draw, d_model, d_ff, silent)
    for name in ("w_q", "b_q"):
        params["attention"][name] = params["attention"][name] * size
    return {
        "x": (draw.normal(*batch, length, d_model) * 2 + 0.5) * stream,
        "params": params,
        "n_heads": n_heads,
        "mask": some_mask(draw, mask, batch, length),
    }


def unmasked_block(draw, **sizes):
    """The same without the mask, for texts that are cut."""
    arguments = block(draw, **sizes)
    del arguments["mask"]
    return arguments


def under_a_causal_mask(student):
    """The student's block as a function of a text of any length."""

    def mask(x, **others):
        return {"x": x, **others, "mask": causal(x.shape[-2])}

    return laws.Adapted(student.decoder_block, mask)


NORMED = table(vectors, ((), 2, 3), ((), 4, 5), ((2,), 3, 6))
OTHER_EPS = table(
    vectors, ((), 3, 3, 2.0), ((), 2, 3, 0.1), ((), 2, 4, {"flat": True}), ((2,), 3, 4, 0.5, True)
)
NORMED_SHAPES = table(
    vectors, ((), 1, 1), ((), 1, 4), ((1,), 2, 5), ((3,), 3, 3), ((), 11, 2), ((2, 3), 4, 5)
)
NORMED_TEXT = [{"batch": (), "length": 5, "d_model": 4}]
NORMED_BATCH = [{"batch": (3,), "length": 2, "d_model": 4}]
NEAR_MILLION = 999_980.0  # with random numbers of a few units on top
NORMED_LARGE = [
    *table(large_vectors, ((), 2, 3, "wide", 1e3), ((), 2, 3, "high", NEAR_MILLION)),
    *table(large_vectors, ((2,), 3, 4, "low", NEAR_MILLION), ((2,), 3, 4, "rows", 1e5)),
]

NUMBERS = table(numbers, ((), 2, 3), ((), 5, 4), ((2,), 3, 5))
NUMBERS_SHAPES = table(numbers, ((), 1, 1), ((1,), 1, 4), ((3,), 3, 3), ((), 11, 2), ((2, 3), 4, 5))
NUMBERS_BATCH = [{"batch": (3,), "length": 2, "d_ff": 4}]
NUMBERS_LARGE = table(numbers, ((), 2, 3, 1e1), ((), 2, 3, 1e3), ((2,), 3, 4, 1e5))

FED = table(fed, ((), 2, 3, 4), ((), 3, 4, 2), ((2,), 4, 3, 5))
FED_SHAPES = table(
    fed, ((), 1, 1, 1), ((1,), 1, 2, 3), ((3,), 3, 3, 3), ((), 11, 2, 4), ((2, 3), 4, 5, 6)
)
FED_TEXT = [{"batch": (), "length": 5, "d_model": 4, "d_ff": 3}]
FED_BATCH = [{"batch": (3,), "length": 2, "d_model": 4, "d_ff": 5}]
FED_LARGE = table(fed, ((), 2, 3, 4, 1e2), ((2,), 3, 4, 5, 1e5))

BLOCKS = table(block, ((), 2, 1, 3, 4), ((), 3, 2, 2, 5), ((2,), 4, 3, 2, 5))
# Of few features the spread is small now and then, and float32 then loses digits in any norm.
BLOCKS_IN_FLOAT32 = table(block, ((), 2, 1, 6, 4), ((2,), 4, 3, 2, 5))
SILENCED = [
    {"batch": (), "length": 2, "n_heads": 1, "d_head": 3, "d_ff": 4, "silent": "both"},
    {"batch": (), "length": 2, "n_heads": 1, "d_head": 3, "d_ff": 4, "silent": "feed_forward"},
    {"batch": (), "length": 2, "n_heads": 1, "d_head": 3, "d_ff": 4, "silent": "attention"},
]
MASKED = [
    *table(block, ((), 3, 1, 3, 2, "middle"), ((), 3, 2, 2, 3, "keys"), ((), 3, 2, 2, 3, "any")),
    *table(block, ((2,), 4, 2, 3, 5, "start"), ((3,), 4, 3, 2, 5, "each")),
    *table(block, ((2, 3), 5, 2, 2, 3, "each"), ((3,), 4, 2, 2, 3, "one for all")),
]
BLOCK_SHAPES = [
    *table(block, ((), 1, 1, 2, 1), ((1,), 1, 4, 1, 3), ((3,), 3, 3, 3, 3), ((), 11, 2, 3, 4)),
    *table(block, ((2, 3), 4, 2, 3, 5)),
]
BLOCK_TEXTS = table(block, ((), 5, 2, 2, 3), ((2,), 4, 2, 2, 3, "middle"))
LONG = [{"batch": (), "length": 11, "n_heads": 2, "d_head": 2, "d_ff": 3}]
BLOCK_BATCH = table(block, ((3,), 3, 2, 2, 5), ((3,), 4, 2, 2, 5, "each"))
ANY_MASK = [{"batch": (3,), "length": 3, "n_heads": 2, "d_head": 2, "d_ff": 5, "mask": "any"}]
BLOCK_LARGE = [
    *table(block, ((), 3, 1, 3, 4, {"size": 1e3}), ((), 3, 1, 3, 4, {"stream": 1e5})),
    *table(block, ((2,), 4, 2, 2, 3, {"size": 1e4})),
]


def test_norm_agree(student, given):
    """Each position's features get mean 0 and variance 1, then gain, then bias."""
    laws.agrees(student.layer_norm, given.cases(vectors, NORMED))


def test_norm_eps(student, given):
    """eps is added to the variance, whatever it is, so equal features give the bias."""
    laws.agrees(student.layer_norm, given.cases(vectors, OTHER_EPS))


def test_norm_shapes(student, given):
    """Any number of batch axes, and axes of length 1, are normalised over the last axis."""
    laws.agrees(student.layer_norm, given.cases(vectors, NORMED_SHAPES))


def test_norm_no_future(student, given):
    """No position depends on later ones, nor on how many of them there are."""
    cases = given.cases(vectors, NORMED_TEXT)
    laws.future_does_not_matter(student.layer_norm, cases, along={"x": -2})
    laws.prefix_gives_the_same(student.layer_norm, cases, along={"x": -2})


def test_norm_alone(student, given):
    """Each position of each sequence is normalised by itself: no other one matters."""
    for what, sizes in ("position", NORMED_TEXT), ("sequence", NORMED_BATCH):
        cases = given.cases(vectors, sizes)
        laws.rows_are_independent(student.layer_norm, cases, batched=("x",), what=what)


def test_gelu_agree(student, given):
    """gelu is the tanh form: about x where x is large, about 0 below -3."""
    laws.agrees(student.gelu, given.cases(numbers, NUMBERS))


def test_gelu_shapes(student, given):
    """The result has the shape of x, whatever that is."""
    laws.agrees(student.gelu, given.cases(numbers, NUMBERS_SHAPES))


def test_feed_forward_agree(student, given):
    """w_in and b_in, then gelu, then w_out and b_out, and nothing else."""
    laws.agrees(student.feed_forward, given.cases(fed, FED))


def test_feed_forward_no_future(student, given):
    """No position depends on later ones, nor on how many of them there are."""
    cases = given.cases(fed, FED_TEXT)
    laws.future_does_not_matter(student.feed_forward, cases, along={"x": -2}, sizes=[1.0])
    laws.prefix_gives_the_same(student.feed_forward, cases, along={"x": -2})


def test_feed_forward_alone(student, given):
    """Each position of each sequence goes through by itself: no other one matters."""
    for what, sizes in ("position", FED_TEXT), ("sequence", FED_BATCH):
        cases = given.cases(fed, sizes)
        laws.rows_are_independent(student.feed_forward, cases, batched=("x",), what=what)


def test_block_agree(student, given):
    """x gets the attention of its ln_1 added, then the feed-forward of its ln_2."""
    laws.agrees(student.decoder_block, given.cases(block, BLOCKS))


def test_block_stream(student, given):
    """x passes unchanged through a half that adds nothing, and through two of them."""
    laws.agrees(student.decoder_block, given.cases(block, SILENCED))


def test_block_mask(student, given):
    """The mask that is given holds, whichever it is, in every text and every head."""
    laws.agrees(student.decoder_block, given.cases(block, MASKED))


def test_block_no_future(student, given):
    """Under a causal mask no position depends on later ones, padded or not."""
    function = student.decoder_block
    laws.future_does_not_matter(function, given.cases(block, BLOCK_TEXTS), along={"x": -2})
    laws.future_does_not_matter(function, given.cases(block, LONG), along={"x": -2}, sizes=[1.0])


def test_block_prefix(student, given):
    """The first positions by themselves give the same as within the whole, each causally masked."""
    cases = given.cases(unmasked_block, BLOCK_TEXTS[:1])
    laws.prefix_gives_the_same(under_a_causal_mask(student), cases, along={"x": -2})


def test_block_rows(student, given):
    """What is computed for one text of a batch does not depend on the other texts."""
    plain, padded = given.cases(block, BLOCK_BATCH)
    laws.rows_are_independent(student.decoder_block, [plain], batched=["x"])
    laws.rows_are_independent(student.decoder_block, [padded], batched=("x", "mask"))


test_norm_large = standard.when_large("layer_norm", large_vectors, NORMED_LARGE)
test_norm_float32 = standard.in_float32("layer_norm", vectors, NORMED[1:], norms=True)
test_norm_repeat = standard.when_repeated("layer_norm", vectors, NORMED_BATCH)
test_norm_arguments = standard.untouched("layer_norm", vectors, NORMED_BATCH)
test_gelu_large = standard.when_large("gelu", numbers, NUMBERS_LARGE)
test_gelu_float32 = standard.in_float32("gelu", numbers, NUMBERS)
test_gelu_repeat = standard.when_repeated("gelu", numbers, NUMBERS_BATCH)
test_gelu_arguments = standard.untouched("gelu", numbers, NUMBERS_BATCH)
test_feed_forward_shapes = standard.in_any_shape("feed_forward", fed, FED_SHAPES)
test_feed_forward_large = standard.when_large("feed_forward", fed, FED_LARGE)
test_feed_forward_float32 = standard.in_float32("feed_forward", fed, FED)
test_feed_forward_repeat = standard.when_repeated("feed_forward", fed, FED_BATCH)
test_feed_forward_arguments = standard.untouched("feed_forward", fed, FED_BATCH)
test_block_shapes = standard.in_any_shape("decoder_block", block, BLOCK_SHAPES)
test_block_large = standard.when_large("decoder_block", block, BLOCK_LARGE)
test_block_float32 = standard.in_float32("decoder_block", block, BLOCKS_IN_FLOAT32, norms=True)
test_block_repeat = standard.when_repeated("decoder_block", block, ANY_MASK)
test_block_arguments = standard.untouched("decoder_block", block, BLOCK_BATCH[1:])
