"""Files broken in every ordinary way: each costs what it breaks, and gets a sentence."""

import re
import time
from dataclasses import replace

import pytest

from grader.engine.grading import make_grader
from grader.intake.submission import Submission
from grader.isolation import Process, start_host
from grader.report.records import Status
from tests.conftest import SOLUTIONS

STEP = "step02_scores"
PRELUDE = "import numpy as np\n"

LINE = r"\(step02_scores.py, line"
IMPORTS = rf"a step may import NumPy, .* `exercises.step01_projections` {LINE} 1: `"
# What the file holds, and words of the first check's message. In the hidden suite an exception's
# own words are withheld, which could quote what is secret: what is said there, where it differs.
BROKEN = {
    "syntax error": (
        "def f(:\n",
        r"not valid Python 3\.\d+: .*line 1",
        rf"is not valid Python 3\.\d+ {LINE} 1: `def f\(:`\)",
    ),
    "raises at import": (
        "x = 1\ny = x / 0\n",
        rf"raised ZeroDivisionError: division by zero {LINE} 2: `y = x / 0`\)",
        rf"raised ZeroDivisionError {LINE} 2: `y = x / 0`\)",
    ),
    "ends the process at import": ("import os\nos._exit(0)\n", "process ended while .* imported"),
    "quits at import": ("quit()\n", rf"calls exit.. when it is imported\. {LINE} 1: `quit\(\)`\)"),
    "asks at import": ("n = input()\n", rf"raised EOFError.* {LINE} 1: .*Nobody can type anything"),
    "loops at import": ("while True: pass\n", "more than 0.5 s"),
    "imports torch": (
        "import torch\n",
        "may import NumPy, the standard library and files beside it, not 'torch'",
        f"{IMPORTS}import torch",
    ),
    "imports a step by its bare name": (
        "from step01_projections import linear\n",
        "step01_projections is in a package: import `exercises.step01_projections` instead",
        f"{IMPORTS}from step01",
    ),
    "calls its functions at import": (
        PRELUDE + "def attention_scores(q, k):\n    return q / 0\n\nattention_scores(1, 2)\n",
        r"q / 0`, called from line \d+: `attention_scores\(1, 2\)`, which may be wrong",
        r"line \d+: `return q / 0`\)\. Something is divided by 0\.$",
    ),
    "imports a missing step": (
        "from exercises.step77_magic import spell\n",
        "no step file step77_magic.py",
        f"{IMPORTS}from exercises.step77",
    ),
    "imports a name from the package": (
        "from exercises import LOWEST\n",
        rf"raised ImportError: .*'LOWEST'.* {LINE} 1: `from exercises import LO",
        f"{IMPORTS}from exercises import LOWEST",
    ),
}
LACKS_THE_FUNCTION = {
    "no functions": (PRELUDE, "no function 'attention_scores'"),
    "misspelt": ("def atention_scores(q, k): return 0\n", "Did you mean 'atention_scores'"),
    "empty": ("", "no function"),
    "not a function": ("attention_scores = 3\n", "no function"),
}
ALL = {**BROKEN, **LACKS_THE_FUNCTION}


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


@pytest.mark.parametrize("suite", ["visible", "hidden"])
@pytest.mark.parametrize("name", ALL)
def test_broken_file_gets_a_sentence(hasty, name, suite):
    source, *words = ALL[name]
    verdict = hasty(source, suite)
    assert verdict.status is (Status.ERROR if name in BROKEN else Status.FAILED)
    assert verdict.points == 0
    assert verdict.checks[0].status is Status.ERROR
    assert re.search(words[0 if suite == "visible" else -1], verdict.checks[0].message)
    assert verdict.checks[0].title.startswith("Scores are ")


def body(*lines):
    """attention_scores with that body."""
    return PRELUDE + "def attention_scores(q, k):\n" + "".join(f"    {line}\n" for line in lines)


