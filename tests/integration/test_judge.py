"""Judge processes: one that is lost is replaced, one that cannot judge says why."""

import math
import os
import signal
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from grader.classroom import judge
from grader.classroom.judge import ClassJudge, Exam, JudgeLost, JudgeRefuses
from grader.engine.kit_digest import kit_digest
from grader.intake.submission import Submission
from grader.isolation import Host, Process, client, start_host
from tests.conftest import SOLUTIONS

STEP = "step02_scores"
EXAM = Exam("visible", 0, "process", (STEP,), kit_digest())
UNSCALED = (
    "import numpy as np\ndef attention_scores(q, k):\n    return q @ np.swapaxes(k, -1, -2)\n"
)


@pytest.fixture(autouse=True)
def _dismissed():
    yield
    judge.dismiss()


def right(student="alice"):
    return Submission(student, {STEP: SOLUTIONS[STEP]})


def score(outcome):
    return outcome.report.score / outcome.report.max_score


def test_judge_grades_one_after_the_other():
    wrong = Submission("bob", {STEP: "def attention_scores(q, k):\n    return q\n"})
    scores = [score(judge.grade_submission(EXAM, one)) for one in (right(), wrong, right(), wrong)]
    assert scores == [1.0, 0.0, 1.0, 0.0]
    assert len(judge._judges) == 1


def test_wrong_work_gets_its_cause_from_a_judge_too():
    outcome = judge.grade_submission(EXAM, Submission("bob", {STEP: UNSCALED}))
    causes = {c.diagnosis.misconception for c in outcome.report.steps[0].checks if c.diagnosis}
    assert causes == {"score_no_scale"}


def test_idle_judge_that_was_killed_is_replaced():
    judge.grade_submission(EXAM, right())
    (idle,) = judge._judges.values()
    os.kill(idle.process.pid, signal.SIGKILL)
    idle.process.wait()
    assert score(judge.grade_submission(EXAM, right())) == 1.0


@pytest.fixture
def killing(monkeypatch):
    """killing(times): the processes of so many judges that are killed when they get to work."""

    def killing(times, grade=ClassJudge.grade):
        def grade_or_die(self, *args):
            if len(lost) < times:
                lost.append(self.process.pid)
                os.kill(self.process.pid, signal.SIGKILL)
            return grade(self, *args)

        lost = []
        monkeypatch.setattr(ClassJudge, "grade", grade_or_die)
        return lost

    return killing


def test_judge_that_dies_at_work_is_replaced_once(killing):
    lost = killing(1)
    assert score(judge.grade_submission(EXAM, right())) == 1.0
    assert len(lost) == 1


@pytest.mark.long
def test_submission_that_loses_two_judges_is_not_graded_and_the_next_one_is(killing):
    killing(2)
    outcome = judge.grade_submission(EXAM, right("killer"))
    assert outcome.report is None
    assert outcome.reason == "The judge was lost twice while it was judged: it ended."
    assert score(judge.grade_submission(EXAM, right())) == 1.0


@pytest.mark.long
def test_judge_that_holds_too_much_of_others_is_replaced(monkeypatch):
    """Its own last words are not a loss: the third one has not used up a second attempt."""
    full = "from grader.engine import own_memory; own_memory.LEFT_MIB = -1024"
    monkeypatch.setattr(judge, "PROGRAM", f"{full}; {judge.PROGRAM}")
    monkeypatch.setattr(judge, "LOST", 1)
    used = []
    for student in ("alice", "bob", "carol"):
        assert score(judge.grade_submission(EXAM, right(student))) == 1.0
        (idle,) = judge._judges.values()
        used.append(idle.process.pid)
    assert len(set(used)) == 3


def test_judge_that_does_not_answer_is_killed():
    one = ClassJudge()
    one.begin(EXAM)
    one.seconds = 0.0
    with pytest.raises(JudgeLost, match="it did not answer in time"):
        one.grade(EXAM, right())
    assert one.process.wait(5) == -signal.SIGKILL
    one.close()


def test_kit_of_another_version_refuses():
    with pytest.raises(JudgeRefuses, match="install the same everywhere"):
        judge.grade_submission(replace(EXAM, kit="another"), right())


