"""Test which of a notebook's executions count, and how they get into a file and back."""

import re
from dataclasses import replace

import pytest

from grader.answer_key.variants import MISTAKES, read
from grader.engine import grading
from grader.intake import notebooks
from grader.intake.submission import Submission
from grader.notebooks import cards
from grader.notebooks.changeover import cell_of, file_of, with_file
from grader.notebooks.executions import Run, latest_step, raw_cells, standing
from grader.notebooks.progress import Progress
from grader.notebooks.standby import Judge
from grader.report.records import CheckVerdict, Status, StepVerdict
from grader.steps.stubs import stub
from tests.conftest import ROOT, STEPS
from tests.support.stubs import stub_text

ONE, TWO = STEPS[:2]
WRITTEN = "def linear(x, weight, bias=None):\n    return {}\n"
QKV = "def project_qkv(x, w_q, w_k, w_v):\n    return helper(x, w_q, w_k, w_v)\n"


def runs(*cells):
    """Executions, numbered from 1; a text, or a cell's id and its text, or that and `broken`."""
    made = [("", cell) if isinstance(cell, str) else cell for cell in cells]
    return [Run(number, *cell) for number, cell in enumerate(made, 1)]


def texts(*cells, deleted=()):
    return [run.text for run in standing(runs(*cells), deleted)]


# Which executions count.

STANDING = {
    "as they are": (["import numpy", WRITTEN], ["import numpy", WRITTEN]),
    "a cell run again counts once": ([("a", "x = 1"), ("a", "x = 2")], ["x = 2"]),
    "the same text without an id too": (["x = 1", "y = 2", "x = 1"], ["y = 2", "x = 1"]),
    "a text that defines the same anew": (
        [WRITTEN.format(1), WRITTEN.format(2)],
        [WRITTEN.format(2)],
    ),
    "not one that defines only a part of it": (
        [WRITTEN.format(1) + "def helper(): pass\n", WRITTEN.format(2)],
        [WRITTEN.format(1) + "def helper(): pass\n", WRITTEN.format(2)],
    ),
    "two cells with ids that define the same": (
        [("a", WRITTEN.format(1)), ("b", WRITTEN.format(2))],
        [WRITTEN.format(1), WRITTEN.format(2)],
    ),
    "a function counts where it was run last": (
        [("a", WRITTEN.format(1)), ("b", WRITTEN.format(2)), ("a", WRITTEN.format(1))],
        [WRITTEN.format(2), WRITTEN.format(1)],
    ),
    "an import run again stays above": (
        [("a", "import numpy as np"), ("b", "low = -np.inf"), ("a", "import numpy as np")],
        ["import numpy as np", "low = -np.inf"],
    ),
    "a constant that was changed goes where it was changed": (
        [("a", "low = 0"), ("b", "import numpy as np"), ("a", "low = np.inf")],
        ["import numpy as np", "low = np.inf"],
    ),
    "a text that does not compile is forgotten": ([("", "x = = 1", True), "y = 2"], ["y = 2"]),
    "not if it stands in a cell": ([("a", "x = = 1", True)], ["x = = 1"]),
    "nor if it is all there is of the function": (
        [("", "def linear(x:\n    pass\n", True)],
        ["def linear(x:\n    pass\n"],
    ),
    "an empty one": (["  \n"], []),
}