FUNCTIONS = {
    "returns nothing": (body("q @ k.T"), Status.FAILED, "returned None .*return"),
    "returns a list": (body("return q.tolist()"), Status.FAILED, "returned a list of 2"),
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
    "exits": (body("raise SystemExit(0)"), Status.ERROR, "called exit"),
    "ends the process": (body("__import__('os')._exit(0)"), Status.ERROR, "process ended"),
    "eats memory": (body("return np.ones((1 << 17, 1 << 17))"), Status.MEMORY, "more memory"),
    "asks the keyboard": (body("return input()"), Status.ERROR, "raised EOFError"),
    "recurses": (body("return attention_scores(q, k)"), Status.ERROR, "raised RecursionError"),
    "is not written": (body("raise NotImplementedError"), Status.NOT_ATTEMPTED, "not written yet"),
}


@pytest.mark.parametrize(("source", "status", "words"), FUNCTIONS.values(), ids=FUNCTIONS.keys())
def test_broken_function_gets_a_sentence(hasty, source, status, words):
    verdict = hasty(source)
    first = verdict.checks[0]
    assert (first.status, verdict.points) == (status, 0)
    assert re.search(words, first.message), first.message
    if status is Status.TIMEOUT:  # it is waited for once
        assert {(check.status, check.message) for check in verdict.checks} == {
            (status, first.message)
        }


def test_printing_and_warning_cost_nothing(hasty):
    noisy = SOLUTIONS[STEP] + (
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
    first = hasty(source, "hidden").checks[0]
    assert "canary" not in repr(first).replace("`", "")
    assert "[[" not in repr(first)
    assert (first.printed, first.evidence) == ("", None)
    assert "0." not in first.message.replace("0.5 s", "")


def test_missing_file_is_not_attempted(judge):
    verdict = judge("2", {})
    assert verdict.status is Status.NOT_ATTEMPTED
    assert verdict.message == "There is no step02_scores.py in the submission."
    assert {check.status for check in verdict.checks} == {Status.NOT_ATTEMPTED}
    assert verdict.points == 0


NAN = {
    "0 times infinity": (
        "step03_mask",
        "def apply_mask(scores, mask):\n    return scores + (1 - mask) * -np.inf\n",
        r"invalid value encountered in multiply \(0 times infinity has no value\) \(.*line \d+",
    ),
    "infinity minus infinity": (
        "step04_softmax",
        "def softmax(scores, axis=-1):\n"
        "    e = np.exp(scores - scores.max(axis, keepdims=True))\n"
        "    return e / e.sum(axis, keepdims=True)\n",
        r"encountered in subtract \(infinity minus infinity has no value\) .*`e = np.exp",
    ),
    "overflow": (
        "step04_softmax",
        "def softmax(scores, axis=-1):\n"
        "    return np.exp(scores) / np.exp(scores).sum(axis, keepdims=True)\n",
        r"overflow encountered in exp \(the exponential of a large number is infinite\)",
    ),
}


@pytest.mark.parametrize(("step", "end", "words"), NAN.values(), ids=NAN)
def test_nan_is_traced_to_its_birth(judge, step, end, words):
    source = f"{SOLUTIONS[step]}\n{end}"
    assert any(re.search(words, check.message) for check in judge(step, source).checks)
    hidden = judge(step, source, "hidden").checks
    assert not any("It starts with" in check.message for check in hidden)


def test_all_steps_of_a_submission_share_a_deadline(steps):
    loops = "def attention_scores(q, k):\n    while True:\n        pass\n"
    chosen = (steps.find("2"), steps.find("4"))
    submission = Submission("slow", {STEP: loops, "step04_softmax": SOLUTIONS["step04_softmax"]})
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
def test_what_a_module_of_ones_own_lacks_is_named(judge, line, modules, words):
    """The module itself is there, so it is not the one that is missing."""
    message = judge("2", f"{line}\n", modules=modules).checks[0].message
    assert re.search(words, message)
    assert "no step file helpers.py" not in message
