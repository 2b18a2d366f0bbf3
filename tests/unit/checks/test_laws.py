"""The laws on small functions: right ones keep them, wrong ones are told what and where."""

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from grader.checks import laws
from grader.checks.compare import Broken, WrongValue, call_text, describe, show_array, show_inputs
from grader.checks.laws import Case
from grader.checks.laws.state import _ask_again, call_unchanged
from grader.checks.student import Student
from grader.checks.suites import CheckFunction, Given
from grader.checks.tolerances import FLOAT32
from grader.isolation.client import Answer, Raised
from grader.isolation.wire import Foreign
from grader.steps.inputs import Draw, digest, enlarge_sizes

T, D = 5, 3


def running_mean(x):
    """Right: position t is the mean of x[: t + 1]."""
    return np.cumsum(x, axis=-2) / np.arange(1, x.shape[-2] + 1)[:, None]


def mean(x):
    """Leaks everything everywhere."""
    return np.broadcast_to(x.mean(axis=-2, keepdims=True), x.shape).copy()


def peeks_one(x):
    """Position t reads position t + 1."""
    return x + np.concatenate([x[..., 1:, :], x[..., :1, :] * 0], axis=-2)


def counts_from_the_end(x):
    """Leaks no value, only how much is still to come."""
    return running_mean(x) * x.shape[-2]


def unstable(x):
    """Does not leak, but breaks under large values."""
    with np.errstate(over="ignore", invalid="ignore"):
        wild = np.exp(x) - np.exp(x)
    return running_mean(x) + wild.sum(axis=-2, keepdims=True)


def case(batch=(), function=running_mean, **sizes):
    x = Draw("laws", batch).normal(*batch, T, D)
    x.flags.writeable = False
    return Case({"x": x}, {"batch": batch, **sizes}, lambda name, arguments: function(**arguments))


def future(function):
    laws.future_does_not_matter(function, [case()], along={"x": -2})


def prefix(function):
    laws.prefix_gives_the_same(function, [case()], along={"x": -2})


def rows(function):
    laws.rows_are_independent(function, [case((3,))], batched=["x"])


def peeks_at_the_end_only(x):
    out = running_mean(x)
    out[..., -2, :] += x[..., -1, :]
    return out


def test_right_code_keeps_the_laws_of_time():
    future(running_mean)
    future(unstable)  # which is no leak
    future(counts_from_the_end)  # only a prefix shows it
    prefix(running_mean)
    rows(running_mean)
    laws.agrees(running_mean, [case()])
    laws.agrees_in_float32(running_mean, [case()])


@pytest.mark.parametrize(
    ("law", "function", "words"),
    [
        (future, mean, r"Position 0 .* only positions 1\.\.4 of x changed; .* position 0 only"),
        (future, peeks_one, r"Position 0 .* only positions 1\.\.4 of x"),
        (future, peeks_at_the_end_only, r"Position 3 .* only position"),
        (prefix, mean, "Position 0 .* first position: it depends on what comes after"),
        (prefix, counts_from_the_end, "how much comes after"),
        (rows, lambda x: x - x.mean(axis=0), "sequence 0 changed when only the other sequences"),
        (rows, lambda x: x.sum(), "an array with a row for each sequence"),
        (future, lambda x: x[:2], r"axis -2 should be time, 5 long"),
        (future, lambda x: None, r"returned None"),
    ],
)
def test_wrong_code_breaks_the_laws_of_time(law, function, words):
    with pytest.raises(Broken, match=words):
        law(function)


def test_losses_whose_probabilities_do_not_sum_to_1_have_seen_an_answer():
    texts = [Case({"tokens": np.array([0, 2, 1])}, {"vocabulary": 3}, None)]
    laws.probabilities_add_up(lambda tokens: np.log(3), texts)
    with pytest.raises(Broken, match=r"stand at position 1, .* do not sum to 1\."):
        laws.probabilities_add_up(lambda tokens: 0.9 * np.log(3), texts)