NUMPY = ("np", "import numpy as np\n")
TYPED_LINEAR = ("f", "def linear(x: np.ndarray, weight, bias=None):\n    return x @ weight\n")
KEPT = [("f", WRITTEN.format(1)), ("old", "old = linear\n"), ("g", WRITTEN.format("old(x, 2)"))]
# Cells that were edited or run again, and the order in which they work.
STANDING |= {
    "an import that was added to": (
        [NUMPY, TYPED_LINEAR, ("np", "import numpy as np\nimport math\n")],
        ["import numpy as np\nimport math\n", TYPED_LINEAR[1]],
    ),
    "a class with a new docstring": (
        [
            ("c", "class C:\n    pass\n"),
            ("d", "class D(C):\n    pass\n"),
            ("c", "class C:\n    1\n"),
        ],
        ["class C:\n    1\n", "class D(C):\n    pass\n"],
    ),
    "a decorator that was edited": (
        [
            ("d", "def memo(f):\n    return f\n"),
            ("f", f"@memo\n{WRITTEN.format(1)}"),
            ("d", "memo = int"),
        ],
        ["memo = int", f"@memo\n{WRITTEN.format(1)}"],
    ),
    "a function that was corrected after a value was made of it": (
        [("f", WRITTEN.format(1)), ("v", "v = [linear]\n"), ("f", WRITTEN.format(2))],
        [WRITTEN.format(2), "v = [linear]\n"],
    ),
    "all cells once more": (KEPT * 2, [text for _, text in KEPT]),
    "all cells but one once more": ([*KEPT, KEPT[0], KEPT[2]], [text for _, text in KEPT]),
    "without ids, what a value was made of": (
        [text for _, text in KEPT],
        [text for _, text in KEPT],
    ),
    "without ids, not what a value would have been made of": (
        [("", WRITTEN.format(1), False, True), "old = linear\n", WRITTEN.format("old(x, 2)")],
        ["old = linear\n", WRITTEN.format("old(x, 2)")],
    ),
    "a helper of what runs at once": (
        [("h", "def h():\n    return 1\n"), ("m", "def m():\n    return h()\n"), ("v", "v = m()\n")]
        + [("h", "def h():\n    return 2\n")],
        ["def m():\n    return h()\n", "def h():\n    return 2\n", "v = m()\n"],
    ),
    "a function counts where it was run last, whatever read it": (
        [("a", WRITTEN.format(1)), ("v", "v = linear(1, 2)\n"), ("b", WRITTEN.format(2))]
        + [("a", WRITTEN.format(1))],
        [WRITTEN.format(2), WRITTEN.format(1), "v = linear(1, 2)\n"],
    ),
    "a helper that was corrected in a new cell, whatever had read the old one": (
        [("t", "helper(1)\n"), ("a", "def helper(x): 1\n"), ("t", "helper(1)\n")]
        + [("b", "def helper(x): 2\n"), ("t", "helper(1)\n")],
        ["def helper(x): 1\n", "def helper(x): 2\n", "helper(1)\n"],
    ),
    "a cell in another language": (["%%html\n<b>x</b>\n", "%%time\nx = 1\n"], ["%%time\nx = 1\n"]),
}


@pytest.mark.parametrize(("cells", "found"), STANDING.values(), ids=STANDING.keys())
def test_cells_that_stand(cells, found):
    assert texts(*cells) == found


def test_deleted_cell_does_not_stand():
    assert texts(("a", "x = 1"), ("b", "y = 2"), deleted={"a"}) == ["y = 2"]


def test_step_is_that_of_the_function_that_was_defined_last():
    scores = "def attention_scores(q, k): pass\n"
    assert latest_step(runs(WRITTEN, scores, "x = 1"), STEPS) is TWO
    assert latest_step(runs(scores, WRITTEN), STEPS) is ONE
    assert latest_step(runs("x = 1"), STEPS) is None


def test_functions_without_a_cell_are_stubs(steps):
    cells = list(raw_cells(runs(WRITTEN), ONE))
    book = notebooks.of_cells(cells, "notebook", steps)
    assert book.written[ONE.id] == 1
    assert (
        "def project_qkv(*args, **options):\n    raise NotImplementedError"
        in (book.sources[ONE.id])
    )


def test_same_cells_give_the_same_source_as_a_graded_notebook(steps):
    import nbformat

    sources = ["import numpy as np\nimport torch", "%time\nx = 3", WRITTEN, "print(x)", QKV]
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(one) for one in sources])
    graded = notebooks.read(nbformat.writes(made).encode(), "notebook", steps)
    stood = standing(runs(*(("abcde"[i], text) for i, text in enumerate(sources))), ())
    here = notebooks.of_cells(raw_cells(stood, ONE), "notebook", steps)
    assert here == graded


