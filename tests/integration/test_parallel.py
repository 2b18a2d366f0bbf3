"""Judging in two processes gives what one gives, whatever becomes of the other."""

import json
import os
import threading
from dataclasses import asdict

import pytest

from grader.engine.grading import make_grader
from grader.engine.parallel import in_threads, in_two
from grader.intake.submission import Submission
from grader.isolation import CAN_FORK, Process, start_host
from grader.report.records import step_from_dict
from grader.steps.stubs import solutions
from tests.conftest import ROOT, STEPS


def test_every_number_is_judged_once():
    assert sorted(in_two(20, lambda n: n * n, lambda n: n * n)) == [(n, n * n) for n in range(20)]


def test_results_come_while_the_first_judge_is_busy():
    wait, release = os.pipe()

    def busy(number):
        os.read(wait, 1)
        return number

    found = []
    for result in in_two(2, busy, lambda n: n):
        found.append(result)
        os.write(release, b"x")
    assert sorted(found) == [(0, 0), (1, 1)]
    os.close(wait)
    os.close(release)


def dies(number):
    os._exit(3)


def raises(number):
    raise RuntimeError("gone")


@pytest.mark.parametrize("broken", [dies, raises])
def test_what_the_other_process_leaves_out_is_done_here(broken):
    assert sorted(in_two(6, lambda n: n, broken)) == [(n, n) for n in range(6)]


def test_threads_share_the_numbers():
    met = threading.Barrier(2, timeout=60)

    def judge(number):
        met.wait()  # so neither does anything alone
        return number * number

    assert sorted(in_threads(6, [judge, judge])) == [(n, n * n) for n in range(6)]


def test_what_a_thread_raises_is_raised_here_and_ends_the_work():
    first, judged = threading.Event(), []

    def waits(number):
        first.wait(60)
        judged.append(number)

    def fails(number):
        judged.append(number)
        first.set()
        raise KeyError(number)

    with pytest.raises(KeyError):
        list(in_threads(1000, [waits, fails]))
    assert len(judged) < 1000
    assert not [one for one in threading.enumerate() if one.name.endswith("(work)")]


def test_more_data_than_a_pipe_holds():
    found = dict(in_two(4, lambda n: "x" * 300_000, lambda n: "y" * 300_000))
    assert {len(text) for text in found.values()} == {300_000}


@pytest.fixture(scope="module")
def broken():
    """Four steps with something wrong in three of them."""
    ends = {
        STEPS[0].id: "",
        STEPS[1].id: "\ndef attention_scores(q, k):\n    return q @ np.swapaxes(k, -1, -2)\n",
        STEPS[2].id: "\ndef causal_mask(t_q, t_k=None):\n    raise KeyError('x')\n",
        STEPS[3].id: "\ndef softmax(scores, axis=-1):\n    return np.exp(scores)\n",
    }
    sources = {
        name: (ROOT / "solutions" / f"{name}.py").read_text(encoding="utf-8") + end
        for name, end in ends.items()
    }
    return Submission("broken", sources)


def test_two_threads_give_the_same_report(steps, host, tmp_path):
    submission = Submission("right", solutions(steps))
    chosen = steps.steps[:8]
    grader = make_grader(steps, host, "visible", 0, chosen, kept=tmp_path)
    first = grader.grade(submission, chosen)  # now the scripts are known
    grader._judge = None  # and nothing is left for another way of asking
    assert (
        grader.grade(submission, chosen, in_pairs=True) == first == grader.grade(submission, chosen)
    )


def test_two_processes_give_the_same_report(steps, host, broken):
    chosen = steps.steps[:4]
    shown = []

    def work(grader):
        alone = grader.grade(broken, chosen)
        return alone, grader.grade(broken, chosen, shown.append, in_pairs=True)

    alone, shared = work(make_grader(steps, host, "visible", 0, chosen))
    assert shared == alone
    assert tuple(shown) == shared.steps
    for verdict in alone.steps:
        assert step_from_dict(json.loads(json.dumps(asdict(verdict)))) == verdict


KILLS = """
import os
import signal

def attention_scores(q, k, old=attention_scores):
    if q.ndim > 2:
        os.kill(os.getppid(), signal.SIGKILL)
        signal.pause()
    return old(q, k)
"""


@pytest.mark.skipif(not CAN_FORK, reason="there is a parent of workers only where they are forked")
def test_two_processes_start_another_parent_of_workers_as_one_does(steps, broken):
    """A forked judge cannot wait for the end of a program that it has not started itself."""
    chosen, second = steps.steps[:4], STEPS[1].id
    right = (ROOT / "solutions" / f"{second}.py").read_text(encoding="utf-8")
    submission = Submission("kills", {**broken.sources, second: right + KILLS})
    with start_host(Process(), steps.limits) as own:
        grader = make_grader(steps, own, "visible", 0, chosen)
        alone = grader.grade(submission, chosen)
        shared = grader.grade(submission, chosen, in_pairs=True)
    assert 0 < alone.steps[1].points < alone.steps[1].max_points
    assert shared == alone
