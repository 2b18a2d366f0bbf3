"""Exceptions in words: the lengths that met, and nothing that is not certain."""

import numpy as np
import pytest

from grader.diagnosis.exceptions import Lengths, arrays_of, explain, sizes_of
from grader.isolation.client import Raised

SIZES = {"batch": (2,), "t_q": 3, "t_k": 5, "d_k": 4}
SHAPES = [(2, 3, 4), (2, 5, 4), (2, 5, 6)]


def raised(code, **names):
    """Return the exception of Python or NumPy for this code."""
    try:
        exec(code, {"np": np, **names})
    except Exception as error:
        return Raised(type(error).__name__, (), str(error), ())
    raise AssertionError("nothing was raised")


def ones(*shape):
    return np.ones(shape)


def told(failure, sizes=SIZES, shapes=SHAPES, visible=True, **known):
    """What is said of code that raises, or of an exception: its type and words."""
    if isinstance(failure, str):
        failure = raised(failure, ones=ones)
    if isinstance(failure, tuple):
        failure = Raised(failure[0], (), failure[1], ())
    return explain(failure, Lengths([sizes], shapes, visible=visible, **known))


CRASHES = {
    "ones(3, 5) + ones(3, 4)": "(3, 5) and (3, 4) do not fit: "
    "at axis -1, 5 (T_k is 5) met 4 (d_k is 4).",
    "np.where(ones(3, 3) > 0, ones(3, 5), 0)": "at axis -1, 3 (T_q is 3) met 5 (T_k is 5).",
    "ones(2, 6, 5, 5) + ones(2, 5, 5)": "at axis -3, 6 met 2 (batch is 2).",
    "ones(3, 4) @ ones(5, 4)": "In a matrix product the columns of the left array meet the rows of "
    "the right one: 4 (d_k is 4) met 5 (T_k is 5).",
    "ones(3, 4).dot(ones(5, 4))": "4 (d_k is 4) met 5 (T_k is 5).",
    "np.einsum('id,jd->ij', ones(3, 4), ones(5, 6))": "In an einsum one letter",
    "np.einsum('...i,...o->io', ones(2, 3), ones(2, 4))": "write them after the arrow too",
    "np.einsum('bti,io->bto', ones(2, 3), ones(3, 4))": "names more axes than an array has",
    "np.einsum('ti,io->to', ones(2, 2, 3), ones(3, 4))": "more axes than letters",
    "ones(2, 1, 3) @ ones(4, 3, 1)": "In a matrix product the axes in front of the last two must "
    "fit: of (2, 1, 3) and (4, 3, 1), 2 (batch is 2) met 4 (d_k is 4).",
    "ones(3, 1, 4) @ ones(2, 7, 4, 5)": "of (3, 1, 4) and (2, 7, 4, 5), 3 (T_q is 3) met 7.",
    "np.concatenate([ones(2, 4), ones(2, 5)], axis=0)": "along axis 1, 4 (d_k is 4) met "
    "5 (T_k is 5).",
    "np.concatenate([ones(2, 4), ones(2, 2, 4)])": "one has 2, another 3.",
    "np.stack([ones(2, 4), ones(2, 5)])": "stacked must all have the same shape.",
    "ones(3, 4)[:2] = ones(3, 4)": "shape (3, 4) was to be written into a place of shape (2, 4).",
    "a = ones(6, 6)\na += ones(5, 6, 6)": "`+=`, `&=` and the like, and out=, write into the array "
    "on the left, whose shape stays (6, 6); the result has (5, 6, 6).",
    "ones(3, 4).reshape(5, 2)": "must keep the number of elements",
    "ones(3, 4).transpose(0, 2, 1)": "must name every axis",
    "ones(3, 4).sum(axis=2)": "2 axes, new ones counted; the code names one beyond them.",
    "ones(3, 4)[:, 4]": "Axis 1 is 4 (d_k is 4) long, and the code asks for a place beyond it.",
    "ones(3)[:, 0]": "An array of 1 axis was indexed as if it had 2.",
    "ones(3).shape[1]": "If it is a shape, the array has fewer axes.",
    "np.float64(1)[0]": "There is a single number",
    "ones(3)[1.5]": "The value used as an index is not an integer.",
    "ones(3, 4).reshape(ones(2) > 0, 2)": "used as a length or an index is not an integer.",
    "[1, 2][ones(2)]": "The value used as a length or an index is not an integer.",
    "ones(3) ^ 3": "A power is written **; ^ compares the bits of integers.",
    "import math\nmath.tanh(ones(3))": "int(), float() and the functions of math take one number, "
    "but got a whole array. NumPy's own functions take arrays.",
    "int(ones(3))": "take one number, but got a whole array",
    "ones(4).reshape(4 / 2, 2)": "A float is not one, not even 2.0: / gives floats, // integers.",
    "if ones(3) > 0: pass": "A single True or False is needed there, as in `if`",
    "max(ones(3), 0)": "A single True or False is needed there, as in `if`, `and`, `not`, `in`, "
    "max() and min(); it got a whole array.",
    "np.array([[1, 2], [3]], dtype=float)": "Lists of different lengths",
    "a, b, c = ones(3, 4).shape": "more names on the left than values",
    "a, b = ones(3, 4, 5).shape": "more values than names on the left",
    "y = ones(3), None\ny[..., -1, :]": "There is a tuple: a function with several results",
    "(ones(3), None) @ ones(3)": "Nor can several results, which a function returns",
    "math.sqrt(2)": "The line `import math` is missing above it.",
    "(lambda q: q)(1, mask=2)": "It is called with mask=, and has no parameter of that name.",
    "(lambda q: q)(1, other=2)": "more, fewer or other arguments",
    "None @ ones(3)": "got a single number or None",
    "None + ones(3)": "Something is None there",
    "x = None\nx[0]": "Something is None there",
    "q, k = None": "Something is None there",
    "None.shape": "Something is None there",
    "(ones(3), ones(3)).shape": "There is a tuple",
    "np.float_(1)": "NumPy 2 no longer has anything by that name.",
    "np.softmaks(1)": "NumPy has nothing by that name.",
    "(lambda q, k: q)(1)": "with more, fewer or other arguments",
    "(lambda q: q)(1, axis=2)": "with more, fewer or other arguments",
    "def f():\n    scores = scores + 1\nf()": "read there before it has a value",
    "skores": "that was never assigned.",
    "np_.float64(1)": "that was never assigned.",
    "def f():\n    return f()\nf()": "without end, or more often than Python allows",
    "1 / 0": "divided by 0",
    "raise EOFError('EOF when reading a line')": "Nobody can type anything there",
    "import bdb\nraise bdb.BdbQuit": "No debugger runs there",
}