# To a file and back.


def saved(steps, *cells, file=""):
    text = stub((ROOT / "solutions" / ONE.filename).read_text(encoding="utf-8"))
    stood = with_file(standing(runs(*cells), ()), ONE, file)
    return file_of(stood, ONE, steps, text)


def test_file_keeps_the_lesson_and_gets_the_functions(steps):
    file = saved(steps, "import numpy as np", WRITTEN.format("x @ weight"))
    assert "# # Step 1" in file
    assert "# # %" not in file
    assert WRITTEN.format("x @ weight") in file
    assert file.count("def linear") == 1
    assert "def project_qkv" in file
    assert file.count("raise NotImplementedError()") == 1
    assert file.count("import numpy as np") == 1
    compile(file, "file", "exec")


def test_helpers_go_above_the_function_that_they_stood_above(steps):
    helper = "import math\n\nLOW = -1\n\n\ndef helper(*all):\n    return all\n"
    file = saved(steps, WRITTEN.format(1), helper, QKV, "print(LOW)\n%time 1\n")
    places = [file.index(text) for text in ("def linear", "import math", "LOW", "def helper")]
    assert places == sorted(places)
    assert file.index("def helper") < file.index("def project_qkv")
    assert "print" not in file
    assert "%time" not in file


TRIALS = {
    "a value from a skipped one": "shown = linear(1, 2)\nerror = shown - 1 / 3\n",
    "a class on top of a library": "import nowhere\nclass Net(nowhere.Module):\n    pass\n",
    "a default that is skipped": "shown = linear(1, 2)\ndef show(a=shown):\n    return a\n",
    "what uses that default": "shown = linear(1, 2)\ndef a(x=shown): pass\nb = [a]\n",
    "a method of a constant": "C = {}\nshown = linear(1, 2)\nC.update(k=shown)\n",
    "a value with the name of a local one": "shown = linear(1, 2)\nx = shown + 1\n",
    "an annotation": "from nowhere import Axes\ndef show(a, b: Axes = None):\n    return a\n",
    "an annotated value": "from nowhere import Axes\nshow: Axes = None\n",
    "a field of a text": "shown = linear(1, 2)\nlabel = f'{shown=}'\n",
    "an import in a block": "if train(9):\n    from cmath import exp\n",
}


@pytest.mark.parametrize("trial", TRIALS.values(), ids=TRIALS)
def test_trial_stays_out_of_the_file(steps, trial):
    usual = ["from math import exp\n", WRITTEN.format("exp(x)"), "class Kept:\n    at = 1\n", QKV]
    helper = "def helper(*all):\n    return Kept.at, all\n"
    usual += [helper, "UNUSED = 1\n"]
    usual += ["C = {}\n"] if "C =" in trial else []
    file = saved(steps, *usual, trial.removeprefix("C = {}\n"))
    assert file == saved(steps, *usual)
    assert "class Kept" in file
    assert "UNUSED" in file


def test_call_stays_in_the_file_whose_keyword_is_a_trials_name(steps):
    call = "C.update(scale=1.0, k=dict(k=2))\n"
    cells = ["C = {}\n", call, WRITTEN.format("C['scale']"), "scale = linear(1, 2)\n"]
    file = saved(steps, *cells, "k = scale.T\n", "shown = linear(1, 2)\n", "shown = 3\n")
    assert call in file
    assert "shown = 3" in file


def test_cell_that_does_not_compile_stays_out_of_the_file(steps):
    stood = runs("x = 1\n", WRITTEN.format("x"), ("c3", "twice = x +\n", True))
    text = stub((ROOT / "solutions" / ONE.filename).read_text(encoding="utf-8"))
    assert "twice = x +" not in file_of(stood, ONE, steps, text)


def test_saving_again_changes_nothing(steps):
    cells = ["def helper(*all):\n    return all\n", WRITTEN.format(1), QKV]
    once = saved(steps, *cells)
    assert saved(steps, *cells, file=once) == once


