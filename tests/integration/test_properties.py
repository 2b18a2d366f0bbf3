"""Test the patterns in unknown mistakes: true of all wrong results, and none if it is chance."""

import itertools
import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from grader.checks.laws import Case
from grader.checks.tolerances import EXACT
from grader.diagnosis.properties import patterns
from grader.diagnosis.properties.conditions import FIXED
from grader.diagnosis.properties.experiments import CaseNotes
from grader.diagnosis.properties.facts import describe_wrong
from grader.engine import causes
from grader.isolation.client import Raised
from grader.isolation.wire import Foreign
from grader.report.records import Diagnosis, Status
from tests.conftest import ROOT, SOLUTIONS, STEPS

RANDOM = np.random.RandomState(7)


def tried(right, wrong, cases, *names):
    """Return the notes on all cases when `wrong` replaces `right`, whose results have names."""
    notes = CaseNotes(SimpleNamespace(returns=names or ("y",)), None)
    for arguments, sizes in cases:
        case = Case(arguments, sizes, lambda name, given: right(**given))
        notes.note(case, right(**arguments), wrong(**arguments), EXACT)
    return notes.tried


def told_of(*given):
    """Return what is said of what was `tried` so."""
    return describe_wrong(tried(*given), ["x"])


def arrays(*shapes, **sizes):
    """A case for each shape, with one random array."""
    return [
        ({"x": RANDOM.standard_normal(shape)}, {"batch": shape[:-2], "number": i, **sizes})
        for i, shape in enumerate(shapes)
    ]


SQUARES = [(3, 3), (4, 4), (2, 5, 5)]
OBLONGS = [(3, 4), (4, 2), (2, 4, 5)]
TALL = [(3, 4), (4, 3), (5, 2)]


def same(x):
    return x


def softmax(x):
    return np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)


def wrong_where(places):
    """Code whose results are wrong at these places, of so many rows and columns."""
    return lambda x: np.where(places(*x.shape[-2:]), x**3 + 2, x)


FIRES = {
    "swapped_axes": (same, lambda x: np.swapaxes(x, -1, -2), OBLONGS),
    "reshaped": (same, lambda x: x.ravel(), OBLONGS),
    "factor": (same, lambda x: 2 * x, OBLONGS),
    "digits": (same, lambda x: x.astype(np.float32), OBLONGS),
    "shifted_late_-2": (same, lambda x: np.roll(x, 1, axis=-2), OBLONGS[:1] + OBLONGS[2:]),
    "permuted": (same, lambda x: np.sort(x.ravel()).reshape(x.shape), OBLONGS),
    "factor_along_-1": (softmax, lambda x: np.exp(x), OBLONGS),
    "unit_rows": (same, lambda x: x / np.linalg.norm(x, axis=-1, keepdims=True), OBLONGS),
    "zero": (same, lambda x: np.where(x > 0, x, 0), OBLONGS),
    "wrong_-1_-1": (
        same,
        wrong_where(lambda t, n: np.arange(n) == n - 1),
        [(3, 4), (4, 1), (5, 3)],
    ),
    "above_diagonal": (same, wrong_where(lambda t, n: ~np.tri(t, n, n - t, dtype=bool)), SQUARES),
    "right_0_-2": (same, wrong_where(lambda t, n: np.arange(t)[:, None] > 0), TALL),
    "wrong_-1_-2": (same, wrong_where(lambda t, n: np.arange(t)[:, None] == t - 1), TALL),
}


def ids(diagnosis):
    return diagnosis.misconception.removeprefix("property:").split("+") if diagnosis else []


def test_each_pattern_was_seen_in_an_unseen_program():
    """One that never fires on a program whose author did not know it is not worth its lines."""
    said = json.loads((ROOT / "tests/corpora/unseen/said.json").read_text(encoding="utf-8"))
    seen = " ".join(one["property"] for one in said.values())
    assert [name for name in (*FIXED, *patterns.TABLE) if name not in seen] == []


@pytest.mark.parametrize("name", FIRES)
def test_property_is_said_of_code_that_has_it(name):
    right, wrong, shapes = FIRES[name]
    found = told_of(right, wrong, arrays(*shapes))
    assert name in ids(found)
    assert found.says.count(". ") <= 1


