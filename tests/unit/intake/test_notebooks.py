"""Notebooks: which cells make a step, what is left out, and that a message finds the cell."""

import ast
import json
from pathlib import Path
from types import ModuleType

import pytest

from grader.intake import handins, notebooks
from grader.intake.folders_and_zips import Folder, SubmissionError
from grader.intake.submission import Submission
from grader.isolation.survey import is_untouched, place
from grader.isolation.worker import notebook
from tests.conftest import SOLUTIONS, STEPS
from tests.support.handed_in import read_place

SCORES = "def attention_scores(q, k):\n    return {}\n"
STUB = "def attention_scores(q, k):\n    raise NotImplementedError()\n"
STEP = "step02_scores"


def code(source, grade_id=None, **nbgrader):
    metadata = {"nbgrader": {"grade_id": grade_id, **nbgrader}} if grade_id else {}
    return {"cell_type": "code", "metadata": metadata, "source": source, "outputs": []}


def text(source="# A title"):
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def written(*cells):
    return json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5}).encode()


@pytest.fixture
def read(steps):
    """read(cell, ...): the notebook of these cells; a string is a code cell."""

    def read(*cells):
        made = [code(cell) if isinstance(cell, str) else cell for cell in cells]
        return notebooks.read(written(*made), "work.ipynb", steps)

    return read


def run(source):
    """The module that a notebook's text makes."""
    module = ModuleType("step")
    notebook.run(source, "step.py", module, notebook.Guide(), {})
    return vars(module)


def answer(found, step=STEP):
    return run(found.sources[step])["attention_scores"](1, 2)


# Which cell counts, and what it is worth after all cells have run as in a kernel.

RIGHT, OLD, SEVEN = (SCORES.format(value) for value in ("'right'", "'old'", 7))
TWICE = "def twice(f):\n    return lambda *a: 2 * f(*a)\n"
WRAPPED = "attention_scores = twice(attention_scores)\n"
TAG = "attention_scores"
FIRST = "cell 1: this attention_scores counts; it is also in cell 2"
SECOND = "cell 2: this attention_scores counts; it is also in cell 1"
OPEN = "line 2: this is not valid Python"
# The cells -> what the function returns, and a part of the warning, if there is one.
CHOSEN = {
    "by grade_id, wherever it stands": ([code(RIGHT, TAG), OLD], "right", FIRST),
    "by the step's grade_id": ([code(RIGHT, STEP), OLD], "right", FIRST),
    "the last of two with the grade_id": ([code(OLD, TAG), code(RIGHT, TAG)], "right", SECOND),
    "the last by name where nothing has a grade_id": ([OLD, RIGHT], "right", SECOND),
    "by name where the grade_id is gone": ([code("linear = 1\n", "linear"), RIGHT], "right"),
    "not the stub, though it has the grade_id": ([code(STUB, TAG), RIGHT], "right"),
    "not a stub that comes later": ([RIGHT, STUB], "right"),
    "of a cell that was made a text": ([{**code(RIGHT, TAG), "cell_type": "raw"}], "right"),
    "grade_id on a cell without the function": ([code("x = 1\n", TAG), RIGHT], "right"),
    "grade_id that leaves its comment": ([code(RIGHT, "x)\n1 / 0\n#")], "right"),
    "graded by hand": ([code(RIGHT, TAG, grade=True, solution=True)], "right"),
    "the last in one cell": ([OLD + RIGHT], "right"),
    "an assignment": (["def f(q, k): return 'right'\nattention_scores = f\n"], "right"),
    "wrapped below": ([TWICE, SEVEN, WRAPPED], 14, "cell 3: this"),
    "not wrapped below with its grade_id": ([TWICE, code(SEVEN, TAG), WRAPPED], 7, "cell 2: this"),
    "by a loop": ([SEVEN, "for attention_scores in [lambda q, k: 14]:\n    pass\n"], 14, SECOND),
    "by exec": ([SEVEN, "exec('def attention_scores(q, k): return 14')\n"], 14),
    "below one that fails": (
        [f"@njit\n{OLD}", "f = attention_scores\n", RIGHT],
        "right",
        "cell 3:",
    ),
    "with a later helper": (["N = 1\n", SCORES.format("N"), "N = 2\n"], 2),
    "a trial is made again": (["T = [later]\n", "later = 5\n", SCORES.format("T[0]")], 5),
    "which replaces nothing": (["N = later\n", "later = 1\nN = 2\n", SCORES.format("N")], 2),
    "below an open function": (["def softmax(x):\n    return (x\n", RIGHT], "right", f"1, {OPEN}"),
    "above an open one": ([RIGHT, f"{RIGHT[:-1]} + (q\n"], "right", f"2, {OPEN}"),
    "above an open bracket": ([f"{RIGHT}x = (1\n"], "right", "cell 1, line 3: this is not valid"),
    "below a lone surrogate": (["x = '\\ud800'\nprint(x)\n", RIGHT], "right"),
    "above a deep source": ([RIGHT, f"x = {'(' * 300}{')' * 300}\n"], "right", "cell 2, line 1"),
}


