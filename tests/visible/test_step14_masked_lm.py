"""Checks of step 14: hidden words, and the loss on them."""

import numpy as np

from grader.checks import laws
from grader.checks.compare import as_array
from tests.visible import standard
from tests.visible.sizes import table

NOT_CHOSEN = -100
# What may become of a position: whether it is chosen, and the hundredths of its `replace`.
KINDS = [(True, 0, 80), (False, 0, 80), (True, 81, 90), (True, 91, 100)]
KINDS += [(False, 81, 90), (False, 91, 100)]


def other_ids(draw, tokens, vocabulary):
    """As many ids, each another than its token."""
    if vocabulary < 2:
        return tokens
    return (tokens + 1 + draw.tokens(vocabulary - 1, *tokens.shape)) % vocabulary


def texts(draw, batch, length, vocabulary, rate=0.15):
    """Every kind of position, if there are enough; mask_id is the last id, and no token's."""
    words = vocabulary - 1
    tokens = draw.tokens(words, *batch, length)
    kinds = draw.uniform(*tokens.shape).argsort(axis=None).reshape(tokens.shape) % len(KINDS)
    chosen, low, high = (np.asarray(part)[kinds] for part in zip(*KINDS, strict=True))
    if rate in (0.0, 1.0):
        chosen = np.full(tokens.shape, rate == 1.0)
    border = round(100 * rate)
    # Hundredths can be read; none of them lies on a border. At a rate of 0 all are small.
    below, above = (draw.tokens(100, *tokens.shape) for _ in range(2))
    below, above = below % max(1, border - 1), above % max(1, 99 - border if border else 14)
    select = 1 + np.where(chosen, below, border + above)
    arguments = {
        "tokens": tokens,
        "select": select / 100,
        "replace": (low + draw.tokens(100, *tokens.shape) % (high - low)) / 100,
        "random_ids": other_ids(draw, tokens, words),
        "mask_id": words,
    }
    return arguments if rate == 0.15 else {**arguments, "rate": rate}


def texts_on_borders(draw, batch, length, vocabulary, rate):
    """The same with, in turn, select at the rate, and a replace of 0.8 and 0.9 where chosen."""
    arguments = texts(draw, batch, length, vocabulary, rate)
    turn = np.arange(arguments["tokens"].size).reshape(arguments["tokens"].shape) % 4
    below = 0.0 if rate else 0.01
    select = np.where(turn == 0, rate, np.where(turn < 3, below, arguments["select"]))
    replace = np.where(turn == 1, 0.8, np.where(turn == 2, 0.9, arguments["replace"]))
    return {**arguments, "select": select, "replace": replace}


