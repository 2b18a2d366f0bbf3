"""Which steps of a submission stand on which."""

from grader.engine.earlier_steps import find_dependents
from grader.intake.submission import Submission
from grader.steps import registry
from tests.conftest import SOLUTIONS, STEPS


def test_steps_that_stand_on_a_changed_one_are_found_through_each_other():
    few = STEPS[1:6]
    submission = Submission("mine", {step.id: SOLUTIONS[step.id] for step in few})
    found = find_dependents(submission, [STEPS[3]], registry.load())
    assert [step.number for step in found] == [5, 6]
