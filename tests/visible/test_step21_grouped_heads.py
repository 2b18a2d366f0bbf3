"""Checks of step 21: heads that share keys and values."""

import numpy as np

from grader.checks import laws
from tests.visible import standard
from tests.visible.sizes import table
from tests.visible.test_step05_output import NEAR_MILLION
from tests.visible.test_step09_heads import a_mask


def separate_heads(draw, batch, kv_heads, repeats, length, d_head):
    """Random heads, and how often each is needed."""
    return {"x": draw.normal(*batch, kv_heads, length, d_head), "n_repeats": repeats}


def some_bias(draw, kind, batch, n_heads, length):
    """A finite bias of that kind, broadcastable to (*batch, n_heads, length, length)."""
    every = (n_heads, length, length)
    shapes = {
        **{"heads": every, "future": every, "matrix": every[1:], "keys": (n_heads, 1, length)},
        "queries": (n_heads, length, 1),  # the same for all keys, so it changes nothing
        **{"one head": (*batch, 1, *every[1:]), "one for all": (*(1 for _ in batch), *every)},
    }
    bias = draw.normal(*shapes.get(kind, (*batch, *every)))
    # A mask of some large negative number would not hide the future.
    return bias + 1e12 * ~np.tri(length, dtype=bool) if kind == "future" else bias


def text(
    draw,
    batch,
    length,
    kv_heads,
    repeats,
    d_model,
    half,
    mask=None,
    angled=False,
    biased=None,
    more=0,
):
    """Random inputs and parameters, and a mask, angles and a bias where they are wanted."""
    n_heads, d_head = kv_heads * repeats + more, 2 * half
    arguments = {
        "x": draw.normal(*batch, length, d_model),
        "params": {
            "w_q": draw.normal(d_model, n_heads * d_head) / 2,
            "w_k": draw.normal(d_model, kv_heads * d_head) / 2,
            "w_v": draw.normal(d_model, kv_heads * d_head) / 2,
            "w_o": draw.normal(n_heads * d_head, d_model) / 2,
        },
        "n_heads": n_heads,
        "n_kv_heads": kv_heads,
    }
    if mask is not None:
        arguments["mask"] = a_mask(draw, mask, batch, length, length)
    if angled:
        arguments["angles"] = draw.normal(length, half) * 2
    if biased is not None:
        arguments["bias"] = some_bias(draw, biased, batch, n_heads, length)
    return arguments


def large_text(draw, kind, size, **sizes):
    """Scores of about `size`: all high, all low, or high only for the last key."""
    arguments = text(draw, **sizes, mask="causal")
    x, params, d_head = arguments["x"], arguments["params"], 2 * sizes["half"]
    # Feature 0 of x and of every head is there for the size alone.
    for name in "qk":
        params[f"w_{name}"][0] = 0
        params[f"w_{name}"][:, ::d_head] = 0
    params["w_q"][0, ::d_head] = 1
    params["w_k"][0, ::d_head] = (-1 if kind == "low" else 1) * size * np.sqrt(d_head)
    x[..., 0] = 1
    if kind == "future":
        x[..., 0] = 1e-3
        x[..., -1, 0] = 1
    return arguments


REPEATS = table(separate_heads, ((), 2, 2, 1, 1), ((), 2, 3, 3, 4))
REPEAT_SHAPES = [
    *table(separate_heads, ((), 1, 1, 1, 1), ((), 1, 4, 2, 3), ((3,), 3, 1, 3, 3)),
    *table(separate_heads, ((2,), 3, 2, 4, 5), ((2, 3), 2, 2, 3, 2)),
]