@pytest.mark.parametrize("row", CHOSEN.values(), ids=CHOSEN)
def test_function_is_taken(read, row):
    made, value, *warnings = row
    found = read(*made)
    assert answer(found) == value
    assert bool(found.warnings) is bool(warnings)
    assert all(warning in "".join(found.warnings) for warning in warnings)


def test_stub_alone_is_taken_as_it_is(read):
    found = read(code(STUB, TAG))
    with pytest.raises(NotImplementedError, match=r"^$"):
        answer(found)
    assert found.written == set()


@pytest.mark.parametrize(
    "made",
    [
        code("assert False\n" + SCORES.format(0), "scores_1", grade=True, solution=False),
        code(SCORES.format(0), "check_attention_scores"),
        text(SCORES.format(0)),
    ],
)
def test_cells_without_work_are_left_out(read, made):
    assert read(made, "x = 1").sources == {}


def test_a_step_is_in_the_notebook_that_has_a_function_of_it(read):
    found = read(RIGHT + "def softmax(scores): return scores\n", "def linear(): pass\n")
    assert [*found.sources] == ["step01_projections", STEP, "step04_softmax"]
    assert len({*found.sources.values()}) == 1


def test_function_without_its_end_is_left_out(read):
    """A function without its end would be another function."""
    found = read("def softmax(x):\n    y = x\n    return (y\n", RIGHT)
    assert "softmax" not in run(found.sources["step04_softmax"])
    assert found.written == {STEP}
    assert found.left_out == {"softmax": "work.ipynb, cell 1, line 3"}
    below = read("x = (\n\n" + SCORES.format("1"))
    assert below.left_out == {"attention_scores": "work.ipynb, cell 1, line 1"}


def test_function_without_its_end_is_said_to_be_left_out(grade, steps, read):
    """Also where it is all that the notebook has."""
    found = read(text(), "x = 1\n\ndef attention_scores(q, k):\n    return (q @ k\n")
    (verdict,) = grade(Submission("alice", found.sources), only=(steps.find(STEP),)).steps
    assert {check.status.value for check in verdict.checks} == {"error"}
    assert {check.message for check in verdict.checks} == {
        "attention_scores is left out, because a line is not valid Python "
        "(work.ipynb, cell 2, line 4: `return (q @ k`)."
    }


# Where a line stood.


def test_message_names_the_cell(grade, steps, read):
    found = read(text(), code("x = 1\n\n" + SCORES.format("1 / 0"), "attention_scores"))
    submission = Submission("alice", found.sources)
    (verdict,) = grade(submission, only=(steps.find(STEP),)).steps
    assert "(work.ipynb, cell 2, line 4: `return 1 / 0`)" in verdict.checks[0].message


# Files.

TAKEN = {
    "lines": {"cells": [code(SCORES.format(3).splitlines(keepends=True))]},
    "no metadata": {"cells": [{"cell_type": "code", "source": RIGHT}]},
    "strange metadata": {"cells": [{"cell_type": "code", "source": RIGHT, "metadata": [1]}]},
    "strange nbgrader": {"cells": [{**code(RIGHT), "metadata": {"nbgrader": "yes"}}]},
    "strange grade_id": {"cells": [code(RIGHT, grade_id=["attention_scores"])]},
    "strange cells beside": {"cells": [None, 3, "x", [], {}, {"cell_type": 5}, code(RIGHT)]},
    "huge outputs": {"cells": [{**code(RIGHT), "outputs": [{"data": "x,[{" * 2_000_000}]}]},
    "no format": {"cells": [code(RIGHT)]},
}


@pytest.mark.parametrize("data", TAKEN.values(), ids=TAKEN.keys())
def test_notebook_is_read_as_far_as_it_goes(steps, data):
    found = notebooks.read(json.dumps(data).encode(), "work.ipynb", steps)
    assert answer(found) in (3, "right")


def test_odd_numbers_and_names_are_passed_over(steps):
    data = b'{"nbformat": ' + b"9" * 1_000_000 + b", " + written(code(RIGHT))[1:]
    assert answer(notebooks.read(data, "a\n1 / 0\r2 / 0\x0c\u2028.ipynb", steps)) == "right"


