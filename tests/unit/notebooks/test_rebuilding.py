"""A submitted notebook written anew: what stays, what is put back, what is shown harmlessly."""

import re

import pytest
from nbconvert.exporters import HTMLExporter
from nbconvert.filters import markdown2html
from nbformat.v4 import new_code_cell, new_markdown_cell

from grader.intake.notebooks import RawCell
from grader.notebooks.nbgrader.rebuilding import MAX_SHOWN, rebuild, tame


def released(grade_id, locked):
    data = {"grade_id": grade_id, "points": 2.0, "locked": locked, "solution": not locked}
    return new_code_cell("released", metadata={"nbgrader": data})


LESSON = "a < b <b>c</b>"
RELEASED = [new_markdown_cell(LESSON), released("f", False), released("check_f", True)]


def raw(number, text, grade_id="", code=True):
    return RawCell(number, code, False, grade_id, text)


def made(*cells):
    said = []
    notebook = rebuild(cells, RELEASED, said.append)
    found = [(c.cell_type, c.source, c.metadata.get("nbgrader", {})) for c in notebook.cells]
    return [(kind, text, data.get("grade_id")) for kind, text, data in found], said


def test_untouched_notebook_stays_as_it_is():
    cells = (raw(1, "mine", "f"), raw(2, "released", "check_f"))
    assert made(*cells) == ([("code", "mine", "f"), ("code", "released", "check_f")], [])


@pytest.mark.parametrize(
    ("cells", "warning"),
    [
        ((raw(1, "a", "f"), raw(2, "b"), raw(3, "7.0", "check_f")), "cell 3, check_f, was changed"),
        (
            (raw(1, "a", "f"), raw(2, "released", "check_f", code=False)),
            "cell 2, check_f, was changed",
        ),
        ((raw(1, "a", "f"),), "check_f was missing; it is there again"),
        (
            (raw(1, "a", "f"), raw(2, "7.0", "check_f"), raw(3, "released", "check_f")),
            "cell 2 is a second check_f",
        ),
    ],
    ids=["changed", "retyped", "missing", "twice"],
)
def test_locked_cell_is_put_back(cells, warning):
    found, said = made(*cells)
    assert [cell for cell in found if cell[2] == "check_f"] == [("code", "released", "check_f")]
    assert any(warning in line for line in said)


def test_missing_cell_stands_at_the_end():
    found, _ = made(raw(1, "mine", "f"), raw(2, "more"))
    assert [grade_id for _, _, grade_id in found] == ["f", None, "check_f"]


def test_second_answer_stays_as_a_cell_of_no_meaning():
    found, said = made(raw(1, "old", "f"), raw(2, "new", "f"), raw(3, "released", "check_f"))
    assert found[:2] == [("code", "old", None), ("code", "new", "f")]
    assert said == ["cell 1 is a second f"]  # which of them counts, the judge says


def test_answer_that_was_made_a_text_is_code_again():
    found, _ = made(raw(1, "mine", "f", code=False), raw(2, "released", "check_f"))
    assert found[0] == ("code", "mine", "f")


def test_what_is_no_text_is_empty():
    found, _ = made(raw(1, None, "f"), raw(2, "released", "check_f"))
    assert found[0] == ("code", "", "f")


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](JavaScript&#58;alert(1))",
        "[x](java&#115;cript:alert(1))",
        "<javascript:alert(1)>",
        "[x]: javascript:alert(1)\n\n[x]",
        "![x](data:text/html;base64,AAAA)",
        "$\\href{javascript:alert(1)}{x}$",
        "```\n</code></pre><script>alert(1)</script>\n```\n<script>alert(1)</script>",
        "~~~\n<script>alert(1)</script>",
        "    <script>alert(1)</script>\n\n<script>alert(1)</script>",
        "`````\n`````\n<script>alert(1)</script>",
        "`\n\n<script>alert(1)</script>\n",
        "`\n\n[x](javascript:alert(1))\n\n$\\href{javascript:alert(1)}{x}$",
        "``\n\n<script>alert(1)</script>",
        "$$\n```\n\n<script>alert(1)</script>\n$$",
        "\\begin{x}\n`\n\n<script>alert(1)</script>\n\\end{x}",
        "\r\n```\r\n<script>alert(1)</script>\r```\r<img src=x>",
    ],
)
def test_text_of_a_students_cannot_act(text):
    page = markdown2html(tame(text))
    inside = re.fullmatch(r"\s*(?:<div[^>]*>)?<pre>(.*)</pre>\s*(?:</div>)?\s*", page, re.DOTALL)
    assert inside, page
    left = re.sub(r"</?(?:code|span)\b[^<>]*>", "", inside[1])
    assert "<" not in left


def test_lesson_is_shown_as_it_was_written():
    assert made(raw(1, LESSON, code=False))[0][0] == ("markdown", LESSON, None)
    assert made(raw(1, f"{LESSON} ", code=False))[0][0][1] == f"```\n{LESSON} \n```"


def test_page_of_a_notebook_does_not_colour_python():
    """nbgrader colours code with patterns, which took hours for 1 MB of certain lines."""
    notebook = rebuild([raw(1, "def f(): pass", "f")], RELEASED, print)
    page, _ = HTMLExporter(template_name="basic").from_notebook_node(notebook)
    assert "def f(): pass" in page


@pytest.mark.parametrize("code", [True, False], ids=["code", "text"])
def test_notebook_is_shown_up_to_a_length(code):
    cells = [raw(1, "mine", "f"), raw(2, "<" * MAX_SHOWN, code=code), raw(3, "more", code=code)]
    found, said = made(*cells, raw(4, "released", "check_f"))
    assert sum(len(text) for _, text, _ in found) < 1000
    assert [found[0], found[-1]] == [("code", "mine", "f"), ("code", "released", "check_f")]
    assert said == ["the notebook is too long: not all of its cells are shown"]