# n_heads is kv_heads * repeats, and d_head is 2 * half.
SIZES = {"kv_heads": 2, "repeats": 2, "d_model": 5, "half": 1}
OTHER = {"kv_heads": 2, "repeats": 3, "d_model": 7, "half": 2}
PLAIN = table(text, (SIZES, (), 2), (OTHER, (), 3), (OTHER, (2,), 4))
MASKS = [
    *table(text, (SIZES, (), 3, "causal"), (OTHER, (), 4, "matrix"), (SIZES, (), 4, "row")),
    *table(text, (SIZES, (2,), 4, "full"), (OTHER, (6,), 4, "full"), (SIZES, (3,), 5, "keys")),
    *table(text, (SIZES, (2, 3), 4, "full"), (SIZES, (2, 3), 4, "matrix")),
    *table(text, (OTHER, (2, 3), 3, "inner")),
    *table(text, (SIZES, {"kv_heads": 3, "repeats": 1}, (3,), 4, "full")),
    *table(text, (SIZES, (3,), 4, "one for all"), (SIZES, (3,), 3, "matrix")),
]
BLOCKED = [
    *table(text, (SIZES, (), 3, "blocked"), (SIZES, (), 2, "nothing"), (OTHER, (5,), 6, "padded")),
    *table(text, (SIZES, (2,), 4, "queries")),
]
TURNED = [
    *table(text, (SIZES, (), 2, {"angled": True}), (OTHER, (), 4, "causal", True)),
    *table(text, (OTHER, (2,), 5, "full", True), (SIZES, (2, 3), 3, {"angled": True})),
]
# biased: the axes of the bias that are not 1, of (..., n_heads, T, T).
BIASED = [
    {**SIZES, "batch": (), "length": 3, "biased": "heads"},
    {**OTHER, "batch": (), "length": 4, "biased": "heads", "mask": "causal"},
    {**SIZES, "batch": (), "length": 3, "biased": "matrix"},
    {**OTHER, "batch": (2,), "length": 3, "biased": "each", "mask": "full"},
    {**SIZES, "batch": (2,), "length": 4, "biased": "keys", "mask": "keys"},
    {**SIZES, "batch": (), "length": 4, "biased": "future", "mask": "causal"},
    {**OTHER, "batch": (2,), "length": 4, "biased": "heads", "mask": "causal", "angled": True},
    {**SIZES, "batch": (), "length": 3, "biased": "one head"},
    {**OTHER, "batch": (3,), "length": 4, "biased": "one head", "mask": "causal"},
    {**OTHER, "batch": (3,), "length": 3, "biased": "one for all", "mask": "full"},
    {**SIZES, "batch": (4,), "length": 3, "biased": "heads"},  # as many texts as heads
    {**SIZES, "batch": (), "length": 4, "biased": "matrix"},  # as long as heads are many
    {**OTHER, "batch": (2,), "length": 3, "biased": "queries"},
]
ALL = {"mask": "full", "angled": True, "biased": "heads"}
SHAPES = [
    *table(text, ((), 1, 1, 1, 1, 1), ((1,), 2, 1, 4, 3, 1), ((), 3, 3, 1, 4, 2)),
    *table(text, ((3,), 3, 3, 1, 6, 1), ((4,), 4, 2, 2, 8, 1), ((2, 3), 4, 2, 3, 5, 1)),
    *table(text, ((), 11, 2, 2, 3, 2), (ALL, (), 4, 1, 2, 4, 1), (ALL, (), 3, 2, 1, 4, 1)),
]
TIMED = table(text, (SIZES, (), 4, True), (OTHER, (2,), 5, {"biased": "future"}), mask="causal")
DISTANCE = table(text, (SIZES, (), 4, "causal", True), (OTHER, (2,), 5, {"angled": True}))
BATCH = table(text, (SIZES, (3,), 4), (OTHER, (3,), 4, "full"))
LARGE = [
    {**SIZES, "batch": (), "length": 3, "kind": "high", "size": 1e3},
    {**OTHER, "batch": (2,), "length": 4, "kind": "high", "size": NEAR_MILLION},
    {**SIZES, "batch": (2,), "length": 4, "kind": "low", "size": NEAR_MILLION},
    {**SIZES, "batch": (), "length": 5, "kind": "future", "size": NEAR_MILLION},
]
UNEVEN = [
    {**SIZES, "batch": (), "length": 2, "kv_heads": 2, "repeats": 1, "more": 1},
    {**SIZES, "batch": (2,), "length": 3, "kv_heads": 3, "repeats": 1, "more": -1},
]
FULL = [{**OTHER, "batch": (3,), "length": 4, "mask": "full", "angled": True, "biased": "each"}]


