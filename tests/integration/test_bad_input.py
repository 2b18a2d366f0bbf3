"""Files broken in every ordinary way: each costs what it breaks, and gets a sentence."""

import re
import time
from dataclasses import replace

import pytest

from grader.engine.grading import make_grader
from grader.intake.submission import Submission
from grader.isolation import Process, start_host
from grader.report.records import Status
from tests.conftest import ROOT

STEP = "step02_scores"
RIGHT = (ROOT / "solutions" / f"{STEP}.py").read_text(encoding="utf-8")
PRELUDE = "import numpy as np\n"

# What the file holds -> the step's status, the first check's status, words of its message.
BROKEN = {
    "syntax error": ("def f(:\n", Status.ERROR, Status.ERROR, r"not valid Python 3\.\d+: .*line 1"),
    "unfinished bracket": ("x = (1,\n", Status.ERROR, Status.ERROR, "not valid Python"),
    "raises at import": (
        "x = 1\ny = x / 0\n",
        Status.ERROR,
        Status.ERROR,
        r"raised ZeroDivisionError: division by zero \(step02_scores.py, line 2: `y = x / 0`\)",
    ),
    "exits at import": (
        "import sys\nsys.exit(0)\n",
        Status.ERROR,
        Status.ERROR,
        "calls exit.. when it is imported",
    ),
    "ends the process at import": (
        "import os\nos._exit(0)\n",
        Status.ERROR,
        Status.ERROR,
        "process ended while .* imported",
    ),
    "quits at import": (
        "quit()\n",
        Status.ERROR,
        Status.ERROR,
        r"calls exit.. when it is imported\. \(step02_scores.py, line 1: `quit\(\)`\)",
    ),
    "asks at import": (
        "n = input()\n",
        Status.ERROR,
        Status.ERROR,
        r"raised EOFError.* \(step02_scores.py, line 1: .*Nobody can type anything there",
    ),
    "loops at import": ("while True: pass\n", Status.ERROR, Status.ERROR, "more than 0.5 s"),
    "imports torch": (
        "import torch\n",
        Status.ERROR,
        Status.ERROR,
        "may import NumPy, the standard library and files beside it, not 'torch'",
    ),
    "imports a step by its bare name": (
        "from step01_projections import linear\n",
        Status.ERROR,
        Status.ERROR,
        "step01_projections is in a package: import `exercises.step01_projections` instead",
    ),
    "calls its functions at import": (
        PRELUDE + "def attention_scores(q, k):\n    return q / 0\n\nattention_scores(1, 2)\n",
        Status.ERROR,
        Status.ERROR,
        r"q / 0`, called from line \d+: `attention_scores\(1, 2\)`, which may be wrong",
    ),
    "imports a missing step": (
        "from exercises.step77_magic import spell\n",
        Status.ERROR,
        Status.ERROR,
        "no step file step77_magic.py",
    ),
    "imports a name from the package": (
        "from exercises import LOWEST\n",
        Status.ERROR,
        Status.ERROR,
        r"raised ImportError: .*'LOWEST'.* \(step02_scores.py, line 1: `from exercises import LO",
    ),
    "no functions": (PRELUDE, Status.FAILED, Status.ERROR, "no function 'attention_scores'"),
    "misspelt": (
        "def atention_scores(q, k):\n    return 0\n",
        Status.FAILED,
        Status.ERROR,
        "Did you mean 'atention_scores'",
    ),
    "empty": ("", Status.FAILED, Status.ERROR, "no function"),
    "not a function": ("attention_scores = 3\n", Status.FAILED, Status.ERROR, "no function"),
}


@pytest.fixture
def hasty(steps):
    """Grades with short limits."""
    limits = replace(steps.limits, call_seconds=0.5, step_seconds=20.0)

    def grade(source, suite="visible"):
        chosen = (steps.find("2"),)
        submission = Submission("broken", {STEP: source})
        with start_host(Process(), limits) as host:
            report = make_grader(steps, host, suite, 5, chosen).grade(submission, chosen)
        return report.steps[0]

    return grade


