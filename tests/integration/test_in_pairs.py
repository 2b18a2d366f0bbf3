"""Judging two steps at a time gives what one at a time gives."""

import pytest

from grader.engine.grading import make_grader
from grader.intake.submission import Submission
from grader.isolation import Process, SandboxError, start_host
from grader.isolation.hosts import CAN_FORK
from tests.conftest import SOLUTIONS, STEPS


@pytest.fixture(scope="module")
def broken():
    """Four steps with something wrong in three of them."""
    ends = (
        *("", "\ndef attention_scores(q, k):\n    return q @ np.swapaxes(k, -1, -2)\n"),
        "\ndef causal_mask(t_q, t_k=None):\n    raise KeyError('x')\n",
        "\ndef softmax(scores, axis=-1):\n    return np.exp(scores)\n",
    )
    return Submission("broken", {s.id: SOLUTIONS[s.id] + end for s, end in zip(STEPS, ends)})


def test_two_at_a_time_give_the_same_report(steps, host, broken):
    chosen, shown = steps.steps[:4], []
    grader = make_grader(steps, host, "visible", 0, chosen)
    alone = grader.grade(broken, chosen)
    shared = grader.grade(broken, chosen, shown.append, in_pairs=True)
    assert shared == alone
    assert tuple(shown) == shared.steps


KILLS = """
import os
import signal

def attention_scores(q, k, old=attention_scores):
    if q.ndim > 2:
        os.kill(os.getppid(), signal.SIGKILL)
        signal.pause()
    return old(q, k)
"""


@pytest.mark.long
@pytest.mark.skipif(not CAN_FORK, reason="there is a parent of workers only where they are forked")
def test_two_at_a_time_start_another_parent_of_workers_as_one_does(steps, broken):
    chosen, second = steps.steps[:4], STEPS[1].id
    submission = Submission("kills", {**broken.sources, second: SOLUTIONS[second] + KILLS})
    with start_host(Process(), steps.limits) as own:
        grader = make_grader(steps, own, "visible", 0, chosen)
        alone = grader.grade(submission, chosen)
        shared = grader.grade(submission, chosen, in_pairs=True)
    assert 0 < alone.steps[1].points < alone.steps[1].max_points
    assert shared.steps[1] == alone.steps[1]


HANGS = "\ndef {}(*args, **options):\n    while True:\n        pass\n"


def test_what_stops_the_display_stops_all_workers_at_once(steps, broken):
    chosen, judged = steps.steps[:8], []
    third, fourth = (STEPS[number].id for number in (2, 3))
    sources = broken.sources | {third: HANGS.format("causal_mask"), fourth: HANGS.format("softmax")}
    with start_host(Process(), steps.limits) as own:
        grader = make_grader(steps, own, "visible", 0, chosen)
        judge = grader.step
        grader.step = lambda submission, step: judged.append(step) or judge(submission, step)

        def stop(verdict):
            if len(judged) > 3:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            grader.grade(Submission("hangs", sources), chosen, stop, in_pairs=True)
        assert len(judged) < len(chosen)
        with pytest.raises(SandboxError):
            own.start()
