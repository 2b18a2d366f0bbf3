"""Checks of step 17: gradients of the parts of a block, and of the block."""

from grader.checks import laws
from tests.visible import decoders, standard
from tests.visible.masks import some_mask
from tests.visible.sizes import table


def vectors(draw, batch, length, d_model, eps=None, flat=False, size=1.0, shift=0.0):
    """Random vectors, a gain, and slopes; if flat, the first vector has equal features."""
    x = (draw.normal(*batch, length, d_model) * 2 + 0.5) * size + shift
    if flat:
        x[..., 0, :] = x[..., 0, :1]
    gain = 1.5 + draw.uniform(d_model).round(2)
    arguments = {"d_out": draw.normal(*batch, length, d_model) * 2, "x": x, "gain": gain}
    return arguments if eps is None else {**arguments, "eps": eps}


def numbers(draw, batch, length, d_ff, size=1.5):
    """Random numbers, and slopes."""
    x = draw.normal(*batch, length, d_ff) * size
    return {"d_out": draw.normal(*batch, length, d_ff) * 2, "x": x}


def fed(draw, batch, length, d_model, d_ff, size=1.0):
    """Random vectors of that size, a feed-forward network, and slopes."""
    return {
        "d_out": draw.normal(*batch, length, d_model) * 2,
        "x": draw.normal(*batch, length, d_model) * size,
        "params": decoders.feed_forward(draw, d_model, d_ff),
    }


def attended(draw, batch, length, n_heads, d_head, mask=None, size=1.0):
    """Random vectors, attention, slopes, and a mask; scores of a few units times `size`."""
    d_model = n_heads * d_head
    arguments = {
        "d_out": draw.normal(*batch, length, d_model) * 2,
        "x": draw.normal(*batch, length, d_model),
        "params": decoders.attention(draw, d_model),
        "n_heads": n_heads,
    }
    for name in ("w_q", "b_q"):
        arguments["params"][name] = arguments["params"][name] * size
    if mask is None:
        return arguments
    return {**arguments, "mask": some_mask(draw, mask, batch, length)}


def block(draw, batch, length, n_heads, d_head, d_ff, mask="causal", silent=None, size=1.0):
    """Random vectors, a block, slopes and a mask; scores of a few units times `size`.

    A silent sub-layer adds nothing to the stream.
    """
    d_model = n_heads * d_head
    params = decoders.block(draw, d_model, d_ff, silent)
    for name in ("w_q", "b_q"):
        params["attention"][name] = params["attention"][name] * size
    return {
        "d_out": draw.normal(*batch, length, d_model) * 2,
        "x": draw.normal(*batch, length, d_model) * 2 + 0.5,
        "params": params,
        "n_heads": n_heads,
        "mask": some_mask(draw, mask, batch, length),
    }


NORMED = table(vectors, ((), 1, 3), ((), 2, 4), ((2,), 3, 5))
OTHER_EPS = table(vectors, ((), 3, 3, 2.0), ((), 2, 3, 0.1), ((), 3, 4, 2.0, True))
NORMED_SHAPES = table(vectors, ((), 1, 1), ((1,), 1, 4), ((3,), 3, 3), ((2, 3), 4, 5), ((), 11, 2))
NORMED_BATCH = [{"batch": (3,), "length": 2, "d_model": 4}]
NORMED_LARGE = table(vectors, ((), 2, 3, {"size": 1e3}), ((2,), 2, 4, {"shift": 1e6}))

NUMBERS = table(numbers, ((), 1, 3), ((), 3, 4), ((2,), 4, 5))
NUMBERS_SHAPES = table(numbers, ((), 1, 1), ((3,), 3, 3), ((2, 3), 2, 4))
NUMBERS_BATCH = [{"batch": (3,), "length": 2, "d_ff": 4}]
NUMBERS_LARGE = table(numbers, ((), 2, 3, 1e2), ((), 3, 4, 1e6))

FED = table(fed, ((), 1, 2, 3), ((), 3, 4, 5), ((2,), 4, 3, 6))
FED_SHAPES = table(fed, ((), 1, 1, 1), ((3,), 3, 3, 3), ((2, 3), 4, 5, 2))
FED_LARGE = table(fed, ((), 3, 4, 3, 1e3), ((2,), 2, 3, 5, 1e5))
FED_BATCH = [{"batch": (3,), "length": 2, "d_model": 4, "d_ff": 5}]