@pytest.mark.parametrize("source", [5, None, ["a", 1], {"a": 1}, "x = '\0'", "x = '\ud800'"])
def test_cell_that_is_no_text_is_left_out(read, source):
    found = read(code(source), RIGHT)
    assert answer(found) == "right"
    warning = "work.ipynb, cell 1: it holds something other than text, and is skipped."
    assert found.warnings == (warning,)


def deep(levels):
    return b'{"cells": ' + b"[" * levels + b"]" * levels + b"}"


REFUSED = {
    "half of it": (b'{"cells": [\n\n{"cell_type":', "its JSON is broken in line 3"),
    "a list": (b"[]", "it has no cells"),
    "format 3": (b'{"worksheets": [{"cells": [{"cell_type": "code"}]}]}', "it has no cells"),
    "cells that are none": (b'{"cells": 5, "worksheets": [3, {"cells": {}}]}', "it has no cells"),
    "Latin-1": (b'{"cells": "caf\xe9"}', "its JSON is broken"),
    "deep": (deep(400_000), "its JSON is broken"),
    "deep and open": (b"[" * 900_000, "its JSON is broken"),
    "many values": (b'{"cells": [' + b"{}," * 700_000 + b"{}]}", "more than 32 MiB"),
    "many strings": (b'{"cells": [' + b'"",' * 5_000_000 + b'""]}', "more than 32 MiB"),
    "many cells": (b'{"cells": [' + b"{}," * 5_000 + b"{}]}", "more than 5,000"),
    "long": (b'{"cells": []' + b" " * 2**25 + b"}", "more than 32 MiB"),
    "long code": (written(code("#" * 600_000), code("#" * 400_001)), "more than 32 MiB"),
}


@pytest.mark.parametrize(("data", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_notebook_is_refused(steps, data, reason):
    with pytest.raises(SubmissionError, match=reason):
        notebooks.read(data, "work.ipynb", steps)


def test_functions_of_the_steps_have_names_of_their_own(steps):
    """Cells are told apart by them."""
    names = [function.name for step in steps.steps for function in step.functions]
    assert len(set(names)) == len(names)
    assert not set(names) & {step.id for step in steps.steps}


@pytest.mark.parametrize("module", [notebooks, handins], ids=lambda m: m.__name__)
def test_reading_parses_no_source(module):
    """A parser's own stack is what hostile source is written for."""
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert not names & {"ast", "tokenize", "compile", "exec", "eval", "codeop", "symtable"}


def test_whole_step_files_in_the_cells_of_one_notebook_are_every_step(read):
    """As when the files are pasted in, imports of the earlier steps included."""
    texts = [SOLUTIONS[step.id] for step in STEPS]
    found = read(*texts)
    assert set(found.sources) == {step.id for step in STEPS}
    assert found.warnings == ()


def test_remark_that_looks_like_a_mark_is_none(read):
    """It may tell where the code was copied from."""
    remark = "# %% lecture3.ipynb, cell 12\n"
    cells = ["import os\n", f"x = 1\n{remark}def attention_scores(q, k): return 1\n"]
    source = read(*cells).sources[STEP]
    number = next(n for n, line in enumerate(source.split("\n"), 1) if line[:4] == "def ")
    assert place(source, number, "x.py")[0] == "work.ipynb, cell 2, line 3"
    assert place(remark + source.split("\n", 1)[1], 2, "x.py")[0] == "x.py, line 2"


def test_what_is_left_out_is_told_with_its_cell(read):
    told = read("%%html\n<p>", "x = 1\ny = = 2\nz = 3", RIGHT).warnings
    assert [line.partition(":")[0] for line in told] == [
        "work.ipynb, cell 1, line 1",
        "work.ipynb, cell 2, line 2",
    ]


def test_cells_that_define_a_step_are_what_is_compared(read, steps):
    found = read("import os", RIGHT, "print(1)", "def softmax(x): return x", STUB)
    assert notebooks.find_code(found.sources[STEP], steps.find(STEP)).count("def") == 2
    assert notebooks.find_code("x = 1\n", steps.find(STEP)) == "x = 1\n"


def test_a_stub_below_leaves_a_notebook_written(steps, tmp_path):
    """Although a file that is not read is beside it."""
    (tmp_path / "work.ipynb").write_bytes(written(code(RIGHT), code(STUB)))
    (tmp_path / "other.zip").write_bytes(b"no zip")
    with Folder.open(tmp_path) as folder:
        found = read_place(folder, steps)
    assert [*found.sources] == [STEP]
    assert not is_untouched(found.sources[STEP], steps.find(STEP))
