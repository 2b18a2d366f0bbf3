"""Checks of step 6: teacher-forced loss."""

import numpy as np

from grader.checks import laws
from tests.visible import standard
from tests.visible.sizes import table


def texts(draw, batch, length, vocabulary):
    """Random tokens."""
    return {"tokens": draw.tokens(vocabulary, *batch, length)}


def logits(draw, batch, length, vocabulary):
    """Random logits, far from uniform."""
    return {"logits": draw.normal(*batch, length, vocabulary) * 2}


def scored(draw, batch, length, vocabulary):
    """Random logits and targets; token 0 is one of the targets."""
    targets = draw.tokens(vocabulary, *batch, length)
    targets[..., -1] = 0
    return logits(draw, batch, length, vocabulary) | {"targets": targets}


def large_logits(draw, batch, length, vocabulary, kind, size):
    """Logits as large as that, by themselves or by what is added to all of a row."""
    values = draw.normal(*batch, length, vocabulary)
    rows = values + (np.arange(length) % 3 - 1)[:, None] * size
    larger = {"wide": values * size, "high": values + size, "low": values - size, "rows": rows}
    return {"logits": larger[kind]}


def large_scored(draw, batch, length, vocabulary, kind, size):
    """Large logits and random targets."""
    arguments = large_logits(draw, batch, length, vocabulary, kind, size)
    return arguments | {"targets": draw.tokens(vocabulary, *batch, length)}