@pytest.mark.parametrize("name", FIRES)
def test_property_is_not_said_if_one_wrong_result_has_it_not(name):
    right, wrong, shapes = FIRES[name]
    odd = arrays((3, 6))
    found = tried(right, wrong, arrays(*shapes)) + tried(right, lambda x: np.cos(x) + 3 * x**2, odd)
    assert name not in ids(describe_wrong(found, ["x"]))


@pytest.mark.parametrize("shape", [(1, 4), (1, 1), (2, 1, 3)])
def test_nothing_is_said_that_could_not_be_otherwise(shape):
    """A single row is the first row, the last, and the diagonal."""
    assert ids(told_of(same, lambda x: x**3 + 2, arrays(shape, shape))) == []


MASK = [({"x": RANDOM.uniform(size=shape) > 0.5}, {"number": n}) for n, shape in enumerate(SQUARES)]
IDS = [({"x": RANDOM.randint(9, size=shape)}, {"number": n}) for n, shape in enumerate(OBLONGS)]


def by(*factors):
    """Code that multiplies the results of the cases, in turn, by these."""
    left = itertools.cycle(factors)
    return lambda x, **_: x * next(left)


UNIT = [({"x": RANDOM.uniform(size=(4, 5))}, {"number": n}) for n in range(3)]
WIDTHS = [({"x": RANDOM.standard_normal((3, 4))}, {"d_k": d_k, "number": d_k}) for d_k in (2, 3, 5)]
MEANS = [
    ({"x": np.asarray(2.5), "targets": np.arange(n)}, {"length": n + 1, "number": n})
    for n in (2, 3, 5)
]
OF_MASK = "1 and 0 where True and False are expected."
ONLY_TYPE = "Every value is right; only the type is not: "
SOME = " Some values are wrong too."
SAME_FACTOR = "The numbers are the right ones times the same factor everywhere."
AS_FLOAT32 = "The numbers are right to about 7 digits only, as many as a float32 has."
FLOAT_IDS = "floats where integers are expected."
SAID = {
    "a mask in integers": (lambda x: x.astype(int), MASK, ONLY_TYPE + OF_MASK),
    "a mask in floats": (lambda x: x.astype(float), MASK, ONLY_TYPE + OF_MASK),
    "ids in floats": (lambda x: x.astype(float), IDS, ONLY_TYPE + FLOAT_IDS),
    "other ids in floats": (lambda x: x + 0.5, IDS, f"The type is wrong: {FLOAT_IDS}{SOME}"),
    "a size": (by(*np.sqrt([2, 3, 5])), WIDTHS, "Every number is √d_k times too large."),
    "a sign": (
        by(-2, -3, -5),
        WIDTHS,
        "Every number is d_k times too large, and has the wrong sign.",
    ),
    "a count": (by(2, 3, 5), MEANS, "Every number is the number of predictions times too large."),
    "a number that may be an input": (by(1.2345), arrays(*OBLONGS), SAME_FACTOR),
    "decimals": (lambda x: np.round(x, 2), UNIT, "Every number is rounded to 2 decimals."),
    "float32": (lambda x: x.astype(np.float32), UNIT, AS_FLOAT32),
    "an offset": (lambda x: x + 1e-4, UNIT, "The numbers are right to about 3 digits only."),
}


@pytest.mark.parametrize(("wrong", "cases", "says"), SAID.values(), ids=SAID)
def test_wrong_numbers_are_described(wrong, cases, says):
    found = told_of(lambda x, **_: x, wrong, cases)
    assert found.says == says


def test_type_is_not_said_where_something_else_came_too():
    right = tried(same, lambda x: x.astype(float), IDS)
    assert ids(describe_wrong(right + tried(same, lambda x: None, arrays((3, 3))), ["x"])) == []


def test_fact_is_about_what_was_returned_where_something_was_raised():
    found = tried(same, lambda x: 2 * x, arrays(*OBLONGS))
    raised = replace(found[0], got=None, error=Raised("ValueError", (), "", ()), key="another")
    told = describe_wrong([*found, raised], ["x"]).says
    assert told == "Where it returns: every number is 2 times too large."