WRAPPED = {
    "wrapped": ["def twice(f):\n    return lambda *a: 2 * f(*a)\n", "linear = twice(linear)\n"],
    "kept and written anew": ["kept = linear\n", WRITTEN.format("2 * kept(x, 2)")],
    "restored": ["kept = linear\nlinear = max\n", "linear = lambda *a: 2 * kept(*a)\n"],
}


@pytest.mark.parametrize("below", WRAPPED.values(), ids=WRAPPED)
def test_function_that_is_bound_anew_is_the_same_in_the_file(steps, below):
    cells = [(f"c{n}", text) for n, text in enumerate([WRITTEN.format(7), QKV, *below])]
    once = saved(steps, *cells)
    made = {}
    exec(once, made)
    assert made["linear"](1, 2) == 14
    assert saved(steps, *cells, file=once) == once
    assert saved(steps, WRITTEN.format(8), file=once).count("linear") < once.count("linear")


TYPED = "def linear(x, weight, bias: Optional[object] = None):\n    return 1\n"
OPTIONAL = "from typing import Optional\n"
COUNTER = "class Counter:\n    def __init__(self, f):\n        self.call = f\n"


@pytest.mark.parametrize(
    "cells",
    [
        [OPTIONAL, QKV, TYPED],  # a cell that is corrected is run again, as the last one
        [COUNTER, TYPED.replace(": Optional[object]", ""), QKV, "linear = Counter(linear)\n"],
        ["def memo(f):\n    return f\n", QKV, f"@memo\n{WRITTEN.format(1)}"],
    ],
    ids=["annotated", "wrapped", "decorated"],
)
def test_what_a_function_reads_at_once_stands_above_it_in_the_file(steps, cells):
    once = saved(steps, *cells)
    exec(once, {})
    assert saved(steps, *cells, file=once) == once


MADE_OF_IT = {
    "a value": "impls = {'mine': linear}\n",
    "a default": "def show(f=linear):\n    return f\n",
    "a call": "shown = linear(np.ones((2, 3)), np.ones((3, 4)))\n",
    "a trial that fails": "wrong = np.ones((2, 3)) @ np.ones((2, 3))\n",
    "a file that is not there": "weights = np.load('weights.npz')\n",
    "a value of that": "low = np.load('weights.npz')\nlower = low - 1\n",
}


@pytest.mark.parametrize("trial", MADE_OF_IT.values(), ids=MADE_OF_IT)
def test_file_can_be_imported_whatever_was_made_of_a_function(steps, trial):
    cells = [NUMPY, ("f", WRITTEN.format(1)), ("q", QKV), ("t", trial), ("f", WRITTEN.format(2))]
    made = {}
    exec(saved(steps, *cells), made)
    assert made["linear"](1, 2) == 2


def test_file_begins_with_what_changes_python(steps):
    file = saved(steps, "from __future__ import annotations\nimport math\n", WRITTEN.format(1))
    exec(file, {})
    assert file.index("from __future__") < file.index("import numpy")


KEPT_HELPERS = {
    "an import on a condition": "try:\n    from numba import njit\nexcept ImportError:\n"
    "    def njit(f):\n        return f\n\n@njit\ndef helper(x):\n    return 7\n",
    "one of two modules": "try:\n    import cupy as xp\nexcept ImportError:\n"
    "    import numpy as xp\n\n"
    "def helper(x: xp.ndarray):\n    return 7\n",
    "a function on a condition": "if 1 > 2:\n    def helper(x):\n        return 1\nelse:\n"
    "    def helper(x):\n        return 7\n",
    "targets in brackets": "(a, [b]) = 3, [4]\ndef helper(x):\n    return a + b\n",
    "an assignment in a condition": "if (w := 7) > 0:\n    z = w\ndef helper(x):\n    return w\n",
    "a count": "n = 6\nn += 1\ndef helper(x):\n    return n\n",
    "an unused count": "n = 6\nn += 1\ndef helper(x):\n    return 7\n",
    "a class that names itself": "from __future__ import annotations\nclass C:\n"
    "    def put(self, other: C) -> C:\n        return self\ndef helper(x):\n    return C and 7\n",
    "a value of functions from the top down": "def table():\n    return row()\n\n"
    "def row():\n    return 7\n\nTABLE = table()\ndef helper(x):\n    return TABLE\n",
    "registered functions of one name": "from functools import singledispatch\n@singledispatch\n"
    "def helper(x):\n    return 1\n@helper.register\ndef _(x: int):\n    return 7\n"
    "@helper.register\ndef _(x: str):\n    return 2\n",
}


