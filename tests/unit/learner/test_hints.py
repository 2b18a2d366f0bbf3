"""Hints come one level at a time, and the recognised mistake's first."""

from dataclasses import replace

import pytest

from grader.learner.hints import LastHints, list_hints, next_hint, note_shown, read_last_hints
from grader.report.records import CheckVerdict, Diagnosis, Status, StepVerdict
from grader.steps.registry import Check, Function
from tests.conftest import STEPS

STEP = STEPS[2]


def verdict(*causes):
    checks = (CheckVerdict("c", "f", "t", Status.FAILED, 0, 1, diagnosis=one) for one in causes)
    return StepVerdict(STEP.id, STEP.title, Status.FAILED, 0, 1, (*checks,))


def of_checks(step, *statuses):
    """A verdict whose checks ended so, in the step's order."""
    ended = zip(step.checks, statuses, strict=False)
    found = (CheckVerdict(one.id, one.function, "t", status, 0, 1) for one, status in ended)
    return StepVerdict(step.id, step.title, Status.FAILED, 0, 1, (*found,))


OWN = replace(
    STEP,
    functions=(
        Function("f", (), (), (Check("a", "f", 1, None), Check("b", "f", 1, "a", ("of b",)))),
        Function("g", (), (), (Check("c", "g", 1, None, ("of c",)),)),
    ),
)


@pytest.mark.parametrize(
    ("statuses", "told"),
    [
        ((Status.PASSED, Status.FAILED, Status.FAILED), ("of b",)),
        ((Status.PASSED, Status.PASSED, Status.NOT_ATTEMPTED), ("of c",)),
        ((Status.FAILED, Status.SKIPPED, Status.FAILED), STEP.hints),
        ((Status.PASSED, Status.PASSED, Status.PASSED), STEP.hints),
        ((), STEP.hints),
    ],
)
def test_first_check_that_fails_decides_whose_hints_are_given(statuses, told):
    assert list_hints(OWN, of_checks(OWN, *statuses)) == [*told]


BOTTOM = read_last_hints()


def test_bottom_follows_for_the_first_function_that_is_not_right():
    statuses = [Status.PASSED] * 4 + [Status.FAILED]
    bottom = BOTTOM["padding_mask"]
    wanted = [bottom.tool, bottom.puzzle, bottom.almost]
    assert list_hints(STEP, of_checks(STEP, *statuses))[-3:] == wanted


@pytest.mark.parametrize("status", [Status.NOT_ATTEMPTED, Status.SKIPPED])
def test_lines_are_shuffled_only_once_a_function_was_tried(status):
    bottom = BOTTOM["causal_mask"]
    assert list_hints(STEP, of_checks(STEP, status))[-2:] == [bottom.tool, bottom.almost]


PUZZLES = {name: one for name, one in BOTTOM.items() if one.is_puzzle}


def letters_of(puzzle, lines):
    return " ".join("abcdefghijklmnop"[puzzle.shown.index(line)] for line in lines)


@pytest.mark.parametrize("name", PUZZLES)
def test_order_of_lines_is_marked(name):
    puzzle = PUZZLES[name]
    right = letters_of(puzzle, puzzle.lines)
    assert puzzle.mark(right)[0]
    assert puzzle.puzzle.splitlines()[1:] != [f"{a}) {b}" for a, b in zip("abcdefgh", puzzle.lines)]
    assert not puzzle.mark(letters_of(puzzle, puzzle.lines[:-1]))[0]
    for wrong in puzzle.wrong:
        ok, said = puzzle.mark(f"{right} {letters_of(puzzle, [wrong])}")
        assert not ok
        assert "does not belong. Which mistake is it?" in said
    assert not puzzle.mark(letters_of(puzzle, puzzle.lines[::-1]))[0]


@pytest.mark.parametrize(
    ("lines", "right"),
    [
        (["inputs = ...", "targets = ...", "return inputs, targets"], True),
        (["targets = ...", "inputs = ...", "return inputs, targets"], True),
        (["return inputs, targets", "inputs = ...", "targets = ..."], False),
    ],
)
def test_lines_that_do_not_need_each_other_may_change_places(lines, right):
    almost = "Almost there:\ninputs = ...\ntargets = ...\nreturn inputs, targets"
    puzzle = LastHints("", almost, ["x"])
    assert puzzle.mark(letters_of(puzzle, lines))[0] == right


@pytest.mark.parametrize("answer", ["", "z", "a 9", "?"])
def test_answer_without_an_order_says_what_it_is(answer):
    ok, said = PUZZLES["softmax"].mark(answer)
    assert not ok
    assert said.startswith("The answer is the letters in order")


def test_recognised_mistake_comes_first_and_once():
    cause = Diagnosis("some_mistake", "Look here.")
    assert list_hints(STEP, verdict(cause, cause, None)) == ["Look here.", *STEP.hints]


def test_help_that_a_screen_showed_is_not_given_once_more(tmp_path):
    cause = verdict(Diagnosis("some_mistake", "Look here."), None)
    note_shown(cause, tmp_path)
    assert next_hint(STEP, list_hints(STEP, cause), tmp_path) == (2, STEP.hints[0])


def test_next_call_gives_the_next_level_and_stays_at_the_last(tmp_path):
    known = list_hints(STEP, verdict(None))
    given = [next_hint(STEP, known, tmp_path) for _ in range(5)]
    assert [number for number, _ in given] == [1, 2, 3, 3, 3]
    assert [text for _, text in given] == [*known, known[-1], known[-1]]


def test_new_mistake_is_told_before_the_old_ladder_goes_on(tmp_path):
    next_hint(STEP, list_hints(STEP, verdict(None)), tmp_path)
    cause = Diagnosis("some_mistake", "Look here.")
    assert next_hint(STEP, list_hints(STEP, verdict(cause)), tmp_path) == (1, "Look here.")
    assert next_hint(STEP, list_hints(STEP, verdict(cause)), tmp_path)[1] == STEP.hints[1]


def test_steps_are_remembered_apart(tmp_path):
    other = replace(STEP, id="step99_other")
    next_hint(STEP, STEP.hints, tmp_path)
    assert next_hint(other, STEP.hints, tmp_path)[0] == 1


def test_journal_that_cannot_be_written_loses_no_hint(tmp_path):
    assert next_hint(STEP, STEP.hints, tmp_path / "no" / "such" / "folder") == (1, STEP.hints[0])