def test_nothing_is_said_of_right_results_and_of_single_numbers():
    assert told_of(same, same, arrays(*OBLONGS)) is None
    assert describe_wrong([], ["x"]) is None
    cases = [({"x": np.asarray(2.0)}, {}), ({"x": np.asarray(3.0)}, {})]
    assert told_of(same, lambda x: 2 * x, cases) is None


def replaced(tokens, rate):
    return np.where(np.arange(tokens.shape[-1]) < 2 * rate, tokens + 1, tokens)


def test_right_cases_in_which_nothing_happens_divide_nothing():
    """With rate 0 the tokens come back as they were, from almost any wrong code."""
    cases = [
        ({"tokens": RANDOM.randint(9, size=4), "rate": rate}, {"batch": (), "number": n})
        for n, rate in enumerate([1.0, 0.5, 1.0, 0, 0, 0])
    ]
    wrong = lambda tokens, rate: tokens + (np.arange(4) < 2 * rate) * (tokens + 3)  # noqa: E731
    found = describe_wrong(tried(replaced, wrong, cases), ["tokens"])
    assert "rate_is_zero" not in " ".join(ids(found))
    also = [({**cases[0][0], "rate": 0.0, "tokens": np.arange(4) + n}, {"n": n}) for n in range(3)]
    right = lambda tokens, rate: replaced(tokens, rate) + (rate == 0)  # noqa: E731
    wrong_or_1 = lambda tokens, rate: wrong(tokens, rate) + (rate == 0)  # noqa: E731
    found = describe_wrong(tried(right, wrong_or_1, [*cases, *also]), ["tokens"])
    assert ids(found)[0] == "not_rate_is_zero"


def test_axes_are_not_the_cause_if_the_failing_checks_have_just_these():
    cases = tried(same, lambda x: np.sin(x) - x**2 if x.ndim > 2 else x, arrays(*OBLONGS * 3))
    one = [replace(c, check="borders" if len(c.sizes["batch"]) else "others") for c in cases]
    agree = [replace(c, check="agree") for c in cases]
    mixed = [replace(c, check="agree", key=f"again {c.key}") for c in cases[7:]]
    shapes = [replace(c, check="shapes", key=f"also {c.key}") for c in cases[7:]]
    assert "batch" in ids(describe_wrong(agree, ["x"]))
    assert "batch" not in ids(describe_wrong(one, ["x"]))
    assert "batch" not in ids(describe_wrong([*one, *mixed], ["x"]))
    assert "batch" in ids(describe_wrong([*one, *mixed, *shapes], ["x"]))


def test_sentence_names_only_the_results_that_it_is_about():
    def right(x):
        return {"w": x, "b": x[0]}, np.abs(x).sum() + np.arange(9.0)

    def wrong(x):
        _, norm = right(x)
        return {"w": x * 3, "b": x[0] * 3}, norm + 1 + np.arange(9) ** 2

    found = told_of(right, wrong, arrays(*OBLONGS), "clipped", "norm")
    assert found.says == ("clipped: Every number is 3 times too large.")
    found = told_of(lambda x: (x, x), lambda x: (2 * x, 2 * x), arrays(*OBLONGS), "a", "b")
    assert found.says == "a, b: Every number is 2 times too large."


def test_results_that_are_cut_elsewhere_are_recognised():
    def cut(at, factor=1):
        return lambda x: (factor * x[..., :at], factor * x[..., at:])

    found = told_of(cut(1), cut(2), arrays(*OBLONGS), "k", "v")
    said = "Side by side, k, v hold the right numbers; they are only cut apart elsewhere."
    assert found.says == said
    assert ids(told_of(cut(1), cut(2, 3), arrays(*OBLONGS), "k", "v")) != ["cut"]
    assert ids(told_of(cut(1), cut(1, 3), arrays(*OBLONGS), "k", "v")) != ["cut"]


def test_results_that_are_right_in_every_case_are_named_where_nothing_else_is_known():
    def right(x):
        ln = {"gain": x + 2, "bias": x + 3}
        return x, {"w": x + 1, "ln": ln, "ff": {"b": x + 4}, "idle": 0 * x}

    def wrong(x):
        d_x, grads = right(x)
        return np.sin(d_x), {**grads, "w": np.cos(x), "ln": {**grads["ln"], "gain": x * x}}

    found = told_of(right, wrong, arrays(*OBLONGS), "d_x", "grads")
    assert ids(found) == ["parts"]
    said = "Right in every case: grads.ln.bias, grads.ff. Wrong: d_x, grads.w, grads.ln.gain."
    assert found.says == said
    nowhere = told_of(right, lambda x: right(np.sin(x)), arrays(*OBLONGS), "d_x", "grads")
    assert nowhere is None or "parts" not in ids(nowhere)


