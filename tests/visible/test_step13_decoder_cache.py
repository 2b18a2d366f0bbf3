"""Checks of step 13: a cache for every layer, and text written by the whole decoder."""

from functools import partial

from grader.checks import laws
from tests.visible import standard
from tests.visible.decoders import decoder
from tests.visible.sizes import table
from tests.visible.test_step08_generation import uses_cache

# A decoder's sizes; d_model is n_heads * d_head.
TINY = {"vocabulary": 3, "n_layers": 1, "n_heads": 1, "d_head": 4, "d_ff": 2}
SMALL = {"vocabulary": 5, "n_layers": 2, "n_heads": 2, "d_head": 3, "d_ff": 4}
OTHER = {"vocabulary": 4, "n_layers": 2, "n_heads": 3, "d_head": 2, "d_ff": 5}
DEEP = {"vocabulary": 4, "n_layers": 4, "n_heads": 2, "d_head": 3, "d_ff": 5}


def text(draw, batch, chunks, spare=2, left=None, **sizes):
    """Tokens, and a decoder with room for `spare` more, or for `left` of the last chunk."""
    t_max = sum(chunks) + spare if left is None else sum(chunks[:-1]) + left
    params = decoder(draw, t_max=t_max, **sizes)
    tokens = draw.tokens(sizes["vocabulary"], *batch, sum(chunks))
    return {"tokens": tokens, "params": params, "n_heads": sizes["n_heads"]}


def large_text(draw, batch, chunks, sign, size, **sizes):
    """Scores of about `size` in every layer; all of that sign if it is not 0."""
    arguments = text(draw, batch, chunks, **sizes)
    for block in arguments["params"]["blocks"]:
        attention = block["attention"]
        if sign:
            # So far from 0 that no key and no query of a normed vector has the other sign.
            attention["b_k"] = attention["b_k"] + 8 * sign
            attention["b_q"] = attention["b_q"] + 8
        for name in ("w_q", "b_q"):
            attention[name] = attention[name] * size
    return arguments


def prompt(draw, batch, t, n_new, spare=2, **sizes):
    """A prompt, and a decoder with room for `spare` tokens more than are asked for.

    What tokens see of each other counts for more than what they are themselves, and where they
    stand as well: otherwise each would be followed by itself, whatever came before.
    """
    params = decoder(draw, t_max=t + n_new + spare, **sizes)
    params["position"] *= 2
    for each in params["blocks"]:
        each["attention"]["w_o"] *= 4
    tokens = draw.tokens(sizes["vocabulary"], *batch, t)
    return {"prompt": tokens, "n_new": n_new, "params": params, "n_heads": sizes["n_heads"]}


def prompt_and_u(draw, batch, t, n_new, temperature=0.0, top_k=None, **sizes):
    """The same, with a random number for each new token; a `top_k` of 0 is left out."""
    arguments = prompt(draw, batch, t, n_new, **sizes)
    options = {"temperature": temperature, "u": draw.uniform(*batch, n_new)}
    return arguments | options | ({"top_k": top_k} if top_k != 0 else {})


def in_chunks(student, case):
    """The student's two functions as one function of a whole text."""
    fresh = partial(student.new_decoder_cache, len(case.arguments["params"]["blocks"]))
    return laws.InChunks(student.decoder_step, fresh, "decoder_logits", case.sizes["chunks"])


