"""Judging ahead: what was found early counts for that very work only; what fails is done anew."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from grader.classroom import judge
from grader.classroom.judge import Exam, JudgeRefuses, Outcome
from grader.intake.submission import Submission, SubmissionError
from grader.notebooks.nbgrader.judging_ahead import MOST, Ahead
from grader.report.records import Report

EXAM = Exam("hidden", 7, "bubblewrap", ("step02_scores",), "kit")
PATH = Path("submitted/ada/step02_scores/step02_scores.ipynb")
ADA = Submission("ada", {"step02_scores": "x = 1"})


class Judging:
    """Stands in for the judge: what it was asked, in order, in which threads."""

    def __init__(self):
        self.asked, self.threads, self.outcomes = [], set(), []
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.is_asked = threading.Event()

    def __call__(self, exam, submission):
        self.asked.append((exam, submission))
        self.threads.add(threading.get_ident())
        self.is_asked.set()
        assert self.may_go_on.wait(60)
        planned = self.outcomes.pop(0) if self.outcomes else None
        if isinstance(planned, Exception):
            raise planned
        return planned or found(submission)


def found(submission):
    """A report that knows what it is about."""
    report = Report(submission.id, submission.sha256, "hidden", 7, "bubblewrap", ())
    return Outcome(report.to_json().encode(), "", 0.0)


@pytest.fixture
def judging(monkeypatch):
    stands_in = Judging()
    monkeypatch.setattr(judge, "grade_submission", stands_in)
    monkeypatch.setattr(judge, "stop", lambda: None)
    yield stands_in
    stands_in.may_go_on.set()


@pytest.fixture
def ahead(judging):
    one = Ahead()
    yield one
    judging.may_go_on.set()
    one.end()


def judged_early(ahead, exam=EXAM, submission=ADA):
    """Begins with one submission, and waits until that is judged."""
    ahead.begin({PATH: lambda: (exam, submission)})
    ahead.found[PATH].exception(60)


def test_what_was_judged_early_is_not_judged_again(ahead, judging):
    judged_early(ahead)
    assert ahead.outcome(PATH, EXAM, ADA) == found(ADA)
    assert judging.asked == [(EXAM, ADA)]


@pytest.mark.parametrize(
    "now",
    [
        replace(ADA, sources={"step02_scores": "x = 2"}),
        replace(ADA, sources={}),
        replace(ADA, id="bob"),
        replace(ADA, refused={"step03_mask": "it is not UTF-8 text"}),
        replace(ADA, warnings=("a cell was left out",)),
    ],
    ids=["changed", "emptied", "another's", "partly refused", "read otherwise"],
)
def test_other_work_at_the_same_place_is_judged_at_its_turn(ahead, judging, now):
    judged_early(ahead)
    assert ahead.outcome(PATH, EXAM, now) == found(now)
    assert judging.asked == [(EXAM, ADA), (EXAM, now)]


@pytest.mark.parametrize(
    "change",
    [{"seed": 8}, {"isolation": "process"}, {"kit": "another"}, {"steps": ()}, {"suite": "x"}],
    ids=lambda change: next(iter(change)),
)
def test_verdict_of_another_exam_does_not_count(ahead, judging, change):
    judged_early(ahead, replace(EXAM, **change))
    ahead.outcome(PATH, EXAM, ADA)
    assert judging.asked[-1] == (EXAM, ADA)
    assert len(judging.asked) == 2


@pytest.mark.parametrize(
    "failure",
    [Outcome(None, "The judge was lost twice.", 0.0), JudgeRefuses("no"), MemoryError("full")],
    ids=["lost", "refused", "broken"],
)
def test_what_fails_early_is_judged_at_its_turn(ahead, judging, failure):
    judging.outcomes = [failure]
    judged_early(ahead)
    assert ahead.outcome(PATH, EXAM, ADA) == found(ADA)
    assert len(judging.asked) == 2


def test_what_cannot_be_read_early_is_judged_at_its_turn(ahead, judging):
    def reading():
        raise SubmissionError("its JSON is broken")

    ahead.begin({PATH: reading})
    assert ahead.outcome(PATH, EXAM, ADA) == found(ADA)
    assert judging.asked == [(EXAM, ADA)]


def test_refusal_at_its_turn_is_told(ahead, judging):
    judging.outcomes = [JudgeRefuses("no"), JudgeRefuses("the judge does not start")]
    judged_early(ahead)
    with pytest.raises(JudgeRefuses, match="the judge does not start"):
        ahead.outcome(PATH, EXAM, ADA)


def test_what_is_asked_for_comes_first(ahead, judging, monkeypatch):
    monkeypatch.setattr("grader.notebooks.nbgrader.judging_ahead._spare_cores", lambda: 1)
    judging.may_go_on.clear()
    others = [replace(ADA, id=f"other{number}") for number in range(5)]
    ahead.begin({Path(one.id): lambda one=one: (EXAM, one) for one in others})
    assert judging.is_asked.wait(60)
    put = ahead.waiting.put
    monkeypatch.setattr(ahead.waiting, "put", lambda job: (put(job), judging.may_go_on.set()))
    ahead.outcome(PATH, EXAM, ADA)
    assert judging.asked[1] == (EXAM, ADA)


def test_what_nobody_will_ask_for_is_dropped(ahead, judging):
    judging.may_go_on.clear()
    others = [replace(ADA, id=f"other{number}") for number in range(5)]
    ahead.begin({Path(one.id): lambda one=one: (EXAM, one) for one in others})
    assert judging.is_asked.wait(60)
    ahead.drop()
    judging.may_go_on.set()
    ahead.outcome(PATH, EXAM, ADA)
    assert [submission.id for _, submission in judging.asked] == ["other0", "ada"]


@pytest.mark.parametrize(
    ("cores", "students", "threads"),
    [(1, 24, 1), (1, 1000, 1), (7, 24, 1), (7, 60, 3), (7, 1000, MOST), (2, 1000, 2)],
)
def test_judges_are_as_many_as_a_class_and_the_cores_are_worth(
    ahead, judging, monkeypatch, cores, students, threads
):
    monkeypatch.setattr("grader.notebooks.nbgrader.judging_ahead._spare_cores", lambda: cores)
    ahead.begin({Path(str(number)): lambda: (EXAM, ADA) for number in range(students)})
    assert len(ahead.threads) == threads


def test_threads_stay_for_the_next_run_and_end_with_the_process(ahead, judging):
    for _ in range(2):
        judged_early(ahead)
        ahead.outcome(PATH, EXAM, ADA)
    assert len(judging.threads) == 1
    (thread,) = ahead.threads
    assert thread.is_alive()
    ahead.end()
    assert not thread.is_alive()


def test_no_thread_is_started_before_there_is_something_to_do():
    assert Ahead().threads == []
