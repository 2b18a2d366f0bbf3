"""What is asked after a step has passed: a prediction, then a sentence of one's own."""

import io

import pytest

from grader.cli import quiz
from grader.engine.journal import Journal
from grader.report.text.terminal import Printer
from grader.steps.quiz import questions
from tests.conftest import STEPS

STEP = STEPS[1]
(PREDICTION,) = (one for one in questions(STEP) if one.predict)


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """asked(answers): what is printed for them; asked.journal: the notes afterwards."""
    monkeypatch.setattr(quiz, "MEMORY", tmp_path / ".quiz.json")
    monkeypatch.setattr(quiz, "EXERCISES", tmp_path)
    journal = Journal(tmp_path)

    def asked(*answers):
        left = [*answers]
        monkeypatch.setattr("builtins.input", lambda prompt: left.pop(0))
        printer = Printer(io.StringIO())
        quiz.ask_after(printer, journal, STEP)
        assert not left
        return " ".join(printer.file.getvalue().split())

    asked.journal = journal
    return asked


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_every_step_has_one_prediction(step):
    assert sum(one.predict for one in questions(step)) == 1


def test_prediction_is_marked_and_the_sentence_kept(asked):
    said = asked(PREDICTION.key, "so that the softmax stays soft")
    assert PREDICTION.ask[:40] in said
    assert "Right. " in said
    assert "Kept. Ours: " in said
    assert asked.journal.sentence(STEP.id) == "so that the softmax stays soft"
    assert PREDICTION.ask[:40] not in asked("")  # it was answered


def test_wrong_prediction_may_be_tried_again(asked):
    said = asked("123456", PREDICTION.key, "")
    assert "Not yet. " in said
    assert "Right. " in said
    assert asked.journal.sentence(STEP.id) == ""


def test_enter_skips_each(asked):
    assert "Kept" not in asked("", "")


def test_q_ends_both(asked):
    assert "sentence" not in asked("q")


@pytest.mark.parametrize("answers", [("never",), ("", "Never")])
def test_never_ends_them_until_they_are_asked_for(asked, answers):
    asked(*answers)
    assert asked() == ""
    asked.journal.set_asks(True)
    assert PREDICTION.ask[:40] in asked("q")


def test_sentence_is_not_without_end(asked):
    asked("", "x" * 10_000)
    assert len(asked.journal.sentence(STEP.id)) == 400
