"""Checks of step 25: a decoder of the Llama family, and its cache."""

from functools import partial

from grader.checks import laws
from tests.visible import standard
from tests.visible.sizes import table
from tests.visible.test_step09_heads import a_mask


def vectors(draw, batch, length, d_model, eps=None, size=1.0, zero=False):
    """Features that are not centred, and a gain that is not 1."""
    x = (draw.normal(*batch, length, d_model) + 0.5) * size
    if zero:
        x[..., 0, :] = 0
    arguments = {"x": x, "gain": 1 + draw.normal(d_model) / 4}
    return arguments if eps is None else {**arguments, "eps": eps}


def gated(draw, batch, length, d_model, d_ff, size=1.0):
    """Features and a gated network."""
    x = draw.normal(*batch, length, d_model) * size
    return {"x": x, "params": network(draw, d_model, d_ff)}


def shut(draw, batch, length, d_model, d_ff, size):
    """Features and a network all of whose gates are far below 0, so that nothing gets through."""
    x = (1.0 + draw.uniform(*batch, length, d_model)) * size
    params = network(draw, d_model, d_ff)
    return {"x": x, "params": {**params, "w_gate": -1.0 - draw.uniform(d_model, d_ff)}}


def network(draw, d_model, d_ff):
    """The parameters of a gated network."""
    return {
        "w_gate": draw.normal(d_model, d_ff),
        "w_up": draw.normal(d_model, d_ff),
        "w_down": draw.normal(d_ff, d_model) / 2,
    }


def a_block(draw, kv_heads, repeats, d_model, half, d_ff, size=1.0):
    """The parameters of one block; its scores are a few units in size, times `size`."""
    n_heads, d_head = kv_heads * repeats, 2 * half
    attention = {
        "w_q": draw.normal(d_model, n_heads * d_head) / 2,
        "w_k": draw.normal(d_model, kv_heads * d_head) / 2 * size,
        "w_v": draw.normal(d_model, kv_heads * d_head),
        "w_o": draw.normal(n_heads * d_head, d_model) / 2,
    }
    return {
        "norm_1": 1 + draw.normal(d_model) / 4,
        "attention": attention,
        "norm_2": 1 + draw.normal(d_model) / 4,
        "feed_forward": network(draw, d_model, d_ff),
    }


def blocked(draw, batch, length, mask, eps=None, turns=True, **sizes):
    """Features, a block, a mask of that kind, and angles, or None instead of them."""
    arguments = {
        "x": draw.normal(*batch, length, sizes["d_model"]),
        "params": a_block(draw, **sizes),
        "n_heads": sizes["kv_heads"] * sizes["repeats"],
        "n_kv_heads": sizes["kv_heads"],
        "mask": None if mask is None else a_mask(draw, mask, batch, length, length),
        "angles": draw.normal(length, sizes["half"]) * 2 if turns else None,
    }
    return arguments if eps is None else {**arguments, "eps": eps}


def model(draw, vocabulary, n_layers, **sizes):
    """The parameters of a whole decoder."""
    d_model = sizes["d_model"]
    return {
        "embedding": draw.normal(vocabulary, d_model),
        "blocks": [a_block(draw, **sizes) for _ in range(n_layers)],
        "norm_f": 1 + draw.normal(d_model) / 4,
        "w_out": draw.normal(d_model, vocabulary),
    }


def text(draw, batch, length, vocabulary, n_layers, base=None, eps=None, **sizes):
    """Tokens and a decoder, and a base and an eps where they are wanted."""
    arguments = {
        "tokens": draw.tokens(vocabulary, *batch, length),
        "params": model(draw, vocabulary, n_layers, **sizes),
        "n_heads": sizes["kv_heads"] * sizes["repeats"],
        "n_kv_heads": sizes["kv_heads"],
    }
    options = {"base": base, "eps": eps}
    return arguments | {name: value for name, value in options.items() if value is not None}


def chunked(draw, batch, chunks, vocabulary, n_layers, **sizes):
    """A text as long as the chunks together."""
    return text(draw, batch, sum(chunks), vocabulary, n_layers, **sizes)


def in_chunks(student, case):
    """The student's two functions as one function of a whole text."""
    fresh = partial(student.new_llama_cache, len(case.arguments["params"]["blocks"]))
    return laws.InChunks(student.llama_step, fresh, "llama_logits", case.sizes["chunks"])


