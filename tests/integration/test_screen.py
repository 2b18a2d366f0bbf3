"""Test the screen of a wrong program: one screen, the cause before the numbers."""

import ast
import io
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from grader.answer_key.variants import MISTAKES, read
from grader.checks.compare import show_inputs
from grader.engine import grading
from grader.report.grids import GridSize, exhibits
from grader.report.influences import worth_drawing
from grader.report.records import (
    Array,
    CheckVerdict,
    Diagnosis,
    Evidence,
    Influence,
    Status,
    StepVerdict,
)
from grader.report.text.screen import LAYOUTS, block, compose
from grader.report.text.sheet import Sheet
from grader.report.text.terminal import SCREEN, Overview, Printer
from grader.steps.registry import load
from tests.conftest import ROOT, SOLUTIONS, STEPS

EVERY = 32  # of the known mistakes that many-th is looked at: all of them would take minutes


class Utf8(io.StringIO):
    encoding = "utf-8"


def on_screen(verdict):
    """All that `check` prints before the line that says what is next, as lines."""
    out = Utf8()
    printer = Printer(out)
    printer.line("nopeek: visible checks on exercises/\n", "bold")
    overview = Overview(printer, load().group_by_part(STEPS))
    for step in STEPS:
        where = (step.id > verdict.step) - (step.id < verdict.step)
        status = [verdict.status, Status.NOT_ATTEMPTED, Status.PASSED][where]
        overview(replace(verdict, step=step.id, title=step.title, status=status))
    printer.total([verdict])
    printer.step(verdict)
    return out.getvalue().splitlines()


@pytest.fixture
def judged(judge):
    """judged(step, code at the end of the solution, suite): the verdict on the step."""
    return lambda step, end, *suite: judge(step, SOLUTIONS[step] + end, *suite)


def text_of(verdict, room=200):
    """All that is said of a step."""
    return "\n".join(text for text, _ in compose(verdict, room, 80, plain=False).rows)


# One screen.


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_screen_of_a_known_mistake_needs_no_scrolling(step, steps, host):
    grader = grading.make_grader(steps, host, "visible", 0, [step])
    for variant in read(MISTAKES, step)[::EVERY]:
        lines = on_screen(grader.step(variant.submission, step))
        assert len(lines) <= SCREEN - 2
        assert max(map(len, lines)) <= 80
        assert not lines[-1].startswith(" …")


def array(name, values, wrong=()):
    values = np.asarray(values)
    return Array(name, values.shape, values.tolist(), tuple(wrong))


def failed(number=0, status=Status.FAILED, **more):
    named = {"check": f"check_{number}", "function": "attention", "title": f"Title {number}."}
    fields = {**named, "message": f"Message {number}.", **more}
    return CheckVerdict(status=status, points=0.0, max_points=1.0, **fields)


def step_of(*checks, **more):
    return StepVerdict("step05_output", "Output", Status.FAILED, 0.0, 9.0, checks, **more)


ONES = tuple(map(tuple, np.ones((12, 12)).tolist()))
LEAK = Influence(ONES, True, (), "position", "token", "So.")
BIG = Evidence(
    "attention(q, k, v, mask)",
    tuple(array(name, np.ones((9, 9))) for name in "qkvm"),
    (array("expected", np.ones((9, 9))),),
    (array("got", np.zeros((9, 9)), range(81)),),
    LEAK,
)
WORST = step_of(
    failed(
        title="A title that goes on. " * 6,
        message="A message that goes on. " * 40,
        evidence=BIG,
        printed="printed\n" * 50,
        diagnosis=Diagnosis("property:x", "A question? " * 20, "Something seen. " * 20),
    ),
    *(failed(i, message=f"{i} " * 300, title="So long. " * 30) for i in range(1, 30)),
    message="It does not work yet on top of your own earlier steps. " * 4,
)


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("room", [20, 30, 45])
def test_step_never_takes_more_rows_than_there_are(room, plain):
    rows = compose(WORST, room, 80, plain=plain).rows
    assert len(rows) <= room
    assert max(len(text) for text, _ in rows) <= 80
    assert all(text.isascii() for text, _ in rows) or not plain