@pytest.mark.parametrize("helper", KEPT_HELPERS.values(), ids=KEPT_HELPERS)
def test_what_a_helper_needs_stays_in_the_file(steps, helper):
    made = {}
    exec(saved(steps, helper, WRITTEN.format("helper(1)"), QKV), made)
    assert made["linear"](1, 2) == 7


def test_statement_that_is_made_twice_stays_twice(steps):
    twice = "AXES = []\n", "AXES.append(1)\n", "AXES.append(2)\n"
    below = "AXES = []\n", "AXES.append(2)\n", "AXES.append(1)\n"
    cells = [*twice, WRITTEN.format("AXES"), "first = linear(1, 2)", QKV, *below]
    made = {}
    exec(saved(steps, *((f"c{n}", text) for n, text in enumerate(cells))), made)
    assert made["linear"](1, 2) == [2, 1]


def test_functions_of_an_earlier_save_stay_in_the_file(steps):
    once = saved(steps, "LOW = 7\n", WRITTEN.format("LOW"), QKV)
    made = {}
    exec(saved(steps, QKV.replace("helper(", "hlp("), file=once), made)
    assert made["linear"](1, 2) == 7
    assert "LOW" not in saved(steps, WRITTEN.format(1), QKV, file=once)


def test_functions_that_a_lesson_has_in_another_order_keep_their_helpers_above(steps):
    step = steps.find("step07_kv_cache")
    lesson = stub((ROOT / "solutions" / step.filename).read_text(encoding="utf-8"))
    typed = "class KV:\n    pass\n", "def new_cache() -> KV:\n    return KV()\n"
    attend = "def attend_with_cache(x_new, cache: KV, w_q, w_k, w_v):\n    return x_new, cache\n"
    file = file_of(standing(runs(*typed, attend), ()), step, steps, lesson)
    assert file.index("class KV") < file.index("def new_cache")


def test_import_of_an_earlier_save_is_no_reason_to_miss_it(steps):
    once = saved(steps, OPTIONAL, QKV.replace("qkv(x,", "qkv(x: Optional[object],"))
    assert once.index(OPTIONAL) > once.index("def linear")
    exec(saved(steps, OPTIONAL, TYPED, file=once), {})


@pytest.mark.parametrize("kept", ["old = softmax\n", "fast = np.vectorize(softmax)\n"])
def test_value_of_another_steps_function_stays_out_of_the_file(steps, kept):
    softmax = "def softmax(scores):\n    return scores\n"
    file = saved(steps, "import numpy as np", WRITTEN.format(1), QKV, softmax, kept, softmax)
    assert "softmax" not in file.partition("def linear")[2]
    exec(file, {})


def test_stub_below_a_written_function_is_not_saved(steps):
    stub_of_linear = WRITTEN.format(1).replace("return 1", "raise NotImplementedError()")
    cells = [("a", WRITTEN.format(1)), ("b", QKV), ("c", stub_of_linear)]
    assert "return 1" in saved(steps, *cells)


def test_helper_that_was_changed_takes_the_place_of_the_old_one(steps):
    once = saved(steps, "def helper(*all):\n    return 'old'\n", QKV)
    again = saved(steps, "def helper(*all):\n    return 'new'\n", QKV, file=once)
    assert again.count("def helper") == 1
    assert "'new'" in again