VECTORS = table(vectors, ((), 2, 3), ((), 3, 4))
EPS = table(vectors, ((2,), 3, 4, 2.0), ((), 2, 3, 0.1), ((), 3, 2, {"zero": True}))
VECTOR_SHAPES = table(vectors, ((), 1, 1), ((1,), 1, 3), ((3,), 3, 3), ((2, 3), 4, 5), ((), 11, 6))
VECTOR_TIMED = table(vectors, ((), 4, 3), ((2,), 3, 5))
VECTOR_LARGE = table(vectors, ((), 3, 4, {"size": 1e3}), ((2,), 3, 5, {"size": 1e6}))

GATED = table(gated, ((), 1, 1, 2), ((), 3, 4, 6))
GATED_SHAPES = table(gated, ((), 1, 1, 1), ((3,), 3, 3, 3), ((2, 3), 4, 5, 2), ((), 11, 2, 7))
GATED_TIMED = [{"batch": (2,), "length": 4, "d_model": 3, "d_ff": 5}]
GATED_LARGE = table(gated, ((), 3, 3, 4, 1e3), ((2,), 4, 2, 3, 1e6))
GATED_SHUT = table(shut, ((), 2, 1, 2, 30.0), ((2,), 3, 2, 3, 1e3))

# n_heads is kv_heads * repeats, and d_head is 2 * half.
SMALL = {"kv_heads": 2, "repeats": 2, "d_model": 5, "half": 1, "d_ff": 6}
OTHER = {"kv_heads": 2, "repeats": 3, "d_model": 7, "half": 2, "d_ff": 4}
TINY = {"kv_heads": 1, "repeats": 1, "d_model": 2, "half": 1, "d_ff": 1}
BLOCKS = table(blocked, (SMALL, (), 2, "causal"), (OTHER, (2,), 4, "causal"))
BLOCK_MASKS = [
    *table(blocked, (OTHER, (), 3, "causal", {"turns": False}), (SMALL, (), 3, "matrix")),
    *table(blocked, (OTHER, (2,), 4, "full"), (SMALL, (), 3, None)),
    *table(blocked, (OTHER, (3,), 3, "one for all"), (SMALL, (5,), 6, "padded")),
]
BLOCK_EPS = table(blocked, (SMALL, (), 3, "causal", 0.3), (OTHER, (2,), 3, "causal", 2.0))
BLOCK_SHAPES = table(blocked, (TINY, (), 1), (SMALL, (1,), 1), (OTHER, (2, 3), 4), mask="causal")
BLOCK_BATCH = [{**SMALL, "batch": (3,), "length": 4, "mask": "full"}]

ONE_FOR_ALL_HEADS = {**SMALL, "kv_heads": 1, "repeats": 3, "vocabulary": 5, "n_layers": 1}
MODELS = [
    *table(text, (TINY, (), 2, 3, 1), (SMALL, (), 3, 5, 1), (OTHER, (2,), 4, 6, 1)),
    *table(text, (ONE_FOR_ALL_HEADS, (), 4)),
]
# A norm divides by the size of a vector, which is small more often where it has few numbers.
MODELS_IN_FLOAT32 = [{**MODELS[0], "d_model": 6}, *MODELS[1:]]
STACKS = table(text, (SMALL, (), 3, 5, {"n_layers": 2}), (OTHER, (2,), 4, 4, {"n_layers": 3}))
OPTIONS = [
    *table(text, (OTHER, (), 4, 5, 1, 3.0), (SMALL, (), 3, 5, 2, {"eps": 0.5})),
    *table(text, (OTHER, (2,), 5, 4, 2, 50.0, 0.1)),
]
MODEL_SHAPES = [
    *table(text, (TINY, (), 1, 1, 1), (SMALL, (1,), 1, 2, 2), (SMALL, (3,), 3, 3, 3)),
    *table(text, (OTHER, (2, 3), 4, 5, 2), (SMALL, (), 17, 5, 2)),
]
MODEL_TIMED = table(text, (SMALL, (), 4, 5, {"n_layers": 2}), (OTHER, (), 7, 6, {"n_layers": 3}))
MODEL_BATCH = [{**SMALL, "batch": (3,), "length": 4, "vocabulary": 6, "n_layers": 2}]
MODEL_LARGE = table(
    text, (SMALL, (), 3, 5, 1, {"size": 1e3}), (OTHER, (2,), 4, 5, 2, {"size": 1e5})
)