HEADS = table(attended, ((), 2, 2, 2), ((), 3, 2, 3), ((2,), 4, 3, 2))
HEADS_MASKED = [
    *table(attended, ((), 3, 2, 2, "causal"), ((), 4, 2, 3, "any"), ((3,), 5, 2, 2, "each")),
    *table(attended, ((3, 2), 3, 2, 2, "inner"), ((3,), 4, 2, 2, "one for all")),
    *table(attended, ((3,), 4, 2, 2, "keys"), ((), 3, 2, 2, "row")),
]
HEADS_LARGE = table(attended, ((), 3, 2, 2, "causal", 1e3), ((2,), 4, 2, 3, "causal", 1e5))
HEADS_SHAPES = [
    *table(attended, ((), 1, 1, 2), ((1,), 1, 4, 1, "causal"), ((3,), 3, 3, 3, "causal")),
    *table(attended, ((2, 3), 4, 2, 3, "each")),
]
HEADS_TIMED = [{"batch": (), "length": 5, "n_heads": 2, "d_head": 2, "mask": "causal"}]
HEADS_BATCH = [{"batch": (3,), "length": 3, "n_heads": 2, "d_head": 2, "mask": "causal"}]
EACH = [{"batch": (3,), "length": 3, "n_heads": 2, "d_head": 2, "mask": "each"}]

BLOCKS = table(block, ((), 2, 1, 3, 4), ((), 3, 2, 2, 5), ((2,), 4, 2, 3, 4))
SILENCED = [
    *table(block, ((), 2, 1, 3, 2, {"silent": "both"}), ((), 3, 2, 2, 3, {"silent": "attention"})),
    *table(block, ((2,), 3, 2, 2, 3, {"silent": "feed_forward"})),
]
BLOCKS_MASKED = [
    *table(block, ((), 4, 2, 2, 3, "any"), ((), 3, 1, 3, 2, "middle"), ((3,), 5, 2, 2, 3, "each")),
    *table(block, ((3,), 4, 2, 2, 3, "one for all"), ((3,), 4, 2, 2, 3, "keys")),
]
BLOCK_SHAPES = table(block, ((), 1, 1, 3, 1), ((3,), 3, 3, 3, 3), ((2, 3), 4, 2, 2, 5))
BLOCK_TIMED = table(block, ((), 5, 2, 2, 3), ((2,), 4, 2, 2, 3, "middle"))
BLOCK_LARGE = table(block, ((), 3, 2, 2, 3, {"size": 1e3}), ((2,), 4, 1, 3, 4, {"size": 1e5}))
BLOCK_BATCH = [{"batch": (3,), "length": 3, "n_heads": 2, "d_head": 2, "d_ff": 5}]
BLOCK_EACH = [{**BLOCK_BATCH[0], "mask": "each"}]


def test_norm_back_agree(student, given):
    """x, gain and bias get the gradients that autograd finds for layer norm."""
    laws.agrees(student.layer_norm_backward, given.cases(vectors, NORMED))


def test_norm_back_eps(student, given):
    """eps stands under the root, whatever it is, also where all features are alike."""
    laws.agrees(student.layer_norm_backward, given.cases(vectors, OTHER_EPS))


def test_norm_back_alone(student, given):
    """The gradient of each position's x depends on that position alone."""
    cases = given.cases(vectors, NORMED[1:2])
    function, batched = student.layer_norm_backward, ("x", "d_out")
    laws.rows_are_independent(function, cases, batched=batched, what="position", results=["d_x"])


def test_gelu_back_agree(student, given):
    """Each number gets the slope that autograd finds for the tanh form of gelu."""
    laws.agrees(student.gelu_backward, given.cases(numbers, NUMBERS))


def test_network_back_agree(student, given):
    """x and the four parameters get the gradients that autograd finds, under the same keys."""
    laws.agrees(student.feed_forward_backward, given.cases(fed, FED))


def test_heads_back_agree(student, given):
    """x and the eight parameters get the gradients that autograd finds, under the same keys."""
    laws.agrees(student.multi_head_attention_backward, given.cases(attended, HEADS))


def test_heads_back_mask(student, given):
    """Under any mask, the same for every head, the gradients are right."""
    laws.agrees(student.multi_head_attention_backward, given.cases(attended, HEADS_MASKED))


