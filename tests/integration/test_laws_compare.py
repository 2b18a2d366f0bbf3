"""Every check compares with the reference: zeros pass none, nor do they at first or later only.

The laws on state ask little, so they compare every answer.
"""

import numpy as np
import pytest

from grader.authoring.build import ReferenceTrial
from grader.checks.suites import Live
from grader.isolation.wire import Counted
from grader.steps.tree import leaves, map_leaves
from tests.conftest import SEED, STEPS


def emptied(function, result):
    """The result with 0 for all numbers, but for what stays in a worker."""

    def nothing(leaf):
        return np.zeros_like(leaf) if isinstance(leaf, (np.ndarray, np.generic, float)) else leaf

    if any(name.startswith("*") for name in function.returns) and isinstance(result, tuple):
        return (*map_leaves(result[:-1], nothing), result[-1])
    return map_leaves(result, nothing)


def knows_rows(argument):
    """Whether products with it are counted by rows: wrong answers to that are asked for again."""
    return isinstance(argument, Counted) and argument.rows


class Trial(ReferenceTrial):
    """What answers as the reference, but for one function's zeros.

    right: which of its answers are right, in each check, by their numbers from 1.
    """

    function = None
    right = range(0)
    asked = wrong = 0

    def _result(self, function, args, kwargs):
        result = super()._result(function, args, kwargs)
        if function != self.function.name or any(map(knows_rows, args)):
            return result
        self.asked += 1
        if self.asked in self.right:
            return result
        empty = emptied(self.function, result)
        pairs = zip(leaves(result), leaves(empty), strict=True)
        self.wrong += not all(one is other or np.array_equal(one, other) for one, other in pairs)
        return empty

    def passes(self, check, function, right):
        """Whether the check pays, whatever its prerequisite says; and how often it was wrong."""
        self.function, self.right, self.asked, self.wrong = function, right, 0, 0
        return self._failure(self.bench.checks[check.id]) is None


def paid(steps, step, right):
    """The checks of a step that pay a function of which they got other answers, too."""
    trial = Trial(step, Live(SEED), "hidden", steps.limits)
    return [
        check.id
        for function in step.functions
        for check in function.checks
        if trial.passes(check, function, right) and trial.wrong
    ]


# An error that is asked for is right whatever the calls before it return, and so is 0 for zeros.
# The first chunk of a long text may be longer than the window: its memory counts, not its values.
LEGITIMATE = {"step_errors", "clip_small", "wcache_size"}
RIGHT = {"none": range(0), "the first answer": range(1, 2), "the later ones": range(2, 10**6)}


@pytest.mark.parametrize("right", RIGHT.values(), ids=RIGHT)
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_wrong_values_pass_no_check(steps, step, right):
    assert set(paid(steps, step, right)) - LEGITIMATE == set()


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_each_answer_of_the_laws_on_state_is_compared(steps, step):
    trial = Trial(step, Live(SEED), "hidden", steps.limits)
    for function in step.functions:
        for check in function.checks:
            if not check.id.endswith(("_repeat", "_arguments")):
                continue
            assert trial.passes(check, function, range(10**6))
            answers = {*range(1, trial.asked + 1)}
            for number in answers:
                paid = trial.passes(check, function, answers - {number})
                assert not (paid and trial.wrong), (check.id, number)
