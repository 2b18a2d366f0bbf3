"""Checks of step 4: softmax."""

import numpy as np

from grader.checks import laws
from tests.visible import standard
from tests.visible.sizes import table

PLAIN = [{"shape": (2, 3)}, {"shape": (3, 3)}, {"shape": (4, 5)}]
ROWS = [{"shape": (4, 3)}, {"shape": (3, 2, 4)}]


def scores_along(draw, shape, axis=None):
    """Random scores, and the axis where it is given."""
    scores = {"scores": draw.normal(*shape)}
    return scores if axis is None else {**scores, "axis": axis}


def blocked_scores(draw, shape, axis=-1, size=1.0):
    """Of every three slices one is -inf throughout, one is -inf in one place, one nowhere."""
    scores = draw.normal(*shape) * size
    slices = np.moveaxis(scores, axis, -1)
    for number, place in enumerate(np.ndindex(*slices.shape[:-1])):
        if number % 3 == 0:
            slices[place] = -np.inf
        if number % 3 == 1:
            slices[(*place, number % shape[axis])] = -np.inf
    return {"scores": scores, "axis": axis}


def partly_blocked_scores(draw, shape, size, share):
    """That share of the scores is -inf, but never the last one of a slice."""
    scores = draw.normal(*shape) * size
    blocked = draw.uniform(*shape) < share
    blocked[..., -1] = False
    return {"scores": np.where(blocked, -np.inf, scores)}


def large_scores(draw, shape, middle, spread, step=0.0):
    """Scores around a large number, each row `step` above the last; exact in float32 too."""
    rows = np.arange(shape[-2])[:, None]
    scores = draw.normal(*shape) * spread + middle + rows * step
    return {"scores": np.round(scores * 4) / 4}


AXES = [
    *table(scores_along, ((2, 3), 0), ((3, 4), 1), ((2, 3, 4), 1), ((3, 2, 4), -2), ((4, 2, 3), 0)),
    *table(scores_along, ((3, 3, 3), -3), ((2, 3, 4, 5), 1)),
]
SHAPES = [
    *table(scores_along, ((4,),), ((1, 1),), ((3, 1),), ((1, 4),), ((2, 1, 3),), ((3, 3, 3),)),
    *table(scores_along, ((2, 11),), ((1, 40),), ((2, 3, 4, 5),)),
]
BLOCKED = table(blocked_scores, ((2, 3),), ((1, 4),), ((6, 5),), ((3, 4), 0), ((1, 1),))
BLOCKED_AND_LARGE = table(blocked_scores, ((3, 4), {"size": 1000.0}), ((4, 5), {"size": 2e5}))
PARTLY_BLOCKED = table(
    partly_blocked_scores, ((2, 3), 1.0, 0.0), ((3, 4), 1.0, 0.5), ((5, 6), 30.0, 0.3)
)
LARGE = [
    *table(large_scores, ((2, 3), 1000.0, 1.0), ((2, 3), -1000.0, 1.0), ((3, 4), 0.0, 1e3)),
    *table(large_scores, ((4, 3), 0.0, 1.0, 2e3), ((3, 4), 0.0, 2e5), ((2, 5), 999990.0, 1.0)),
    *table(large_scores, ((3, 5), -999990.0, 1.0)),
]
LARGE_FOR_FLOAT32 = table(
    large_scores, ((2, 4), 100.0, 1.0), ((3, 4), 0.0, 1000.0), ((2, 3), 999990.0, 1.0)
)


def test_softmax_agree(student, given):
    """Weights are proportional to exp(score), and those of one query sum to 1."""
    laws.agrees(student.softmax, given.cases(scores_along, PLAIN))


def test_softmax_axis(student, given):
    """The weights along `axis` sum to 1, whichever axis it is, counted from either end."""
    laws.agrees(student.softmax, given.cases(scores_along, AXES))


def test_softmax_shapes(student, given):
    """Any number of axes, axes of length 1 too: the weights have the shape of the scores."""
    laws.agrees(student.softmax, given.cases(scores_along, SHAPES))


def test_softmax_rows(student, given):
    """The weights in one slice do not depend on the scores in the others."""
    laws.rows_are_independent(
        student.softmax,
        given.cases(scores_along, ROWS),
        batched=("scores",),
        sizes=(1.0, 1e3),
        what="row",
    )


def test_softmax_distribution(student, given):
    """No weight is negative, and a slice that is not -inf throughout sums to 1 to 12 digits."""
    laws.is_distribution(student.softmax, given.cases(partly_blocked_scores, PARTLY_BLOCKED))


def test_softmax_blocked(student, given):
    """A score of -inf gets weight 0, and a slice that is -inf throughout gets zeros only."""
    laws.agrees(student.softmax, given.cases(blocked_scores, BLOCKED))
    laws.agrees_in_float32(student.softmax, given.cases(blocked_scores, BLOCKED[:1]))
    laws.stays_right_when_large(student.softmax, given.cases(blocked_scores, BLOCKED_AND_LARGE))


def test_softmax_float32(student, given):
    """float32 scores, small or large, give weights that are right to float32's precision."""
    laws.agrees_in_float32(student.softmax, given.cases(scores_along, PLAIN))
    laws.agrees_in_float32(student.softmax, given.cases(large_scores, LARGE_FOR_FLOAT32))


test_softmax_large = standard.when_large("softmax", large_scores, LARGE)
test_softmax_repeat = standard.when_repeated("softmax", scores_along, PLAIN)
test_softmax_arguments = standard.untouched("softmax", partly_blocked_scores, PARTLY_BLOCKED[1:])