def test_prefix_law_cuts_both_axes_of_a_mask():
    def masked_mean(x, mask):
        return mask / mask.sum(axis=-1, keepdims=True) @ x

    def masked_mean_of_the_rest(x, mask):
        return masked_mean(x, mask[..., -1:, :].repeat(x.shape[-2], axis=-2))

    masked = case().changed(mask=np.tri(T, dtype=bool))
    along = {"along": {"x": -2}, "masks": ["mask"]}
    laws.prefix_gives_the_same(masked_mean, [masked], **along)
    with pytest.raises(Broken, match=r"Position 0 .* first position"):
        laws.prefix_gives_the_same(masked_mean_of_the_rest, [masked], **along)


def test_prefix_law_asks_no_more_than_the_case_allows():
    def rounds(x):
        return running_mean(x) + 1e-8 * x.shape[-2]

    with pytest.raises(Broken, match="by 4e-08 only: are all numbers kept with the digits"):
        prefix(rounds)
    laws.prefix_gives_the_same(rounds, [replace(case(), precision=FLOAT32)], along={"x": -2})


def test_first_leak_is_told_without_numbers_and_shown_with_them():
    with pytest.raises(Broken) as found:
        future(mean)
    assert "The change is" not in found.value.told
    assert "The change is" in found.value.shown
    (got,) = found.value.evidence.got
    assert set(got.wrong) == set(range(D))


def test_float32_law_forgives_rounding_and_nothing_else():
    laws.agrees_in_float32(lambda x: running_mean(x) * (1 + 3e-5), [case()])
    with pytest.raises(Broken, match="With float32 inputs: "):
        laws.agrees_in_float32(lambda x: running_mean(x) * (1 + 1e-3), [case()])


def standardised(x):
    """Takes the mean away: float32 has rounded much of what is left where that is small."""
    return (x - x.mean(axis=-1, keepdims=True)) / x.std(axis=-1, keepdims=True)


def far(shift):
    """A hidden case whose numbers are nearly equal, as far as float32 can tell."""
    x = case().arguments["x"] + shift
    return Case({"x": x}, {}, lambda _, arguments: standardised(**arguments), chance="by lot")


def test_float32_law_forgives_what_the_rounding_of_the_inputs_alone_would_change():
    laws.agrees_in_float32(standardised, [far(5000)], norms=True)
    with pytest.raises(Broken):  # visible results are stored, and so are known to be steady
        laws.agrees_in_float32(standardised, [replace(far(5000), chance="")], norms=True)


@pytest.mark.parametrize(("shift", "error"), [(0, 3e-4), (5000, 0.1)])
def test_float32_law_forgives_no_more_than_that(shift, error):
    def wrong(x):
        return standardised(x) * (1 + error)

    with pytest.raises(Broken):
        laws.agrees_in_float32(wrong, [far(shift)], norms=True)


def test_agreement_is_tight():
    laws.agrees(lambda x: running_mean(x) * (1 + 1e-11), [case()])
    with pytest.raises(Broken, match="values are wrong"):
        laws.agrees(lambda x: running_mean(x) * (1 + 1e-7), [case()])


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.ones((T, D + 1)), r"shape is \(5, 4\); expected \(5, 3\)"),
        (np.ones((1, T, D)), r"shape is \(1, 5, 3\)"),
        (np.ones((T, D), bool), "booleans; expected floats"),
        (np.full((T, D), np.nan), "All 15 values are wrong. Some are NaN"),
        (np.full((T, D), np.inf), "Some are infinite"),
        ([[1.0] * D] * T, "a list of 5; expected an array"),
        (Foreign("Tensor"), "an object of its own class"),
        (Foreign("range"), "an object of type 'range'"),
        (Foreign("tuple of 3"), "a tuple of 3"),
        (Foreign("matrix"), "returned an np.matrix, which always has two axes; expected a plain"),
        (Foreign("masked array"), "a masked array: its mask is lost when it is read as numbers"),
        (3.0, r"shape is \(\)"),
        ("x", "a str"),
        ({}, "a dict"),
    ],
    ids=str,
)
def test_what_is_not_right_is_told(value, words):
    with pytest.raises(Broken, match=words):
        laws.agrees(lambda x: value, [case()])


