"""Test the notes about the calls of an attempt."""

import numpy as np

from grader.diagnosis.calls import Call, Log
from grader.isolation.wire import Handle


def log_of(outcome):
    return Log([Call("step", (), {}, True, outcome)], {"check": (0, 1)})


def test_fingerprint_does_not_depend_on_how_many_results_were_kept_before():
    one, other = (log_of((np.ones(2), Handle(number))) for number in (1, 7))
    assert one.fingerprint("check") == other.fingerprint("check") != ""


def test_fingerprint_tells_values_apart():
    one, other = (log_of((np.full(2, value), Handle(1))) for value in (1.0, 2.0))
    assert one.fingerprint("check") != other.fingerprint("check")
