"""Test which of a notebook's executions count, and how they get into a file and back."""

import os
import re
from dataclasses import replace
from types import ModuleType

import nbformat
import pytest

from grader.answer_key.variants import MISTAKES, read
from grader.engine import grading
from grader.intake import notebooks
from grader.isolation.margins import Skipped
from grader.isolation.worker import notebook
from grader.notebooks import cards
from grader.notebooks.saving import ProgressFile, cell_of, file_of
from grader.notebooks.standby import Judge, Run, latest_step, raw_cells, standing
from grader.report.records import CheckVerdict, Status, StepVerdict
from grader.steps.stubs import stub_of
from tests.conftest import SOLUTIONS, STEPS

ONE, TWO = STEPS[:2]
WRITTEN = "def linear(x, weight, bias=None):\n    return {}\n"
QKV = "def project_qkv(x, w_q, w_k, w_v):\n    return helper(x, w_q, w_k, w_v)\n"
HELPER = "def helper(*all):\n    return all\n"


def runs(*cells):
    """Executions, numbered from 1; a text, or a cell's id and its text."""
    made = [("", cell) if isinstance(cell, str) else cell for cell in cells]
    return [Run(number, *cell) for number, cell in enumerate(made, 1)]


def texts(*cells, deleted=()):
    return [run.text for run in standing(runs(*cells), deleted)]


# Which executions count.

STANDING = {
    "a cell run again counts once": ([("a", "x = 1"), ("a", "x = 2")], ["x = 2"]),
    "the same text without an id too": (["x = 1", "y = 2", "x = 1"], ["y = 2", "x = 1"]),
    "two cells with ids that define the same": (
        [("a", WRITTEN.format(1)), ("b", WRITTEN.format(2))],
        [WRITTEN.format(1), WRITTEN.format(2)],
    ),
    "a function counts where it was run last": (
        [("a", WRITTEN.format(1)), ("b", WRITTEN.format(2)), ("a", WRITTEN.format(1))],
        [WRITTEN.format(2), WRITTEN.format(1)],
    ),
    "an empty one": (["  \n"], []),
}


@pytest.mark.parametrize(("cells", "found"), STANDING.values(), ids=STANDING.keys())
def test_cells_that_stand(cells, found):
    assert texts(*cells) == texts(*cells, ("gone", "z = 1"), deleted={"gone"}) == found


def test_step_is_that_of_the_function_that_was_defined_last(steps):
    scores = "def attention_scores(q, k): pass\n"
    assert latest_step(runs(WRITTEN, scores, "x = 1"), steps) is TWO
    assert latest_step(runs(scores, WRITTEN), steps) is ONE
    assert latest_step(runs("x = 1"), steps) is None


def test_functions_without_a_cell_are_stubs(steps):
    book = notebooks.of_cells(raw_cells(runs(WRITTEN.format(1)), ONE), "", steps)
    assert book.written == {ONE.id}
    made = run(book.sources[ONE.id])
    assert made["linear"](1, 2) == 1
    with pytest.raises(NotImplementedError):
        made["project_qkv"]()


def test_same_cells_give_the_same_functions_as_a_graded_notebook(steps):
    sources = ["import numpy as np\nimport torch", "%time\nx = 3", WRITTEN, "print(x)", QKV]
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(one) for one in sources])
    graded = notebooks.read(nbformat.writes(made).encode(), "notebook", steps)
    stood = standing(runs(*(("abcde"[i], text) for i, text in enumerate(sources))), ())
    here = notebooks.of_cells(raw_cells(stood, None), "notebook", steps)
    assert here == graded


# To a file and back.


def run(source):
    module = ModuleType("step")
    notebook.run(source, "", module, notebook.Guide(), {})
    return vars(module)


def saved(steps, *cells, step=ONE):
    book = notebooks.of_cells(raw_cells(standing(runs(*cells)), None), "", steps)
    text = book.sources[step.id]
    rows = notebook.run(text, "", ModuleType("step"), notebook.Guide(), {}).skipped
    return file_of(text, [Skipped("", *row) for row in rows], step, stub_of(step))


def test_file_keeps_the_lesson_and_gets_the_functions(steps):
    file = saved(steps, "import numpy as np", WRITTEN.format("x @ weight"))
    assert "# # Step 1" in file
    assert "# # %" not in file
    assert WRITTEN.format("x @ weight") in file
    assert file.count("def linear") == 1
    assert "def project_qkv" in file
    assert file.count("raise NotImplementedError()") == 1
    assert file.count("import numpy as np") == 1
    exec(file, {})


def test_texts_of_a_function_stand_above_it(steps):
    file = saved(steps, HELPER, WRITTEN.format(1), "LOW = 1\n", QKV)
    above = stub_of(ONE).partition("def project_qkv")[0].rpartition("# %% [markdown]")[2]
    text = next(line for line in above.splitlines() if len(line) > 30)
    places = [file.index(one) for one in ("def helper", "def linear", text, "def project_qkv")]
    assert places == sorted(places)