def test_step_that_is_half_written_is_right_so_far():
    passed = replace(failed(status=Status.PASSED), message="")
    waits = replace(failed(1, status=Status.NOT_ATTEMPTED), function="project_qkv")
    text = text_of(step_of(passed, waits))
    assert "what is written so far is right. Still to write: project_qkv." in text


def test_layouts_show_less_and_less():
    verdict = step_of(failed(evidence=BIG, printed="printed\n" * 50), *map(failed, range(1, 9)))
    lengths = [len(compose(verdict, room, 80, plain=False)) for room in (90, 33, 30, 26, 20)]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] <= 40
    assert len(set(lengths)) > 2
    assert len(LAYOUTS) == len(set(LAYOUTS))


def test_inputs_that_do_not_fit_are_told_by_their_shapes():
    verdict = step_of(failed(evidence=replace(BIG, influence=None)))
    text = text_of(verdict, 25)
    assert "q (9, 9), k (9, 9), v (9, 9), m (9, 9)" in text
    assert "expected (9, 9)" in text


@pytest.mark.parametrize(("rows", "told"), [(2, False), (9, True)])
def test_inputs_are_left_out_where_they_are_in_the_way(rows, told):
    inputs = tuple(array(name, np.ones((rows, 9))) for name in "qkv")
    results = (array("expected", [1.0]),), (array("got", [2.0], [0]),)
    verdict = step_of(failed(evidence=Evidence("attention(q, k, v)", inputs, *results)))
    assert (f"q ({rows}, 9), k ({rows}, 9), v ({rows}, 9)" in text_of(verdict)) == told


NORM = {"gain": np.ones(4), "bias": np.zeros(4)}
BLOCK = {"ln_1": NORM, "attention": {"b_q": np.zeros(4), "w_q": np.ones((4, 4))}}
DECODER = {"embedding": np.ones((5, 4)), "blocks": [BLOCK, BLOCK], "ln_f": NORM}


def case_with(**arguments):
    evidence = (array("expected", [1.0]),), (array("got", [2.0], [0]),)
    return Evidence("f(x)", show_inputs(arguments), *evidence)


@pytest.mark.parametrize(
    ("params", "told"),
    [
        (DECODER, "params: embedding (5, 4), 2 blocks, ln_f"),
        ({**DECODER, "blocks": [BLOCK]}, "params: embedding (5, 4), 1 block, ln_f"),
        (BLOCK, "params: ln_1, attention"),
    ],
    ids=["decoder", "one block", "a block"],
)
def test_nested_parameters_are_told_in_one_line(params, told):
    evidence = case_with(tokens=np.asarray([7, 8]), params=params)
    text = text_of(step_of(failed(evidence=evidence)))
    assert f"     tokens (2,)\n      7  8\n     {told}\n     expected" in text


def test_parameters_without_nests_are_shown_in_full():
    evidence = case_with(params={"w_q": np.full((1, 1), 0.75)})
    assert "w_q (1, 1)\n      0.75\n" in text_of(step_of(failed(evidence=evidence)))


# The order.


def test_cause_comes_before_the_numbers(judged):
    end = "\ndef attention_scores(q, k):\n    return q @ k.swapaxes(-1, -2)\n"
    verdict = judged("step02_scores", end)
    text = text_of(verdict)
    words = (verdict.checks[0].title[:30], "values are wrong", "looks like:", "help:")
    words += ("attention_scores(q, k)", "expected (", "Also failing:")
    assert [*map(text.index, words)] == sorted(map(text.index, words))


CAUSE = Diagnosis("unscaled", "How long is a row?", "The scores are not divided.")


def test_what_follows_from_a_named_cause_is_folded():
    others = [failed(number, diagnosis=CAUSE) for number in range(1, 9)]
    verdict = step_of(failed(0, diagnosis=CAUSE), *others, failed(9, function="softmax"))
    text = text_of(verdict)
    assert "Also failing: 8 more checks for the same reason; 1 more check of softmax" in text
    assert "Title 1." not in text