# chunks: how many tokens each call gets. A text is as long as its chunks together.
PLAIN = table(chunked, (TINY, (2, 1), 3, 1), (SMALL, (3, 1), 5, 1), (OTHER, (4, 1), 6, 2), batch=())
STEPS_IN_FLOAT32 = [{**PLAIN[0], "d_model": 6}, *PLAIN[1:]]
ONE_BY_ONE = table(chunked, (SMALL, (), (1, 1, 1), 5, 2), (OTHER, (), (1,) * 9, 5, 1))
CHUNKS = [
    *table(chunked, (SMALL, (), (2, 2), 5, 1), (OTHER, (), (3, 3, 2), 4, 2)),
    *table(chunked, (SMALL, (), (5, 1, 1), 6, 2), (SMALL, (), (1, 12, 5), 5, 1)),
    *table(chunked, (ONE_FOR_ALL_HEADS, (), (2, 1))),
]
LAYERS = table(chunked, (SMALL, (), (2, 1), 5, 3), (OTHER, (), (2, 1, 2), 5, 4))
STEP_OPTIONS = table(
    chunked, ((), (3, 2), 5, 1, {"half": 2, "base": 3.0}), ((), (2, 2), 5, 2, {"eps": 0.5}), **SMALL
)
STEP_SHAPES = [
    *table(chunked, (TINY, (), (1,), 1, 1), (SMALL, (1,), (1, 2), 2, 2)),
    *table(chunked, (SMALL, (3,), (3, 3), 3, 3), (OTHER, (2, 4), (4, 1, 2), 5, 2)),
]
STEP_BATCH = [{**SMALL, "batch": (3,), "chunks": (2, 1), "vocabulary": 6, "n_layers": 2}]
STEP_TIMED = [{**SMALL, "batch": (), "chunks": (3, 3), "vocabulary": 6, "n_layers": 2}]
STEP_LARGE = table(
    chunked, (SMALL, (), (2, 2), 5, 1, {"size": 1e3}), (OTHER, (2,), (3, 1), 5, 2, {"size": 1e5})
)
GROWING = {**SMALL, "batch": (), "vocabulary": 6, "n_layers": 2}


def test_rms_agree(student, given):
    """Features divided by the root of their mean square, times the gain."""
    laws.agrees(student.rms_norm, given.cases(vectors, VECTORS))


def test_rms_eps(student, given):
    """eps is added to the mean square, inside the root."""
    laws.agrees(student.rms_norm, given.cases(vectors, EPS))


def test_swiglu_agree(student, given):
    """Silu of the gate times the other map, then w_down."""
    laws.agrees(student.swiglu, given.cases(gated, GATED))


def test_swiglu_shapes(student, given):
    """Any number of batch axes and sizes of 1 give (..., T, d_model)."""
    laws.agrees(student.swiglu, given.cases(gated, GATED_SHAPES))


def test_swiglu_large(student, given):
    """Features of up to a million, of either sign, give finite and right results."""
    laws.stays_right_when_large(student.swiglu, given.cases(gated, GATED_LARGE))
    laws.agrees(student.swiglu, given.cases(shut, GATED_SHUT))


def test_layer_agree(student, given):
    """Attention and network read the normed stream, and each is added to the stream."""
    laws.agrees(student.llama_block, given.cases(blocked, BLOCKS))


def test_layer_mask(student, given):
    """The mask goes to the attention as it is, as do the angles; either may be None."""
    laws.agrees(student.llama_block, given.cases(blocked, BLOCK_MASKS))


def test_layer_eps(student, given):
    """Both norms use the eps that the block is given."""
    laws.agrees(student.llama_block, given.cases(blocked, BLOCK_EPS))


def test_llama_agree(student, given):
    """One block: the embedding, the block, the last norm, then w_out."""
    laws.agrees(student.llama_logits, given.cases(text, MODELS))


def test_llama_blocks(student, given):
    """All blocks run, in the order of the list, each on what the one before it returned."""
    laws.agrees(student.llama_logits, given.cases(text, STACKS))


def test_llama_options(student, given):
    """base sets the speeds of the angles, and eps is that of every norm."""
    laws.agrees(student.llama_logits, given.cases(text, OPTIONS))


def test_llama_shapes(student, given):
    """Any number of batch axes and sizes of 1 give (..., T, V)."""
    laws.agrees(student.llama_logits, given.cases(text, MODEL_SHAPES))


def test_llama_step_agree(student, given):
    """After a prompt, one more token gets the last row of llama_logits over all tokens."""
    standard.agrees_in_parts(student, in_chunks, given.cases(chunked, PLAIN))