PLAIN = {
    "a library": "import nowhere\nclass Net(nowhere.Module):\n    pass\n",
    "a trial that fails": "wrong = linear(1, 2) @ None\n",
    "a value of that": "low = open('/nowhere').read()\nlower = low - 1\n",
    "a command": "%time linear(1, 2)\n",
    "a command in a branch": "if True:\n    %time linear(1, 2)\n",
    "no Python": "twice = x +\n",
    "an end": "raise SystemExit\n",
    "the name as a value": "linear = linear(1, 2)\n",
    "a stub below": WRITTEN.replace("return {}", "raise NotImplementedError()"),
    "a future": "from __future__ import annotations\nx: Not = 1\n",
    "the kit": "from grader.notebook import nothing\ncheck()\n",
    "a loop": "for i in range(3):\n    torch.go(i)\nelse:\n    1 / 0\n",
}


@pytest.mark.parametrize("trial", PLAIN.values(), ids=PLAIN)
def test_plain_python_imports_the_file(steps, trial):
    once = saved(steps, HELPER, WRITTEN.format("7"), QKV, trial)
    made = {}
    exec(once, made)
    assert made["linear"](1, 2) == 7
    assert run(once)["linear"](1, 2) == 7


def test_the_kits_calls_stay_out_of_the_file(steps):
    setup = "from grader import nothing\nfrom grader.notebook import nothing\nlesson('x')\n"
    file = saved(steps, setup, WRITTEN.format(1), "check('linear')\n", "quiz()\n")
    assert "grader" not in file
    assert "check(" not in file


WRAPPED = {
    "wrapped": ["def twice(f):\n    return lambda *a: 2 * f(*a)\n", "linear = twice(linear)\n"],
    "kept and written anew": ["kept = linear\n", WRITTEN.format("2 * kept(x, 2)")],
    "by a loop": ["for linear in [lambda x, w, bias=None: 14]: pass\n"],
    "as a global": ["def init():\n    global linear\n    linear = lambda x, w: 14\n", "init()\n"],
    "with a table": ["T = []\nfor i in (6, 8):\n    T.append(i)\n", WRITTEN.format("sum(T)")],
}


@pytest.mark.parametrize("below", WRAPPED.values(), ids=WRAPPED)
def test_function_is_in_the_file_what_it_is_in_the_kernel(steps, below):
    once = saved(steps, WRITTEN.format(7), HELPER, QKV, *below)
    made = {}
    exec(once, made)
    assert made["linear"](1, 2) == 14


def test_file_comes_back_as_one_cell(steps):
    file = saved(steps, "import numpy as np", HELPER, WRITTEN.format(1), QKV)
    cell = cell_of(file)
    assert "%%" not in cell
    assert "#" not in cell
    assert cell_of(saved(steps, cell)) == cell


def test_code_below_a_text_or_without_cells_is_not_lost():
    file = "# %%\nx = 1\n\n# %% [markdown]\n# The end.\n#\n# Really.\n\ny = 2\n# so\n"
    assert cell_of(file) == "x = 1\n\n\ny = 2\n# so"
    assert cell_of("# mine\nx = 1\n") == "# mine\nx = 1"


# What is remembered.


def verdict(status=Status.FAILED, points=3.0):
    return StepVerdict(ONE.id, ONE.title, status, points, ONE.max_points, ())


def test_last_check_is_remembered_until_the_file_is_newer(tmp_path):
    progress, file = ProgressFile(tmp_path), tmp_path / ONE.filename
    file.write_text("", encoding="utf-8")
    os.utime(file, (1, 1))
    assert progress.last(ONE, file) is None
    progress.note_checked(verdict())
    assert progress.last(ONE, file) == verdict()
    os.utime(file, (2**32, 2**32))
    assert progress.last(ONE, file) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"step01_projections": 3}'])
def test_memory_that_cannot_be_read_is_none(tmp_path, text):
    progress = ProgressFile(tmp_path)
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
        check(1, Status.PASSED),
        *(check(n, Status.FAILED, message=f"m{n}: <b>") for n in (2, 3, 4)),
        check(5, Status.FAILED, "project_qkv", "Amiss."),
    )
    card = cards.step_card(step, "linear", ["Go on."], ["A note <i>."])
    before, after = card.html.split("2 more checks fail")
    assert "m2: &lt;b&gt;" in before
    assert "m3" not in before
    assert "m4" in after
    assert "1 other check passed." in card.html
    for text in (card.html, card.text):
        assert "Go on." in text
        assert "A note" in text
        assert "Amiss" not in text  # of another function
        assert "project_qkv" not in text
    assert "<i>." not in card.html