@pytest.mark.parametrize("code", CRASHES)
def test_crash_is_put_in_words_and_none_of_its_own_are_repeated_in_the_hidden_suite(code):
    said = told(code, options=["mask"])
    assert CRASHES[code] in said
    assert said.endswith(".")
    hidden = told(code, visible=False)
    own = ("skores", "softmaks", "lambda", "shape(", "original")
    assert not any(word in hidden for word in own)


MISSING = {
    "np": ("`import numpy as np` is missing above it.", {}),
    "softmax": (
        "`from exercises.step04_softmax import softmax` is missing above it.",
        {"earlier": {"softmax": "step04_softmax"}},
    ),
    "np ": ("`import numpy as np` is missing at the left margin of a cell.", {"cells": True}),
    "TABLE": (
        "never assigned, or only in a statement of the notebook that is skipped.",
        {"cells": True},
    ),
}


@pytest.mark.parametrize("name", MISSING)
def test_name_that_is_missing_is_told(name):
    end, known = MISSING[name]
    assert told(("NameError", f"name '{name.strip()}' is not defined"), **known).endswith(end)


@pytest.mark.parametrize(
    "failure",
    [
        ("RuntimeError", "can't start new thread"),
        ("PermissionError", "[Errno 1] Operation not permitted"),
    ],
)
def test_what_the_sandbox_refuses_is_told(failure):
    """These are the words of Python under bubblewrap and process+."""
    assert told(failure).startswith("Where code is graded, it cannot start threads")


def test_length_of_several_sizes_gets_no_name():
    said = told("ones(3, 5) + ones(3, 4)", {"t_k": 5, "d_v": 5, "d_k": 4})
    assert "5 met 4 (d_k is 4)." in said


@pytest.mark.parametrize("size", ["d_model", "n_new", "vocabulary", "batch"])
def test_length_gets_no_name_where_that_size_cannot_stand(size):
    first, last = {size: 6}, "ones(6, 3) + ones(4, 3)"
    if size == "batch":
        first, last = {size: (6,)}, "ones(3, 6) + ones(3, 4)"
    assert "6 met 4." in told(last, first, [])