def test_llama_step_one_by_one(student, given):
    """Token by token gives the same as llama_logits over the whole text."""
    standard.agrees_in_parts(student, in_chunks, given.cases(chunked, ONE_BY_ONE))


def test_llama_step_chunks(student, given):
    """However a text is cut into chunks, every row is that of llama_logits over all of it."""
    standard.agrees_in_parts(student, in_chunks, given.cases(chunked, CHUNKS))


def test_llama_step_layers(student, given):
    """Every layer has keys and values of its own, however many layers there are."""
    standard.agrees_in_parts(student, in_chunks, given.cases(chunked, LAYERS))


def test_llama_step_options(student, given):
    """base and eps mean what they mean in llama_logits."""
    standard.agrees_in_parts(student, in_chunks, given.cases(chunked, STEP_OPTIONS))


def test_llama_step_new_only(student, given):
    """Only the new tokens go through the layers, however many came before."""
    weights = ("w_q", "w_k", "w_v", "w_gate", "w_up", "w_down")
    for new in (1, 3):
        both = [{**GROWING, "chunks": (old, new)} for old in (2, 40)]
        cases = [given.case(chunked, 0, sizes, 0) for sizes in both]  # as wide as each other
        functions = [in_chunks(student, case) for case in cases]
        laws.new_tokens_only(functions, cases, weights=weights)


test_rms_shapes = standard.in_any_shape("rms_norm", vectors, VECTOR_SHAPES)
test_rms_large = standard.when_large("rms_norm", vectors, VECTOR_LARGE)
test_rms_float32 = standard.in_float32("rms_norm", vectors, VECTORS, norms=True)
test_rms_repeat = standard.when_repeated("rms_norm", vectors, VECTORS)
test_rms_arguments = standard.untouched("rms_norm", vectors, VECTOR_TIMED)
test_swiglu_float32 = standard.in_float32("swiglu", gated, GATED)
test_swiglu_repeat = standard.when_repeated("swiglu", gated, GATED)
test_swiglu_arguments = standard.untouched("swiglu", gated, GATED_TIMED)
test_layer_shapes = standard.in_any_shape("llama_block", blocked, BLOCK_SHAPES)
test_layer_rows = standard.in_a_batch("llama_block", blocked, BLOCK_BATCH, batched=("x", "mask"))
test_layer_float32 = standard.in_float32("llama_block", blocked, BLOCKS, norms=True)
test_layer_repeat = standard.when_repeated("llama_block", blocked, BLOCK_BATCH)
test_layer_arguments = standard.untouched("llama_block", blocked, BLOCK_BATCH)
test_llama_rows = standard.in_a_batch("llama_logits", text, MODEL_BATCH, batched=["tokens"])
test_llama_large = standard.when_large("llama_logits", text, MODEL_LARGE)
test_llama_float32 = standard.in_float32("llama_logits", text, MODELS_IN_FLOAT32, norms=True)
test_llama_repeat = standard.when_repeated("llama_logits", text, MODEL_BATCH)
test_llama_arguments = standard.untouched("llama_logits", text, MODEL_BATCH)
test_llama_step_rows = standard.in_a_batch(in_chunks, chunked, STEP_BATCH, batched=("tokens",))
test_llama_step_shapes = standard.in_any_shape(in_chunks, chunked, STEP_SHAPES)
test_llama_step_large = standard.when_large(in_chunks, chunked, STEP_LARGE)
test_llama_step_float32 = standard.in_float32(in_chunks, chunked, STEPS_IN_FLOAT32, norms=True)
test_llama_step_arguments = standard.untouched(in_chunks, chunked, STEP_BATCH)
test_rms_no_future = standard.no_future("rms_norm", vectors, VECTOR_TIMED, along={"x": -2})
test_swiglu_no_future = standard.no_future("swiglu", gated, GATED_TIMED, along={"x": -2})
test_layer_no_future = standard.no_future(
    "llama_block", blocked, BLOCKS, along={"x": -2, "angles": -2}
)
test_llama_no_future = standard.no_future("llama_logits", text, MODEL_TIMED, along={"tokens": -1})
test_llama_prefix = standard.prefix_alone("llama_logits", text, MODEL_TIMED, along={"tokens": -1})
test_llama_step_no_future = standard.no_future(in_chunks, chunked, STEP_TIMED, along={"tokens": -1})
test_llama_step_separate = standard.separate(in_chunks, chunked, STEP_TIMED, salt="another")
