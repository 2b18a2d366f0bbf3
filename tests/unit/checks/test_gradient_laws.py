"""The laws of gradients on small functions, and the comparison of trees."""

import re
from contextlib import nullcontext

import numpy as np
import pytest

from grader.answer_key import reference
from grader.authoring.build import pack_value
from grader.checks import laws
from grader.checks.compare import UNSAID, Broken, WrongResult, WrongValue, largest, matches
from grader.checks.laws import Case
from grader.checks.student import StudentFunction
from grader.checks.suites import unpack_value
from grader.checks.tolerances import EXACT
from grader.isolation.client import Answer
from grader.steps.inputs import Draw
from tests.conftest import STEPS
from tests.visible.masks import causal

T, D = 5, 3


class Student:
    """A function with named results, as the laws know those of a student."""

    def __init__(self, function, *returns):
        self.call, self.name, self.names = function, function.__name__, returns

    def __call__(self, **arguments):
        return self.call(**arguments)


def case(batch=(), **more):
    draw = Draw("gradient laws", batch)
    arguments = {"d_out": draw.normal(*batch, T, D), "x": draw.normal(*batch, T, D), **more}
    return Case(arguments, {"batch": batch}, lambda name, arguments: None)


def past_mean_backward(d_out, x):
    """The gradient of a running mean, and that of a bias."""
    weights = np.tri(T) / np.arange(1, T + 1)[:, None]
    return weights.T @ d_out, d_out.reshape(-1, D).sum(axis=0)


def mean_backward(d_out, x):
    """The gradient of a mean over all positions: it has seen the future."""
    d_x = np.broadcast_to(d_out.mean(axis=-2, keepdims=True), d_out.shape)
    return d_x, d_out.reshape(-1, D).sum(axis=0)


def clipped_backward(d_out, x):
    """Not linear in d_out."""
    return past_mean_backward(np.clip(d_out, -1, 1), x)


def averaged_backward(d_out, x):
    """The bias gets a mean over the batch."""
    d_x, d_bias = past_mean_backward(d_out, x)
    return d_x, d_bias / np.prod(d_out.shape[:-2])


def named(function):
    return Student(function, "d_x", "d_bias")


def future(function):
    laws.no_gradient_from_the_future(named(function), [case(), case((2,))])


def linear(function):
    laws.is_linear_in(named(function), [case()], "d_out")


def batch(function):
    laws.batch_adds_up(named(function), [case((3,))], batched=("d_out", "x"), own=("d_x",))


def normed(function, batch=()):
    """A student's layer_norm_backward that answers so, and a case of it."""
    step = STEPS[16].function("layer_norm_backward")
    student = StudentFunction(step, lambda name, args, kwargs, **_: Answer(function(*args)))
    arguments = {**case(batch).arguments, "gain": np.ones(D)}
    one = Case(arguments, {}, lambda name, given: reference.layer_norm_backward(**given), chance=1)
    return student, [one]


@pytest.mark.parametrize(("share", "verdict"), [(1, nullcontext()), (0, pytest.raises(WrongValue))])
def test_results_without_rows_have_to_be_right_too(share, verdict):
    def backward(*args):
        d_x, *others = reference.layer_norm_backward(*args)
        return d_x, *(share * one for one in others)

    with verdict:
        laws.rows_are_independent(*normed(backward), batched=("d_out", "x"), results=["d_x"])


def test_answers_of_another_form_break_the_law_and_choose_no_word_of_it():
    def not_summed(d_out, x, gain):
        return d_out, np.ones((len(d_out), D)), np.zeros(D)

    with pytest.raises(Broken, match=r"sequences alone\. Two answers differ\.$") as broken:
        laws.batch_adds_up(*normed(not_summed, (2,)), batched=("d_out", "x"), own=("d_x",))
    assert "d_gain: The shape is (2, 3); expected (1, 3)" in broken.value.shown


@pytest.mark.parametrize("law", [future, linear, batch])
def test_right_gradients_keep_all_laws(law):
    law(past_mean_backward)


@pytest.mark.parametrize(
    ("law", "function", "told"),
    [
        (future, mean_backward, r"loss on positions up to 0 has a gradient at later positions"),
        (linear, clipped_backward, r"not linear in d_out"),
        (batch, averaged_backward, r"not the sum of those for its sequences alone"),
    ],
)
def test_wrong_gradients_break_the_law_that_is_about_them(law, function, told):
    with pytest.raises(Broken, match=told):
        law(function)


def test_gradient_at_a_hidden_key_is_found():
    def attention_backward(d_out, q, k, v, mask):
        return d_out, np.ones_like(k), np.zeros_like(v)

    draw = Draw("hidden")
    arguments = {name: draw.normal(T, D) for name in ("d_out", "q", "k", "v")}
    arguments["mask"] = causal(T)
    one = Case(arguments, {}, lambda name, arguments: None)
    with pytest.raises(Broken, match=r"query 0 has a gradient at keys that are hidden .* in d_k"):
        laws.hidden_keys_get_nothing(Student(attention_backward, "d_q", "d_k", "d_v"), [one])