def odd(x):
    """What has no pattern."""
    return np.sin(x) - x**2


def odd_from(length):
    """Code that is wrong for texts of that length or more."""
    return lambda x, **_: x if len(x) < length else odd(x)


def texts(*lengths):
    """A case for a text of each length."""
    shapes = [(length, 2) for length in lengths]
    return [
        (given, {"length": len(given["x"]), "number": n})
        for n, (given, _) in enumerate(arrays(*shapes))
    ]


STACKS = [
    ({"x": RANDOM.standard_normal((3, 4)), "n": n}, {"batch": (), "n_layers": n})
    for n in (1, 1, 2, 2, 3, 4)
]
NESTS = [
    ({"x": x, "params": {"blocks": [{"w_k": np.full(2, size)}]}}, {"batch": ()})
    for x, size in zip(RANDOM.standard_normal((6, 3, 4)), [1.0, 1.0, 2.0, 1e4, 1e4, 1e5])
]
# It is one row by its nature: that it is one means nothing.
MASKED = [
    ({"x": np.arange(n) + 0.5, "padding": mask}, {"batch": (), "number": n})
    for n, mask in enumerate([np.ones((1, n), bool) for n in (3, 4, 5)] + [None] * 5, 3)
]
# `start` may be a token's name, and params need not hold a table of positions.
OF_OTHER_STEPS = [
    ({"x": RANDOM.standard_normal((3, 4)), "params": {"w": 1}, "tokens": np.arange(3)}, sizes)
    for sizes in ({"start": "zero"}, {"start": "last"}, {"start": 3, "lead": (2,)})
]
# The wrong code, the cases, what is found first, and words of it.
FOUND = {
    "long": (odd_from(5), texts(*range(2, 8)), "long", "with 5 positions or more"),
    "one longer than many": (
        *(odd_from(40), texts(*range(2, 14), 40), "long"),
        "Wrong in the one case with 40 positions or more; right in all 12",
    ),
    "batch": (
        *(lambda x: x if x.ndim < 3 else x**3 + 2, arrays(*OBLONGS * 3), "batch"),
        "Wrong in all 3 cases with a batch axis; right in all 6 without a batch axis.",
    ),
    "blocks": (
        *(lambda x, n: x if n <= 2 else np.sin(x) + x**2, STACKS, "many_blocks"),
        "all 2 cases with more than two blocks; right in all 4 with one block or",
    ),
    "large numbers inside of nests": (
        lambda x, params: x if params["blocks"][0]["w_k"].max() < 50 else np.sin(x),
        *(NESTS, "very_large", ""),
    ),
    "padding": (lambda x, padding: x if padding is None else x**2, MASKED, "with_padding", ""),
    "a shape": (lambda x: np.sin(x.swapaxes(-1, -2)) + 3, arrays(*OBLONGS), "shape_swapped", ""),
    "sizes of other steps": (lambda x, **_: 2 * x, OF_OTHER_STEPS, "factor", ""),
}


@pytest.mark.parametrize(("wrong", "cases", "id", "words"), FOUND.values(), ids=FOUND)
def test_what_divides_right_from_wrong_is_found(wrong, cases, id, words):
    found = told_of(lambda x, **_: x, wrong, cases)
    assert ids(found)[0] == id
    assert words in found.says
    assert "keep for later" not in found.hint  # there is no cache to ask about


