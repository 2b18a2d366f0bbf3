"""Test which functions are found to use each other, and what is said of a cause's place."""

import ast
import time

from grader.diagnosis.library import list_used, name_place
from grader.report.records import Diagnosis
from grader.steps.registry import load


def test_functions_that_call_each_other_are_followed_in_time_that_grows_with_their_number():
    """A student's source may have thousands. Compared with each other, these would take 20 s."""
    source = "".join(f"def f{number}(): f{number + 1}\n" for number in range(16_000))
    tree = ast.parse(source)
    start = time.process_time()
    assert len(list_used(tree, "f0")) == 16_000
    assert time.process_time() - start < 4


def test_mistake_of_an_earlier_step_is_said_with_its_place():
    """A mask that also shows the prefix is more than the diagonal, whatever causal_mask gives."""
    cause = Diagnosis("mask_sees_only_self", "Why?", "Only the diagonal is allowed.")
    step = load().find("step22_more_masks")
    where = "The results are those that a wrong causal_mask would give:"
    assert name_place(cause, ["causal_mask"], step).says.startswith(f"{where} {cause.says}")
    assert name_place(cause, ["prefix_mask"], step) == cause