# In the hidden suite an exception's own words are withheld: they could quote what is secret.
IMPORTS = (
    r"a step may import NumPy, .* `exercises.step01_projections` \(step02_scores.py, line 1: `"
)
WITHHELD = {
    "imports torch": IMPORTS + "import torch",
    "imports a step by its bare name": IMPORTS + "from step01",
    "imports a missing step": IMPORTS + "from exercises.step77",
    "imports a name from the package": IMPORTS + "from exercises import LOWEST",
    "calls its functions at import": r"line \d+: `return q / 0`\)\. Something is divided by 0\.$",
    "syntax error": r"is not valid Python 3\.\d+ \(step02_scores.py, line 1: `def f\(:`\)",
    "raises at import": r"raised ZeroDivisionError \(step02_scores.py, line 2: `y = x / 0`\)",
}


@pytest.mark.parametrize("suite", ["visible", "hidden"])
@pytest.mark.parametrize("name", BROKEN)
def test_broken_file_gets_a_sentence(hasty, name, suite):
    source, step_status, status, words = BROKEN[name]
    if suite == "hidden":
        words = WITHHELD.get(name, words)
    verdict = hasty(source, suite)
    assert verdict.status is step_status
    assert verdict.points == 0
    assert verdict.checks[0].status is status
    assert re.search(words, verdict.checks[0].message)
    assert verdict.checks[0].title.startswith("Scores are ")


def body(*lines):
    """attention_scores with that body."""
    return PRELUDE + "def attention_scores(q, k):\n" + "".join(f"    {line}\n" for line in lines)


FUNCTIONS = {
    "returns nothing": (body("q @ k.T"), Status.FAILED, "returned None .*return"),
    "returns a list": (body("return q.tolist()"), Status.FAILED, "returned a list of 2"),
    "returns text": (body("return 'scores'"), Status.FAILED, "returned a str"),
    "returns a set": (body("return {1}"), Status.FAILED, "object of type 'set'"),
    "returns objects": (body("return np.array([None])"), Status.FAILED, "'array of object'"),
    "returns a wrong shape": (body("return q"), Status.FAILED, r"shape is \(2, 4\); expected"),
    "returns booleans": (body("return q @ k.T > 0"), Status.FAILED, "booleans; expected floats"),
    "raises": (body("return q @ k"), Status.ERROR, r"raised ValueError.*line 3: `return q @ k`"),
    "has other parameters": (
        PRELUDE + "def attention_scores(q):\n    return q\n",
        Status.ERROR,
        "raised TypeError",
    ),
    "loops": (body("while True: pass"), Status.TIMEOUT, "not returned after 0.5 s"),
    "sleeps": (body("__import__('time').sleep(60)"), Status.TIMEOUT, "not returned"),
    "exits": (body("raise SystemExit(0)"), Status.ERROR, "called exit"),
    "ends the process": (body("__import__('os')._exit(0)"), Status.ERROR, "process ended"),
    "eats memory": (body("return np.ones((1 << 17, 1 << 17))"), Status.MEMORY, "more memory"),
    "asks the keyboard": (body("return input()"), Status.ERROR, "raised EOFError"),
    "recurses": (body("return attention_scores(q, k)"), Status.ERROR, "raised RecursionError"),
    "is not written": (body("raise NotImplementedError"), Status.NOT_ATTEMPTED, "not written yet"),
}


@pytest.mark.parametrize(("source", "status", "words"), FUNCTIONS.values(), ids=FUNCTIONS.keys())
def test_broken_function_gets_a_sentence(hasty, source, status, words):
    first = hasty(source).checks[0]
    assert first.status is status
    assert first.points == 0
    assert re.search(words, first.message), first.message


@pytest.mark.parametrize("source", [body("while True: pass"), body("return q @ k")])
def test_other_checks_of_the_function_earn_nothing(hasty, source):
    assert hasty(source).points == 0


def test_endless_loop_is_waited_for_once(hasty):
    verdict = hasty(body("while True: pass"))
    assert {check.status for check in verdict.checks} == {Status.TIMEOUT}
    assert len({check.message for check in verdict.checks}) == 1


def test_printing_and_warning_cost_nothing(hasty):
    noisy = RIGHT + (
        "\n_right = attention_scores\n"
        "def attention_scores(q, k):\n"
        "    import warnings\n"
        "    print('x' * 100_000)\n"
        "    warnings.warn('noise')\n"
        "    return _right(q, k)\n"
    )
    assert hasty(noisy).status is Status.PASSED


def test_printed_text_is_shown_with_the_failure(hasty):
    verdict = hasty(body("print('q is', q.shape)", "return q @ k.T"))
    assert verdict.checks[0].printed == "q is (2, 4)\n"


