"""Checks of step 12: the decoder."""

from grader.checks import laws
from tests.visible import decoders, masks, standard
from tests.visible.decoders import widths
from tests.visible.sizes import table

WIDTHS = widths(2, 2, 6)


def decoder(draw, batch, length, vocabulary, n_layers, padding=None, spare=3, size=1.0, **more):
    """Texts with a token 0, and a decoder that has `spare` more positions than they have tokens."""
    tokens = draw.tokens(vocabulary, *batch, length)
    tokens[..., length // 2] = 0
    sizes = {"vocabulary": vocabulary, "n_layers": n_layers, **more}
    params = decoders.decoder(draw, t_max=max(1, length + spare), **sizes)
    for layer in params["blocks"]:
        layer["attention"]["w_k"] = layer["attention"]["w_k"] * size
    arguments = {"tokens": tokens, "params": params, "n_heads": more["n_heads"]}
    if padding is None:
        return arguments
    places = ("middle", "start", "none", "end", "all")
    return arguments | {"padding": masks.padding(padding, batch, length, places)}


ONE_BLOCK = table(decoder, ((), 2, 5, 1), ((), 4, 6, 1), ((2,), 3, 7, 1), **WIDTHS)
TIMED = table(decoder, ((), 4, 5, 2), ((), 11, 6, 3), **WIDTHS)
TIMED_PADDED = table(decoder, (WIDTHS, (2,), 4, 5, 2, "each"))
STACKS = table(decoder, ((), 2, 5, 2), ((), 3, 6, 3), ((3,), 4, 5, 4), **WIDTHS)
# A norm divides by the spread of a vector, which is small more often where it has few numbers.
IN_FLOAT32 = [{**sizes, "d_head": 3} for sizes in (ONE_BLOCK[0], *STACKS[:2])]
PADDED = [
    *table(decoder, (WIDTHS, (), 3, 5, 1, "middle"), (WIDTHS, (), 4, 6, 2, "start")),
    *table(decoder, (WIDTHS, (5,), 5, 6, 2, "each"), (WIDTHS, (2, 3), 4, 5, 3, "each")),
    *table(decoder, (WIDTHS, (), 3, 5, 1, "all")),
]
BATCH = [{"batch": (3,), "length": 4, "vocabulary": 6, "n_layers": 2, **WIDTHS}]
PADDED_BATCH = [{**BATCH[0], "padding": "each"}]
SHAPES = table(
    decoder,
    (widths(1, 2, 3), (), 1, 3, 1),
    (widths(1, 4, 2), (1,), 1, 5, 2),
    (widths(3, 1, 3), (3,), 3, 3, 3),
    (widths(3, 2, 5), (2, 3), 4, 7, 2),
    (widths(2, 3, 4), (), 12, 5, 2),
    (WIDTHS, (), 40, 2, 1),
)
FULL = table(decoder, ((), 1, 3, 1), ((2,), 5, 6, 2), **WIDTHS, spare=0)
# Never less than one position.
TOO_LONG = [
    *table(decoder, (WIDTHS, (), 4, 6, 1, {"spare": -1}), (WIDTHS, (), 3, 5, 1, {"spare": -99})),
    *table(decoder, (WIDTHS, (3,), 5, 6, 2, {"spare": -2})),
]
LARGE = [
    *table(decoder, (WIDTHS, (), 3, 5, 1, {"size": 1e3}), (WIDTHS, (), 4, 5, 2, {"size": 1e3})),
    *table(decoder, (WIDTHS, (2,), 5, 6, 2, {"size": 1e5})),
]


def test_decoder_agree(student, given):
    """One block: embedding plus position, the block, the last norm, then embedding.T."""
    laws.agrees(student.decoder_logits, given.cases(decoder, ONE_BLOCK))


def test_decoder_no_future(student, given):
    """No block lets logits depend on later tokens, with padding or without."""
    plain, padded = given.cases(decoder, TIMED), given.cases(decoder, TIMED_PADDED)
    function = student.decoder_logits
    laws.future_does_not_matter(function, plain, along={"tokens": -1})
    laws.future_does_not_matter(function, padded, along={"tokens": -1, "padding": -1})


def test_decoder_blocks(student, given):
    """All blocks run, in the order of the list, each on what the one before it returned."""
    laws.agrees(student.decoder_logits, given.cases(decoder, STACKS))


def test_decoder_padding(student, given):
    """Padding hides its keys in every block, wherever it stands, and never a query."""
    laws.agrees(student.decoder_logits, given.cases(decoder, PADDED))


def test_decoder_prefix(student, given):
    """The first tokens by themselves give the same logits as within the whole text."""
    function = student.decoder_logits
    laws.prefix_gives_the_same(function, given.cases(decoder, TIMED[:1]), along={"tokens": -1})
    padded = given.cases(decoder, TIMED_PADDED)
    laws.prefix_gives_the_same(function, padded, along={"tokens": -1, "padding": -1})


def test_decoder_rows(student, given):
    """The logits of one text in a batch do not depend on the other texts."""
    function = student.decoder_logits
    laws.rows_are_independent(function, given.cases(decoder, BATCH), batched=["tokens"])
    padded = given.cases(decoder, PADDED_BATCH)
    laws.rows_are_independent(function, padded, batched=("tokens", "padding"))


def test_decoder_errors(student, given):
    """T_max tokens are allowed; more are a ValueError."""
    laws.agrees(student.decoder_logits, given.cases(decoder, FULL))
    cases = given.cases(decoder, TOO_LONG)
    laws.rejects(student.decoder_logits, cases, "There are more tokens than positions")


test_decoder_shapes = standard.in_any_shape("decoder_logits", decoder, SHAPES)
test_decoder_large = standard.when_large("decoder_logits", decoder, LARGE)
test_decoder_float32 = standard.in_float32("decoder_logits", decoder, IN_FLOAT32, norms=True)
test_decoder_repeat = standard.when_repeated("decoder_logits", decoder, BATCH)
# Without a batch axis, what is looked up has the shape of what it is added to.
test_decoder_arguments = standard.untouched("decoder_logits", decoder, PADDED_BATCH + STACKS[:1])
