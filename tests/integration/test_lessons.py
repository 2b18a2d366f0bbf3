"""The notebooks are what the solutions say, and give nothing away."""

import json
import re

import nbformat
import pytest

from grader.authoring import lessons
from grader.authoring.findings import read_map, read_prose
from grader.authoring.lessons import NOTEBOOKS, notebook
from grader.steps.quiz import PREFACE, PREFACE_TEXT
from grader.steps.stubs import stub, without_self_study
from tests.conftest import SOLUTIONS, STEPS
from tests.support.stubs import solution_lines

PLAIN = "# %%\nimport numpy as np\n\n# %% [markdown]\n# The end.\n"
DROPPED = """# %% [markdown] tags=["active-ipynb"]
# ## To look at
#
# See this.

# %% tags=["active-ipynb"]
# look.at(it)
"""


def book(step):
    return nbformat.read(NOTEBOOKS / f"{step.id}.ipynb", as_version=4)


def test_self_study_cells_are_dropped():
    inside = PLAIN.replace("# %% [markdown]", f"{DROPPED}\n# %% [markdown]")
    assert without_self_study(inside) == stub(inside) == PLAIN
    assert without_self_study(f"{PLAIN}\n{DROPPED}") == PLAIN


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_committed_notebook_is_up_to_date(step):
    committed = (NOTEBOOKS / f"{step.id}.ipynb").read_text(encoding="utf-8")
    assert committed == notebook(step, SOLUTIONS[step.id]), (
        f"notebooks/{step.id}.ipynb is out of date: run `make build`"
    )


def test_notebook_of_step_0_is_up_to_date_with_questions_and_figures():
    committed = NOTEBOOKS / f"{PREFACE.id}.ipynb"
    text = PREFACE_TEXT.read_text(encoding="utf-8")
    assert committed.read_text(encoding="utf-8") == lessons.preface_notebook(text)
    cells = book(PREFACE).cells
    code = [cell.source for cell in cells if cell.cell_type == "code"]
    assert code == ['from grader.notebook import quiz\n\nquiz("0")']
    assert not any(re.search(r"make\s+quiz", cell.source) for cell in cells)
    figures = [(name, cell) for cell in cells for name in cell.get("attachments", ())]
    names = {name for name, _ in figures}
    assert names == {"step00-map.svg", "step00-routing-1.svg", "step00-routing-2.svg"}
    assert all(f"](attachment:{name})" in cell.source for name, cell in figures)


def telling_lines(step):
    """The lines of the solution that are not in a notebook by chance."""
    return [line for line in solution_lines(step.id) if not line.startswith(("#", "raise"))]


def test_solutions_have_lines_that_would_tell():
    assert len([step for step in STEPS if telling_lines(step)]) > len(STEPS) / 2


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_notebook_and_stub_have_no_line_of_code_from_the_solution(step):
    for text in ("\n".join(cell.source for cell in book(step).cells), stub(SOLUTIONS[step.id])):
        assert [line for line in telling_lines(step) if line in text] == []


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_notebook_checks_every_function_after_the_cell_of_its_name(step):
    code = [cell for cell in book(step).cells if cell.cell_type == "code"]
    sources = [cell.source for cell in code]
    for function in step.functions:
        number = next(i for i, s in enumerate(sources) if f"def {function.name}(" in s)
        assert code[number].id == function.name
        assert "raise NotImplementedError()" in sources[number]
        assert (sources[number + 1] == f'check("{function.name}")') is bool(function.checks)
    assert sources[-2:] == ["check()", "save_work()"]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_notebook_begins_with_what_to_do_and_has_distinct_cells_without_outputs(step):
    first, second, *_ = cells = book(step).cells
    assert first.source.startswith("# Step ")
    assert "Run the cell below first" in first.source
    assert f'lesson("{step.id}")' in second.source
    assert len({cell.id for cell in cells}) == len(cells)
    assert all(not cell.outputs for cell in cells if cell.cell_type == "code")
    assert not any(re.search(r"make\s+quiz", cell.source) for cell in cells)


def test_ids_of_cells_do_not_depend_on_what_stands_above():
    step = STEPS[0]
    text = SOLUTIONS[step.id]
    more = text.replace("# %%\nimport numpy", "# %% [markdown]\n# More.\n\n# %%\nimport numpy")
    before, after = (json.loads(notebook(step, one))["cells"] for one in (text, more))
    new = {cell["id"] for cell in after} - {cell["id"] for cell in before}
    assert new == {"more"}


def test_prose_leaves_out_headings_tables_formulas_and_what_is_asked():
    text = "# Title\n\nOne two. What is\nasked? Three.\n\n| a |\n\n    x = y\n\n3 - 4\n"
    text += "\n**Source.** A book.\n\n**Try first:** this\nand that.\n"
    assert read_prose(text) == ["One", "two.", "Three.", "3", "4"]


@pytest.mark.parametrize("change", ["[", "**IV", "20"])
def test_map_of_the_course_names_each_step_of_its_part(change):
    text = SOLUTIONS[STEPS[19].id]
    assert "[20 " in read_map(text, "IV")
    assert "[20 " not in read_map(text.replace(change, ""), "IV")