@pytest.mark.parametrize(
    ("sizes", "why"),
    [
        ({"t_k": 4, "d_v": 3}, r" \(its last axis is as long as T_k\)\."),
        ({"t_k": 4, "d_k": 4, "d_v": 3}, r"\."),
        ({"t_k": 5, "d_v": 3}, r"\."),
    ],
)
def test_wrong_length_is_named_where_it_is_one_size_for_certain(sizes, why):
    with pytest.raises(Broken, match=r"is \(5, 4\); expected \(5, 3\)" + why):
        laws.agrees(lambda x: np.ones((T, D + 1)), [case(**sizes)])


def test_scalars_may_be_of_any_kind():
    one = Case({"x": np.ones(3)}, {}, lambda name, arguments: 3.0)
    for value in (3.0, 3, np.asarray(3.0), np.asarray(3)):
        laws.agrees(lambda x, value=value: value, [one])
    with pytest.raises(Broken, match=r"shape is \(1,\)"):
        laws.agrees(lambda x: np.asarray([3.0]), [one])


def test_several_results_are_told_apart():
    two = Case({"x": np.ones(3)}, {}, lambda name, arguments: (np.ones(2), np.zeros(2)))
    laws.agrees(lambda x: [np.ones(2), np.zeros(2)], [two])
    with pytest.raises(Broken, match=r"Both values are wrong\."):
        laws.agrees(lambda x: [np.ones(2), np.ones(2)], [two])
    for value in (np.ones((3, 2)), (np.ones(2),), None):
        with pytest.raises(Broken, match="expected 2 results"):
            laws.agrees(lambda x: value, [two])  # noqa: B023


def test_draw_is_frozen():
    assert Draw("a", decimals=2).normal(4).tolist() == Draw("a", decimals=2).normal(4).tolist()
    assert Draw("nopeek", decimals=2).normal(3).tolist() == [-0.36, 0.07, -0.51]
    assert Draw("nopeek").tokens(7, 5).tolist() == [5, 4, 1, 4, 2]


@pytest.mark.parametrize("seed", range(20))
def test_resized_keeps_how_sizes_relate(seed):
    sizes = {"batch": (2, 1), "t": 5, "d": 5, "e": 3, "flag": True, "word": "x"}
    new = enlarge_sizes(sizes, seed)
    assert new["t"] == new["d"] > new["e"] > new["batch"][0] > new["batch"][1] == 1
    assert new["t"] >= 5
    assert new["flag"] is True
    assert new["word"] == "x"


def test_digest_tells_values_shapes_and_types_apart():
    zeros, others = np.zeros(2), [np.zeros((2, 1)), np.zeros(2, np.float32), np.asarray([0.0, 1.0])]
    values = [zeros, *others, (zeros, None), {"a": zeros}]
    assert len({digest(value) for value in values}) == len(values)


def test_calls_and_values_are_put_in_words():
    assert call_text("f", {"x": np.ones(2), "k": 3, "mask": None}) == "f(x, k=3, mask=None)"
    assert describe(None) == "None (is a `return` missing?)"
    assert describe(np.ones((2, 3))) == "floats of shape (2, 3)"


def nan_always(x):
    return np.full(x.shape, np.nan)


def nan_in_the_whole(x):
    """The first row is NaN as soon as more rows come."""
    y = running_mean(x)
    return np.where(np.arange(x.shape[-2])[:, None] < x.shape[-2] - 1, np.nan, y)


def infinite(x):
    return running_mean(x) + np.inf


def negative_log(x):
    """A law may speak of it: -inf is the logarithm of 0."""
    return np.where(x == x[..., :1, :1], -np.inf, 0.0)


@pytest.mark.parametrize(
    ("function", "law", "words"),
    [
        (nan_always, laws.prefix_gives_the_same, "what linear returned is NaN"),
        (nan_in_the_whole, laws.prefix_gives_the_same, "what linear returned is NaN"),
        (infinite, laws.is_distribution, "what linear returned is infinite"),
        (negative_log, laws.is_distribution, "Some weights are negative"),
    ],
)
def test_no_law_speaks_of_what_is_not_a_number(steps, function, law, words):
    step = steps.find("step01_projections")
    along = {"along": {"x": -2}} if law is laws.prefix_gives_the_same else {}

    def check(student, given):
        law(student.linear, [replace(case(), witness=lambda *noted: None)], **along)

    student = Student(step, lambda name, args, named, **more: Answer(function(*args)), None)
    placed = replace(step.function("linear"), takes=("x",))
    student._functions["linear"].function = placed
    with pytest.raises(Broken, match=words):
        CheckFunction(check, ()).run(student, Given())


