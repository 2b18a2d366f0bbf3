"""A learner's own record: what passed and what was met."""

import pytest

from grader.learner.journal import MOST_MISTAKES, Journal
from grader.report.records import CheckVerdict, Diagnosis, Status, StepVerdict
from grader.steps import registry

REGISTRY = registry.load()
PART = REGISTRY.parts[0]
FIRST, SECOND = (step.id for step in REGISTRY.steps[:2])


def verdict(step, status=Status.PASSED, *met):
    checks = tuple(
        CheckVerdict(str(i), "f", "", status, 0, 1, diagnosis=Diagnosis(f"m{i}", "help", says))
        for i, says in enumerate(met)
    )
    return StepVerdict(step, "", status, 0, 1, checks)


@pytest.fixture
def journal(tmp_path):
    return Journal(tmp_path)


def test_mistake_is_kept_once_after_it_was_fixed(journal):
    for _ in range(2):
        journal.note([verdict(FIRST, Status.FAILED, "No scale.")], 0.0)
    journal.note([verdict(FIRST)], 1.0)
    assert journal.on_step(FIRST)["met"] == ["No scale."]


def test_step_that_passes_is_news_once_and_again_after_it_failed(journal):
    said = [
        journal.note([verdict(FIRST, status), verdict(SECOND, Status.FAILED)], 0.0)
        for status in (Status.FAILED, Status.PASSED, Status.PASSED, Status.FAILED, Status.PASSED)
    ]
    assert said == [[], [FIRST], [], [], [FIRST]]


def test_pattern_is_no_mistake_that_was_met(journal):
    pattern = Diagnosis("property:rows", "help", "It fails for one row.")
    check = CheckVerdict("c", "f", "", Status.FAILED, 0, 1, diagnosis=pattern)
    journal.note([StepVerdict(FIRST, "", Status.FAILED, 0, 1, (check,))], 0.0)
    assert journal.on_step(FIRST)["met"] == []


def test_nothing_is_written_before_anybody_has_begun(journal):
    journal.note([verdict(FIRST, Status.NOT_ATTEMPTED)], 0.0)
    assert not journal.path.exists()
    journal.note_hint(FIRST, "a hint")
    assert "last" not in journal.read()
    journal.note([verdict(FIRST)], 0.0)
    assert "last" in journal.read()


def test_part_ends_once(journal):
    steps = [step.id for step in REGISTRY.of(PART)]
    journal.note([verdict(step) for step in steps[:-1]], 0.0)
    assert journal.find_ended(REGISTRY, steps[:-1]) is None
    journal.note([verdict(steps[-1])], 1.0)
    assert journal.find_ended(REGISTRY, steps[-1:]) == PART
    assert journal.find_ended(REGISTRY, steps[-1:]) is None
    assert journal.find_passed() == {*steps}


def test_mistakes_of_a_step_are_not_without_end(journal):
    many = [f"mistake {i}" for i in range(100)]
    journal.note([verdict(FIRST, Status.FAILED, *many)], 0.0)
    assert len(journal.on_step(FIRST)["met"]) == MOST_MISTAKES


BROKEN = ["", "[]", "{", "[" * 100_000, "\udcff", '{"steps": 3}', '{"form": 1, "steps": 3}']


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
def test_broken_file_is_ignored(journal, text):
    journal.path.write_text(text, encoding="utf-8", errors="surrogateescape")
    assert journal.on_step(FIRST)["met"] == []
    journal.note([verdict(FIRST, Status.FAILED, "No scale.")], 5.0)
    assert journal.on_step(FIRST)["met"] == ["No scale."]
    steps = [step.id for step in REGISTRY.of(PART)]
    journal.note([verdict(step) for step in steps], 6.0)
    assert journal.find_ended(REGISTRY, steps) == PART


def test_folder_that_cannot_be_written_is_no_error(tmp_path):
    journal = Journal(tmp_path / "missing")
    assert journal.note([verdict(FIRST)], 0.0) == [FIRST]