def ignore_id(ignored, vocabulary):
    """The id to ignore that has that name."""
    ids = {"zero": 0, "middle": vocabulary // 2, "minus 1": -1, "above": vocabulary + 5}
    return ids.get(ignored, -100)


def some_ignored(draw, batch, length, vocabulary, ignored):
    """Targets of which row r ignores r + 1, modulo all of them, anywhere; none if absent."""
    arguments = scored(draw, batch, length, vocabulary)
    targets, unwanted = arguments["targets"].reshape(-1, length), ignore_id(ignored, vocabulary)
    if 0 <= unwanted < vocabulary:
        targets[:] = (unwanted + 1 + draw.tokens(vocabulary - 1, *targets.shape)) % vocabulary
    if ignored != "absent":
        counts = (np.arange(len(targets)) + 1) % (length + 1)
        places = draw.uniform(*targets.shape).argsort(axis=-1)
        targets[places < counts[:, None]] = unwanted
    return arguments | {"ignore_id": unwanted}


def all_ignored(draw, batch, length, vocabulary, ignored):
    """Targets that are all to be ignored."""
    arguments = logits(draw, batch, length, vocabulary)
    unwanted = ignore_id(ignored, vocabulary)
    return arguments | {"targets": np.full((*batch, length), unwanted), "ignore_id": unwanted}


def model(draw, batch, length, vocabulary, d_model, d_k, d_v, spare=3, size=1.0):
    """Texts with a token 0, and a model that has `spare` more positions than they have tokens."""
    tokens = draw.tokens(vocabulary, *batch, length)
    tokens[..., length // 2] = 0
    params = {
        "embedding": draw.normal(vocabulary, d_model),
        "position": draw.normal(max(1, length + spare), d_model),
        "w_q": draw.normal(d_model, d_k) / 2,
        "w_k": draw.normal(d_model, d_k) / 4 * size,
        "w_v": draw.normal(d_model, d_v) / 2,
        "w_out": draw.normal(d_v, vocabulary) / 2 * size,
    }
    return {"tokens": tokens, "params": params}


def makes_one_pass(function, cases, weights, does, what="One forward pass"):
    """Demand that the work of the projections grows with the tokens, and no faster."""
    for case in cases:
        short = case.changed(tokens=case.arguments["tokens"][..., :5])
        laws.work_is_linear(
            function,
            [short, case],
            weights=weights,
            tokens=lambda case: case.arguments["tokens"].size - 1,
            because=f"{what} {does}.",
        )


TEXTS = table(texts, ((), 3, 6), ((), 6, 4), ((2,), 5, 7))
TEXT_SHAPES = table(texts, ((), 2, 3), ((1,), 2, 5), ((4,), 3, 6), ((3,), 3, 3), ((2, 3), 11, 9))
TEXT_BATCH = [{"batch": (3,), "length": 4, "vocabulary": 6}]
TOO_SHORT = table(texts, ((), 1, 5), ((3,), 1, 5), ((2,), 0, 5))

SCORED = table(logits, ((), 2, 3), ((), 5, 4), ((2,), 3, 5))
SCORED_SHAPES = [
    *table(logits, ((), 1, 2), ((1,), 1, 3), ((4,), 2, 3), ((3,), 3, 3), ((2, 3), 4, 5)),
    *table(logits, ((), 11, 6), ((), 40, 2)),
]
SCORED_BATCH = [{"batch": (3,), "length": 4, "vocabulary": 5}]
IGNORED = [
    *table(some_ignored, ((), 3, 4, "minus 100"), ((), 4, 3, "zero"), ((), 4, 3, "absent")),
    *table(some_ignored, ((2,), 4, 5, "minus 1"), ((3,), 4, 5, "above"), ((4,), 3, 5, "minus 100")),
    *table(some_ignored, ((2, 2), 5, 3, "zero"), ((2,), 4, 5, "middle")),
]
IGNORED_BATCH = [{"batch": (3,), "length": 4, "vocabulary": 5, "ignored": "above"}]
ALL_IGNORED = table(all_ignored, ((), 3, 4, "minus 100"), ((2,), 3, 4, "zero"))
LARGE = [
    *table(large_logits, ((), 2, 3, "wide", 1e3), ((), 4, 3, "high", 1e3), ((), 4, 3, "low", 1e3)),
    *table(large_logits, ((2,), 3, 4, "rows", 1e6), ((2,), 3, 4, "wide", 1e5)),
    *table(large_logits, ((2,), 3, 4, "low", 1e6)),
]

WIDTHS = {"d_model": 4, "d_k": 2, "d_v": 3}
MODELS = table(model, (WIDTHS, (), 2, 5), (WIDTHS, (), 5, 6), ((2,), 3, 7, 5, 6, 4))
MODEL_SHAPES = [
    *table(model, ((1,), 2, 3, 6, 1, 5), ((3,), 3, 3, 3, 3, 3), ((2, 3), 4, 5, 6, 3, 2)),
    *table(model, (WIDTHS, (), 11, 6), (WIDTHS, (), 40, 2)),
]
ONE_TOKEN = table(model, ((), 1, 3, 2, 1, 5), ((1,), 1, 4, 5, 6, 2))
TIMED = table(model, ((), 5, 6), ((2,), 11, 5), **WIDTHS)
MODEL_BATCH = [{"batch": (3,), "length": 4, "vocabulary": 6, **WIDTHS}]
LARGE_MODELS = table(model, ((), 3, 5, {"size": 1e3}), ((2,), 5, 6, {"size": 1e5}), **WIDTHS)
SWEPT = [{"batch": (), "length": 4, "vocabulary": 3, **WIDTHS}]
SWEPT_AT_THE_END = [{"batch": (), "length": 11, "vocabulary": 3, **WIDTHS}]
LONG = [{"batch": (), "length": 17, "vocabulary": 5, **WIDTHS, "spare": -1}]
# How many tokens there are, and how many more positions than that: never less than one position.
FULL = table(model, ((), 1, 3, 0), ((2,), 5, 6, 0), **WIDTHS)
TOO_LONG = table(model, ((), 4, 6, -1), ((), 3, 5, -99), ((3,), 5, 6, -2), **WIDTHS)
FULL_AND_ONE = table(model, ((), 2, 3, -1), ((2,), 5, 6, -1), **WIDTHS)
FAR_TOO_LONG = table(model, ((), 4, 6, -2), ((), 3, 5, -99), ((3,), 5, 6, -2), **WIDTHS)
ONE_TOKEN_ONLY = table(model, ((), 1, 5), ((2,), 1, 5), **WIDTHS)


def test_shift_agree(student, given):
    """The target of every input token is the token after it."""
    laws.agrees(student.shift_tokens, given.cases(texts, TEXTS))


def test_shift_shapes(student, given):
    """Texts of two tokens or many, with any number of batch axes, are shifted along time."""
    laws.agrees(student.shift_tokens, given.cases(texts, TEXT_SHAPES))


def test_log_softmax_agree(student, given):
    """log_softmax is the logarithm of the softmax over the last axis."""
    laws.agrees(student.log_softmax, given.cases(logits, SCORED))


def test_cross_entropy_agree(student, given):
    """The loss is the mean of -log p(target), in nats, over all positions of all texts."""
    laws.agrees(student.cross_entropy, given.cases(scored, SCORED))


def test_cross_entropy_ignored(student, given):
    """Targets that are ignore_id, a token or not, count neither in the sum nor in the mean."""
    laws.agrees(student.cross_entropy, given.cases(some_ignored, IGNORED))


def test_cross_entropy_shapes(student, given):
    """Any number of batch axes gives one number."""
    laws.agrees(student.cross_entropy, given.cases(scored, SCORED_SHAPES))


def test_log_prob_agree(student, given):
    """The log probability of a text is the sum over time of log p(target)."""
    laws.agrees(student.sequence_log_prob, given.cases(scored, SCORED))


def test_log_prob_shapes(student, given):
    """Any number of batch axes gives one number for each text."""
    laws.agrees(student.sequence_log_prob, given.cases(scored, SCORED_SHAPES))


def test_logits_agree(student, given):
    """Logits: embed the tokens, add the positions from 0 on, attend, map to the vocabulary."""
    laws.agrees(student.next_token_logits, given.cases(model, MODELS))


def test_logits_errors(student, given):
    """T_max tokens are allowed; more are a ValueError."""
    laws.agrees(student.next_token_logits, given.cases(model, FULL))
    cases = given.cases(model, TOO_LONG)
    laws.rejects(student.next_token_logits, cases, "There are more tokens than positions")


def test_loss_agree(student, given):
    """The loss is the cross entropy of every next token, given the true tokens before it."""
    laws.agrees(student.teacher_forced_loss, given.cases(model, MODELS))


def test_loss_shapes(student, given):
    """Any number of batch axes gives one number: the mean over all predictions."""
    laws.agrees(student.teacher_forced_loss, given.cases(model, MODEL_SHAPES))


def test_loss_no_answer(student, given):
    """No prediction sees its answer: the probabilities of all next tokens add up to 1."""
    laws.probabilities_add_up(student.teacher_forced_loss, given.cases(model, SWEPT))
    long = given.cases(model, SWEPT_AT_THE_END)
    laws.probabilities_add_up(student.teacher_forced_loss, long, only_last=True)


def test_loss_one_pass(student, given):
    """One pass over all but the last token is enough: T_max + 1 tokens fit, and work is linear."""
    function = student.teacher_forced_loss
    laws.agrees(function, given.cases(model, FULL_AND_ONE))
    weights = ("w_q", "w_k", "w_v", "w_out")
    makes_one_pass(function, given.cases(model, LONG), weights, "makes all predictions")


def test_loss_errors(student, given):
    """Fewer than two tokens, or more than T_max + 1, are a ValueError."""
    function = student.teacher_forced_loss
    laws.rejects(function, given.cases(model, ONE_TOKEN_ONLY), "The text has fewer than 2 tokens")
    too_long = given.cases(model, FAR_TOO_LONG)
    laws.rejects(function, too_long, "The text has more than T_max + 1 tokens")


test_shift_arguments = standard.untouched("shift_tokens", texts, TEXT_BATCH)
test_log_softmax_shapes = standard.in_any_shape("log_softmax", logits, SCORED_SHAPES)
test_log_softmax_large = standard.when_large("log_softmax", large_logits, LARGE)
test_log_softmax_float32 = standard.in_float32("log_softmax", logits, SCORED)
test_log_softmax_repeat = standard.when_repeated("log_softmax", logits, SCORED_BATCH)
test_log_softmax_arguments = standard.untouched("log_softmax", logits, SCORED_BATCH)
test_cross_entropy_large = standard.when_large("cross_entropy", large_scored, LARGE)
test_cross_entropy_float32 = standard.in_float32("cross_entropy", scored, SCORED)
test_cross_entropy_repeat = standard.when_repeated("cross_entropy", scored, SCORED_BATCH)
test_cross_entropy_arguments = standard.untouched("cross_entropy", some_ignored, IGNORED_BATCH)
test_log_prob_large = standard.when_large("sequence_log_prob", large_scored, LARGE)
test_log_prob_rows = standard.in_a_batch(
    "sequence_log_prob", scored, SCORED_BATCH, batched=("logits", "targets")
)
test_log_prob_float32 = standard.in_float32("sequence_log_prob", scored, SCORED)
test_log_prob_repeat = standard.when_repeated("sequence_log_prob", scored, SCORED_BATCH)
test_log_prob_arguments = standard.untouched("sequence_log_prob", scored, SCORED_BATCH)
test_logits_shapes = standard.in_any_shape("next_token_logits", model, ONE_TOKEN + MODEL_SHAPES)
test_logits_rows = standard.in_a_batch("next_token_logits", model, MODEL_BATCH, batched=["tokens"])
test_logits_large = standard.when_large("next_token_logits", model, LARGE_MODELS)
test_logits_float32 = standard.in_float32("next_token_logits", model, MODELS)
test_logits_repeat = standard.when_repeated("next_token_logits", model, MODEL_BATCH)
test_logits_arguments = standard.untouched("next_token_logits", model, MODEL_BATCH + MODELS[:1])
test_loss_large = standard.when_large("teacher_forced_loss", model, LARGE_MODELS)
test_loss_float32 = standard.in_float32("teacher_forced_loss", model, MODELS)
test_loss_repeat = standard.when_repeated("teacher_forced_loss", model, MODEL_BATCH)
test_loss_arguments = standard.untouched("teacher_forced_loss", model, MODEL_BATCH + MODELS[:1])
test_shift_errors = standard.refused(
    "shift_tokens", texts, TOO_SHORT, "The text has fewer than 2 tokens"
)
test_cross_entropy_errors = standard.refused(
    "cross_entropy", all_ignored, ALL_IGNORED, "Every target is ignored"
)
test_logits_no_future = standard.no_future("next_token_logits", model, TIMED, along={"tokens": -1})
test_logits_prefix = standard.prefix_alone(
    "next_token_logits", model, TIMED[:1], along={"tokens": -1}
)