def test_functions_of_other_steps_stay_out_of_the_file(steps):
    file = saved(steps, WRITTEN.format(1), "def attention_scores(q, k):\n    return 1\n")
    assert "attention_scores" not in file


def test_what_stands_below_the_last_function_comes_at_the_end(steps):
    file = saved(steps, WRITTEN.format(1), QKV, "def helper(*all):\n    return all\n")
    assert file.rstrip().endswith("def helper(*all):\n    return all")


def test_file_comes_back_as_one_cell(steps):
    helper = "def helper(*all):\n    return all\n"
    file = saved(steps, "import numpy as np", helper, WRITTEN.format(1), QKV)
    cell = cell_of(file)
    assert "%%" not in cell
    assert "#" not in cell
    back = saved(steps, cell)
    assert back == file


def test_code_below_the_last_text_is_not_lost():
    file = "# %%\nx = 1\n\n# %% [markdown]\n# The end.\n#\n# Really.\n\ny = 2\n# so\n"
    assert cell_of(file) == "x = 1\n\n\ny = 2\n# so"


def test_file_without_cells_is_all_code():
    assert cell_of("# mine\nx = 1\n") == "# mine\nx = 1"


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_file_of_a_solved_notebook_is_judged_right(step, steps, grade):
    solution = (ROOT / "solutions" / step.filename).read_text(encoding="utf-8")
    stood = standing(runs(cell_of(solution)), ())
    file = file_of(stood, step, steps, stub(solution))
    report = grade(Submission("saved", {step.id: file}), only=(step,))
    assert report.passed


# What is remembered.


def verdict(status=Status.FAILED, points=3.0):
    return StepVerdict(ONE.id, ONE.title, status, points, ONE.max_points, ())


def test_last_check_is_remembered_until_the_file_is_newer(tmp_path):
    import os

    progress, file = Progress(tmp_path), tmp_path / ONE.filename
    file.write_text("", encoding="utf-8")
    os.utime(file, (1, 1))
    assert progress.last(ONE, file) is None
    progress.note_checked(verdict())
    assert progress.last(ONE, file) == verdict()
    os.utime(file, (2**32, 2**32))
    assert progress.last(ONE, file) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"step01_projections": 3}'])
def test_memory_that_cannot_be_read_is_none(tmp_path, text):
    progress = Progress(tmp_path)
    progress.path.write_text(text, encoding="utf-8")
    assert progress.last(ONE, tmp_path / "x") is None
    assert not progress.is_ours(ONE, "x")
    progress.note_saved(ONE, "x")
    assert progress.is_ours(ONE, "x")


# What a cell shows.


def check(number, status, function="linear", message=""):
    points = 1.0 if status is Status.PASSED else 0.0
    return CheckVerdict(f"check_{number}", function, f"Law {number}.", status, points, 1.0, message)


def step_of(*checks, status=Status.FAILED, message=""):
    points = sum(one.points for one in checks)
    return StepVerdict(ONE.id, ONE.title, status, points, float(len(checks)), checks, None, message)


def test_card_shows_the_first_failure_and_folds_the_others():
    step = step_of(
        check(1, Status.PASSED), *(check(n, Status.FAILED, message=f"m{n}") for n in (2, 3, 4))
    )
    card = cards.step_card(step, "", ["Go on."], ["A note."])
    before, after = card.html.split("2 more checks fail")
    assert "m2" in before
    assert "m3" not in before
    assert "m4" in after
    assert "1 other check passed." in card.html
    for text in (card.html, card.text):
        assert "Go on." in text
        assert "A note." in text


def test_card_of_one_function_says_nothing_of_another():
    step = step_of(check(1, Status.PASSED), check(2, Status.FAILED, "project_qkv", "Amiss."))
    card = cards.step_card(step, "linear", [], [])
    assert "linear: passed, 1/1 points" in card.text
    for text in (card.html, card.text):
        assert "Amiss" not in text
        assert "project_qkv" not in text


