"""nbgrader's source notebooks: built from the solutions, and committed as they are built."""

import json

import pytest

from grader.authoring import assignments
from grader.steps.registry import load
from grader.steps.stubs import BuildError
from tests.conftest import ROOT, STEPS
from tests.support.courses import NBGRADER, cell_of, grade_id, joined

STEP = load().find("step02_scores")
TEXT = """\
# %% [markdown]
# # A lesson

# %%
import numpy as np

# %% tags=["active-ipynb"]
# print("to look at")

# %%
def attention_scores(q, k):
    ### BEGIN SOLUTION
    return 1
    ### END SOLUTION
"""


def made(text=TEXT):
    return json.loads(assignments.notebook(STEP, text))


def test_committed_notebooks_are_what_is_built():
    for path, text in assignments.assignments(load()).items():
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        assert old == text, f"{path.relative_to(ROOT)} is out of date: run `make build`"


def test_no_other_notebook_is_committed():
    there = set((NBGRADER / "source").rglob("*.ipynb"))
    assert there == set(assignments.assignments(load()))


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_test_cells_are_worth_their_functions_checks(step):
    path = NBGRADER / "source" / step.id / f"{step.id}.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    tests = [cell for cell in notebook["cells"] if (grade_id(cell) or "").startswith("check_")]
    points = {grade_id(cell): cell["metadata"]["nbgrader"].get("points") for cell in tests}
    points.pop("check_setup", None)
    checked = [function for function in step.functions if function.checks]
    assert points == {f"check_{f.name}": sum(c.points for c in f.checks) for f in checked}
    for function in step.functions:
        cell = cell_of(notebook, function.name)
        assert cell["metadata"]["nbgrader"]["solution"] is True
        assert joined(cell["source"]).count("### BEGIN SOLUTION") == 1


def test_test_cell_stands_below_its_function_and_tells_nothing():
    ids = [grade_id(cell) for cell in made()["cells"]]
    assert ids == [None, None, "attention_scores", "check_attention_scores"]
    test = made()["cells"][-1]
    assert joined(test["source"]).split("\n")[-1] == "check('attention_scores')"
    assert test["metadata"]["nbgrader"]["schema_version"] == 3
    assert test["metadata"]["nbgrader"]["locked"] is True


def test_cells_to_look_at_are_left_out():
    assert "to look at" not in json.dumps(made())


def test_cell_ids_stay_when_a_text_changes():
    ids = [cell["id"] for cell in made()["cells"]]
    assert [cell["id"] for cell in made(TEXT.replace("lesson", "longer one"))["cells"]] == ids
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(
    ("step", "text", "words"),
    [
        (STEPS[0], "def linear(x): pass\ndef project_qkv(x): pass\n", "give each function a cell"),
        (STEP, "### BEGIN SOLUTION\nx = 1\n### END SOLUTION\n", "a solution outside"),
    ],
)
def test_cell_that_cannot_be_one_of_nbgraders_is_refused(step, text, words):
    with pytest.raises(BuildError, match=f"{step.id}, cell 1: {words}"):
        assignments.notebook(step, f"# %%\n{text}")
