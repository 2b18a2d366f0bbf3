"""Known mistakes as the worker sees them: what they remember, and what they do to calls."""

import numpy as np
import pytest

from grader.diagnosis import replay

FUNCTIONS = """
import numpy as np

SIZE, kept = 3, {}

def plain(x):
    return np.sort(x) * SIZE

def keeps(x):
    return kept.setdefault(len(x), x)

def through_another(x):
    return keeps(x)

def counts(x):
    global SIZE
    SIZE += 1

def inside(x):
    def note():
        kept[0] = x
    return note()

def by_default(x, seen=[]):
    return seen

def draws(x):
    return np.random.random(len(x))

def double(x):
    return 2 * x

def double_small(x):
    return 2 * x if x < 10 else x + 1

def double_if_small(x):
    return 2 * x if x < 10 else x

def triple(x):
    return 3 * x
"""
CODE = compile(FUNCTIONS, "<mistakes>", "exec")


def call(name, x, value):
    """A call of that function, and its right value."""
    return {"function": name, "given": [[x], {}], "value": value, "tolerance": 1e-9}


def suspect(name, wrong):
    """A mistake that puts a wrong function in the place of a right one."""
    return {"replacements": {name: wrong}, "rebind": [], "calls": [name]}


@pytest.mark.parametrize(
    ("name", "remembers"),
    [
        ("plain", False),
        ("keeps", True),
        ("through_another", True),
        ("counts", True),
        ("inside", True),
        ("by_default", True),
        ("draws", True),
    ],
)
def test_function_that_may_know_of_earlier_calls_is_recognised(name, remembers):
    assert replay.remembers(replay.run(CODE), [name]) is remembers


@pytest.mark.parametrize(
    ("name", "effect"),
    [
        ("double", [[], False]),
        ("double_small", [[1], False]),
        ("double_if_small", [[1], True]),
        ("triple", []),
    ],
)
def test_effect_of_a_mistake_is_measured_on_right_and_on_wrong_answers(name, effect):
    calls = [call("double", x, value) for x, value in ((1.0, 2.0), (20.0, 20.0), (2.0, np.nan))]
    assert replay.find_effects(CODE, calls, [0, 2], [suspect("double", name)]) == [[1], effect]


def test_right_part_of_a_wrong_answer_has_to_stay():
    calls = [call("sums", np.arange(3.0), (3.0, 9.0))]
    code = compile(
        "def sums(x): return x.sum(), (x * x).sum()\n"
        "def second(x): return x.sum(), x.sum()\n"
        "def first(x): return x.max(), (x * x).sum()\n",
        "<mistakes>",
        "exec",
    )
    suspects = [suspect("sums", name) for name in ("second", "first")]
    found = replay.find_effects(code, calls, [0, 1], suspects)
    assert found == [[1], [[1], False], []]
