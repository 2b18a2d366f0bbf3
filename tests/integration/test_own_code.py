"""One's own lines in a report: those of the function that fails, and the guilty one marked."""

import io

import pytest

from grader.engine.failures import MOST_LINES, find_code
from grader.intake.submission import Submission
from grader.report.html.page import page
from grader.report.records import report_from_json
from grader.report.text.terminal import Printer

RAISES = '''import numpy as np

def attention_scores(q, k):
    """A docstring.

    It is long.
    """
    scale = helper(q)
    return q @ k / scale

def helper(q):
    return q.shape[-1] / "<b>"
'''
WRONG = "import numpy as np\n\ndef attention_scores(q, k):\n    return q @ np.swapaxes(k, -1, -2)\n"


@pytest.fixture
def report(grade, steps):
    """report(source, suite): the report on step 2 with that code."""

    def report(source, suite="visible"):
        step = steps.find("2")
        return grade(Submission("mine", {step.id: source}), suite, (step,))

    return report


def codes(report):
    return [check.code for check in report.steps[0].checks if check.code is not None]


def test_line_that_raised_is_marked_in_the_function_that_holds_it(report):
    (code,) = codes(report(RAISES))
    assert (code.where, code.marked) == ("step02_scores.py", 12)
    assert [number for number, _ in code.lines] == [11, 12]


def test_wrong_values_mark_no_line(report):
    (code,) = codes(report(WRONG))
    assert code.marked == 0
    assert [text for _, text in code.lines] == WRONG.splitlines()[2:]


def test_hidden_suite_shows_no_code(report):
    assert codes(report(RAISES, "hidden")) == []


def test_code_survives_json_and_is_escaped_on_the_page(report):
    found = report(RAISES)
    again = report_from_json(found.to_json())
    assert codes(again) == codes(found)
    assert "&#34;&lt;b&gt;&#34;</mark>" in page(again)


def test_docstring_is_left_out():
    code = find_code(RAISES, "attention_scores", 8, "step.py")
    assert [number for number, _ in code.lines] == [3, 8, 9]


def test_long_function_is_shown_around_the_guilty_line():
    source = "def f():\n" + "".join(f"    x = {i}\n" for i in range(200))
    code = find_code(source, "f", 150, "step.py")
    assert len(code.lines) == MOST_LINES
    assert code.marked == 150 in [number for number, _ in code.lines]


@pytest.mark.parametrize("source", ["def f(:", "f = 3", "\0", "(" * 500])
def test_source_without_the_function_has_no_code(source):
    assert find_code(source, "f", 0, "step.py") is None


def test_cause_help_and_wrong_cells_have_a_colour_and_a_word(report):
    out = io.StringIO()
    printer = Printer(out)
    printer.color = True
    printer.step(report(WRONG).steps[0])
    text = out.getvalue()
    assert "\x1b[33m\x1b[1m looks like: " in text
    assert "\x1b[36m help: " in text
    assert "\x1b[31m*1.67\x1b[0m" in text
    printer.color = False
    out.truncate(0)
    printer.step(report(WRONG).steps[0])
    assert "\x1b" not in out.getvalue()
