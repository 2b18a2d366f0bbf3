"""What is asked after a step has passed, and by `review`: in a terminal and in a notebook."""

import io
import time
from types import SimpleNamespace

import pytest

from grader.cli import paths, telling, watching
from grader.learner.asking import DAY, Asking
from grader.learner.journal import Journal
from grader.notebooks.quiz_display import answer_quiz, ask_now
from grader.report.records import Status, StepVerdict
from grader.report.text.terminal import Printer
from grader.steps import registry
from grader.steps.quiz import questions
from tests.conftest import STEPS

STEP = STEPS[1]
(PREDICTION,) = (one for one in questions(STEP) if one.predict)
(SENTENCE,) = (one for one in questions(STEP) if one.explains)
SAID = "so that the softmax stays soft"


def judged(step, status=Status.PASSED):
    return StepVerdict(step.id, step.title, status, 7, 7, ())


@pytest.fixture
def journal(tmp_path):
    """That of a learner whose step 2 has just passed."""
    journal = Journal(tmp_path)
    journal.note([judged(STEP)], time.time())
    return journal


@pytest.fixture
def answering(monkeypatch):
    """answering(answers): the learner types these, and nothing else is asked for."""

    def answering(*answers):
        left = [*answers]
        monkeypatch.setattr("builtins.input", lambda prompt: left.pop(0))
        return left

    return answering


@pytest.fixture
def asked(journal, answering, tmp_path):
    """asked(answers): what is printed for them after a check."""

    def asked(*answers):
        left, printer = answering(*answers), Printer(io.StringIO())
        telling.ask_after(printer, Asking(tmp_path, registry.load()), STEP)
        assert not left
        return " ".join(printer.file.getvalue().split())

    return asked


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_every_step_has_one_prediction_and_one_sentence(step, tmp_path):
    asked = Asking(tmp_path, registry.load()).list_after(step)
    assert [one.predict for one in asked] == [True, False]
    assert [one.explains for one in asked] == [False, True]


def test_prediction_is_marked_and_the_sentence_kept(asked, journal):
    said = asked(PREDICTION.key, SAID)
    assert PREDICTION.ask[:40] in said
    assert "Right. " in said
    assert "Kept for your recap. One good answer: " in said
    assert journal.on_step(STEP.id)["sentence"] == SAID
    assert asked() == ""  # both were answered


def test_wrong_prediction_may_be_tried_again(asked, journal):
    said = asked("123456", "no number", PREDICTION.key, "")
    assert "Not yet. " in said
    assert "The answer is one number" in said
    assert "Right. " in said
    assert journal.on_step(STEP.id)["sentence"] == ""


@pytest.mark.parametrize("answers", [("", ""), ("q",), ("quit",), ("", "Q")], ids=str)
def test_both_can_be_skipped(asked, answers):
    assert "Kept" not in asked(*answers)


@pytest.mark.parametrize("answers", [("never",), ("", "Never")])
def test_never_ends_them_until_they_are_asked_for(asked, journal, tmp_path, answers):
    asked(*answers)
    assert asked() == ""
    assert Asking(tmp_path, registry.load()).list_now() == []
    journal.set_asks(True)
    assert PREDICTION.ask[:40] in asked("q")


def test_sentence_is_not_without_end(asked, journal):
    asked("", "x" * 10_000)
    assert len(journal.on_step(STEP.id)["sentence"]) == 400


@pytest.mark.usefixtures("journal")
def test_review_asks_about_a_step_that_has_just_passed(tmp_path):
    asking = Asking(tmp_path, registry.load(), lambda: time.time() + DAY / 2)
    assert asking.list_now() == [PREDICTION, SENTENCE]
    later = Asking(tmp_path, registry.load(), lambda: time.time() + 3 * DAY)
    assert SENTENCE not in later.list_now()


def test_review_in_a_notebook_asks_in_a_field(tmp_path, journal, answering, capsys):
    answering(PREDICTION.key, SAID)
    assert ask_now(tmp_path, has_input=True) is None
    said = capsys.readouterr().out
    assert said.startswith("2 questions about steps that you have finished.")
    assert "Right. " in said
    assert max(map(len, said.splitlines())) <= 80
    assert journal.on_step(STEP.id)["sentence"] == SAID
    assert str(ask_now(tmp_path, has_input=True)).startswith("Nothing is due.")


def test_notebook_without_a_field_shows_the_questions_and_takes_answers(tmp_path, journal):
    told = str(ask_now(tmp_path, has_input=False))
    assert told.endswith(f'To answer: quiz("{PREDICTION.id}", ...)')
    assert "Kept for your recap." in str(answer_quiz(SENTENCE.id, SAID, tmp_path))
    assert journal.on_step(STEP.id)["sentence"] == SAID


@pytest.fixture
def watch(tmp_path, monkeypatch):
    """The command `watch` in a learner's folder, before anything happens."""
    for module in (paths, telling):
        monkeypatch.setattr(module, "EXERCISES", tmp_path)
    grader = SimpleNamespace(registry=registry.load())
    return watching.FolderWatch(grader, tmp_path, Printer(io.StringIO()))


def test_watch_mentions_once_a_day_what_is_due(tmp_path, watch):
    Journal(tmp_path).note([judged(STEP)], time.time() - 2 * DAY)
    watch._invite()
    watch._invite()
    assert watch.printer.file.getvalue().count("Two minutes: ") == 1


@pytest.mark.parametrize(("saved", "told"), [(STEP, True), (STEPS[2], False)], ids=["it", "other"])
def test_watch_says_that_a_step_passes_only_if_it_was_saved(watch, saved, told):
    watch.known = {one.id: judged(one, Status.FAILED) for one in STEPS} | {STEP.id: judged(STEP)}
    watch._note(SimpleNamespace(steps=[watch.known[saved.id]]))
    said = watch.printer.file.getvalue()
    assert ("passes." in said) is told
    assert ("`make review` asks two questions about it." in said) is told


def test_sentence_on_a_step_that_does_not_pass_is_not_kept(tmp_path, journal):
    other = next(one for one in questions(STEPS[2]) if one.explains)
    assert str(answer_quiz(other.id, SAID, tmp_path)).startswith("One good answer:")
    assert journal.on_step(STEPS[2].id)["sentence"] == ""
