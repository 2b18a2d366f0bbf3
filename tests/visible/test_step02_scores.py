"""Checks of step 2: scaled scores."""

from functools import partial

from grader.checks import laws
from tests.visible import standard
from tests.visible.sizes import table


def queries_and_keys(draw, batch, t_q, t_k, d_k):
    """Random queries and keys."""
    return {"q": draw.normal(*batch, t_q, d_k), "k": draw.normal(*batch, t_k, d_k)}


def large_queries_and_keys(draw, batch, t_q, t_k, d_k, size):
    """Queries and keys whose scores are about size² large."""
    return {"q": draw.normal(*batch, t_q, d_k) * size, "k": draw.normal(*batch, t_k, d_k) * size}


PLAIN = table(queries_and_keys, ((), 2, 2, 4), ((), 3, 3, 5), ((), 5, 4, 3))
SHAPES = [
    *table(queries_and_keys, ((), 1, 1, 1), ((), 2, 7, 3), ((), 11, 4, 5), ((), 3, 3, 3)),
    *table(queries_and_keys, ((1,), 1, 3, 2), ((2,), 5, 4, 3), ((3,), 3, 3, 3), ((2, 3), 4, 5, 6)),
    *table(queries_and_keys, ((), 2, 40, 2)),
]
BATCH = [{"batch": (3,), "t_q": 2, "t_k": 4, "d_k": 5}]


def test_scores_agree(student, given):
    """Scores are scaled dot products: row i asks, column j is asked."""
    laws.agrees(student.attention_scores, given.cases(queries_and_keys, PLAIN))


def test_scores_shapes(student, given):
    """Any number of batch axes, and fewer queries than keys or more, give the right scores."""
    laws.agrees(student.attention_scores, given.cases(queries_and_keys, SHAPES))


def test_scores_prefix(student, given):
    """A score depends on its own query and key only: neither on others nor on their number."""
    cases = given.cases(queries_and_keys, PLAIN[1:])
    laws.keeps_all(
        *(
            partial(law, student.attention_scores, cases, along={name: -2}, axis=axis)
            for name, axis in (("q", -2), ("k", -1))
            for law in (laws.prefix_gives_the_same, laws.future_does_not_matter)
        )
    )


test_scores_rows = standard.in_a_batch(
    "attention_scores", queries_and_keys, BATCH, batched=("q", "k"), sizes=(1.0, 1e3)
)
test_scores_float32 = standard.in_float32("attention_scores", queries_and_keys, PLAIN)
test_scores_large = standard.when_large(
    "attention_scores",
    large_queries_and_keys,
    [{**PLAIN[1], "size": 30.0}, {**PLAIN[2], "size": 400.0}],
)
test_scores_repeat = standard.when_repeated("attention_scores", queries_and_keys, PLAIN)
test_scores_arguments = standard.untouched(
    "attention_scores", queries_and_keys, [PLAIN[2], SHAPES[3]]
)