def texts_of_twins(draw, batch, length, vocabulary):
    """All that can coincide does: tokens and random ids are mask_id, or equal to each other."""
    arguments = texts(draw, batch, length, vocabulary)
    turn = np.arange(arguments["tokens"].size).reshape(arguments["tokens"].shape)
    tokens = np.where(turn % 2, arguments["mask_id"], arguments["tokens"])
    random_ids = np.where(turn // 2 % 2, arguments["mask_id"], tokens)
    return {**arguments, "tokens": tokens, "random_ids": random_ids}


def scored(draw, batch, length, vocabulary):
    """Random logits, and in every text as many chosen targets; the last one of them is token 0."""
    targets = draw.tokens(vocabulary, *batch, length)
    targets[..., -1] = 0
    places = draw.uniform(*batch, length - 1).argsort(axis=-1)
    targets[..., :-1][places < length // 2] = NOT_CHOSEN
    return {"logits": draw.normal(*batch, length, vocabulary) * 2, "targets": targets}


def unequal(draw, batch, length, vocabulary):
    """Texts of which the first has no chosen position, and every other one more than the last."""
    targets = draw.tokens(vocabulary, *batch, length)
    rows = targets.reshape(-1, length)
    counts = np.minimum(np.arange(len(rows)), length)
    places = draw.uniform(*rows.shape).argsort(axis=-1)
    rows[places >= counts[:, None]] = NOT_CHOSEN
    return {"logits": draw.normal(*batch, length, vocabulary) * 2, "targets": targets}


def large_scored(draw, batch, length, vocabulary, kind, size):
    """Logits as large as that, by themselves or by what is added to all of a row."""
    arguments = scored(draw, batch, length, vocabulary)
    values = arguments["logits"] / 2
    rows = values + (np.arange(length) % 3 - 1)[:, None] * (size - 10)
    wide = values / np.abs(values).max() * size
    return {**arguments, "logits": {"wide": wide, "low": values - size, "rows": rows}[kind]}


def none_chosen(draw, batch, length, vocabulary):
    """Targets of which none is chosen."""
    targets = np.full((*batch, length), NOT_CHOSEN)
    return {"logits": draw.normal(*batch, length, vocabulary), "targets": targets}


def masking(student):
    """mask_tokens, with any numbers for select and replace; each id beside its target."""

    def bring_in(select, replace, **others):
        return {**others, "select": np.abs(select) % 1, "replace": np.abs(replace) % 1}

    def pair(value, arguments):
        parts = list(map(as_array, value)) if isinstance(value, (tuple, list)) else []
        alike = len(parts) == 2 and len({np.shape(part) for part in parts}) == 1
        alike = alike and all(part is not None for part in parts)
        return np.stack(parts, axis=-1) if alike else value

    return laws.Adapted(student.mask_tokens, bring_in, pair)


PLAIN = table(texts, ((), 4, 9), ((), 11, 7), ((2,), 6, 8))
BORDERS = table(texts_on_borders, ((), 5, 9, 0.15), ((), 6, 7, 0.5), ((3,), 4, 7, 0.0))
RATES = table(texts, ((), 6, 9, 0.4), ((), 5, 7, 1.0), ((), 4, 7, 0.0), ((2,), 6, 5, 0.7))
SHAPES = table(texts, ((), 1, 4), ((1,), 1, 5), ((3,), 3, 3), ((2, 3), 4, 6))
ONE_TEXT = [{"batch": (), "length": 6, "vocabulary": 9}]
TEXT_BATCH = [{"batch": (3,), "length": 4, "vocabulary": 6}]

SCORED = table(scored, ((), 3, 4), ((), 5, 3), ((2,), 4, 6))
UNEQUAL = table(unequal, ((2,), 3, 4), ((4,), 5, 3), ((2, 2), 4, 5))
SCORED_SHAPES = table(scored, ((), 1, 2), ((1,), 2, 1), ((3,), 3, 3), ((2, 3), 4, 5), ((), 11, 120))
LARGE = [
    *table(large_scored, ((), 3, 3, "wide", 1e3), ((), 4, 3, "low", 1e3)),
    *table(large_scored, ((2,), 3, 4, "rows", 1e6), ((2,), 3, 4, "wide", 1e6)),
]
SCORED_BATCH = [{"batch": (3,), "length": 4, "vocabulary": 5}]
NONE_CHOSEN = table(none_chosen, ((), 3, 4), ((2,), 3, 120))


def test_corruption_agree(student, given):
    """Chosen tokens are hidden, replaced or kept as `replace` says; they are the targets."""
    laws.agrees(student.mask_tokens, given.cases(texts, PLAIN))


def test_corruption_borders(student, given):
    """select = rate is not chosen; of the chosen, 0.8 gets a random id, and 0.9 stays."""
    laws.agrees(student.mask_tokens, given.cases(texts_on_borders, BORDERS))


def test_corruption_targets(student, given):
    """A target is where select says, also if the new id is the old one, or a token is mask_id."""
    laws.agrees(student.mask_tokens, given.cases(texts_of_twins, PLAIN))


def test_corruption_rate(student, given):
    """rate says how many are chosen; 0 chooses none of them, 1 all."""
    laws.agrees(student.mask_tokens, given.cases(texts, RATES))


def test_corruption_shapes(student, given):
    """Any number of batch axes and sizes of 1 give arrays of the tokens' shape."""
    laws.agrees(student.mask_tokens, given.cases(texts, SHAPES))


def test_corruption_alone(student, given):
    """What becomes of a position does not depend on the other positions."""
    numbers = ("tokens", "select", "replace", "random_ids")
    cases = given.cases(texts, ONE_TEXT)
    # Others that are all chosen, and others that are like any.
    laws.rows_are_independent(
        masking(student), cases, batched=numbers, sizes=(1e-3, 1.0), what="position"
    )


def test_masked_loss_agree(student, given):
    """The loss is the mean of -log p(target), in nats, over the chosen positions and no others."""
    laws.agrees(student.masked_lm_loss, given.cases(scored, SCORED))


def test_masked_loss_texts(student, given):
    """Every chosen position counts the same, in whichever text; a text may have none."""
    laws.agrees(student.masked_lm_loss, given.cases(unequal, UNEQUAL))


def test_masked_loss_shapes(student, given):
    """Any number of batch axes gives one number, in a vocabulary of any size."""
    laws.agrees(student.masked_lm_loss, given.cases(scored, SCORED_SHAPES))


test_corruption_repeat = standard.when_repeated("mask_tokens", texts, TEXT_BATCH)
test_corruption_arguments = standard.untouched("mask_tokens", texts, TEXT_BATCH)
test_masked_loss_large = standard.when_large("masked_lm_loss", large_scored, LARGE)
test_masked_loss_float32 = standard.in_float32("masked_lm_loss", scored, SCORED)
test_masked_loss_repeat = standard.when_repeated("masked_lm_loss", scored, SCORED_BATCH)
test_masked_loss_arguments = standard.untouched("masked_lm_loss", scored, SCORED_BATCH)
test_masked_loss_errors = standard.refused(
    "masked_lm_loss", none_chosen, NONE_CHOSEN, "No position is chosen"
)
