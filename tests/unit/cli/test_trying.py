"""The command `try`: what a lesson asks to try, run on the learner's functions."""

import doctest

import numpy as np
import pytest

from grader.cli import functions as trying
from grader.report.text.terminal import Printer
from tests.conftest import SOLUTIONS, STEPS


def module_of(step, more=""):
    """The names of the kit's own step, with more code at its end."""
    names = {"__name__": step.id}
    exec(f"{SOLUTIONS[step.id]}\n{more}", names)
    return names


@pytest.fixture
def told(capsys):
    """told(step, more): what `try` prints of the kit's own step with that code at its end."""

    def told(number, more=""):
        step = STEPS[number - 1]
        names = module_of(step, more)
        for trial in trying.list_trials(step):
            trying.try_function(Printer(), *trial, names)
        return capsys.readouterr().out

    return told


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_every_function_has_a_trial_in_the_order_of_the_file(step):
    names = [name for name, _, _ in trying.list_trials(step)]
    assert {*names} == {one.name for one in step.functions}
    text = SOLUTIONS[step.id]
    places = [text.index(f"def {name}(") for name in names]
    assert places == sorted(places)


@pytest.mark.parametrize("step", [s for s in STEPS if s.part == 1], ids=lambda step: step.id)
def test_part_one_has_a_line_for_each_function_that_can_be_run(step, told):
    names = module_of(step)
    for function, told, examples in trying.list_trials(step):
        for one in doctest.DocTestParser().get_examples(examples):
            trying.run_line(one.source, names)
        assert not told or trying.find_line(function, told, names), told


def test_right_function_shows_what_the_line_gives(told):
    assert told(4).splitlines() == [
        "Try first: softmax(np.zeros(4)) should be 0.25 four times.",
        "    >>> softmax(np.zeros(4))",
        "    array([0.25, 0.25, 0.25, 0.25])",
    ]


@pytest.mark.parametrize(
    ("step", "code", "shown"),
    [
        (4, "softmax(scores, axis=-1): return scores", "array([0., 0., 0., 0.])\n"),
        (4, "softmax(scores): return scores[99]", "IndexError: index 99 is out of bounds"),
        (3, "causal_mask(n): raise NotImplementedError()", "causal_mask: still to be written.\n"),
    ],
    ids=["wrong", "error", "stub"],
)
def test_line_shows_what_a_function_gives(told, step, code, shown):
    said = told(step, f"def {code}")
    assert f"    {shown}" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("told", "line"),
    [
        ("`f(1)` should be 1.", "f(1)"),
        ("`f(..., 2)` should be 1.", ""),
        ("`f(unknown)` should be 1.", ""),
        ("`[1]` should come back, `f(2` not.", ""),
        ("`n = 1`, then `f(np.ones(2))`.", "f(np.ones(2))"),
    ],
)
def test_only_whole_calls_with_known_names_are_run(told, line):
    assert trying.find_line("f", told, {"f": abs, "np": np}) == line
