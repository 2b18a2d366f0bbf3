"""Test what is said of a cause's place."""

from grader.diagnosis.cause_sentences import name_replaced
from grader.report.records import Diagnosis
from grader.steps.registry import load


def test_mistake_of_an_earlier_step_is_said_with_its_place():
    """A mask that also shows the prefix is more than the diagonal, whatever causal_mask gives."""
    cause = Diagnosis("mask_sees_only_self", "Why?", "Only the diagonal is allowed.")
    step = load().find("step22_more_masks")
    where = "The results are those that a wrong causal_mask would give:"
    assert name_replaced(cause, ["causal_mask"], step).says.startswith(f"{where} {cause.says}")
    assert name_replaced(cause, ["prefix_mask"], step) == cause