def test_argument_is_named_by_the_way_to_it():
    nest = {"blocks": [{"ln_1": {"gain": np.ones(2)}}, {"ln_1": {"gain": np.ones(2)}}]}
    assert [one.name for one in show_inputs({"x": np.ones(2), "params": nest})] == [
        "x",
        "params.blocks[0].ln_1.gain",
        "params.blocks[1].ln_1.gain",
    ]
    assert [one.name for one in show_inputs({"params": {"w_q": np.ones(2)}})] == ["w_q"]


def test_wrong_values_are_told_after_the_last_of_several_laws():
    asked = []

    def law(error=None):
        asked.append(error)
        if error is not None:
            raise error

    wrong = partial(law, WrongValue("the values are wrong"))
    with pytest.raises(WrongValue, match="the values are wrong"):
        laws.keeps_all(wrong, law)
    assert asked[1:] == [None]
    with pytest.raises(Broken, match="the law is broken"):
        laws.keeps_all(wrong, partial(law, Broken("the law is broken")))
    laws.keeps_all(law, law)


def test_key_that_a_call_puts_into_a_dict_is_a_change():
    class Asked:
        name = "decoder_logits"
        function = SimpleNamespace(takes=["params"])

        def __init__(self, change):
            self.change = change

        def answer(self, given, *, arguments):
            return SimpleNamespace(value=0, arguments=[[self.change(dict(given["params"]))], {}])

    given = {"params": {"embedding": np.ones(2)}}
    call_unchanged(Asked(lambda params: params), given)
    with pytest.raises(
        Broken, match="changed its argument params: a key was added to it"
    ) as broken:
        call_unchanged(Asked(lambda params: {**params, "head": np.ones(2)}), given)
    assert "'head' was added" in broken.value.shown


@pytest.mark.parametrize(
    ("shape", "cells"),
    [((2, 0), [[], []]), ((0, 3), []), ((4_000_000, 0), None), ((300, 300, 0), None)],
    ids=str,
)
def test_empty_arrays_are_not_shown_as_millions_of_lists(shape, cells):
    shown = show_array("got", np.zeros(shape))
    assert (shown.shape, shown.cells) == (shape, cells)


def test_large_numbers_are_named_before_what_is_wrong():
    for size, words in ((1, "^All "), (1e4, "^With very large numbers: All ")):
        large = case().changed(x=case().arguments["x"] * size)
        with pytest.raises(Broken, match=rf"{words}.* wrong\. Some are NaN\."):
            laws.stays_right_when_large(lambda x: x * np.nan, [large])


def test_int32_inputs_are_named_as_such():
    tokens = np.arange(3)
    shown = show_inputs({"tokens": tokens, "targets": tokens.astype(np.int32), "rate": 0.5})
    assert [array.name for array in shown] == ["tokens", "targets, int32", "rate"]


@pytest.mark.parametrize("got", [(1.0, 2.0), (np.nan, {"w": np.ones(2)}), 3.0, (1.0, {"w": 1e300})])
def test_law_of_large_numbers_refuses_what_is_no_tree(got):
    """A number in place of a tree of gradients has its shape, ()."""
    right = Case({"x": np.ones(2)}, {}, lambda *_: (1.0, {"w": np.ones(2)}))
    with pytest.raises((Broken, WrongValue)):
        laws.stays_right_when_large(lambda x: got, [right])


@pytest.mark.parametrize(("lines", "words"), [((), "changed the shape of an array"), ((3,), None)])
def test_arrays_that_take_no_other_numbers_were_changed(lines, words):
    def answer(arguments, **wishes):
        raise Raised("ValueError", (), "could not broadcast input array", lines)

    function = SimpleNamespace(name="f", answer=answer)
    with pytest.raises(Broken if words else Raised, match=words):
        _ask_again(function, case(), case())
