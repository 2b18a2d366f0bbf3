"""A failing case as a program: it runs, it shows the failure, and it shows visible checks only."""

import subprocess
import sys

import numpy as np
import pytest

from grader.answer_key.variants import MISTAKES, read
from grader.engine import grading
from grader.engine.failing_case import (
    find_failing_case,
    write_literal,
    write_program,
    write_variables,
)
from grader.intake.submission import Submission
from grader.report.records import Status
from grader.steps.registry import KitError
from tests.conftest import SOLUTIONS, STEPS

TWO = STEPS[1]
HANGS = "\n\ndef attention_scores(q, k):\n    while True:\n        pass\n"
CHANGES = """

def attention_scores(q, k):
    scores = q @ np.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5
    if q.flags.writeable:
        q[...] = 0
    return scores
"""


@pytest.fixture
def find(host, steps):
    """find(step, source): its first failing case, in the given suite."""

    def find(step, source, suite="visible"):
        grader = grading.make_grader(steps, host, suite, 0, [step], thorough=False)
        sources = {**SOLUTIONS, step.id: source}
        return find_failing_case(grader, Submission("mine", sources), step)

    return find


@pytest.fixture
def run(tmp_path):
    """run(case, source): what the program prints on that code."""

    def run(case, source):
        for name, text in {**SOLUTIONS, case.step.id: source}.items():
            path = tmp_path / "exercises" / f"{name}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        program = tmp_path / "cases" / case.step.filename
        program.parent.mkdir(exist_ok=True)
        program.write_text(write_program(case, "told"), encoding="utf-8")
        command = [sys.executable, "-I", str(program)]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    return run


def first_mistake(step):
    """The step's first known mistake whose values are wrong."""
    return read(MISTAKES, step)[0].source


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_program_shows_where_the_first_known_mistake_differs(find, run, step):
    source = first_mistake(step)
    case = find(step, source)
    done = run(case, source)
    if case.verdict.status is Status.ERROR:
        assert f"{source.splitlines()[-1].split()[-1]}" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    assert ": differs at [" in done.stdout or ": the shape is" in done.stdout


@pytest.mark.parametrize("name", ["mask_tril_k_minus_1", "mask_after_softmax"])
def test_program_of_the_right_code_differs_nowhere(find, run, steps, name):
    step = steps.find("3" if name.startswith("mask_tril") else "5")
    case = find(step, first_mistake(step))
    done = run(case, SOLUTIONS[step.id])
    assert "differs at" not in done.stdout
    assert "no number differs" in done.stdout


def test_step_that_passes_or_is_unwritten_has_no_case(find):
    unwritten = "def attention_scores(q, k):\n    raise NotImplementedError()\n"
    assert [find(TWO, source) for source in (SOLUTIONS[TWO.id], unwritten)] == [None, None]


@pytest.mark.long
def test_call_without_an_answer_is_written_down(find):
    case = find(TWO, SOLUTIONS[TWO.id] + HANGS)
    assert case.calls[-1].function == "attention_scores"
    assert "result = attention_scores(q, k)" in write_program(case, "told")


def test_argument_that_was_changed_is_compared(find, run):
    source = SOLUTIONS[TWO.id] + CHANGES
    done = run(find(TWO, source), source)
    assert "q, which was an argument: differs at [" in done.stdout
    assert "k, which was an argument: no number differs" in done.stdout


def test_call_that_takes_a_cache_comes_with_those_that_made_it(find, run, steps):
    step = steps.find("7")
    source = SOLUTIONS[step.id] + (
        "\n\nright = attend_with_cache\n\n"
        "def attend_with_cache(x_new, cache, *weights):\n"
        "    y, after = right(x_new, cache, *weights)\n"
        "    return y + (cache != new_cache()), after\n"
    )
    source = source.replace("cache != new_cache()", "len(str(cache)) != len(str(new_cache()))")
    case = find(step, source)
    assert [call.function for call in case.calls][-2:] == ["attend_with_cache"] * 2
    done = run(case, source)
    assert done.returncode == 0, done.stderr
    assert "differs at" in done.stdout


def test_hidden_case_is_never_shown(find):
    with pytest.raises(KitError, match="only a visible case"):
        find(TWO, first_mistake(TWO), suite="hidden")


def test_message_of_the_code_cannot_leave_the_docstring(find):
    told = '\'"""\\nimport os\\n\''
    source = f"def attention_scores(q, k):\n    raise ValueError({told})\n"
    text = write_program(find(TWO, source), "told")
    assert "\nimport os" not in text.partition('\n"""\n')[2]
    compile(text, "case", "exec")


def test_variables_are_those_of_the_call(find):
    case = find(TWO, first_mistake(TWO))
    code, names, call = write_variables(case)
    space = {"np": np}
    exec(code, space)
    assert (names, call) == (["q", "k", "expected"], "result = attention_scores(q, k)")
    assert case.expected is not None
    np.testing.assert_array_equal(space["expected"], case.expected)


VALUES = [
    np.arange(6).reshape(2, 3) / 7,
    np.array([True, False]),
    np.array(2.5),
    np.array([np.inf, -np.inf, np.nan, 1.0]),
    np.array([1.0, 2.0], np.float32),
    np.array([3, 4]),
    np.array([[-1e300, 1e-300]]),
    np.zeros((0, 3)),
    {"a": [np.ones(2), (1, 2.5)], "b": {}},
    (1,),
    None,
    float("inf"),
    True,
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_literal_makes_the_value_again(value):
    again = eval(write_literal(value), {"np": np})
    np.testing.assert_equal(again, value)
    if isinstance(value, np.ndarray):
        assert again.dtype == value.dtype
