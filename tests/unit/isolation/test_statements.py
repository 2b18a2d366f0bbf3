"""A notebook's statements: what may fail leaves the rest as it is, and lines keep their numbers."""

import itertools
import traceback

import pytest

from grader.intake import submission
from grader.isolation.worker import statements

HEAD = statements.NOTEBOOK


def run(*cells, functions="linear"):
    """The module of these cells, which begin in its second line."""
    starts = itertools.accumulate((cell.count("\n") for cell in cells), initial=2)
    lines = " ".join(map(str, [*starts][:-1]))
    text = HEAD.format(functions=functions, lines=lines) + "\n" + "".join(cells)
    made = {}
    exec(statements.compile_text(text, "work"), made)
    return made


FAILING = {
    "a base class": "class Ref(nn.Module):\n    pass\n",
    "a body of a class": "class Ref:\n    x = 1 / 0\n",
    "an annotation": "def ref(x: torch.Tensor): pass\n",
    "a decorator": "@torch.no_grad()\ndef ref(x): pass\n",
    "a branch": "if nothing:\n    pass\n",
    "a try": "try:\n    nothing\nfinally:\n    pass\n",
    "a block": "with nothing: pass\n",
    "prose": "I think that this is right.\n",
    "a line outside of a loop": "continue\n",
    "a return outside of a function": "if 1:\n    return 2\n",
    "an argument twice": "def ref(x, x): pass\n",
    "an await": "z = await ref(3)\n",
    "a nonlocal name": "nonlocal z\n",
    "a sum that is too long": "z = " + "1 + " * 20_000 + "1\n",
    "a local name that is used": "def ref(x):\n    A = x\n    return A /\n",
    "an indent": "def ref():\n  x = 1\n    y = 2\n",
}


@pytest.mark.parametrize("failing", FAILING.values(), ids=FAILING)
def test_what_fails_leaves_the_rest_as_it_is(failing):
    made = run("A = 1\n", failing, "def linear(): return A\n")
    assert made["linear"]() == 1


def test_what_the_step_needs_must_not_fail():
    with pytest.raises(NameError, match="nothing"):
        run("A = 1\n", "def linear(x=nothing): pass\n")
    with pytest.raises(SyntaxError):
        run("A = 1\n", "def linear(x: pass\n")
    with pytest.raises(SyntaxError):
        run("linear = 1 1\n", "A = 1\n")


def test_what_is_written_anew_may_fail_before():
    old, kept = "@nothing\ndef linear(): pass\n", "def linear(): return 1\n"
    assert run(old, kept)["linear"]() == 1
    with pytest.raises(NameError, match="nothing"):
        run(kept, old)


@pytest.mark.parametrize("broken", ["def half(): 1 1\n", "half = 1 1\n", "class half: 1 1\n"])
def test_broken_cell_is_told_of_if_its_names_are_used(broken):
    assert run(broken, "def linear(half): return half\n")["linear"](2) == 2
    with pytest.raises(SyntaxError) as told:
        run(broken, "def linear(): return half()\n")
    assert told.value.lineno == 2


UNUSED = {
    "is set again": ("x = 1\n", "x = 2\ny = x +\n"),
    "is set again below": ("x = 1\ny = x + 1\n", "x = 2\ny = x +\n"),
    "is an attribute": ("def linear(x): return x.T\n", "T = 1\ny = T +\n"),
    "is Python's": ("def linear(): return max(1, 2)\n", "max = 3 3\n"),
    "is a starred one": ("from math import *\ndef linear(): return exp(1)\n", "exp = 2 2\n"),
    "is in a text": ("def linear(): return y(1)\n", 'z = """\ny(1)\n""" 1\n'),
    "is a class's": (
        "class A:\n    y = 1\n    z = y\ndef linear(): return A()\n",
        "y = 2 2\n",
    ),
    "is a function's": ("def linear():\n    global y\n    y = 1\n    return y\n", "y = 2 2\n"),
    "is a hint's": (
        "from __future__ import annotations\ndef linear(x: Array): return x\n",
        "Array = 2 2\n",
    ),
    "is local": ("def linear(y): return [y for y in y]\n", "y = 1 1\n"),
    "is used in a trial only": ("def trial(): return half()\n", "def half(): 1 1\n"),
    "is written again": ("def linear(): return half()\ndef half(): 1\n", "def half(): 1 1\n"),
}


@pytest.mark.parametrize(("right", "broken"), UNUSED.values(), ids=UNUSED)
def test_broken_cell_costs_nothing_if_its_name(right, broken):
    for cells in ((right, broken), (broken, right)):
        assert "one" in run(*cells, "def one(): pass\n", functions="linear")
        if "linear" in right:
            assert "linear" in run(*cells)


@pytest.mark.parametrize("above", ["A = 1\n", "no python\n\n"])
def test_lines_keep_their_numbers(above):
    made = run(above, "B = 2\n", "def linear():\n    1 / 0\n")
    with pytest.raises(ZeroDivisionError) as error:
        made["linear"]()
    assert traceback.extract_tb(error.tb)[-1].lineno == 4 + above.count("\n")


def test_error_of_the_cell_that_is_needed_is_told():
    with pytest.raises(SyntaxError) as told:
        run("def trial(): 1 1\n", "def linear(): 2 2\n")
    assert told.value.lineno == 3


def test_text_in_a_cell_is_no_mark():
    linear = "def linear():\n    x = 1\n# from work.ipynb, cell 7\n    return x\n"
    assert run(linear, "no python\n")["linear"]() == 1


def test_file_is_no_notebook():
    with pytest.raises(NameError):
        exec(statements.compile_text("class A(nothing): pass\n", "work"), {})
    with pytest.raises(SyntaxError):
        statements.compile_text("no python\n# from work.ipynb, cell 1\nA = 1\n", "work")


def test_worker_and_reader_know_the_same_first_line():
    assert submission.NOTEBOOK == statements.NOTEBOOK