def test_isolation_that_is_not_there_refuses():
    with pytest.raises(JudgeRefuses, match="nonsense"):
        judge.grade_submission(replace(EXAM, isolation="nonsense"), right())


def test_hidden_exam_without_a_key_refuses():
    """Otherwise its inputs would follow from the round's number, which anybody may know."""
    with pytest.raises(JudgeRefuses, match="hidden inputs come from a secret"):
        judge.grade_submission(replace(EXAM, suite="hidden"), right())


@pytest.mark.long
def test_judge_serves_every_round_with_its_own_inputs():
    """A class has as many rounds as it likes, and each judge holds torch."""
    wrong = Submission("bob", {STEP: UNSCALED})
    exams = [replace(EXAM, suite="hidden", seed=round, key=f"key {round}") for round in (1, 2, 1)]
    outcomes = [judge.grade_submission(exam, wrong) for exam in exams]
    assert len(judge._judges) == 1
    assert [one.report.seed for one in outcomes] == [1, 2, 1]
    first, second, again = ([c.fingerprint for c in o.report.steps[0].checks] for o in outcomes)
    assert first == again != second


def test_judges_end_when_they_are_dismissed():
    judge.grade_submission(EXAM, right())
    (idle,) = judge._judges.values()
    judge.dismiss()
    assert idle.process.poll() == 0


def test_stopping_ends_judges_at_work(monkeypatch):
    monkeypatch.setattr(judge, "_stopped", threading.Event())
    at_work = threading.Event()
    raised = []

    def grade(self, exam, submission):
        at_work.set()
        return self._ask({"never": "sent"}, 60.0) if self.process.wait() else None

    def run():
        try:
            judge.grade_submission(EXAM, right())
        except JudgeRefuses as error:
            raised.append(str(error))

    monkeypatch.setattr(ClassJudge, "grade", grade)
    thread = threading.Thread(target=run)
    thread.start()
    assert at_work.wait(60)
    judge.stop()
    thread.join(60)
    assert raised == ["grading was stopped"]


def test_no_judge_is_started_after_the_stop(monkeypatch):
    monkeypatch.setattr(judge, "_stopped", threading.Event())
    judge.stop()
    monkeypatch.setattr(judge, "ClassJudge", None)  # to be called by nobody
    with pytest.raises(JudgeRefuses, match="grading was stopped"):
        judge.grade_submission(EXAM, right())


def test_digest_of_the_kit_is_the_same_each_time():
    kit_digest.cache_clear()
    assert kit_digest() == EXAM.kit


@pytest.mark.parametrize(
    ("held", "upset", "turns", "sandboxes"),
    [
        ({"no network": True}, (), 5, 1),
        ({"no network": True}, (1, 3), 5, 3),
        ({"no network": True}, (), judge.TURNS + 1, 2),
        ({}, (), 5, 5),
    ],
    ids=["as long as it goes", "none again that was upset", "not for ever", "once without walls"],
)
def test_sandbox_serves(monkeypatch, steps, held, upset, turns, sandboxes):
    class Quiet(Host):
        def end_all(self):
            pass

    monkeypatch.setattr("grader.classroom.judge.start_host", Quiet)
    used = []
    with judge.Sandboxes(SimpleNamespace(held=held), steps.limits) as found:
        for turn in range(turns):
            with found.next() as host:
                assert time.monotonic() < host.deadline == found.trusted.deadline < math.inf
                used.append(host)
                host.upset = turn in upset
    assert len({id(host) for host in used}) == sandboxes
    assert not [host for host in used if host.folder.exists()]


def test_worker_that_ends_or_hangs_upsets_its_sandbox(steps):
    limits = replace(steps.limits, call_seconds=0.5)
    code = (
        "import os\ndef ends(): os._exit(0)\ndef fails(): 1 / 0\ndef hangs():\n    while 1: pass\n"
    )
    program = client.Program("own", {"own": (code, "own.py")})
    for function, upset in (("fails", False), ("ends", True), ("hangs", True)):
        with start_host(Process(), limits) as host:
            worker = client.Worker(host, time.monotonic() + 60)
            worker.load(program)
            with pytest.raises(client.CallFailed):
                worker.call(function, [], {})
            assert host.upset is upset
            worker.close()