def test_repeat_agree(student, given):
    """Head h of the result is head h // n_repeats of x."""
    laws.agrees(student.repeat_heads, given.cases(separate_heads, REPEATS))


def test_repeat_shapes(student, given):
    """Any number of batch axes, and heads, repeats and tokens of 1."""
    laws.agrees(student.repeat_heads, given.cases(separate_heads, REPEAT_SHAPES))


def test_groups_agree(student, given):
    """Every query head reads the keys and values of its group; w_o mixes what the heads found."""
    laws.agrees(student.grouped_query_attention, given.cases(text, PLAIN))


def test_groups_mask(student, given):
    """A mask holds for every head; its batch axes, if it has any, are those of x, or 1."""
    laws.agrees(student.grouped_query_attention, given.cases(text, MASKS))


def test_groups_blocked(student, given):
    """A query that may attend to nothing has an output of 0."""
    laws.agrees(student.grouped_query_attention, given.cases(text, BLOCKED))


def test_groups_angles(student, given):
    """Angles turn queries and keys of every head, and no values."""
    laws.agrees(student.grouped_query_attention, given.cases(text, TURNED))


def test_groups_distance(student, given):
    """With rotary angles the outputs depend on distances only: all positions may move on."""
    for case in given.cases(text, DISTANCE):
        half = case.arguments["angles"].shape[-1]
        shift = 1000 * 10000.0 ** (-np.arange(half) / half)
        laws.depends_on_distance_only(student.grouped_query_attention, [case], by=shift)


def test_groups_bias(student, given):
    """A bias is added to the scaled scores, and cannot bring a hidden key back."""
    laws.agrees(student.grouped_query_attention, given.cases(text, BIASED))


def test_groups_shapes(student, given):
    """One head of keys for all, one for each, and a d_head that is not d_model / n_heads."""
    laws.agrees(student.grouped_query_attention, given.cases(text, SHAPES))


def test_groups_no_future(student, given):
    """Under a causal mask no head looks ahead, with angles or with a bias."""
    turned, biased = given.cases(text, TIMED)
    function = student.grouped_query_attention
    laws.future_does_not_matter(function, [turned], along={"x": -2, "angles": -2})
    laws.future_does_not_matter(function, [biased], along={"x": -2})


def test_groups_rows(student, given):
    """The output of one sequence in a batch does not depend on the others and their masks."""
    plain, masked = given.cases(text, BATCH)
    function = student.grouped_query_attention
    laws.rows_are_independent(function, [plain], batched=["x"], sizes=(1.0, 100.0))
    laws.rows_are_independent(function, [masked], batched=("x", "mask"))


test_repeat_repeat = standard.when_repeated("repeat_heads", separate_heads, REPEATS[1:])
test_repeat_arguments = standard.untouched("repeat_heads", separate_heads, REPEAT_SHAPES[3:4])
test_groups_large = standard.when_large("grouped_query_attention", large_text, LARGE)
test_groups_float32 = standard.in_float32("grouped_query_attention", text, PLAIN + BLOCKED[:1])
test_groups_repeat = standard.when_repeated("grouped_query_attention", text, FULL)
test_groups_arguments = standard.untouched("grouped_query_attention", text, FULL)
test_groups_errors = standard.refused(
    "grouped_query_attention", text, UNEVEN, "n_heads is not a multiple of n_kv_heads"
)
test_groups_prefix = standard.prefix_alone(
    "grouped_query_attention", text, TIMED[:1], along={"x": -2, "angles": -2}, masks=["mask"]
)