def test_card_of_a_half_written_step_calls_nothing_wrong():
    step = step_of(check(1, Status.PASSED), check(2, Status.NOT_ATTEMPTED, "project_qkv"))
    card = cards.step_card(step, "", [], [])
    for text in (card.html, card.text):
        assert "right so far" in text
        assert "needs work" not in text


def test_card_says_once_why_nothing_can_be_judged():
    checks = [check(n, Status.ERROR, message="It is broken.") for n in (1, 2)]
    step = step_of(*checks, status=Status.ERROR, message="It is broken.")
    for function in ("", "linear"):
        card = cards.step_card(step, function, [], [])
        assert card.html.count("It is broken.") == 1
        assert card.text.count("It is broken.") == 1


def test_card_escapes_what_a_student_wrote():
    step = step_of(check(1, Status.FAILED, message="<script>alert(1)</script>"))
    card = cards.step_card(step, "", ["<b>"], [])
    assert "<script>" not in card.html
    assert "<b></p>" not in card.html


# One function alone.


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_function_alone_is_judged_as_among_the_others(step, grade):
    """The same mistake is named; in whose words, its own or its caller's, may differ."""

    def verdict(check):
        named = check.diagnosis and check.diagnosis.misconception
        words = repr(replace(check, diagnosis=named))  # for a NaN equals no NaN
        return re.sub(r"\d+ (KiB more|keys and values)", r"some \1", words)  # measured anew

    mistake = read(MISTAKES, step)[0]
    whole = grade(mistake.submission, only=(step,)).steps[0].checks
    for function in step.functions:
        if function.checks:
            alone = grade(mistake.submission, only=(step.narrow(function.name),)).steps[0].checks
            among = [check for check in whole if check.function == function.name]
            assert list(map(verdict, alone)) == list(map(verdict, among))


# One verdict everywhere.


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_notebook_and_files_get_the_same_verdict(step, steps, host, grade, tmp_path):
    programs = [stub_text(step.id), *(one.source for one in read(MISTAKES, step)[::20])]

    def ask(grader):
        judge = Judge(grader, tmp_path)
        request = {"do": "check", "about": "", "lesson": step.id, "deleted": []}
        return [judge.answer({**request, "runs": [[1, "", cell_of(p), False]]}) for p in programs]

    answers = ask(grading.make_grader(steps, host, "visible", 0, steps.steps))
    for program, answer in zip(programs, answers):
        (expected,) = grade(Submission("file", {step.id: program}), only=(step,)).steps
        assert (answer["status"], answer["points"]) == (expected.status.value, expected.points)


def test_file_that_earns_less_than_the_old_one_is_told_of_and_keeps_it(steps, host, tmp_path):
    judge = Judge(grading.make_grader(*(steps, host, "visible", 0, steps.steps)), tmp_path)
    right = (ROOT / "solutions" / ONE.filename).read_text(encoding="utf-8")

    def save(*cells):
        request = {"do": "save_work", "about": "", "lesson": ONE.id, "deleted": []}
        made = [[number, "", text, False] for number, text in enumerate(cells, 1)]
        return judge.answer({**request, "runs": made})["text"].strip()

    written = f"Written to exercises/{ONE.filename}."
    assert save(cell_of(right)) == written
    assert save(cell_of(right), "LOW = 1\n") == written
    assert not list(tmp_path.glob("*.bak"))
    told = " ".join(save(cell_of(right), WRITTEN.format("x @ weight.T")).split())
    assert f"The old file is kept as {ONE.filename}.1.bak." in told
    assert f"the old file {ONE.max_points:g}." in told
    assert "the notebook" not in told


@pytest.mark.long
def test_answer_to_a_notebook_that_is_too_long_is_a_sentence(steps, host, tmp_path):
    request = {"do": "check", "about": "1", "lesson": "", "deleted": []}
    request["runs"] = [[1, "", "x = 1\n" * 200_000, False]]
    answer = Judge(grading.make_grader(*(steps, host, "visible", 0, steps.steps)), tmp_path).answer(
        request
    )
    assert answer == {
        "problem": "This notebook cannot be judged: its code is longer than 1,000,000 characters."
    }
