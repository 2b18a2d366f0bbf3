"""Checks of step 1: projections."""

from grader.checks import laws
from tests.visible import standard
from tests.visible.sizes import table


def vectors(draw, lead, d_in, d_out):
    """Random vectors and a weight."""
    return {"x": draw.normal(*lead, d_in), "weight": draw.normal(d_in, d_out)}


def thirds(draw, lead, d_in, d_out):
    """The same with numbers that no decimals hold, so that rounded results show."""
    return {"x": draw.normal(*lead, d_in) / 3, "weight": draw.normal(d_in, d_out)}


def vectors_and_bias(draw, lead, d_in, d_out):
    """Random vectors, a weight and a bias."""
    return {**vectors(draw, lead, d_in, d_out), "bias": draw.normal(d_out)}


def text(draw, batch, t, d_model, d_k, d_v):
    """A random text and the three weights."""
    return {
        "x": draw.normal(*batch, t, d_model),
        "w_q": draw.normal(d_model, d_k),
        "w_k": draw.normal(d_model, d_k),
        "w_v": draw.normal(d_model, d_v),
    }


def text_in_thirds(draw, **sizes):
    """The same with numbers that no decimals hold."""
    arguments = text(draw, **sizes)
    return {**arguments, "x": arguments["x"] / 3}


PLAIN = table(vectors, ((2,), 3, 4), ((3,), 5, 2), ((5,), 4, 6))
SHAPES = [
    *table(vectors, ((), 3, 2), ((), 2, 2), ((1,), 1, 1), ((3,), 3, 3), ((1, 1), 4, 3)),
    *table(vectors, ((11,), 1, 5), ((2, 4), 5, 3), ((3, 3), 3, 1), ((2, 3, 4), 5, 6)),
]
BIASED = table(vectors_and_bias, ((3,), 2, 3), ((), 3, 2), ((2, 5), 4, 3), ((2, 3, 4), 5, 1))
TEXTS = table(text, ((), 2, 4, 3, 5), ((), 3, 2, 5, 4), ((), 4, 5, 3, 6))
TEXT_SHAPES = [
    *table(text, ((), 1, 1, 1, 1), ((), 3, 3, 3, 3), ((1,), 1, 3, 2, 4), ((), 11, 5, 2, 3)),
    *table(text, ((2,), 4, 5, 3, 6), ((3,), 3, 3, 4, 3), ((2, 3), 4, 5, 6, 1)),
]
ONE_TEXT = {"batch": (), "t": 5, "d_model": 4, "d_k": 3, "d_v": 2}
ONE_BATCH = {"batch": (3,), "t": 2, "d_model": 5, "d_k": 3, "d_v": 4}
NORMAL_AND_LARGE = (1.0, 1e3)


def test_linear_agree(student, given):
    """Each output feature is a weighted sum of the input features, by one column of weight."""
    laws.agrees(student.linear, given.cases(vectors, PLAIN))


def test_linear_shapes(student, given):
    """Any number of leading axes, none included, and axes of length 1 stay as they are."""
    laws.agrees(student.linear, given.cases(thirds, SHAPES))


def test_linear_bias(student, given):
    """A bias, where there is one, is added to every vector of the result, once."""
    laws.agrees(student.linear, given.cases(vectors_and_bias, BIASED))


def test_linear_rows(student, given):
    """Each vector is mapped by itself: what the others are does not matter."""
    laws.rows_are_independent(
        student.linear,
        given.cases(vectors, PLAIN[1:]),
        batched=("x",),
        sizes=NORMAL_AND_LARGE,
        what="vector",
    )


def test_projections_agree(student, given):
    """q, k and v are three linear maps of x, each with the weight of its name, in this order."""
    laws.agrees(student.project_qkv, given.cases(text, TEXTS))


def test_projections_shapes(student, given):
    """Any number of batch axes, one token, and sizes that are equal give the right q, k and v."""
    laws.agrees(student.project_qkv, given.cases(text_in_thirds, TEXT_SHAPES))


def test_projections_alone(student, given):
    """A token's query, key and value depend on that token only: no other token matters."""
    for what, sizes in ("token", ONE_TEXT), ("sequence", ONE_BATCH):
        laws.rows_are_independent(
            student.project_qkv,
            given.cases(text, [sizes]),
            batched=("x",),
            sizes=NORMAL_AND_LARGE,
            what=what,
        )


test_linear_float32 = standard.in_float32("linear", vectors, PLAIN)
test_linear_repeat = standard.when_repeated("linear", vectors, PLAIN)
test_linear_arguments = standard.untouched("linear", vectors_and_bias, [PLAIN[2], SHAPES[2]])
test_projections_float32 = standard.in_float32("project_qkv", text, TEXTS)
test_projections_repeat = standard.when_repeated("project_qkv", text, TEXTS)
test_projections_arguments = standard.untouched("project_qkv", text, [ONE_TEXT, TEXT_SHAPES[1]])
