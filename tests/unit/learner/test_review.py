"""Questions of finished steps come back after days, and the clock is the test's."""

import time

import pytest

from grader.learner.asking import DAY, MOST, Asking, choose
from grader.learner.journal import Journal
from grader.report.records import Status, StepVerdict
from grader.steps import registry
from grader.steps.quiz import questions

REGISTRY = registry.load()
FIRST, SECOND = REGISTRY.steps[:2]
CLOSED = [one.id for one in questions(FIRST) if one.kind != "open"]
NOW = 1e9


def note(folder, step, now, status=Status.PASSED):
    Journal(folder).note([StepVerdict(step.id, "", status, 0, 1, ())], now)


@pytest.fixture
def at(tmp_path):
    """at(now): the questions at that time; step 1 passed at NOW."""
    note(tmp_path, FIRST, NOW)
    return lambda now: Asking(tmp_path, REGISTRY, lambda: now)


def ids(found):
    return [one.id for one in found]


def test_questions_come_a_day_after_the_step_passed(at):
    assert at(NOW + 0.9 * DAY).list_due() == []
    assert ids(at(NOW + DAY).list_due()) == CLOSED


def test_nothing_is_due_before_a_step_passes(tmp_path):
    note(tmp_path, FIRST, NOW, Status.FAILED)
    assert Asking(tmp_path, REGISTRY, lambda: NOW + 99 * DAY).list_due() == []


def test_right_answers_wait_longer_each_time_and_then_for_ever(at):
    now, name = NOW, CLOSED[0]
    for days in (1, 3, 7, 21):
        assert name not in ids(at(now + (days - 0.1) * DAY).list_due())
        now += days * DAY
        assert name in ids(at(now).list_due())
        at(now).note(name, right=True)
    assert name not in ids(at(now + 999 * DAY).list_due())


def test_wrong_answer_begins_anew_and_the_second_try_does_not_count(at):
    name = CLOSED[0]
    at(NOW + DAY).note(name, right=True)
    at(NOW + 4 * DAY).note(name, right=False)
    at(NOW + 4 * DAY + 9).note(name, right=True)
    assert name in ids(at(NOW + 5 * DAY).list_due())


def test_answer_before_it_is_due_changes_nothing(at):
    at(NOW + 9).note(CLOSED[0], right=True)
    assert CLOSED[0] in ids(at(NOW + DAY).list_due())


def test_steps_take_turns(at, tmp_path):
    note(tmp_path, SECOND, NOW)
    asked = ids(choose(at(NOW + DAY).list_due())[0])
    assert len(asked) == MOST
    assert [name[0] for name in asked] == ["1", "2", "1", "2", "1"]


def test_reminder_comes_once_a_day(at):
    said = "Two minutes: 5 questions are due, `review()` asks."
    found = [at(NOW + DAY + hours * DAY / 24).remind("review()") for hours in (0, 1, 23, 25)]
    assert found == [said, "", "", said]


def test_clock_that_was_set_back_asks_again(at):
    at(NOW + DAY).note(CLOSED[0], right=True)
    assert at(NOW + DAY).remind("review()")
    assert CLOSED[0] in ids(at(NOW + DAY - 60).list_due())
    assert "1 question is due" in at(NOW + DAY - 60).remind("review()")


def test_review_asks_what_is_due_and_notes_the_answer(tmp_path, monkeypatch, capsys):
    from grader.cli import quiz

    monkeypatch.setattr(quiz, "EXERCISES", tmp_path)
    quiz.review.callback()
    assert capsys.readouterr().out.startswith("Nothing is due.")
    now = time.time()
    note(tmp_path, FIRST, now - DAY)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    answers = iter([questions(FIRST)[0].key, "q"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(answers))
    quiz.review.callback()
    said = capsys.readouterr().out
    assert said.startswith(f"{MOST} questions about steps that you have finished")
    assert "Right." in said
    assert CLOSED[0] not in ids(Asking(tmp_path, REGISTRY, lambda: now + DAY / 2).list_due())