def test_heads_back_no_future(student, given):
    """Under a causal mask no loss has a gradient at a later position, in any head."""
    function = student.multi_head_attention_backward
    laws.no_gradient_from_the_future(function, given.cases(attended, HEADS_TIMED))


def test_block_back_agree(student, given):
    """x and all parameters get the gradients that autograd finds, under the same keys."""
    laws.agrees(student.decoder_block_backward, given.cases(block, BLOCKS))


def test_block_back_stream(student, given):
    """Past a sub-layer that adds nothing the gradient of the stream passes as it is."""
    laws.agrees(student.decoder_block_backward, given.cases(block, SILENCED))


def test_block_back_mask(student, given):
    """The mask that is given holds, whichever it is, in every sequence and every head."""
    laws.agrees(student.decoder_block_backward, given.cases(block, BLOCKS_MASKED))


def test_block_back_no_future(student, given):
    """Under a causal mask no loss reaches later positions, nor padded ones through their keys."""
    function, cases = student.decoder_block_backward, given.cases(block, BLOCK_TIMED)
    laws.no_gradient_from_the_future(function, cases)
    laws.no_gradient_through_padding(function, cases[1:], mask="mask")


test_norm_back_shapes = standard.in_any_shape("layer_norm_backward", vectors, NORMED_SHAPES)
test_norm_back_large = standard.when_large(
    "layer_norm_backward", vectors, NORMED_LARGE, cancels=False
)
test_norm_back_float32 = standard.in_float32("layer_norm_backward", vectors, NORMED[1:], norms=True)
test_norm_back_repeat = standard.when_repeated("layer_norm_backward", vectors, NORMED_BATCH)
test_norm_back_arguments = standard.untouched("layer_norm_backward", vectors, NORMED_BATCH)
test_gelu_back_shapes = standard.in_any_shape("gelu_backward", numbers, NUMBERS_SHAPES)
test_gelu_back_large = standard.when_large("gelu_backward", numbers, NUMBERS_LARGE)
test_gelu_back_float32 = standard.in_float32("gelu_backward", numbers, NUMBERS)
test_gelu_back_repeat = standard.when_repeated("gelu_backward", numbers, NUMBERS_BATCH)
test_gelu_back_arguments = standard.untouched("gelu_backward", numbers, NUMBERS_BATCH)
test_network_back_shapes = standard.in_any_shape("feed_forward_backward", fed, FED_SHAPES)
test_network_back_large = standard.when_large("feed_forward_backward", fed, FED_LARGE)
test_network_back_float32 = standard.in_float32("feed_forward_backward", fed, FED)
test_network_back_repeat = standard.when_repeated("feed_forward_backward", fed, FED_BATCH)
test_network_back_arguments = standard.untouched("feed_forward_backward", fed, FED_BATCH)
test_heads_back_shapes = standard.in_any_shape(
    "multi_head_attention_backward", attended, HEADS_SHAPES
)
test_heads_back_large = standard.when_large("multi_head_attention_backward", attended, HEADS_LARGE)
test_heads_back_float32 = standard.in_float32("multi_head_attention_backward", attended, HEADS)
test_heads_back_repeat = standard.when_repeated("multi_head_attention_backward", attended, EACH)
test_heads_back_arguments = standard.untouched("multi_head_attention_backward", attended, EACH)
test_block_back_shapes = standard.in_any_shape("decoder_block_backward", block, BLOCK_SHAPES)
test_block_back_large = standard.when_large("decoder_block_backward", block, BLOCK_LARGE)
test_block_back_float32 = standard.in_float32("decoder_block_backward", block, BLOCKS, norms=True)
test_block_back_repeat = standard.when_repeated("decoder_block_backward", block, BLOCK_EACH)
test_block_back_arguments = standard.untouched("decoder_block_backward", block, BLOCK_EACH)
test_norm_back_batch = standard.summed_over_a_batch("layer_norm_backward", vectors, NORMED_BATCH)
test_network_back_batch = standard.summed_over_a_batch("feed_forward_backward", fed, FED_BATCH)
test_heads_back_batch = standard.summed_over_a_batch(
    "multi_head_attention_backward", attended, HEADS_BATCH
)
test_block_back_batch = standard.summed_over_a_batch("decoder_block_backward", block, BLOCK_BATCH)
