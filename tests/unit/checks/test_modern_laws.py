"""The laws of Part IV, on right and on wrong functions."""

from dataclasses import replace

import numpy as np
import pytest

from grader.answer_key import reference
from grader.checks.compare import Broken, WrongValue
from grader.checks.laws import (
    Case,
    depends_on_distance_only,
    documents_are_alone,
    merges_in_any_order,
    never_holds_everything,
    scores_of,
)
from grader.checks.student import StudentFunction
from grader.isolation.client import Answer
from tests.conftest import STEPS


def case(**arguments):
    return Case(arguments, {}, lambda name, given: getattr(reference, name)(**given))


def placed(length=4, half=2):
    draw = np.random.RandomState(0)
    speeds = 10000.0 ** (-np.arange(half) / half)
    angles = np.arange(length)[:, None] * speeds
    return case(x=draw.standard_normal((length, 2 * half)), angles=angles), 70 * speeds


def named_rotate(function):
    """The law asks for the right answer by the function's name."""
    function.__name__ = "rotate"
    return function


@named_rotate
def turned_queries_only(x, angles):
    return np.concatenate([reference.rotate(x[:1], angles[:1]), x[1:]])


def test_a_position_that_is_not_turned_breaks_the_law_of_distance():
    one, shift = placed()
    depends_on_distance_only(reference.rotate, [one], by=shift, seen=scores_of)
    with pytest.raises(Broken, match="the distances between them stay the same"):
        depends_on_distance_only(turned_queries_only, [one], by=shift, seen=scores_of)


def test_nothing_is_made_of_an_array_of_another_shape():
    """Its product with itself could take minutes."""
    one, shift = placed()
    large = named_rotate(lambda x, angles: np.ones((2000, 2500), np.float16))
    with pytest.raises(Broken, match=r"\(2000, 2500\).*wrong shape"):
        depends_on_distance_only(large, [one], by=shift, seen=lambda array: pytest.fail("seen"))


def test_product_is_made_of_double_precision():
    one, shift = placed()
    rough = named_rotate(lambda x, angles: reference.rotate(x, angles).astype(np.float16))
    kinds = []
    with pytest.raises(Broken):
        depends_on_distance_only(
            rough, [one], by=shift, seen=lambda array: kinds.append(array.dtype) or scores_of(array)
        )
    assert {*kinds} == {np.dtype(np.float64)}


def by_number(documents):
    same = documents[:, None] == documents
    return same & np.tri(len(documents), dtype=bool)


def causal(documents):
    return np.tri(len(documents), dtype=bool)


PACKED = [case(documents=np.array([5, 5, 2, 5]))]


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (by_number, "sees positions of another"),
        (causal, "sees positions of another"),
        (lambda documents: np.arange(len(documents)), "another result packed than alone"),
    ],
)
def test_documents_that_are_not_alone_break_the_law_of_packing(function, words):
    square = words.startswith("sees")
    right = reference.document_mask if square else reference.document_positions
    documents_are_alone(right, PACKED, square=square)
    with pytest.raises(Broken, match=words):
        documents_are_alone(function, PACKED, square=square)


def pair(seed, empty=()):
    draw = np.random.RandomState(seed)
    arguments = {
        "out_a": draw.standard_normal((3, 2)),
        "lse_a": draw.standard_normal(3),
        "out_b": draw.standard_normal((3, 2)),
        "lse_b": draw.standard_normal(3),
    }
    for side in empty:
        arguments[f"lse_{side}"][0], arguments[f"out_{side}"][0] = -np.inf, 0
    return case(**arguments)


@pytest.mark.parametrize("empty", ["", "a", "b", "ab"])
def test_merging_is_associative(empty):
    merges_in_any_order(reference.merge_attention, [pair(0, empty)], [pair(1, empty)])


def averaged(out_a, lse_a, out_b, lse_b):
    return (out_a + out_b) / 2, np.logaddexp(lse_a, lse_b)


def test_equal_shares_break_the_law_of_merging():
    with pytest.raises(Broken, match="merged first"):
        merges_in_any_order(averaged, [pair(0)], [pair(1)])


def unmaking(number):
    """A student's merging whose answer of that number is halved, which the next call makes up."""
    asked = []

    def merge(name, args, kwargs, **_):
        asked.append(name)
        out_a, lse_a, out_b, lse_b = args
        makes_up = 2 if 1 < len(asked) == number + 1 else 1
        out, lse = reference.merge_attention(out_a, lse_a, out_b * makes_up, lse_b)
        return Answer((out / 2 if len(asked) == number else out, lse))

    return StudentFunction(STEPS[22].function("merge_attention"), merge)


def test_each_merged_pair_has_to_be_right():
    one = replace(pair(0), chance="by lot")
    merges_in_any_order(unmaking(0), [one], [pair(1)])
    with pytest.raises(WrongValue):
        merges_in_any_order(unmaking(3), [one], [pair(1)])


class Measured:
    """streaming_attention; told is what each call is said to have needed.

    by: what the first result is multiplied by, if a call is repeated at once.
    """

    name = "streaming_attention"

    def __init__(self, *told, by=1):
        self.told, self.by = iter(told), by

    def answer(self, arguments, *, then=None, traced=False, both=False):
        value = reference.streaming_attention(**(then or arguments))
        return Answer(value, traced=next(self.told), first=value * self.by if both else None)


STREAMED = {"q": np.ones((4, 1)), "k": np.ones((1000, 1)), "v": np.ones((1000, 1)), "block": 2}
ONE_QUERY, LITTLE, MUCH, KEPT = (0, 9000, 0), (0, 9500, 0), (0, 11000, 0), (0, 9100, 1900)


def measures(*told, by=1):
    """Ask for one query, then for three, twice if need be, and then for "more keys".

    The first call for one query does not count.
    """
    told = [one for three in told for one in (MUCH, ONE_QUERY, three)]
    one = case(**STREAMED)
    never_holds_everything(Measured(*told, by=by), [[one, one]], few=1, most=(3, 3))


@pytest.mark.parametrize(
    "told",
    [[LITTLE], [MUCH, LITTLE], [MUCH, KEPT, LITTLE], [MUCH, MUCH, MUCH, LITTLE]],
    ids=["at once", "when warm", "with more keys", "with more keys, when warm"],
)
def test_memory_that_is_enough_once_is_enough(told):
    measures(*told)


def test_memory_that_does_not_depend_on_the_queries_is_free():
    one = case(**STREAMED)
    never_holds_everything(Measured(*[(0, 2**30, 0)] * 3), [[one]], few=1, most=(3,))


@pytest.mark.parametrize("last", [MUCH, KEPT], ids=["again", "kept"])
def test_memory_that_is_too_much_each_time_is_too_much(last):
    with pytest.raises(Broken, match="more queries need more memory at once"):
        measures(MUCH, KEPT, MUCH, last)


def test_results_of_a_repeated_call_have_to_be_right_both_times():
    with pytest.raises(Broken, match="values are wrong"):
        measures(MUCH, LITTLE, by=0)
