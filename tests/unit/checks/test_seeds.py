"""The seed on which the numbers of hidden cases depend."""

import numpy as np

from grader.checks.suites import Live
from grader.steps.inputs import Draw

# Found by trying: their keys have the same hash of 32 bits.
ALIKE = (68525, 92963)


def numbers(draw):
    return {"x": draw.normal(8)}


def test_numbers_of_a_case_do_not_follow_from_32_bits():
    of_one_word = [Draw(seed, "numbers", 0, 0).normal(8) for seed in ALIKE]
    assert np.array_equal(*of_one_word)
    cases = [Live(seed).case(numbers, 0, {}, 0).arguments["x"] for seed in ALIKE]
    assert not np.isclose(*cases).any()


def test_a_case_is_the_same_every_time():
    cases = [Live(7).case(numbers, 0, {}, 0).arguments["x"] for _ in range(2)]
    assert np.array_equal(*cases)