@pytest.mark.parametrize(
    "leak",
    ["print(q)", "raise ValueError(str(q))", "raise type(str(q.ravel()[:1]), (Exception,), {})"],
)
def test_hidden_inputs_are_not_told(hasty, leak):
    source = body("secret = 'canary%r' % q.ravel()[0]", leak, "return q @ k.T")
    verdict = hasty(source, "hidden")
    text = repr(verdict.checks[0])
    value = verdict.checks[0].message
    assert "canary" not in text.replace("`", "")
    assert "[[" not in text
    assert verdict.checks[0].printed == ""
    assert verdict.checks[0].evidence is None
    assert "0." not in value.replace("0.5 s", "")


def test_missing_file_is_not_attempted(grade, steps):
    step = steps.find("2")
    (verdict,) = grade(Submission("nobody", {}), "visible", (step,)).steps
    assert verdict.status is Status.NOT_ATTEMPTED
    assert verdict.message == "There is no step02_scores.py in the submission."
    assert {check.status for check in verdict.checks} == {Status.NOT_ATTEMPTED}
    assert verdict.points == 0


@pytest.mark.parametrize(
    ("step", "lines", "words"),
    [
        (
            "step03_mask",
            ("def apply_mask(scores, mask):", "    return scores + (1 - mask) * -np.inf"),
            r"invalid value encountered in multiply \(0 times infinity has no value\) \(.*line \d+",
        ),
        (
            "step04_softmax",
            (
                "def softmax(scores, axis=-1):",
                "    e = np.exp(scores - scores.max(axis=axis, keepdims=True))",
                "    return e / e.sum(axis=axis, keepdims=True)",
            ),
            r"encountered in subtract \(infinity minus infinity has no value\) .*`e = np.exp",
        ),
        (
            "step04_softmax",
            (
                "def softmax(scores, axis=-1):",
                "    return np.exp(scores) / np.exp(scores).sum(axis=axis, keepdims=True)",
            ),
            r"overflow encountered in exp \(the exponential of a large number is infinite\)",
        ),
    ],
    ids=["0 times infinity", "infinity minus infinity", "overflow"],
)
def test_nan_is_traced_to_its_birth(grade, steps, step, lines, words):
    right = (ROOT / "solutions" / f"{step}.py").read_text(encoding="utf-8")
    submission = Submission("nan", {step: right + "\n" + "\n".join(lines) + "\n"})
    (visible,) = grade(submission, "visible", (steps.find(step),)).steps
    assert any(re.search(words, check.message) for check in visible.checks)
    (hidden,) = grade(submission, "hidden", (steps.find(step),)).steps
    assert not any("It starts with" in check.message for check in hidden.checks)


def test_all_steps_of_a_submission_share_a_deadline(steps):
    loops = "def attention_scores(q, k):\n    while True:\n        pass\n"
    chosen = (steps.find("2"), steps.find("4"))
    right = (ROOT / "solutions" / "step04_softmax.py").read_text(encoding="utf-8")
    submission = Submission("slow", {STEP: loops, "step04_softmax": right})
    with start_host(Process(), replace(steps.limits, call_seconds=600.0)) as host:
        grader = make_grader(steps, host, "visible", 0, chosen)
        host.deadline = time.monotonic() + 3.0  # the first step loads, and loops until then
        report = grader.grade(submission, chosen)
    first, second = report.steps
    assert {check.status for check in first.checks} == {Status.TIMEOUT}
    assert "or all steps more than 240 s" in first.checks[0].message
    assert second.status is Status.ERROR
    assert second.message == "The steps before this one took all of the 240 s there are."


@pytest.mark.parametrize(
    ("line", "modules", "words"),
    [
        ("from helpers import x", {"helpers": "from exercises.step04_softmax import x"}, "step04_"),
        ("import a.b", {"a.b": "import c", "c": "from exercises.d.e import x"}, "step file d"),
        ("from helpers import x", {"helpers": "import torch"}, "files beside it, not 'torch'"),
        ("from helpers import x", {"helpers": ""}, "helpers"),
    ],
)
def test_what_a_module_of_ones_own_lacks_is_named(grade, steps, line, modules, words):
    """The module itself is there, so it is not the one that is missing."""
    mine = Submission("broken", {STEP: f"{line}\n"}, modules=modules)
    verdict = grade(mine, "visible", (steps.find("2"),)).steps[0]
    assert re.search(words, verdict.checks[0].message)
    assert "no step file helpers.py" not in verdict.checks[0].message