@pytest.mark.parametrize(
    ("sizes", "alike"),
    [
        ({"n_layers": 6}, 6),
        ({"chunks": (6, 1)}, 6),
        ({"chunks": (2, 3, 1)}, 5),
        ({"n_heads": 2, "d_head": 3}, 6),
        ({"t": 4, "n_new": 3}, 6),
    ],
)
def test_length_gets_no_name_if_something_else_is_as_long(sizes, alike):
    """What has no name in the lessons, sums over chunks and heads, and a text that grows."""
    code = f"ones({alike}, 4) + ones(9, 4)"
    for more, name in (({}, f" (T_k is {alike})"), (sizes, "")):
        assert f"{alike}{name} met 9." in told(code, {"t_k": alike, **more}, [])


def test_length_that_alike_cases_differ_in_takes_the_name_from_others():
    made = [({"q": (2, 7)}, {"d_k": 7, "chunks": (3, 1)}), ({"q": (2, 7)}, {"chunks": (7, 1)})]
    assert Lengths(sizes_of(made, {"q": (2, 7)}), [], visible=True).label(7) == "7"
    assert Lengths(sizes_of(made[:1], {"q": (2, 7)}), [], visible=True).label(7) == "7 (d_k is 7)"


def test_missing_key_is_told_with_the_keys_that_there_are():
    keys = ["ln_1", "attention"]
    said = told("{}['ln1']", {}, visible=False, keys=keys)
    assert said == "The dict has no such key; params has ln_1, attention."
    assert told("{}['ln_1']", {}, keys=keys) == told("{}['ln1']", {}) == ""


def test_axis_that_several_arguments_have_gets_no_name():
    """The table of positions is as long as the text: it is not T that was exceeded."""
    said = told("ones(5, 4)[np.array([0, 5, 1, 2, 3])]", {"length": 5}, [(5,), (5, 4)])
    assert "Axis 0 is 5 long" in said


def test_number_of_positions_has_a_name_of_its_own():
    made = [({"tokens": (2, 5)}, {"length": 5})]
    found = sizes_of(made, {"tokens": (2, 5), "position": (5, 4)})
    assert found == [{"length": 5, "t_max": 5}]
    assert Lengths(found, [], visible=True).label(5) == "5"


UNFIT = "operands could not be broadcast together"


@pytest.mark.parametrize(
    "failure",
    [
        ("ValueError", "my own words"),
        ("ValueError", UNFIT),
        ("ValueError", f"{UNFIT} with shapes (3,4) (3,4)"),
        ("ValueError", "shapes of q and k"),
        ("MyError", f"{UNFIT} with shapes (3,5) (3,4)"),
    ],
)
def test_nothing_is_said_of_what_is_not_certain(failure):
    assert told(failure) == ""


@pytest.mark.parametrize(
    "text",
    [
        f"{UNFIT} with shapes (31,4) (5926,4)",
        f"{UNFIT} with remapped shapes [original->remapped]: (31)->(31) (5926)->(5926)",
        "matmul: in its core dimension 0, (size 31 is different from 5926)",
        "shapes (1,31) and (5926,2) not aligned: 31 (dim 1) != 5926 (dim 0)",
        "all the input array dimensions except for the concatenation axis must match exactly, but "
        "along dimension 1, the array at index 0 has size 31 and the array at index 1 has size "
        "5926",
        "could not broadcast input array from shape (31,) into shape (5926,)",
        "non-broadcastable output operand with shape (31,) doesn't match the broadcast shape "
        "(5926,31)",
    ],
)
def test_hidden_suite_repeats_no_lengths_that_the_arguments_do_not_have(text):
    assert "31" in told(("ValueError", text))
    assert told(("ValueError", text), visible=False) == ""


def test_sizes_are_those_of_the_case_with_these_shapes():
    made = [({"q": (3, 4)}, {"t_q": 3, "d_k": 4}), ({"q": (2, 7)}, {"t_q": 2, "d_k": 7})]
    assert sizes_of(made, {"q": (2, 7), "k": (5, 7)}) == [{"t_q": 2, "d_k": 7}]
    assert sizes_of(made, {"q": (9, 9)}) == []


def test_arrays_are_found_in_dicts_of_arguments():
    assert arrays_of({"tokens": ones(3), "params": {"w_q": ones(2, 4)}, "n_new": 3}) == {
        "tokens": (3,),
        "w_q": (2, 4),
    }
