"""Every check compares with the reference: zeros, or right answers at first only, pass none."""

import numpy as np
import pytest

from grader.authoring.recording import ReferenceBench
from grader.checks.suites import Live
from grader.steps.tree import map_leaves
from tests.conftest import SEED, STEPS


def emptied(function, result):
    """The result with 0 for all numbers, but for what stays in a worker."""

    def nothing(leaf):
        return np.zeros_like(leaf) if isinstance(leaf, (np.ndarray, np.generic, float)) else leaf

    if any(name.startswith("*") for name in function.returns) and isinstance(result, tuple):
        return (*map_leaves(result[:-1], nothing), result[-1])
    return map_leaves(result, nothing)


class Bench(ReferenceBench):
    """A bench on which stands what answers as the reference, but for one function's zeros.

    right: how many of its answers are right before, in each check.
    """

    function = None
    right = asked = 0

    def _result(self, function, args, kwargs):
        result = super()._result(function, args, kwargs)
        if function != self.function.name:
            return result
        self.asked += 1
        return result if self.asked <= self.right else emptied(self.function, result)

    def passes(self, check, function, right):
        """Whether the check pays, whatever its prerequisite says; and how often it asked."""
        self.function, self.right, self.asked = function, right, 0
        return self._failure(self.checks[check.id]) is None


def paid(steps, step, right):
    """The checks of a step that pay a function that is so often right, and asked more often."""
    bench = Bench(step, Live(SEED), "hidden", steps.limits)
    bench.load([step])
    return [
        check.id
        for function in step.functions
        for check in function.checks
        if bench.passes(check, function, right) and bench.asked > right
    ]


# An error that is asked for is right whatever the calls before it return, and so is 0 for zeros.
LEGITIMATE = {"step_errors", "clip_small"}


@pytest.mark.parametrize("right", [0, 1], ids=["zeros", "zeros after the first answer"])
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_wrong_values_pass_no_check(steps, step, right):
    assert set(paid(steps, step, right)) - LEGITIMATE == set()