# chunks: how many tokens each call gets. A text is as long as its chunks together.
PLAIN = table(text, (TINY, (), (2, 1)), (SMALL, (), (3, 1)), (OTHER, (), (4, 1)))
# A norm divides by the spread of a vector, which is small more often where it has few numbers.
IN_FLOAT32 = [{**PLAIN[0], "d_head": 6}, *PLAIN[1:]]
ONE_BY_ONE = table(text, (SMALL, (), (1, 1, 1)), (OTHER, (), (1,) * 11))
CHUNKS = [
    *table(text, (SMALL, (), (2, 2)), (OTHER, (), (3, 3, 2)), (SMALL, (), (5, 1, 1))),
    *table(text, (OTHER, (), (1, 12, 5)), (SMALL, {"vocabulary": 2}, (), (1, 30, 9))),
]
LAYERS = [
    *table(text, (SMALL, {"n_layers": 1}, (), (2, 1)), (SMALL, {"n_layers": 3}, (), (2, 1))),
    *table(text, (DEEP, (), (2, 1, 2))),
]
SHAPES = [
    {**TINY, "batch": (), "chunks": (1,), "vocabulary": 1, "d_ff": 1},
    {**SMALL, "batch": (1,), "chunks": (1, 2), "d_head": 1, "vocabulary": 2},
    {**SMALL, "batch": (3,), "chunks": (3, 3), "vocabulary": 3, "n_heads": 3, "d_ff": 3},
    {**OTHER, "batch": (2, 4), "chunks": (4, 1, 2)},
]
LIMITS = table(text, (SMALL, (), (3,), 0), (SMALL, (), (2, 1, 1), 0), (OTHER, (2,), (3, 2), 0))
TOO_LONG = [
    *table(text, (SMALL, (), (3,), -1), (SMALL, (), (3, 1), -1), (OTHER, (2,), (1, 3, 4), -3)),
    # A single position left, which NumPy would stretch over all tokens of the chunk. The first
    # chunk is the longer one: the table has room for the second by itself, whatever the seed.
    *table(text, (SMALL, (), (3, 2)), (OTHER, (), (3,)), left=1),
]
GROWING = {**SMALL, "batch": ()}
BATCH = [{**SMALL, "batch": (3,), "chunks": (2, 1)}]
TIMED = [{**SMALL, "batch": (), "chunks": (3, 3)}]
LARGE = [
    *table(large_text, (SMALL, (), (2, 2), 0, 1e3), (SMALL, (), (2, 2), -1, 2e3)),
    *table(large_text, (OTHER, (2,), (3, 1), 0, 3e4)),
]

WRITTEN = [
    {**TINY, "batch": (), "t": 2, "n_new": 3, "vocabulary": 7},
    {**SMALL, "batch": (), "t": 4, "n_new": 7, "vocabulary": 9, "n_layers": 3},
    {**OTHER, "batch": (), "t": 3, "n_new": 8, "vocabulary": 13},
]
SAMPLED = [
    {**WRITTEN[0], "vocabulary": 5, "temperature": 2.0, "top_k": None},
    {**WRITTEN[1], "temperature": 3.0, "top_k": None},
    {**WRITTEN[1], "batch": (2,), "temperature": 4.0, "top_k": None},
    {**WRITTEN[2], "batch": (4,), "temperature": 4.0, "top_k": 5},
    {**WRITTEN[2], "temperature": 4.0, "top_k": 2},
    {**WRITTEN[0], "batch": (2, 2), "temperature": 4.0, "top_k": 9},  # more than there are
    {**WRITTEN[2], "temperature": 0.7, "top_k": None},
    {**WRITTEN[0], "temperature": 2.0, "top_k": 1},
    # Each of so many tokens may be drawn if the caller says nothing of top_k.
    {**WRITTEN[0], "batch": (4,), "vocabulary": 60, "temperature": 4.0, "top_k": 0},
]
WITH_UNUSED_U = [WRITTEN[0], {**WRITTEN[2], "top_k": 3}]
# Nearly all ids are as probable as each other, so that every number in u tells.
UNDECIDED = [{**WRITTEN[1], "n_new": 4, "temperature": 50.0, "top_k": None}]
TEXT_SHAPES = [
    {**TINY, "batch": (), "t": 1, "n_new": 1, "vocabulary": 1, "d_ff": 1},
    {**SMALL, "batch": (1,), "t": 1, "n_new": 2, "d_head": 1},
    {**SMALL, "batch": (3,), "t": 3, "n_new": 3, "vocabulary": 3, "n_heads": 3, "d_ff": 3},
    {**OTHER, "batch": (2, 3), "t": 1, "n_new": 10, "vocabulary": 7},
]
TEXT_LIMITS = [
    *table(prompt, (WRITTEN[0], {"n_new": 0}), (WRITTEN[1], {"batch": (2,), "n_new": 0}, 0)),
    *table(prompt, (WRITTEN[0], 0), (WRITTEN[1], {"batch": (2,)}, 0)),
]
TEXT_TOO_LONG = table(
    prompt, (WRITTEN[0], -1), (WRITTEN[1], -3, {"batch": (2,)}), (WRITTEN[1], -1, {"n_new": 0})
)
TEXT_BATCH = [{**WRITTEN[1], "batch": (3,), "temperature": 4.0, "top_k": 4}]
LONG = [{**SMALL, "batch": (), "t": 2, "n_new": 20}]


def test_step_agree(student, given):
    """After a prompt, one more token gets the last row of decoder_logits over all tokens."""
    standard.agrees_in_parts(student, in_chunks, given.cases(text, PLAIN))


def test_step_one_by_one(student, given):
    """Token by token gives the same as decoder_logits over the whole text."""
    standard.agrees_in_parts(student, in_chunks, given.cases(text, ONE_BY_ONE))