def test_card_of_a_half_written_step_calls_nothing_wrong():
    step = step_of(check(1, Status.PASSED), check(2, Status.NOT_ATTEMPTED, "project_qkv"))
    card, one = cards.step_card(step, "", [], []), cards.step_card(step, "linear", [], [])
    assert "linear: passed, 1/1 points" in one.text
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


# One function alone.


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_function_alone_is_judged_as_among_the_others(step, grade):
    """The same mistake is named; in whose words, its own or its caller's, may differ."""

    def verdict(check):
        named = check.diagnosis and check.diagnosis.misconception
        if "KiB more" in check.message:  # measured anew, as is the call that takes too much
            return check.check, check.status, named
        return repr(replace(check, diagnosis=named))  # for a NaN equals no NaN

    mistake = read(MISTAKES, step)[0]
    whole = grade(mistake.submission, only=(step,)).steps[0].checks
    for function in step.functions:
        if function.checks:
            alone = grade(mistake.submission, only=(step.narrow(function.name),)).steps[0].checks
            among = [check for check in whole if check.function == function.name]
            assert list(map(verdict, alone)) == list(map(verdict, among))


# One verdict everywhere.


@pytest.fixture
def ask(steps, host, tmp_path):
    """ask(do, about, *cells): the answer about a notebook of those cells, of lesson 1."""
    judge = Judge(grading.make_grader(steps, host, "visible", 0, steps.steps), tmp_path)

    def ask(do, about, *cells, **more):
        made = [[number, "", text] for number, text in enumerate(cells, 1)]
        request = {"do": do, "about": about, "lesson": ONE.id, "deleted": [], "runs": made}
        return judge.answer({**request, **more})

    return ask


def test_card_says_what_is_refused_where_a_class_is_graded(ask):
    cell = cell_of(SOLUTIONS[TWO.id]).replace("    d_k =", "    os.path.exists('x')\n    d_k =")
    answer = ask("check", "", "import os", cell, lesson=TWO.id)
    assert "All of it passes." in answer["text"]
    seen = r"refused where a class is graded: step 2 uses a file \(cell In\[2\], line \d+\)"
    assert re.search(seen, " ".join(answer["text"].split()))
    assert re.search(seen, answer["html"])


def test_file_that_earns_less_than_the_old_one_is_told_of_and_keeps_it(ask, tmp_path):
    right, written = cell_of(SOLUTIONS[ONE.id]), f"Written to exercises/{ONE.filename}."
    assert ask("save_work", "", right)["text"].strip() == written
    assert ask("save_work", "", right, "LOW = 1\n")["text"].strip() == written
    assert not list(tmp_path.glob("*.bak"))
    told = ask("save_work", "", right, WRITTEN.format("x @ weight.T"))["text"]
    told = " ".join(told.split())
    assert f"The old file is kept as {ONE.filename}.1.bak." in told
    assert f"the old file {ONE.max_points:g}." in told
    assert told.endswith("run all of them, and save again.")


def test_case_is_that_of_the_function_that_was_named(ask):
    cell = WRITTEN.format("x @ weight.T")
    cell += "\n\ndef project_qkv(x, w_q, w_k, w_v):\n    return x, x, x\n"
    assert "linear(" in ask("case", "linear", cell)["text"]
    assert "project_qkv(" in ask("case", "project_qkv", cell)["text"]


def test_hint_is_not_a_check_of_the_notebook(ask):
    cell = WRITTEN.format("x @ weight.T")
    ask("hint", "1", cell)
    assert "as last checked" not in ask("status", "", cell)["text"]
    ask("check", "1", cell)
    assert "as last checked" in ask("status", "", cell)["text"]


def test_order_of_lines_is_marked(ask):
    cell = WRITTEN.format("x @ weight.T")
    while "In which order?" not in (told := ask("hint", "1", cell)["text"]):
        assert "hint" in told
    assert 'hint(1, "a b c") checks your order.' in told
    assert ask("hint", "1", cell, order="zz")["text"].startswith("The answer is the letters")


def test_story_is_written_by_the_functions_of_the_notebook(ask):
    (*_, last) = part = [step for step in STEPS if step.part == 1]
    cells = [cell_of(SOLUTIONS[step.id]) for step in part]
    assert "The owl " in ask("write", "the owl", *cells, lesson=last.id)["text"]
    assert ask("write", "a cow", *cells)["text"].startswith("The model does not know 'cow'.")
    assert "There is no step0" in ask("write", "", *cells[:-1])["text"]


@pytest.mark.long
def test_answer_to_a_notebook_that_is_too_long_is_a_sentence(ask):
    problem = ask("check", "1", "x = 1\n" * 200_000, lesson="")["problem"]
    assert problem.startswith("This notebook cannot be judged: it has more than 32 MiB, or ")
    assert "1,000,000 characters of code" in problem
