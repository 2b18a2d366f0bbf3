"""The notebooks are what the solutions say, and give nothing away."""

import itertools
import json
import re

import nbformat
import pytest

from grader.authoring import lessons
from grader.authoring.lessons import NOTEBOOKS, build_notebooks, notebook
from grader.steps.quiz import PREFACE, PREFACE_TEXT, questions
from grader.steps.stubs import stub, without_self_study
from tests.conftest import ROOT, STEPS

SELF_STUDY = """# %%
import numpy as np

# %% [markdown] tags=["active-ipynb"]
# ## To look at
#
# See this.

# %% tags=["active-ipynb"]
# look.at(it)

# %% [markdown]
# The end.
"""
PLAIN = """# %%
import numpy as np

# %% [markdown]
# The end.
"""


def solution(step):
    return (ROOT / "solutions" / step.filename).read_text(encoding="utf-8")


def book(step):
    return nbformat.read(NOTEBOOKS / f"{step.id}.ipynb", as_version=4)


def test_self_study_cells_are_dropped():
    assert without_self_study(SELF_STUDY) == PLAIN
    assert stub(SELF_STUDY) == PLAIN


def test_self_study_cell_at_the_end_leaves_no_blank_lines():
    assert without_self_study(PLAIN + '\n# %% tags=["active-ipynb"]\n# look.at(it)\n') == PLAIN


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_committed_notebook_is_up_to_date(step):
    committed = (NOTEBOOKS / f"{step.id}.ipynb").read_text(encoding="utf-8")
    assert committed == notebook(step, solution(step)), (
        f"notebooks/{step.id}.ipynb is out of date: run `make build`"
    )


