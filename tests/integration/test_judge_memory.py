"""A judge takes a bounded amount of memory, whatever a worker sends, and goes on judging."""

import contextlib
import functools
from pathlib import Path

import pytest
from click.testing import CliRunner

from grader.classroom.judge import ClassJudge, Exam
from grader.cli.main import cli
from grader.engine.kit_digest import kit_digest
from grader.intake.submission import Submission
from grader.steps.registry import load
from tests.conftest import SOLUTIONS
from tests.corpora import hostile
from tests.support import processes

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not processes.LINUX, reason="memory as Linux counts it"),
]
MOST_MIB = 1024
MOST_KEPT_MIB = 64

MOST_THAT_IS_READ = """
import numpy as np

def attention_scores(*args, **kwargs):
    return np.ones(5 * 2**20)
"""

KEYS_THAT_MAKE_LONG_PATHS = """
right = linear_backward

def linear_backward(d_out, x, weight):
    if d_out.ndim < 3:
        return right(d_out, x, weight)
    tree = {str(number): 0.5 for number in range(6000)}
    for _ in range(10):
        tree = {"k" * 65_000: tree}
    return tree, tree, tree
"""

NAMES_THAT_COME_BACK = """
import sys
import time

def wire():
    frame = sys._getframe()
    while "serve" not in dir(frame.f_locals.get("self")):
        frame = frame.f_back
    return type(frame.f_locals["self"]).answer.__globals__["wire"]

def new_adamw(params):
    return 0

def adamw_step(params, grads, state, lr, **more):
    wire().MAX_TEXT = 65_500
    now = time.monotonic_ns()
    names = [f"\U00010348 {now} {i} ".ljust(65_000) for i in range(150)]
    return {**{k: v for k, v in params.items() if k[0] == "w"}, **dict.fromkeys(names)}, state
"""

# As many bytes as a frame may have, which are no answer.
BYTES_THAT_ARE_NO_ANSWER = """
import sys

def attention_scores(q, k):
    frame = sys._getframe()
    while "serve" not in dir(frame.f_locals.get("self")):
        frame = frame.f_back
    session = frame.f_locals["self"]
    head = session.serve.__func__.__globals__["HEADER"].pack(2**26, session.nonce)
    session.channel.sendall(head + b"N" * 2**26)
"""

# As many different words as a source may have; one letter makes each of them take more room.
WORDS = (
    "# \U00010348 " + " ".join(f"{number:x}" for number in range(160_000)) + "\nimport exercises\n"
)

# As many statements as a source may have, and an exception that is looked up among them.
LINES = "0\n" * 240_000 + "def f():\n    raise ValueError\nf()\n" + "0\n" * 240_000


ATTACKS = {attack.name: attack.submission for attack in hostile.attacks()}
FLOODS = {name: ATTACKS[name] for name in ("much_beside_a_handle", "many_small_numbers")}
FLOODS["the most"] = Submission("mallory", {"step02_scores": MOST_THAT_IS_READ})


@contextlib.contextmanager
def judging(*steps, suite="hidden"):
    """A judge of its own."""
    judge, exam = ClassJudge(), Exam(suite, 7, "process", steps, kit_digest(), "a key")
    judge.begin(exam)
    judge.grade = functools.partial(judge.grade, exam)
    try:
        yield judge
    finally:
        judge.close()


