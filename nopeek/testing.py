"""Prove that a model of anybody's is causal: `from nopeek.testing import assert_causal`."""

from grader.testing.assertions import (
    assert_cache_agrees,
    assert_causal,
    assert_no_gradient_from_future,
    assert_padding_ignored,
    assert_prefix_invariant,
    assert_rows_independent,
    leak_map,
)
from grader.testing.leak_map import LeakMap

__all__ = [
    "LeakMap",
    "assert_cache_agrees",
    "assert_causal",
    "assert_no_gradient_from_future",
    "assert_padding_ignored",
    "assert_prefix_invariant",
    "assert_rows_independent",
    "leak_map",
]
