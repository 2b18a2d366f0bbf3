"""Test the messages of an assignment's test cells, and `nbgrader validate`."""

import json

import nbformat
import pytest

from tests.support import forks, kernels
from tests.support.courses import NBGRADER, cell_of, code, filled_in, joined, surroundings
from tests.support.stubs import solution_text, stub_text

STEP = "step02_scores"
MASKS = ("causal_mask", "padding_mask", "additive_mask", "apply_mask")
UNSCALED = "def attention_scores(q, k):\n    return q @ k.swapaxes(-1, -2)\n"


def source(step=STEP):
    """The course's own notebook, which holds the solution."""
    path = NBGRADER / "source" / step / f"{step}.ipynb"
    return json.loads(path.read_text(encoding="utf-8"))


class Desk:
    """Where a student works: a folder for each assignment."""

    def __init__(self, folder):
        self.folder = folder
        self.variables = surroundings(folder / "jupyter")

    def put(self, notebook, step=STEP):
        path = self.folder / step / f"{step}.ipynb"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(notebook), encoding="utf-8")
        return path

    def validated(self, notebook, forked=True):
        """Return the output of `nbgrader validate`."""
        path = self.put(notebook)
        where = {"cwd": self.folder, "env": self.variables}
        done = forks.run("nbgrader", "validate", path, **where, forked=forked)
        assert done.returncode == 0, done.stdout
        return done.stdout

    def executed(self, notebook, step=STEP, **more):
        """The notebook after a kernel has run it."""
        for number, cell in enumerate(notebook["cells"]):
            cell.setdefault("id", f"added-{number}")
        folder = self.put(notebook, step).parent
        found = nbformat.reads(json.dumps(notebook), as_version=4)
        kernels.execute(found, folder, {**self.variables, **more}, errors=True)
        return found


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


def output(cell):
    (found,) = cell["outputs"]
    return found


@pytest.mark.long
def test_wrong_or_untouched_work_fails_validation_with_the_report(desk):
    said = desk.validated(filled_in(source(), UNSCALED), forked=False)
    assert "VALIDATION FAILED ON 1 CELL(S)" in said
    assert "attention_scores: needs work, 0/7 points" in said
    assert "looks like: The scores are not divided by √d_k." in said
    assert "expected (2, 2)" in said
    assert "Traceback" not in said
    said = desk.validated(filled_in(source(), stub_text(STEP)))
    assert "attention_scores: not attempted, 0/7 points" in said
    assert "Traceback" not in said


def test_notebook_that_is_simply_run_shows_its_verdicts(desk):
    """The last version of a cell counts."""
    notebook = source()
    cell_of(notebook, "attention_scores")["source"] = ""
    test = joined(cell_of(notebook, "check_attention_scores")["source"])
    for text in (UNSCALED.replace("(-1", "((-1"), UNSCALED, solution_text(STEP)):
        notebook["cells"] += [code(text), code(test)]
    found = desk.executed(notebook)
    missing = output(cell_of(found, "check_attention_scores"))
    broken, wrong, right = (output(cell) for cell in found["cells"][-5::2])
    assert missing["evalue"] == "attention_scores: not attempted, 0/7 points"
    assert broken["evalue"].startswith("cell In[")
    assert "is not valid Python" in broken["evalue"]
    assert wrong["ename"] == "ChecksFailed"
    assert wrong["evalue"] == "attention_scores: needs work, 0/7 points"
    assert joined(right["text"]) == "attention_scores: passed, 7/7 points\n"


@pytest.mark.long
def test_earlier_steps_are_the_notebooks_beside_it(desk):
    for step in ("step01_projections", "step03_mask", "step04_softmax", "step05_output"):
        desk.put(source(step), step)
    desk.put(source())
    notebook = source("step07_kv_cache")
    notebook["cells"].append(code("project_qkv(np.eye(2), *3 * [np.eye(2)])[0].tolist()"))
    found = desk.executed(notebook, "step07_kv_cache")
    assert output(cell_of(found, "check_attend_with_cache"))["output_type"] == "stream"
    assert joined(output(found["cells"][-1])["data"]["text/plain"]) == "[[1.0, 0.0], [0.0, 1.0]]"


@pytest.mark.long
def test_each_test_cell_speaks_of_its_function_only(desk):
    notebook = source("step03_mask")
    cell_of(notebook, "causal_mask")["source"] = "def causal_mask(t_q, t_k=None):\n    return 0\n"
    cell_of(notebook, "check_apply_mask")["source"] = (
        "from grader.course.cells import check\ncheck('another')"
    )
    found = desk.executed(notebook, "step03_mask")
    said = {name: output(cell_of(found, f"check_{name}")).get("evalue", "") for name in MASKS}
    assert said.pop("causal_mask").startswith("causal_mask: ")
    assert said == {
        "padding_mask": "",
        "additive_mask": "",
        "apply_mask": "No step has a function 'another': the test cell was changed.",
    }


def test_nothing_is_graded_in_a_kernel(desk):
    found = desk.executed(source(), NBGRADER_EXECUTION="autograde")
    said = output(cell_of(found, "check_attention_scores"))["evalue"]
    assert said.startswith("Nothing is graded in a kernel")
