"""Questions of finished steps come back after days, and the clock is the test's."""

import json

import pytest

from grader.learner.asking import DAY, MOST, Reviews, choose
from grader.learner.journal import Journal
from grader.report.records import Status, StepVerdict
from grader.steps import registry
from grader.steps.quiz import questions

REGISTRY = registry.load()
FIRST, SECOND = REGISTRY.steps[:2]
CLOSED = [one.id for one in questions(FIRST) if one.kind != "open"]
NOW = 1e9


@pytest.fixture
def journal(tmp_path):
    return Journal(tmp_path)


@pytest.fixture
def reviews(journal):
    """Step 1 passed at NOW."""
    note(journal, FIRST, NOW)
    return Reviews(journal, REGISTRY)


def note(journal, step, now, status=Status.PASSED):
    journal.note([StepVerdict(step.id, "", status, 0, 1, ())], now)


def ids(found):
    return [one.id for one in found]


def test_questions_come_a_day_after_the_step_passed(reviews):
    assert reviews.list_due(NOW + 0.9 * DAY) == []
    assert ids(reviews.list_due(NOW + DAY)) == CLOSED


def test_nothing_is_due_before_a_step_passes(journal):
    note(journal, FIRST, NOW, Status.FAILED)
    assert Reviews(journal, REGISTRY).list_due(NOW + 99 * DAY) == []


def test_right_answers_wait_longer_each_time_and_then_for_ever(reviews):
    now, name = NOW, CLOSED[0]
    for days in (1, 3, 7, 21):
        assert name not in ids(reviews.list_due(now + (days - 0.1) * DAY))
        now += days * DAY
        assert name in ids(reviews.list_due(now))
        reviews.note(name, now, right=True)
    assert name not in ids(reviews.list_due(now + 999 * DAY))


def test_wrong_answer_begins_anew_and_the_second_try_does_not_count(reviews):
    name = CLOSED[0]
    reviews.note(name, NOW + DAY, right=True)
    reviews.note(name, NOW + 4 * DAY, right=False)
    reviews.note(name, NOW + 4 * DAY + 9, right=True)
    assert name in ids(reviews.list_due(NOW + 5 * DAY))


def test_answer_before_it_is_due_changes_nothing(reviews):
    reviews.note(CLOSED[0], NOW + 9, right=True)
    assert CLOSED[0] in ids(reviews.list_due(NOW + DAY))


def test_steps_take_turns(reviews, journal):
    note(journal, SECOND, NOW)
    asked = ids(choose(reviews.list_due(NOW + DAY))[0])
    assert len(asked) == MOST
    assert [name[0] for name in asked] == ["1", "2", "1", "2", "1"]


def test_reminder_comes_once_a_day(reviews):
    at = NOW + DAY
    said = "Two minutes: 5 questions are due, `review()` asks."
    found = [reviews.remind(at + hours * DAY / 24, "review()") for hours in (0, 1, 23, 25)]
    assert found == [said, "", "", said]


def test_clock_that_was_set_back_asks_again(reviews):
    reviews.note(CLOSED[0], NOW + DAY, right=True)
    assert reviews.remind(NOW + DAY, "review()")
    assert CLOSED[0] in ids(reviews.list_due(NOW + DAY - 60))
    assert "1 question is due" in reviews.remind(NOW + DAY - 60, "review()")


@pytest.mark.parametrize("wrong", [3, "x", [], {CLOSED[0]: "x"}, {CLOSED[0]: {}}])
def test_damaged_notes_are_no_notes(reviews, journal, wrong):
    journal.path.write_text(json.dumps({**journal.read(), "reviews": wrong}), encoding="utf-8")
    assert reviews.list_due(NOW + DAY) == []
    note(journal, FIRST, NOW)
    assert ids(reviews.list_due(NOW + DAY)) == CLOSED


def test_notes_from_before_have_no_date_and_are_due(tmp_path):
    (tmp_path / ".progress.json").write_text(
        json.dumps({"steps": {FIRST.id: {"passed": True}}, "last": NOW}), encoding="utf-8"
    )
    reviews = Reviews(Journal(tmp_path), REGISTRY)
    assert reviews.list_due(NOW + DAY / 2) == []
    assert ids(reviews.list_due(NOW + DAY)) == CLOSED


def test_review_asks_what_is_due_and_notes_the_answer(tmp_path, monkeypatch, capsys):
    from grader.cli import quiz

    journal = Journal(tmp_path)
    note(journal, FIRST, NOW)
    monkeypatch.setattr(quiz, "EXERCISES", tmp_path)
    journal.set_asks(False)  # or it would ask about the step at once
    monkeypatch.setattr(quiz, "clock", lambda: NOW)
    quiz.review.callback()
    assert capsys.readouterr().out.startswith("Nothing is due.")
    monkeypatch.setattr(quiz, "clock", lambda: NOW + DAY)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    answers = iter([questions(FIRST)[0].key, "q"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(answers))
    quiz.review.callback()
    said = capsys.readouterr().out
    assert said.startswith(f"{MOST} questions about steps that you have finished")
    assert "Right." in said
    assert CLOSED[0] not in ids(Reviews(journal, REGISTRY).list_due(NOW + DAY))
