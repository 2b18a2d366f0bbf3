"""Checks of step 18: the loss of a decoder, and its gradient for every parameter."""

import numpy as np

from grader.checks import laws
from tests.visible import decoders, standard
from tests.visible.decoders import widths
from tests.visible.sizes import table
from tests.visible.test_step06_loss import makes_one_pass

WIDTHS = widths(2, 2, 5)


def texts(
    draw, batch, length, vocabulary, n_layers, spare=2, ignored=None, repeated=False, size=1, **more
):
    """Texts and a decoder that has `spare` more positions; logits of a few units times `size`.

    A text has `length` tokens, so the decoder reads one less.
    """
    sizes = {"vocabulary": vocabulary, "n_layers": n_layers, **more}
    params = decoders.decoder(draw, t_max=max(1, length + spare), **sizes)
    params["embedding"] = params["embedding"] * size
    tokens = draw.tokens(vocabulary, *batch, length)
    if repeated:
        tokens[..., :-1] = draw.tokens(2, *batch, 1) + np.arange(length - 1) % 2
        tokens[..., -1] = vocabulary - 1
    arguments = {"tokens": tokens, "params": params, "n_heads": more["n_heads"]}
    if ignored is None:
        return arguments
    ignore_id = {"zeros": 0, "minus 1": -1, "none": vocabulary + 5}.get(ignored, 1)
    if ignored in ("some", "zeros"):  # a different number of them in each sequence
        count = int(np.prod(batch))
        rows = np.arange(count).reshape(*batch, 1) % (length - 2)
        tokens[...] = np.where(tokens == ignore_id, 2, tokens)
        tokens[...] = np.where(np.arange(length) > length - 2 - rows, ignore_id, tokens)
        tokens[..., 0] = ignore_id
    elif ignored == "all":
        tokens[..., 1:] = ignore_id
    return {**arguments, "ignore_id": ignore_id}


def cut_off(case, t):
    """The case with the only target that counts at t, or before it: later ones are all ignored."""
    tokens = case.arguments["tokens"].copy()
    unused = int(case.sizes["vocabulary"]) - 1
    tokens[tokens == unused] = 0
    tokens[..., t + 2 :] = unused
    return {**case.arguments, "tokens": tokens, "ignore_id": unused}


def position_gradient(value):
    """The gradient of the position table, in what decoder_loss_and_gradients returns."""
    grads = value[1] if isinstance(value, (tuple, list)) and len(value) == 2 else None
    return grads.get("position") if isinstance(grads, dict) else None


PLAIN = table(texts, ((), 3, 5, 1), ((), 5, 7, 1), ((2,), 4, 6, 2), **WIDTHS)
STACKS = table(texts, ((), 3, 5, 2), ((), 4, 6, 3), ((), 3, 4, 0), **WIDTHS)
# A token that is read several times, one that is a target only, and some that do not occur.
TIED = table(texts, ((), 5, 9, 1), ((2,), 4, 11, 1), **WIDTHS, repeated=True)
BATCH = [{"batch": (3,), "length": 4, "vocabulary": 5, "n_layers": 1, **WIDTHS}]
LAST = {"ignored": "minus 1", "repeated": True}  # the last target is the last token
IGNORED = [
    *table(texts, ((), 5, 4, 1), ((3,), 6, 5, 2), **WIDTHS, ignored="some"),
    *({**BATCH[0], "batch": (2,), "ignored": which} for which in ("none", "zeros")),
    *table(texts, (LAST, (), 4, 5, 1), ({"ignored": "some"}, (2, 2), 4, 5, 1), **WIDTHS),
]
FULL = table(texts, ((), 2, 3, 1, 0), ((), 4, 5, 1, -1), ((2,), 3, 5, 2, -1), **WIDTHS)
# In the second a single position, which NumPy would stretch over all tokens.
TOO_LONG = table(texts, ((), 5, 6, 1, -2), ((), 4, 6, 1, -99), ((2,), 6, 5, 1, -3), **WIDTHS)
ONE_TOKEN = table(texts, ((), 1, 5, 1), ((2,), 1, 5, 1), **WIDTHS)
ALL_IGNORED = table(texts, ((), 4, 5, 1), ((2,), 3, 5, 1), **WIDTHS, ignored="all")
SHAPES = [
    *table(texts, (widths(1, 3, 1), (), 2, 2, 1), (widths(3, 1, 3), (3,), 3, 3, 3)),
    *table(texts, (widths(2, 3, 4), (2, 3), 4, 5, 1)),
]
LARGE = table(texts, ((), 4, 5, 1, {"size": 1e3}), ((2,), 3, 6, 1, {"size": 1e5}), **WIDTHS)
TIMED = [{"batch": (), "length": 6, "vocabulary": 5, "n_layers": 2, **WIDTHS}]
READ, ENOUGH = ("w_q", "w_k", "w_v", "w_in"), "is enough for all predictions"
LONG = [{"batch": (), "length": 21, "vocabulary": 5, "n_layers": 1, **WIDTHS}]


