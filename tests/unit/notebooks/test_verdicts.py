"""Test the output below a test cell, and the score that nbgrader reads there."""

from dataclasses import replace

from grader.notebooks.nbgrader.rebuilding import output
from grader.report.records import Status
from tests.support.classes import SAYS, check, step, unscaled

CUT = "attention_scores raised TypeError (work.ipynb, cell 7, line 1: `q @ k`). " + "Long. " * 40


def shown(*checks):
    """The HTML below a test cell, and the text that is its score."""
    data = output(step(*checks), 4.0).data
    return data["text/html"], data["text/plain"]


def test_message_is_a_paragraph_that_fits_any_page():
    """A line of preformatted text would be cut off at the border of nbgrader's pages."""
    same = {"status": Status.ERROR, "message": CUT}
    for checks in ([check(**same), check("other")], [check(**same), check("other", **same)]):
        html, _ = shown(*checks)
        assert "<pre" not in html
        assert html.count("(work.ipynb, cell 7, line 1: <code>q @ k</code>). Long.") == 1


def test_cause_stands_below_its_check_and_once():
    first = unscaled()
    html, score = shown(first, check(), replace(first, message="3 of 9 values are wrong."))
    assert html.count(SAYS) == 1
    assert html.index("All 4 values are wrong.") < html.index(SAYS)
    assert score == str(4.0 / 3)


def test_text_in_backticks_is_code_and_escaped():
    html, _ = shown(check(status=Status.ERROR, message="`<script>`"), check(title="It uses `u`."))
    assert "<code>&lt;script&gt;</code>" in html
    assert "It uses <code>u</code>." in html


def test_no_formula_is_drawn_in_what_students_wrote():
    """nbgrader's pages draw formulas, which can be anywhere on the page, in any size."""
    notes = [r"commands were removed (!$\rlap{\raise9em{\Huge 7/7}}$)"]
    html = output(step(check()), 4.0, notes).data["text/html"]
    assert html.startswith('<div class="nopeek tex2jax_ignore mathjax_ignore">')
    assert html.endswith("</div>")
    assert html.count("<div") == html.count("</div>")
