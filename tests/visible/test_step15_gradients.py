"""Checks of step 15: gradients of the linear map, the softmax, the loss and the embedding."""

import numpy as np

from grader.checks import laws
from tests.visible import standard
from tests.visible.sizes import table


def mapped_back(draw, batch, length, n_in, n_out):
    """Random vectors, a weight, and the slopes of the result, a few units in size."""
    return {
        "d_out": draw.normal(*batch, length, n_out) * 2,
        "x": draw.normal(*batch, length, n_in),
        "weight": draw.normal(n_in, n_out),
    }


def weights_that_add_up(draw, rows, t_k):
    """Rows of multiples of 1/1000, which float32 cannot hold, that add up to 1; some may be 0."""
    cuts = np.sort(draw.tokens(1001, *rows, t_k - 1), axis=-1)
    ends = np.full((*rows, 1), 1000)
    return np.diff(np.concatenate([0 * ends, cuts, ends], axis=-1), axis=-1) / 1000


def weighed(draw, batch, t_q, t_k, empty=False, size=2.0):
    """Weights as softmax returns them, and their slopes; if empty, the first row is all 0."""
    weights = weights_that_add_up(draw, (*batch, t_q), t_k)
    if empty:
        weights[..., 0, :] = 0
    return {"d_weights": draw.normal(*batch, t_q, t_k) * size, "weights": weights}


def scored(draw, batch, length, vocabulary, size=2.0, shift=0.0):
    """Random logits and targets; token 0 is one of the targets."""
    targets = draw.tokens(vocabulary, *batch, length)
    targets[..., -1] = 0
    logits = draw.normal(*batch, length, vocabulary) * size + shift
    if size > 100:  # large logits have no gradient where each target has the largest one
        targets[..., 0] = logits[..., 0, :].argmin(axis=-1)
    return {"logits": logits, "targets": targets}


