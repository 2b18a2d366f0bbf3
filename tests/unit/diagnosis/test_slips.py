"""Slips that hide a finished function are named with their lines."""

import pytest

from grader.diagnosis.slips import find_other_form, find_stub_left
from grader.isolation.worker.cells import NOTEBOOK
from grader.steps.registry import load
from grader.steps.stubs import stub_of

STEP = load().find("step02_scores")
RIGHT = "def attention_scores(q, k):\n    return q @ k\n"
STUB = "def attention_scores(q, k):\n    raise NotImplementedError()\n"
LEFT = "def attention_scores(q, k):\n    s = q @ k\n    raise NotImplementedError()\n    return s\n"


@pytest.mark.parametrize(
    ("source", "raised", "words"),
    [
        (RIGHT + STUB, 4, "defined twice: the stub (line 3) replaces your function (line 1)"),
        (LEFT, 3, "still ends in the stub's `raise NotImplementedError()` (line 3)"),
        (LEFT.replace("    return s\n", ""), 3, "below your own lines: delete it"),
        (STUB, 2, ""),
        (STUB.replace("    raise", "    # Later.\n    raise"), 3, ""),
        ("def helper():\n    raise NotImplementedError()\n" + RIGHT, 2, ""),
    ],
)
def test_stub_that_was_left_below_a_function_is_named(source, raised, words):
    said = find_stub_left(source, "attention_scores", [raised])
    assert (words in said) if words else not said


def test_released_stub_is_no_slip():
    stub = stub_of(STEP)
    line = 1 + [one.strip() for one in stub.splitlines()].index("raise NotImplementedError()")
    assert find_stub_left(stub, "attention_scores", [line]) == ""


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (RIGHT + RIGHT, "is defined twice (line 1 and line 3): the last one counts."),
        (RIGHT + STUB, ""),
        ("if True:\n    def attention_scores(q, k): return q\n" + RIGHT, ""),
        (f"{NOTEBOOK}\n# %% n.ipynb, cell 1\n{RIGHT}# %% n.ipynb, cell 2\n{RIGHT}", ""),
    ],
)
def test_second_definition_is_named_with_both_lines(source, said):
    found = find_other_form(source, STEP, "attention_scores")
    assert (said in found) if said else not found


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ("def attention_scores(k, q):", "takes k, q in this order (line 1); the arguments come as"),
        ("def attention_scores(k, q, scale=1):", "come as q, k."),
        ("def attention_scores(q, k):", ""),
        ("def attention_scores(query, key):", ""),
        ("attention_scores = lambda k, q:", ""),
    ],
)
def test_parameters_in_another_order_are_named(head, said):
    found = find_other_form(f"{head} q\n", STEP, "attention_scores")
    assert (said in found) if said else not found