def test_notebook_of_step_0_is_up_to_date_and_asks_its_questions():
    committed = NOTEBOOKS / f"{PREFACE.id}.ipynb"
    text = PREFACE_TEXT.read_text(encoding="utf-8")
    assert committed.read_text(encoding="utf-8") == lessons.preface_notebook(text)
    assert [cell.source for cell in book(PREFACE).cells if cell.cell_type == "code"] == [
        'from grader.notebook import quiz\n\nquiz("0")'
    ]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_notebook_has_no_line_of_code_from_the_solution(step):
    bodies = re.findall(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", solution(step), re.DOTALL)
    lines = [line.strip() for body in bodies for line in body.splitlines()]
    telling = [line for line in lines if len(line) > 12 and not line.startswith(("#", "raise"))]
    text = "\n".join(cell.source for cell in book(step).cells)
    assert telling
    assert [line for line in telling if line in text] == []


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_notebook_checks_every_function_after_its_cell(step):
    sources = [cell.source for cell in book(step).cells if cell.cell_type == "code"]
    for function in step.functions:
        number = next(i for i, s in enumerate(sources) if f"def {function.name}(" in s)
        assert "raise NotImplementedError()" in sources[number]
        assert (sources[number + 1] == f'check("{function.name}")') is bool(function.checks)
    assert sources[-2:] == ["check()", "save_work()"]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_cell_of_a_function_has_its_name(step):
    """Also where a heading says nothing but the name."""
    found = {cell.id: cell for cell in book(step).cells}
    for function in step.functions:
        assert f"def {function.name}(" in found[function.name].source


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_notebook_begins_with_what_to_do(step):
    first, second = book(step).cells[:2]
    assert first.source.startswith("# Step ")
    assert "Run the cell below first" in first.source
    assert f'lesson("{step.id}")' in second.source


@pytest.mark.parametrize("step", [PREFACE, *STEPS], ids=lambda step: step.id)
def test_notebook_asks_through_its_own_function(step):
    text = "\n".join(cell.source for cell in book(step).cells)
    assert not re.search(r"make\s+quiz", text)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_notebook_has_distinct_cells_and_no_outputs(step):
    cells = book(step).cells
    assert len({cell.id for cell in cells}) == len(cells)
    assert all(not cell.outputs for cell in cells if cell.cell_type == "code")


def test_ids_of_cells_do_not_depend_on_what_stands_above():
    step = STEPS[0]
    text = solution(step)
    more = text.replace("# %%\nimport numpy", "# %% [markdown]\n# More.\n\n# %%\nimport numpy")
    before, after = (json.loads(notebook(step, one))["cells"] for one in (text, more))
    new = {cell["id"] for cell in after} - {cell["id"] for cell in before}
    assert new == {"more"}


@pytest.fixture
def workshop(tmp_path, monkeypatch, steps):
    monkeypatch.setattr(lessons, "NOTEBOOKS", tmp_path)
    monkeypatch.setattr(lessons, "BUILT", tmp_path / ".built.json")
    build_notebooks(steps)
    return tmp_path


def test_build_writes_no_notebook_twice(workshop, steps):
    assert build_notebooks(steps) == []


def test_build_keeps_a_notebook_that_was_worked_on(workshop, steps):
    path = workshop / f"{STEPS[0].id}.ipynb"
    path.write_text("my work\n", encoding="utf-8")
    assert build_notebooks(steps) == [path]
    assert path.with_name(path.name + ".1.bak").read_text(encoding="utf-8") == "my work\n"


LEAST, MOST = 600, 900


def sections(step):
    """The Markdown cells and the code cells of a lesson, in order: (is it text, what it says)."""
    cells = re.split(r"(?m)^# %% ?", solution(step))
    for head, _, body in (cell.partition("\n") for cell in cells[1:]):
        text = head.startswith("[markdown]")
        if "active-ipynb" not in head:
            yield text, re.sub(r"(?m)^# ?", "", body) if text else body


def prose(text):
    """The words of a text without headings, tables, formulas, sources and what is asked."""
    text = re.sub(r"(?ms)^\*\*(Sources?\.|Try first).*?(?=^$|\Z)", "", text)
    text = re.sub(r"(?m)^(#|\||    ).*$", "\n", text)
    sentences = re.split(r"(?<=[.!?:;*])\s|\n\n", text)
    told = [sentence for sentence in sentences if not sentence.rstrip().endswith("?")]
    return [word for sentence in told for word in sentence.split() if re.search(r"\w", word)]


def test_prose_leaves_out_headings_tables_formulas_and_what_is_asked():
    text = "# Title\n\nOne two. What is\nasked? Three.\n\n| a |\n\n    x = y\n\n3 - 4\n"
    text += "\n**Source.** A book.\n\n**Try first:** this\nand that.\n"
    assert prose(text) == ["One", "two.", "Three.", "3", "4"]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_lesson_is_neither_long_nor_short_before_its_last_stub(step):
    cells = list(sections(step))
    last = max(n for n, (text, cell) in enumerate(cells) if not text and "def " in cell)
    words = sum(len(prose(cell)) for text, cell in cells[:last] if text)
    assert LEAST <= words <= MOST


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_every_stub_says_what_to_try_first(step):
    cells = list(sections(step))
    named = {function.name for function in step.functions if function.checks}
    silent = [
        name
        for (text, before), (_, code) in itertools.pairwise(cells)
        for name in re.findall(r"(?m)^def (\w+)\(", code)
        if name in named and not (text and "**Try first" in before)
    ]
    assert silent == []


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_example_by_hand_leaves_a_blank_that_is_checked(step):
    """A question or the example of a function says whether the reader's number is right."""
    text = "\n".join(cell for is_text, cell in sections(step) if is_text)
    section = re.search(r"(?ms)^## By hand.*?(?=^## (?!Several)|\Z)", text)
    plain = " ".join(section[0].split())
    plain = plain.replace(", further down, checks", " checks")
    checks = re.findall(r"[Qq]uestion (\d+[a-z]) checks|example of `(\w+)` checks", plain)
    assert checks
    for question, function in checks:
        assert question in {one.id for one in questions(step)} or function in {
            one.name for one in step.functions
        }


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_lesson_asks_for_an_explanation(step):
    asked = [one.ask for one in questions(step) if one.kind == "open"]
    assert any("two sentences" in ask for ask in asked)