def mib(pid, name):
    """One of the kernel's numbers about a process's memory."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.partition(f"{name}:")[2].split()[0]) // 1024


def test_judge_stays_below_a_gibibyte_and_judges_the_next_one():
    """All by one judge, one after the other: what one leaves behind would add up."""
    steps = sorted({step for flood in FLOODS.values() for step in flood.sources})
    text = SOLUTIONS["step02_scores"]
    with judging(*steps) as judge:
        for name, flood in FLOODS.items():
            report = judge.grade(flood).report
            peak = mib(judge.process.pid, "VmHWM")
            assert (name, report.score) == (name, 0)
            assert (name, peak) < (name, MOST_MIB)
        report = judge.grade(Submission("honest", {"step02_scores": text})).report
        (scores,) = (step for step in report.steps if step.step == "step02_scores")
        assert scores.points == scores.max_points


def test_replies_that_are_no_answers_go_with_their_checks():
    flood = Submission("mallory", {"step02_scores": BYTES_THAT_ARE_NO_ANSWER})
    with judging("step02_scores") as judge:
        before = mib(judge.process.pid, "VmHWM")
        assert judge.grade(flood).report.score == 0
        assert mib(judge.process.pid, "VmHWM") - before < 256  # a reply takes 64, or twice that


def test_keys_of_a_result_do_not_fill_the_memory():
    """Each leaf of such a tree has a path of 650,000 characters."""
    text = SOLUTIONS["step15_gradients"]
    attack = Submission("mallory", {"step15_gradients": text + KEYS_THAT_MAKE_LONG_PATHS})
    with judging("step15_gradients") as judge:
        (step,) = judge.grade(attack).report.steps
        assert mib(judge.process.pid, "VmHWM") < MOST_MIB / 2
    mine = [check for check in step.checks if check.function == "linear_backward"]
    others = [check for check in step.checks if check not in mine]
    assert any(check.message.startswith("The check cannot work with") for check in mine)
    assert [check.points for check in others] == [check.max_points for check in others]


@pytest.mark.parametrize("suite", ["hidden", "visible"])
def test_empty_arrays_do_not_fill_the_memory(suite):
    """As a list, each of these would be a million lists or more."""
    source = "import numpy as np\n\ndef attention_scores(q, k):\n    return np.zeros((2**21, 0))\n"
    with judging("step02_scores", suite=suite) as judge:
        outcome = judge.grade(Submission("mallory", {"step02_scores": source}))
        assert mib(judge.process.pid, "VmHWM") < MOST_MIB / 2
    assert outcome.report.score == 0
    assert len(outcome.json) < 2**20


LONG_WORDS = {step.id: f"# {step.id}\n{WORDS}" for step in load().steps[:4]}
LEFT = {
    "in names": Submission("mallory", {"step19_training": NAMES_THAT_COME_BACK}),
    "in words": Submission("mallory", LONG_WORDS, modules={"helper": ""}),
    "in lines": Submission("mallory", {"step02_scores": LINES, "step04_softmax": f"0\n{LINES}"}),
}


@pytest.mark.parametrize("left", LEFT.values(), ids=LEFT.keys())
def test_judge_keeps_nothing_of_a_submission(left):
    """The next one would lack it, and lose points for that.

    The first one is wrong, too, so that what the kit needs to find causes is there before.
    """
    wrong = "".join(
        f"def {one.name}(*args, **more):\n    return 0.0\n"
        for step in load().steps
        if step.id in left.sources
        for one in step.functions
    )
    honest = Submission("honest", dict.fromkeys(left.sources, wrong))
    held = []
    with judging(*sorted(left.sources)) as judge:
        for submission in (honest, left, honest, left, honest):
            assert judge.grade(submission).report.score == 0
            held.append(mib(judge.process.pid, "VmRSS"))
    first, _, second, _, third = held
    assert third < second + MOST_KEPT_MIB / 2  # nothing adds up
    assert second < first + 2 * MOST_KEPT_MIB  # pages that the allocator keeps for later


def test_hidden_check_limits_its_memory_before_it_judges(monkeypatch, tmp_path):
    limited = []
    (tmp_path / "step02_scores.py").write_text("def attention_scores(q, k): pass\n")
    monkeypatch.setattr("grader.engine.own_memory.limit_memory", lambda: limited.append(True))
    for suite, times in (("visible", 0), ("hidden", 1)):
        limited.clear()
        command = ["check", "2", "--suite", suite, "--submission", str(tmp_path)]
        done = CliRunner().invoke(cli, [*command, "--isolation", "process"])
        assert "step 2" in done.output.lower(), done.output
        assert len(limited) == times