FEW_LONG = [(3, 4), (4, 3), (2, 6), (6, 2), (3,), (4,), (5,)]
BATCHES = [(3, 4), (4, 2), (5, 2), (2, 2, 2), (3, 2, 3)]
# The wrong code, the cases, and what would be chance.
CHANCE = {
    "one longer than few": (odd_from(40), texts(*range(2, 7), 40), "long"),
    "one position has little that can be wrong": (odd_from(3), texts(*range(1, 7)), "long"),
    "some with as many axes are right": (
        *(lambda x: odd(x) if x.ndim == 2 and len(x) < 4 else x, arrays(*FEW_LONG), "axes"),
    ),
    "a single case on one side": (lambda x: x if x.ndim < 3 else odd(x), arrays(*OBLONGS), "batch"),
    "a wrong case without it": (
        *(lambda x: odd(x) if x.ndim == 3 or x.shape == (3, 4) else x, arrays(*BATCHES), "batch"),
    ),
}


@pytest.mark.parametrize(("wrong", "cases", "id"), CHANCE.values(), ids=CHANCE)
def test_what_may_be_chance_is_not_said(wrong, cases, id):
    assert id not in " ".join(ids(told_of(same, wrong, cases)))


def test_half_of_the_cases_that_have_it_may_be_chance():
    """Half of those without a limit are wrong, and the few with one are right: what of it?"""
    cases = [
        ({"x": RANDOM.standard_normal((3, 4)), "limit": limit}, {"number": i})
        for i, limit in enumerate([None] * 16 + [2] * 4)
    ]

    def wrong(x, limit=None):
        return x.T if limit is None and x[0, 0] > middle else x

    middle = np.median([case["x"][0, 0] for case, _ in cases[:16]])
    found = describe_wrong(tried(lambda x, limit: x, wrong, cases), takes=("x",))
    assert ids(found) == ["swapped_axes"]


def test_different_answers_to_one_question_come_before_all_else():
    cases = arrays(*OBLONGS)
    found = tried(same, same, cases) + tried(same, lambda x: -x, cases)
    assert ids(describe_wrong(found, ["x"])) == ["answers_differ"]


ODD = {
    "nothing": None,
    "an object": Foreign("generator"),
    "a text": "text",
    "an empty array": np.zeros((0, 3)),
    "an enormous array": np.zeros((2000, 2000)),
    "no numbers": np.full((3, 4), np.nan),
    "infinite": np.full((3, 4), -np.inf),
    "too large to square": np.full((3, 4), 1e308),
    "booleans": np.ones((3, 4), dtype=bool),
    "small integers": np.ones((3, 4), dtype=np.uint8),
    "many axes": np.ones((1,) * 12),
    "a list": [1.0, None],
}


@pytest.mark.parametrize("name", ODD)
def test_odd_results_are_survived(name):
    told = told_of(same, lambda x: ODD[name], arrays(*OBLONGS))
    assert told is None or isinstance(told, Diagnosis)


STEP = STEPS[1]
WRONG = """
def attention_scores(q, k):
    return np.sin(q @ np.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5)
"""


@pytest.mark.parametrize("broken", ["try_all_cases", "describe_wrong"])
def test_failure_inside_hides_no_failed_check(judge, monkeypatch, broken):
    def fails(*args):
        raise RuntimeError("broken")

    monkeypatch.setattr(causes, broken, fails)
    failed = [c for c in judge(STEP.id, SOLUTIONS[STEP.id] + WRONG).checks if c.message]
    assert {check.diagnosis for check in failed} == {None}


@pytest.mark.parametrize("suite", ["visible", "hidden"])
def test_unknown_mistake_gets_a_property_in_both_suites(judge, suite):
    end = WRONG.replace("np.sin(q", "(2 * q")
    checks = judge(STEP.id, SOLUTIONS[STEP.id] + end, suite).checks
    failed = [c for c in checks if c.status is Status.FAILED]
    assert {check.diagnosis.misconception for check in failed} == {"property:factor"}
    assert {check.diagnosis.says for check in failed} == {"Every number is 2 times too large."}
    assert not any(check.diagnosis.known for check in failed)


def test_arrays_of_a_tree_that_are_wrong_are_named():
    def right(x):
        return {"blocks": [{"w": x, "b": x.sum(axis=0)}, {"w": 2 * x, "b": x.sum(axis=0)}]}

    def wrong(x):
        return {"blocks": [{**block, "b": block["b"] * 0} for block in right(x)["blocks"]]}

    found = told_of(right, wrong, arrays((3, 4), (2, 5)))
    assert found.says == (
        "Right in every case: blocks.w. Wrong: blocks.b. Every wrong number is 0; all others are "
        "right."
    )