def test_step_chunks(student, given):
    """However a text is cut into chunks, every row is that of decoder_logits over all of it."""
    standard.agrees_in_parts(student, in_chunks, given.cases(text, CHUNKS))


def test_step_layers(student, given):
    """Every layer has keys and values of its own, however many layers there are."""
    standard.agrees_in_parts(student, in_chunks, given.cases(text, LAYERS))


def test_step_new_only(student, given):
    """Only the new tokens go through the layers, however many came before."""
    weights = ("w_q", "w_k", "w_v", "w_in", "w_out")
    for new in (1, 3):
        both = [{**GROWING, "chunks": (old, new)} for old in (2, 40)]
        cases = [given.case(text, 0, sizes, "growing") for sizes in both]  # as wide as each other
        functions = [in_chunks(student, case) for case in cases]
        laws.new_tokens_only(functions, cases, weights=weights)


def test_step_limits(student, given):
    """Exactly T_max tokens in all are allowed, in one chunk or in several."""
    standard.agrees_in_parts(student, in_chunks, given.cases(text, LIMITS))


def test_writing_agree(student, given):
    """At temperature 0 each new token is the one with the largest logit of decoder_logits."""
    laws.agrees(student.decoder_generate, given.cases(prompt, WRITTEN))
    with_u = given.cases(prompt_and_u, WITH_UNUSED_U)
    laws.agrees(student.decoder_generate, [*with_u, *(case.changed(u=None) for case in with_u[:2])])


def test_writing_no_future(student, given):
    """A new token depends neither on the u of later tokens nor on how many will follow."""
    cases = given.cases(prompt_and_u, UNDECIDED)
    function = laws.continued(student.decoder_generate)
    laws.future_does_not_matter(function, cases, along={"u": -1}, axis=-1, sizes=(1.0,))
    laws.prefix_gives_the_same(function, cases, along={"u": -1}, axis=-1)


def test_writing_rows(student, given):
    """Each text of a batch is continued by itself."""
    ask, cases = laws.continued(student.decoder_generate), given.cases(prompt_and_u, TEXT_BATCH)
    laws.rows_are_independent(ask, cases, batched=("prompt", "u"))


def test_writing_sampled(student, given):
    """Above temperature 0 each new token is drawn by sample_token with its own number of u."""
    laws.agrees(student.decoder_generate, given.cases(prompt_and_u, SAMPLED))


def test_writing_shapes(student, given):
    """Any number of batch axes, a prompt of one token, and a single new token."""
    laws.agrees(student.decoder_generate, given.cases(prompt, TEXT_SHAPES))


def test_writing_limits(student, given):
    """No new tokens give the prompt back, and exactly T_max tokens in all are allowed."""
    laws.agrees(student.decoder_generate, given.cases(prompt, TEXT_LIMITS))


def test_writing_through_cache(student, given):
    """In no layer are old tokens projected again for every new one: they come from the cache."""
    weights = ("w_q", "w_k", "w_v", "w_in")
    uses_cache(student.decoder_generate, given.cases(prompt, LONG)[0], weights)


def test_writing_errors(student, given):
    """More than T_max tokens in all, or a temperature above 0 without u, is a ValueError."""
    too_long = given.cases(prompt, TEXT_TOO_LONG)
    laws.rejects(student.decoder_generate, too_long, "The text becomes longer than T_max")
    without = [case.changed(temperature=0.8) for case in given.cases(prompt, WRITTEN[:1])]
    laws.rejects(student.decoder_generate, without, "The temperature is above 0, and there is no u")


test_step_rows = standard.in_a_batch(in_chunks, text, BATCH, batched=("tokens",))
test_step_shapes = standard.in_any_shape(in_chunks, text, SHAPES)
test_step_large = standard.when_large(in_chunks, large_text, LARGE)
test_step_float32 = standard.in_float32(in_chunks, text, IN_FLOAT32, norms=True)
test_step_arguments = standard.untouched(in_chunks, text, BATCH + TIMED)
test_writing_repeat = standard.when_repeated("decoder_generate", prompt_and_u, TEXT_BATCH)
test_writing_arguments = standard.untouched("decoder_generate", prompt_and_u, TEXT_BATCH)
test_step_errors = standard.refused(in_chunks, text, TOO_LONG, "The text is longer than T_max")
test_step_no_future = standard.no_future(in_chunks, text, TIMED, along={"tokens": -1})
test_step_separate = standard.separate(in_chunks, text, TIMED, salt="another text")