TREE = {"w": np.arange(6.0).reshape(2, 3), "blocks": [{"b": np.zeros(2)}, {"b": np.ones(2)}]}
WRONG_TREE = {"w": -TREE["w"], "blocks": [{"b": np.ones(2)}, {"b": np.ones(2)}]}


def changed(**changes):
    return {**TREE, **changes}


@pytest.mark.parametrize(
    ("got", "told"),
    [
        ((1, 2), r"^grads is a tuple of 2; expected a dict with the keys 'blocks', 'w'\.$"),
        ({"w": TREE["w"]}, r"^grads lacks 'blocks'\.$"),
        (changed(more=np.ones(1)), r"^grads has keys that do not belong there"),
        (changed(blocks=[]), r"^grads\.blocks is a list of 0; expected a list of 2\.$"),
        (changed(w={"x": np.ones(2)}), r"^grads\.w is a dict; expected an array of floats"),
        (changed(w=None), r"^grads\.w is None"),
        (changed(w=np.zeros((3, 2))), r"^grads\.w: The shape is \(3, 2\); expected \(2, 3\)"),
        (changed(w=-TREE["w"]), r"^grads\.w: [45] of 6 values are wrong\.$"),
        (
            WRONG_TREE,
            r"^grads: 2 of 3 arrays are wrong \(w, blocks\[0\]\.b\)\. grads\.w: Most of the 6",
        ),
    ],
)
def test_wrong_tree_is_shown_by_its_keys(got, told):
    with pytest.raises(Broken) as found:
        matches(TREE, got, EXACT, name="grads")
    assert re.search(told, found.value.shown)


@pytest.mark.parametrize(
    ("got", "told"),
    [
        ({}, "grads has no 'w'. It is not the only one."),
        (
            changed(secret=np.ones(1)),
            "grads has keys that do not belong there: expected the keys 'blocks', 'w'.",
        ),
        (
            WRONG_TREE,
            "grads: Most of its 3 arrays are wrong. grads.w: Most of the 6 values are wrong.",
        ),
    ],
)
def test_hidden_report_names_one_part_of_a_wrong_tree(got, told):
    """Which parts are missing or wrong is for the judged code to choose: it could say much."""
    with pytest.raises(Broken) as found:
        matches(TREE, got, EXACT, name="grads")
    assert found.value.told == told


def test_hidden_report_repeats_one_shape_of_the_judged_code():
    told = f"The shape of the output depends on later values: {UNSAID} became {UNSAID}."
    broken = Broken(told, shapes=[(2, 3), (3, 2)])
    assert broken.shown == told.replace(UNSAID, "(2, 3)", 1).replace(UNSAID, "(3, 2)")
    assert broken.tell({0, 1, 2, 3}) == told.replace(UNSAID, "(2, 3)", 1)
    assert broken.tell({0, 1, 3}) == told
    same = WrongResult.unexpected("f returned", np.zeros((3, 2)), "; expected 2 results.")
    assert same.tell({0, 1, 2, 3}) == "f returned floats of shape (3, 2); expected 2 results."
    assert same.tell({0, 1}) == "f returned floats of shape (…); expected 2 results."


def test_trees_are_compared_by_key_and_a_tuple_is_a_list():
    got = {"blocks": ({"b": np.zeros(2)}, {"b": np.ones(2)}), "w": TREE["w"] + 1e-12}
    matches(TREE, got, EXACT, name="grads")


def test_noise_in_one_array_is_measured_by_the_whole_tree():
    """The true gradient of b_k is 0, and nobody's is."""
    right = {"w": np.full(3, 1e3), "b": np.zeros(3)}
    one = Case({}, {}, lambda name, arguments: right)

    laws.agrees(Student(lambda: {**right, "b": np.full(3, 5e-8)}), [one])
    with pytest.raises(Broken, match=r"b: All 3 values"):
        laws.agrees(Student(lambda: {**right, "b": np.full(3, 5e-7)}), [one])


def test_largest_looks_everywhere_and_at_finite_numbers_only():
    assert largest((TREE, [np.array([-7.0, np.inf])], 3.0, None)) == 7.0


def test_tree_is_stored_and_read_again():
    stored = unpack_value(pack_value((1.5, TREE)))
    matches(TREE, stored[1], EXACT)
    assert stored[0] == 1.5


def test_tree_that_is_the_only_result_is_called_by_its_name():
    with pytest.raises(Broken, match=r"^params\.w: The value is wrong"):
        matches({"w": np.ones(1)}, {"w": np.zeros(1)}, EXACT, name="step", names=("params",))


@pytest.mark.parametrize(
    ("off", "verdict"), [(1e-6, nullcontext()), (1.0, pytest.raises(Broken, match="d_x"))]
)
def test_large_arguments_leave_noise_in_gradients_that_cancel(off, verdict):
    x = 1e6 * np.ones((T, D))
    asked = Case({"d_out": np.ones((T, D)), "x": x}, {}, lambda name, arguments: (x * 0, x[0] * 0))

    def cancelled(d_out, x):
        return np.full_like(x, off), np.zeros(D)

    with verdict:
        laws.stays_right_when_large(named(cancelled), [asked])
