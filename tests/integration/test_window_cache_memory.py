"""What a window's cache keeps is measured; what a program keeps once for other ends is no key."""

import pytest

from grader.report.records import Status
from tests.conftest import SOLUTIONS

STEP = "step24_window_cache"
# Python itself takes a megabyte once: its table of names doubles when it is full.
KEEPING = """

_right, _calls, _kept = attend_with_window_cache, [], []

def attend_with_window_cache(x_new, *others):
    _calls.extend([1] * tracemalloc.is_tracing())
    {keeps}
    return _right(x_new, *others)
"""
ONCE = "if len(_calls) == {}: _kept.append(bytes(2**20))"
ANEW = "_kept[:] = [bytes(2**20)] if len(_calls) % 16 > 8 else []"
MORE = "_kept.append(bytes(2**14))"


@pytest.fixture
def missed(judge):
    """missed(keeps): the checks that a program which keeps that with each call does not pass."""

    def missed(keeps):
        source = f"import tracemalloc\n{SOLUTIONS[STEP]}{KEEPING.format(keeps=keeps)}"
        checks = judge(STEP, source, "hidden").checks
        return {check.check for check in checks if check.status is not Status.PASSED}

    return missed


@pytest.mark.parametrize("call", [1, 40])
def test_memory_that_is_taken_once_is_not_the_cache(missed, call):
    assert missed(ONCE.format(call)) == set()


@pytest.mark.parametrize("keeps", [ANEW, MORE], ids=["anew in each sequence", "more each time"])
def test_memory_that_is_taken_in_every_sequence_is_kept(missed, keeps):
    assert missed(keeps) == {"wcache_size"}


def test_answers_of_a_cache_that_kept_too_much_count(missed):
    wrong = "\n    if tracemalloc.is_tracing() and len(_calls) < 41: x_new = x_new + 1"
    assert missed(ONCE.format(40) + wrong) == {"wcache_size"}
