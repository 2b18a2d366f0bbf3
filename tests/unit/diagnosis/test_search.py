"""Test the notes about the calls of an attempt."""

import ast
import time

import numpy as np

from grader.diagnosis.search import Call, Log, list_used
from grader.isolation.wire import Handle


def log_of(outcome):
    return Log([Call("step", (), {}, True, outcome)], {"check": (0, 1)})


def test_fingerprint_does_not_depend_on_how_many_results_were_kept_before():
    one, other = (log_of((np.ones(2), Handle(number))) for number in (1, 7))
    assert one.fingerprint("check") == other.fingerprint("check") != ""


def test_fingerprint_tells_values_apart():
    one, other = (log_of((np.full(2, value), Handle(1))) for value in (1.0, 2.0))
    assert one.fingerprint("check") != other.fingerprint("check")


def test_functions_that_call_each_other_are_followed_in_time_that_grows_with_their_number():
    """A student's source may have thousands. Compared with each other, these would take 20 s."""
    source = "".join(f"def f{number}(): f{number + 1}\n" for number in range(16_000))
    tree = ast.parse(source)
    start = time.process_time()
    assert len(list_used(tree, "f0")) == 16_000
    assert time.process_time() - start < 4
