"""What the code does that is refused where a class is graded is said where it is not."""

import pytest

from grader.intake.submission import Submission
from grader.isolation.hosts import CAN_FORK
from grader.report.records import Status, report_from_json, say_outside

STEP = "step02_scores"
RIGHT = """import numpy as np
{margin}
def attention_scores(q, k):
    {line}
    return q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
"""
QUIET = {
    "nothing": ("", "pass"),
    "prints": ("import sys", "print(q, file=sys.stderr)"),
    "imports": ("import email.mime.text, xml.dom.minidom", "import sqlite3, numpy.testing"),
    "a warning": ("import warnings", "warnings.warn('x')"),
    "a traceback": ("import traceback", "traceback.print_stack()"),
    "an exception that is logged": (
        "import logging",
        "try: 1 / 0\n    except ZeroDivisionError: logging.exception('x')",
    ),
    "random numbers": ("import random", "random.random(), np.random.default_rng().random()"),
    "a lock": ("import threading", "threading.Lock().acquire()"),
}
NOTED = {
    "opens": ("", "open(__import__('os').devnull)", "uses a file (line 4)"),
    "at the margin": ("open(__import__('os').devnull)", "pass", "uses a file (line 2)"),
    "looks": ("from pathlib import Path", "Path('x').exists()", "uses a file (line 4)"),
    "lists": ("import os", "os.listdir('.')", "uses a file (line 4)"),
    "makes a folder": ("import os", "os.makedirs('d', exist_ok=True)", "uses a file (line 4)"),
    "a pool of threads": (
        "from concurrent.futures import ThreadPoolExecutor",
        "ThreadPoolExecutor(1).submit(len, '').result()",
        "starts a thread (line 4)",
    ),
    "a program": (
        "import subprocess, sys",
        "subprocess.run([sys.executable, '-c', ''])",
        "starts a process (line 4)",
    ),
    "a shell": ("import os", "os.system('true')", "starts a process (line 4)"),
    "a socket": ("import socket", "socket.socket().close()", "uses a socket (line 4)"),
}


@pytest.fixture
def judged(grade, steps):
    """judged(margin, line): the report on step 2 with these lines in its solution."""

    def judged(margin, line):
        source = RIGHT.format(margin=margin, line=line)
        return grade(Submission("mine", {STEP: source}), only=(steps.find("2"),))

    return judged


@pytest.mark.parametrize(("margin", "line"), QUIET.values(), ids=QUIET)
def test_what_is_allowed_is_not_noted(judged, margin, line):
    report = judged(margin, line)
    assert (report.passed, say_outside(report.steps)) == (True, "")


@pytest.mark.skipif(not CAN_FORK, reason="the shell and the devices are of a Unix")
@pytest.mark.parametrize(("margin", "line", "said"), NOTED.values(), ids=NOTED)
def test_what_is_refused_in_a_class_is_noted(judged, margin, line, said):
    report = judged(margin, line)
    assert say_outside(report.steps) == f"refused where a class is graded: step 2 {said}"
    assert say_outside(report_from_json(report.to_json()).steps) == say_outside(report.steps)


def test_modules_of_ones_own_are_noted_by_their_names(judge):
    module = "import os\ndef f():\n    return os.path.exists('x')\n"
    line = "helpers.f(); open(__import__('os').devnull)"
    source = RIGHT.format(margin="import helpers", line=line)
    verdict = judge("2", source, modules={"helpers": module})
    assert verdict.status is Status.PASSED
    assert verdict.outside == ("helpers.py uses a file (line 3)", "step 2 uses a file (line 4)")


def test_failing_code_is_noted_too(judge):
    verdict = judge("2", "def attention_scores(q, k):\n    open('nowhere')\n")
    assert verdict.status is Status.FAILED
    assert verdict.outside == ("step 2 uses a file (line 2)",)


def test_notes_are_few_and_belong_to_one_step(grade, steps):
    step, other = steps.find("2"), steps.find("4")
    lines = "\n".join("import os; os.path.exists('x')" for _ in range(100))
    mine = Submission("mine", {STEP: lines, other.id: "def softmax(x):\n    return x\n"})
    first, second = grade(mine, "visible", (step, other)).steps
    assert (first.outside, second.outside) == (("step 2 uses a file (line 1)",), ())


def test_hidden_suite_notes_nothing(host, judge):
    host.audit = False
    source = RIGHT.format(margin="", line="__import__('os').path.exists('x')")
    assert judge("2", source, "hidden").outside == ()
