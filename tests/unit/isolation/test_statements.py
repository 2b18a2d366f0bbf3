"""A notebook's statements: what may fail leaves the rest as it is, and lines keep their numbers."""

import traceback

import pytest

from grader.intake import submission
from grader.isolation.worker import statements

CELL = "# from work.ipynb, cell {}\n"


def run(*cells, names="linear"):
    """The module of these cells, which begin in its second line."""
    marked = (CELL.format(number) + cell for number, cell in enumerate(cells, 1))
    text = statements.NOTEBOOK + names + "\n" + "".join(marked)
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


@pytest.mark.parametrize("broken", ["def half(): 1 1\n", "half = 1 1\n", "class half: 1 1\n"])
def test_broken_cell_is_told_of_if_its_names_are_used(broken):
    with pytest.raises(SyntaxError) as told:
        run(broken, "def linear(): return half()\n")
    assert told.value.lineno == 3


@pytest.mark.parametrize("above", ["A = 1\n", "no python\n\n"])
def test_lines_keep_their_numbers(above):
    made = run(above, "B = 2\n", "def linear():\n    1 / 0\n")
    with pytest.raises(ZeroDivisionError) as error:
        made["linear"]()
    assert traceback.extract_tb(error.tb)[-1].lineno == 7 + above.count("\n")


def test_file_is_no_notebook():
    with pytest.raises(NameError):
        exec(statements.compile_text("class A(nothing): pass\n", "work"), {})
    with pytest.raises(SyntaxError):
        statements.compile_text("no python\n" + CELL + "A = 1\n", "work")


def test_worker_and_reader_know_the_same_first_line():
    assert submission.NOTEBOOK == statements.NOTEBOOK