def test_one_law_is_told_beside_values_whose_cause_is_unknown():
    results = {"expected": (array("expected", [1.0]),), "got": (array("got", [2.0], [0]),)}
    values = [failed(number, evidence=Evidence("f(x)", (), **results)) for number in range(3)]
    before = {**results, "expected": (array("before", [1.0]),)}
    laws = [failed(number, evidence=Evidence("f(x)", (), **before)) for number in (7, 8)]
    text = text_of(step_of(*values, *laws))
    assert [f"Message {number}." in text for number in (0, 1, 7, 8)] == [True, False, True, False]
    assert "Also failing: 3 more checks of attention" in text


def test_printed_lines_and_checks_of_other_functions_are_counted():
    others = (failed(i, function="softmax", message="It is wrong.") for i in (7, 8))
    text = text_of(step_of(failed(0, printed="a line of numbers\n" * 90), failed(1), *others))
    assert "… and 84 more lines" in text
    assert "Also failing: 2 more checks of softmax" in text


# The map.


OWN = tuple(tuple(row) for row in np.eye(3, dtype=bool).tolist())
STILL = Influence(((0.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), True, OWN)
MIXED = replace(STILL, moved=((1.0, 0.5, 0.0), *STILL.moved[1:]))
PAST = Influence(((0.0, 0.0), (1.0, 1.0)), True)


@pytest.mark.parametrize(
    ("influence", "worth"),
    [
        (MIXED, True),
        (STILL, False),
        (PAST, True),
        (replace(PAST, moved=((1.0, 0.0), (1.0, 1.0))), False),
        (Influence(((0.0, 1.0, 1.0),), True), True),
    ],
    ids=["leak", "still alone", "still in a past", "nothing", "one row"],
)
def test_map_is_worth_drawing_where_it_shows_more_than_wrong_values(influence, worth):
    assert worth_drawing(influence) == worth


@pytest.mark.parametrize(
    ("name", "drawn"), [("mistake", False), ("property:rows", True), (None, True)]
)
def test_map_is_drawn_where_no_cause_was_named(name, drawn):
    evidence = Evidence("attention(q)", (), (), (array("got", [1.0]),), MIXED)
    diagnosis = name and Diagnosis(name, "Where?", "Something.")
    text = text_of(step_of(failed(evidence=evidence, diagnosis=diagnosis)))
    assert ("Who listens to whom?" in text) == drawn
    assert ("it must not" in text) == drawn


def test_map_without_room_is_told_in_words():
    """Its call may be another one than that above it, so what was tried is told first."""
    whole, short = (text_of(step_of(failed(evidence=BIG)), room) for room in (60, 20))
    assert whole.index(LEAK.how) < whole.index("Who listens to whom?")
    assert LEAK.how in short
    assert "Who listens to whom?" not in short
    assert "Position 0 moved by 1 when only token 1 changed: it must not." in short


def test_call_of_the_first_check_is_not_told_again_without_inputs():
    case = Evidence("f(tokens, n_heads=2)", (array("tokens", np.zeros((9, 9, 9))),), (), ())
    wide = replace(case, inputs=tuple(replace(case.inputs[0], name=f"{i}" * 30) for i in "ab"))
    text = text_of(step_of(failed(evidence=case), failed(1, evidence=wide)))
    assert text.count("f(tokens, n_heads=2)") == 1


# Exceptions.


HELPER = """
def scaled(q, k):
    return q @ k / 2

def attention_scores(q, k):
    scores = scaled(q, k)
    return scores
"""


def test_exception_shows_its_call_and_who_called(judged):
    first = judged("step02_scores", HELPER).checks[0]
    assert first.status is Status.ERROR
    assert re.match(
        r"attention_scores raised ValueError \(step02_scores.py, line \d+: `return q @ k / 2`, "
        r"called from line \d+: `scores = scaled\(q, k\)`, which may be wrong\)",
        first.message,
    )
    assert "gufunc" not in first.message
    assert "the columns of the left array meet the rows of the right one" in first.message
    assert first.evidence.call == "attention_scores(q, k)"
    assert [one.name for one in first.evidence.inputs] == ["q", "k"]
    assert "q (2, 4), k (2, 4)" in text_of(step_of(first))


TWO_ERRORS = """
def attention_scores(q, k):
    if q.ndim > 2:
        raise KeyError("other")
    return [q @ k for _ in "a"][0]
"""


def test_each_exception_is_told_in_full_once(judged):
    checks = judged("step02_scores", TWO_ERRORS).checks
    told = Counter(check.message for check in checks if check.status is Status.ERROR)
    assert told.pop("The same error as above, in the same line.") > 1
    assert {re.search("raised (.*?Error)", one)[1] for one in told} == {"ValueError", "KeyError"}
    assert {*told.values()} == {1}
    assert not any("called from" in one for one in told)


def test_hidden_exception_shows_no_call(judged):
    checks = judged("step02_scores", HELPER, "hidden").checks
    assert {check.status for check in checks} >= {Status.ERROR}
    assert {check.evidence for check in checks} == {None}


def test_process_that_ended_shows_the_call_that_it_ended_in(judged):
    end = "\ndef causal_mask(t_q, t_k=None):\n    import os\n    os._exit(0)\n"
    first = judged("step03_mask", end).checks[0]
    assert first.message.startswith("The process ended")
    assert first.evidence.call == "causal_mask(t_q=3)"


def test_missing_error_shows_the_call_that_should_have_raised(judged):
    end = "\ndef causal_mask(t_q, t_k=None):\n    t_k = t_k or t_q\n"
    verdict = judged("step03_mask", f"{end}    return np.tri(t_q, t_k, t_k - t_q, dtype=bool)\n")
    check = next(check for check in verdict.checks if check.status is Status.FAILED)
    assert "expected a ValueError" in check.message
    assert check.evidence.call.startswith("causal_mask(t_q=")
    assert check.evidence.call in text_of(verdict)
    other = step_of(failed(function="causal_mask"), replace(check, function="causal_mask"))
    assert check.evidence.call in text_of(other)


# Numbers and words.


@pytest.mark.parametrize(
    ("expected", "got", "wrong", "row"),
    [
        ([1, 2], [1.5, 0.25], (), "1.50 0.25"),
        (np.zeros((2, 2)), np.zeros((3, 0, 2, 0)), (), "empty"),
        (np.ones((20, 2)), np.zeros((20, 2)), [38], "19: *0 0"),
        ([-0.0, 1.0], [-0.0, 2.0], [1], "0 *2.00"),
    ],
    ids=["fractions", "several axes, empty", "a wrong row", "negative zero"],
)
def test_block_of_an_array(expected, got, wrong, row):
    case = Evidence("f()", (), (array("expected", expected),), (array("got", got, wrong),))
    found = exhibits(case, GridSize(8, 8, slices=1, decimals=2))
    assert row in [" ".join(line.split()) for line in block(found[-1].grids[-1])]


def test_number_in_the_call_is_not_shown_again():
    evidence = Evidence("causal_mask(t_q=3, x)", (array("t_q", 3), array("x", 1.5)))
    text = text_of(step_of(failed(evidence=evidence)))
    assert text.count("t_q") == 1
    assert [grid.name for one in exhibits(evidence) for grid in one.grids] == ["x"]


def test_one_wrong_value_is_wrong(judged):
    end = "\nkept = attention_scores\ndef attention_scores(q, k):\n    scores = kept(q, k)\n"
    end += "    scores[..., 0, 0] += 1\n    return scores\n"
    assert judged("step02_scores", end).checks[0].message.startswith("1 of 4 values is wrong.")


@pytest.mark.parametrize(
    ("text", "most", "rows"),
    [
        ("- one two three four five", 0, ["  - one two three", "    four five"]),
        ("one two three four five six seven", 1, ["  one two three …"]),
    ],
    ids=["item of a list", "cut"],
)
def test_paragraph_is_wrapped(text, most, rows):
    sheet = Sheet(20)
    sheet.line(text, indent=2, most=most)
    assert [row for row, _ in sheet.rows] == rows


CODE = ("@", "[", "keepdims", "sqrt", "√", "softmax(", "exp(-")


def test_titles_of_checks_give_no_code():
    for path in sorted((ROOT / "tests" / "visible").glob("test_*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                title = ast.get_docstring(node).split("\n\n")[0]
                assert not [code for code in CODE if code in title], title