def test_decoder_loss_agree(student, given):
    """The mean of -log p of every next token, from one pass over the true tokens."""
    laws.agrees(student.decoder_loss, given.cases(texts, PLAIN + SHAPES))


def test_decoder_loss_one_pass(student, given):
    """One forward pass makes all predictions, not one for each position."""
    makes_one_pass(student.decoder_loss, given.cases(texts, LONG), READ, ENOUGH)


def test_decoder_loss_ignored(student, given):
    """Targets equal to ignore_id do not count; as inputs such tokens are read like any other."""
    laws.agrees(student.decoder_loss, given.cases(texts, IGNORED))


def test_decoder_loss_limits(student, given):
    """T_max + 1 tokens are allowed: the last one is a target only."""
    laws.agrees(student.decoder_loss, given.cases(texts, FULL))


def errors_of(name):
    """The check of what a function of that name refuses."""

    def check(student, given):
        """Fewer than 2 tokens, more than T_max + 1, or nothing that counts is a ValueError."""
        function = getattr(student, name)
        laws.rejects(function, given.cases(texts, ONE_TOKEN), "There is only one token")
        laws.rejects(function, given.cases(texts, TOO_LONG), "There are more tokens than T_max + 1")
        laws.rejects(function, given.cases(texts, ALL_IGNORED), "Every target is ignored")

    return check


def test_gradients_agree(student, given):
    """The loss, and the gradient that autograd finds for each parameter, under the same keys."""
    laws.agrees(student.decoder_loss_and_gradients, given.cases(texts, PLAIN))


def test_gradients_one_pass(student, given):
    """One forward and one backward pass make all gradients, not one of each for each position."""
    function = student.decoder_loss_and_gradients
    makes_one_pass(function, given.cases(texts, LONG), READ, ENOUGH, "One pass each way")


def test_gradients_tied(student, given):
    """The embedding gets both gradients: of the rows that were read, and of the output head."""
    laws.agrees(student.decoder_loss_and_gradients, given.cases(texts, TIED))


def test_gradients_blocks(student, given):
    """Each block gets its own gradient, in the order of the stack, however many there are."""
    laws.agrees(student.decoder_loss_and_gradients, given.cases(texts, STACKS))


def test_gradients_ignored(student, given):
    """Targets equal to ignore_id have no part in any gradient, nor in what it is divided by."""
    laws.agrees(student.decoder_loss_and_gradients, given.cases(texts, IGNORED))


def test_gradients_positions(student, given):
    """Positions that no token used get 0, in an array as long as the table; T_max + 1 tokens go."""
    laws.agrees(student.decoder_loss_and_gradients, given.cases(texts, FULL))


def test_gradients_no_future(student, given):
    """A loss on positions up to t has no gradient at any later row of the position table."""
    for case in given.cases(texts, TIMED):
        length = case.arguments["tokens"].shape[-1]
        rows = np.arange(len(case.arguments["params"]["position"]))
        function, asked = student.decoder_loss_and_gradients, []
        for t in range(length - 2):
            told = f"A loss on positions up to {t} has a gradient at later rows of position."
            cut, later = cut_off(case, t), rows > t
            asked.append(laws.is_zero_where(function, case, cut, position_gradient, later, told))
        laws.values_are_right(function, case, asked[0], asked[1:])


def test_gradients_batch(student, given):
    """For a batch, loss and gradients are the mean of those of its sequences alone."""
    function = student.decoder_loss_and_gradients
    laws.batch_adds_up(function, given.cases(texts, BATCH), batched=["tokens"], own=(), mean=True)


test_decoder_loss_large = standard.when_large("decoder_loss", texts, LARGE)
test_decoder_loss_float32 = standard.in_float32("decoder_loss", texts, PLAIN, norms=True)
test_decoder_loss_repeat = standard.when_repeated("decoder_loss", texts, BATCH)
test_decoder_loss_arguments = standard.untouched("decoder_loss", texts, BATCH + IGNORED[:1])
test_gradients_shapes = standard.in_any_shape("decoder_loss_and_gradients", texts, SHAPES)
test_gradients_large = standard.when_large("decoder_loss_and_gradients", texts, LARGE)
test_gradients_float32 = standard.in_float32("decoder_loss_and_gradients", texts, PLAIN, norms=True)
test_gradients_repeat = standard.when_repeated("decoder_loss_and_gradients", texts, BATCH)
test_gradients_arguments = standard.untouched(
    "decoder_loss_and_gradients", texts, BATCH + IGNORED[:1]
)
test_decoder_loss_errors = errors_of("decoder_loss")
test_gradients_errors = errors_of("decoder_loss_and_gradients")