def ignored(draw, batch, length, vocabulary, ignored):
    """The same, with an id that is ignored; some targets, but not all, are that one."""
    arguments = scored(draw, batch, length, vocabulary)
    ids = {"minus 100": -100, "minus 1": -1, "absent": -7, "above": vocabulary + 3}
    ids |= {"zero": 0, "middle": vocabulary // 2}
    targets, ignore_id = arguments["targets"], ids[ignored]
    if ignored != "absent":
        targets[..., 0] = ignore_id
        targets[..., -1] = np.where(draw.uniform(*batch) < 0.5, ignore_id, 1)
        other = 1 + draw.tokens(vocabulary - 1, *batch)
        targets[..., 1] = np.where(other == ignore_id, 1, other)  # this one always counts
    return {**arguments, "ignore_id": ignore_id}


def all_ignored(draw, **sizes):
    """The same, with nothing left that counts."""
    arguments = ignored(draw, **sizes)
    return {**arguments, "targets": np.full_like(arguments["targets"], arguments["ignore_id"])}


def read(draw, batch, length, vocabulary, d_model, unlike=False):
    """Random tokens and their vectors' slopes; if unlike, none occurs twice, and token 0 does."""
    tokens = draw.tokens(vocabulary, *batch, length)
    if unlike:
        tokens = (np.arange(length) - tokens[..., :1]) % length
    else:
        tokens[..., -1] = tokens[..., 0]
    d_x = draw.normal(*batch, length, d_model) * 2
    return {"d_x": d_x, "tokens": tokens, "vocabulary": vocabulary}


MAPPED = table(mapped_back, ((), 2, 3, 4), ((), 4, 5, 2), ((2,), 3, 4, 5))
MAPPED_SHAPES = table(
    mapped_back, ((), 1, 1, 1), ((1,), 1, 3, 2), ((3,), 3, 3, 3), ((2, 3), 4, 5, 6), ((), 11, 2, 3)
)
MAPPED_BATCH = [{"batch": (3,), "length": 2, "n_in": 4, "n_out": 5}]

WEIGHED = table(weighed, ((), 1, 3), ((), 3, 4), ((2,), 4, 5))
WEIGHED_SHAPES = table(
    weighed, ((), 1, 1), ((1,), 2, 1), ((3,), 3, 3), ((), 5, 2), ((2, 3), 2, 7), ((), 2, 17)
)
WEIGHED_EMPTY = table(weighed, ((), 2, 3, True), ((2,), 4, 5, True))
WEIGHED_BATCH = [{"batch": (3,), "t_q": 2, "t_k": 4}]
# A weight that is nearly 1, as after large scores; and slopes of any size.
WEIGHED_LARGE = table(weighed, ((), 2, 3, {"size": 1e3}), ((2,), 3, 4, {"size": 1e6}))

SCORED = table(scored, ((), 1, 3), ((), 3, 4), ((2,), 3, 5))
SCORED_SHAPES = table(scored, ((), 1, 2), ((1,), 1, 3), ((3,), 3, 3), ((2, 3), 4, 6), ((), 11, 5))
SCORED_BATCH = table(scored, ((3,), 4, 5), ((4,), 2, 3))
IGNORED = [
    *table(ignored, ((), 3, 4, "minus 100"), ((), 4, 3, "zero"), ((), 4, 3, "absent")),
    *table(ignored, ((2,), 4, 5, "minus 1"), ((3,), 4, 5, "above"), ((2, 2), 5, 3, "zero")),
    *table(ignored, ((2,), 4, 5, "middle")),
]
IGNORED_BATCH = [{"batch": (3,), "length": 4, "vocabulary": 5, "ignored": "above"}]
ALL_IGNORED = table(ignored, ((), 3, 4, "minus 100"), ((2,), 3, 4, "zero"))
SCORED_LARGE = table(scored, ((), 2, 3, 1e3), ((2,), 3, 4, 1e6), ((), 3, 4, 10.0, 1e6))

READ = table(read, ((), 3, 5, 2, True), ((), 4, 7, 3, True))
REPEATED = table(read, ((), 3, 2, 2), ((), 6, 3, 4), ((2,), 5, 4, 3))
READ_SHAPES = table(
    read, ((), 1, 1, 1), ((1,), 2, 3, 1), ((3,), 3, 3, 3), ((2, 3), 4, 9, 5), ((), 2, 40, 3)
)
READ_BATCH = [{"batch": (3,), "length": 4, "vocabulary": 5, "d_model": 3}]


def test_linear_back_agree(student, given):
    """x, weight and bias get the gradients that autograd finds for x · weight + bias."""
    laws.agrees(student.linear_backward, given.cases(mapped_back, MAPPED))


def test_linear_back_slope(student, given):
    """Gradients are linear in d_out: twice the slope, twice the gradient."""
    laws.is_linear_in(student.linear_backward, given.cases(mapped_back, MAPPED), "d_out")


def test_softmax_back_agree(student, given):
    """Scores get the gradient that autograd finds for softmax over the last axis."""
    laws.agrees(student.softmax_backward, given.cases(weighed, WEIGHED))


def test_softmax_back_zeros(student, given):
    """A row of weights that is all 0 gives zeros, and the other rows what is right."""
    laws.agrees(student.softmax_backward, given.cases(weighed, WEIGHED_EMPTY))


def test_softmax_back_slope(student, given):
    """The gradient is linear in d_weights: twice the slope, twice the gradient."""
    laws.is_linear_in(student.softmax_backward, given.cases(weighed, WEIGHED), "d_weights")


def test_entropy_back_agree(student, given):
    """Logits get probabilities minus one-hot targets, divided by the number of predictions."""
    laws.agrees(student.cross_entropy_backward, given.cases(scored, SCORED))


def test_entropy_back_ignored(student, given):
    """Ignored positions get zeros, and are not in the number that the others are divided by."""
    laws.agrees(student.cross_entropy_backward, given.cases(ignored, IGNORED))


def test_entropy_back_batch(student, given):
    """The mean runs over all predictions of all sequences of a batch."""
    laws.agrees(student.cross_entropy_backward, given.cases(scored, SCORED_BATCH))


def test_table_back_agree(student, given):
    """Each token's row gets the slopes of the position where it stands; unused rows get zeros."""
    laws.agrees(student.embedding_backward, given.cases(read, READ))


def test_table_back_repeated(student, given):
    """A token that occurs several times gets the sum of all its slopes."""
    laws.agrees(student.embedding_backward, given.cases(read, REPEATED))


test_linear_back_shapes = standard.in_any_shape("linear_backward", mapped_back, MAPPED_SHAPES)
test_linear_back_float32 = standard.in_float32("linear_backward", mapped_back, MAPPED)
test_linear_back_repeat = standard.when_repeated("linear_backward", mapped_back, MAPPED_BATCH)
test_linear_back_arguments = standard.untouched("linear_backward", mapped_back, MAPPED_BATCH)
test_softmax_back_shapes = standard.in_any_shape("softmax_backward", weighed, WEIGHED_SHAPES)
test_softmax_back_large = standard.when_large("softmax_backward", weighed, WEIGHED_LARGE)
test_softmax_back_float32 = standard.in_float32("softmax_backward", weighed, WEIGHED)
test_softmax_back_repeat = standard.when_repeated("softmax_backward", weighed, WEIGHED_BATCH)
test_softmax_back_arguments = standard.untouched("softmax_backward", weighed, WEIGHED_BATCH)
test_entropy_back_shapes = standard.in_any_shape("cross_entropy_backward", scored, SCORED_SHAPES)
test_entropy_back_large = standard.when_large("cross_entropy_backward", scored, SCORED_LARGE)
test_entropy_back_float32 = standard.in_float32("cross_entropy_backward", scored, SCORED)
test_entropy_back_repeat = standard.when_repeated("cross_entropy_backward", ignored, IGNORED_BATCH)
test_entropy_back_arguments = standard.untouched("cross_entropy_backward", ignored, IGNORED_BATCH)
test_table_back_shapes = standard.in_any_shape("embedding_backward", read, READ_SHAPES)
test_table_back_float32 = standard.in_float32("embedding_backward", read, READ + REPEATED)
test_table_back_repeat = standard.when_repeated("embedding_backward", read, READ_BATCH)
test_table_back_arguments = standard.untouched("embedding_backward", read, READ_BATCH)
test_linear_back_batch = standard.summed_over_a_batch("linear_backward", mapped_back, MAPPED_BATCH)
test_entropy_back_errors = standard.refused(
    "cross_entropy_backward", all_ignored, ALL_IGNORED, "Every target is ignored"
)
