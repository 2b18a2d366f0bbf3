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
    html, _ = shown(check(status=Status.ERROR, message=CUT), check("other"))
    assert "<pre" not in html
    assert "(work.ipynb, cell 7, line 1: <code>q @ k</code>). Long." in html


def test_message_that_all_checks_share_is_told_once():
    same = {"status": Status.ERROR, "message": CUT}
    html, _ = shown(check(**same), check("other", **same))
    assert html.count("<code>q @ k</code>") == 1
    assert "<pre" not in html


def test_cause_stands_below_its_check_and_once():
    first = unscaled()
    html, _ = shown(first, replace(first, message="3 of 9 values are wrong."))
    assert html.count(SAYS) == 1
    assert html.index("All 4 values are wrong.") < html.index(SAYS)


def test_code_in_a_title_is_set_as_code():
    html, _ = shown(check(title="It uses `u`."))
    assert "It uses <code>u</code>." in html


def test_what_students_wrote_is_escaped():
    html, _ = shown(check(status=Status.ERROR, message="`<script>`"), check("other"))
    assert "<code>&lt;script&gt;</code>" in html


def test_no_formula_is_drawn_in_what_students_wrote():
    """nbgrader's pages draw formulas, which can be anywhere on the page, in any size."""
    notes = [r"commands were removed (!$\rlap{\raise9em{\Huge 7/7}}$)"]
    html = output(step(check()), 4.0, notes).data["text/html"]
    assert html.startswith('<div class="nopeek tex2jax_ignore mathjax_ignore">')
    assert html.endswith("</div>")
    assert html.count("<div") == html.count("</div>")


def test_score_is_the_functions_points():
    assert shown(check(), unscaled())[1] == "2.0"
