"""Checks of step 22: windows, prefixes and packed documents."""

import numpy as np

from grader.checks import laws
from tests.visible import standard
from tests.visible.sizes import table


def lengths(draw, t_q, window, t_k=None):
    """Queries, a window, and keys where their number is given."""
    arguments = {"t_q": t_q, "window": window}
    return arguments if t_k is None else {**arguments, "t_k": t_k}


def a_prefix(draw, t, n_prefix):
    """A length and a prefix."""
    return {"t": t, "n_prefix": n_prefix}


def packed(draw, batch, runs, numbers, dtype="int64", vocabulary=None, opposite=False):
    """Documents one behind the other; in each further row the runs are in another order.

    opposite: every second number is negative.
    """
    rows = []
    for row in range(int(np.prod(batch))):
        turned = (*runs[row % len(runs) :], *runs[: row % len(runs)])
        ids = [numbers[i % len(numbers)] for i in range(len(runs))]
        ids = [-number if opposite and i % 2 else number for i, number in enumerate(ids)]
        rows.append(np.repeat(ids, turned))
    return {"documents": np.stack(rows).reshape(*batch, sum(runs)).astype(dtype)}


WINDOWS = table(lengths, (4, 2), (3, 1), (5, 3), (3, 3), (3, 7), (11, 4))
OTHER_WINDOW = {"t_q": 4, "window": 3}  # as large as the mask of WINDOWS[0]
RECTANGLES = table(lengths, (2, 3, 5), (1, 2, 4), (4, 2, 6), (3, 9, 5), (3, 1, 3))
OTHER_RECTANGLE = {"t_q": 2, "window": 1, "t_k": 5}  # as large as that of RECTANGLES[0]
NO_WINDOWS = [{"t_q": 3, "window": 0}, {"t_q": 2, "window": -1}, {"t_q": 2, "window": 0, "t_k": 4}]
TOO_FEW_KEYS = table(lengths, (3, 2, 2), (4, 9, 1), (1, 1, 0))
PREFIXES = [{"t": 4, "n_prefix": 2}, {"t": 5, "n_prefix": 3}, {"t": 11, "n_prefix": 4}]
OTHER_PREFIX = {"t": 4, "n_prefix": 3}  # as large as the mask of PREFIXES[0]
PREFIX_EDGES = table(a_prefix, (3, 0), (3, 1), (4, 4), (1, 0), (1, 1))
NO_PREFIXES = [{"t": 3, "n_prefix": 4}, {"t": 3, "n_prefix": -1}, {"t": 1, "n_prefix": 9}]

# runs: how long the documents are. numbers: theirs, from the first on again when they run out.
PACKED = [
    *table(packed, ((), (2, 1), (0, 1)), ((), (1, 3, 2), (4, 9, 7)), ((), (2, 3), (-1, -5))),
    *table(packed, ((), (2, 2), (3,), {"opposite": True})),
]
TURNED = {"batch": (), "runs": (1, 2, 3, 2), "numbers": (7, 0)}  # as long as AGAIN[1]
AGAIN = table(
    packed, ((), (1, 1, 1), (3, 8)), ((), (2, 3, 1, 2), (7, 0)), ((2,), (2, 2, 3), (0, 5))
)
PACKED_SHAPES = [
    *table(packed, ((), (1,), (6,)), ((1,), (4,), (0,)), ((3,), (1, 2), (2, 1))),
    *table(packed, ((2, 3), (2, 1, 2), (1, 0, 3), "int32"), ((2,), (3, 1, 5, 2), (1, 2, 3, 4))),
]
ALONE = table(packed, ((), (2, 3, 1), (5, 2, 5)), ((), (1, 1, 4, 2), (0, 1)))
TIMED = [{"batch": (), "runs": (2, 1, 2), "numbers": (1, 3), "vocabulary": 5}]
BATCH = [{"batch": (3,), "runs": (2, 1, 2), "numbers": (1, 4), "vocabulary": 6}]


def test_window_agree(student, given):
    """A query sees its own position and those before it, `window` of them at most."""
    cases = given.cases(lengths, WINDOWS)
    again = given.case(lengths, 0, OTHER_WINDOW, 0)  # enlarged as the first of them
    laws.agrees(student.sliding_window_mask, [*cases, again])


def test_window_rectangular(student, given):
    """With fewer queries than keys, the queries are the last positions."""
    laws.agrees(student.sliding_window_mask, given.cases(lengths, RECTANGLES))


def test_window_errors(student, given):
    """A window below 1, or fewer keys than queries, is a ValueError."""
    function = student.sliding_window_mask
    laws.rejects(function, given.cases(lengths, NO_WINDOWS), "The window is less than 1")
    laws.rejects(function, given.cases(lengths, TOO_FEW_KEYS), "t_k is less than t_q")


def test_prefix_agree(student, given):
    """The first n_prefix keys are seen by all; beyond them the mask is causal."""
    laws.agrees(student.prefix_mask, given.cases(a_prefix, PREFIXES))


def test_prefix_edges(student, given):
    """No prefix leaves the mask causal, and a prefix of t allows everything."""
    laws.agrees(student.prefix_mask, given.cases(a_prefix, PREFIX_EDGES))


def test_documents_agree(student, given):
    """A query sees its own document up to itself, and nothing of another one."""
    laws.agrees(student.document_mask, given.cases(packed, PACKED))


def test_documents_again(student, given):
    """A number that comes again later is another document."""
    laws.agrees(student.document_mask, given.cases(packed, AGAIN))


def test_documents_shapes(student, given):
    """Any number of batch axes, a single document, and documents of one position."""
    laws.agrees(student.document_mask, given.cases(packed, PACKED_SHAPES))


def test_documents_alone(student, given):
    """A packed document is masked as it is alone, and sees nothing outside itself."""
    laws.documents_are_alone(student.document_mask, given.cases(packed, ALONE), square=True)


def test_places_agree(student, given):
    """Positions begin at 0 in each document."""
    laws.agrees(student.document_positions, given.cases(packed, PACKED))


def test_places_again(student, given):
    """A number that comes again later is another document, and begins at 0."""
    laws.agrees(student.document_positions, given.cases(packed, AGAIN))


def test_places_shapes(student, given):
    """Any number of batch axes, a single document, and documents of one position."""
    laws.agrees(student.document_positions, given.cases(packed, PACKED_SHAPES))


def test_places_alone(student, given):
    """A packed document counts its positions as it does alone."""
    laws.documents_are_alone(student.document_positions, given.cases(packed, ALONE))


test_documents_rows = standard.in_a_batch("document_mask", packed, BATCH, batched=["documents"])
test_documents_arguments = standard.untouched("document_mask", packed, BATCH)
test_places_arguments = standard.untouched("document_positions", packed, BATCH)
test_prefix_errors = standard.refused(
    "prefix_mask", a_prefix, NO_PREFIXES, "n_prefix lies outside 0 to t"
)
test_window_repeat = standard.when_repeated(
    "sliding_window_mask",
    lengths,
    [WINDOWS[0], RECTANGLES[0]],
    also=[OTHER_WINDOW, OTHER_RECTANGLE],
)
test_prefix_repeat = standard.when_repeated(
    "prefix_mask", a_prefix, PREFIXES[:1], also=[OTHER_PREFIX]
)
test_documents_no_future = standard.no_future(
    "document_mask", packed, TIMED, along={"documents": -1}
)
test_documents_repeat = standard.when_repeated("document_mask", packed, AGAIN[1:2], also=[TURNED])
test_places_repeat = standard.when_repeated("document_positions", packed, AGAIN[1:2], also=[TURNED])
