"""Time one more token, with a cache and without, as the sequence grows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from grader.notebooks.display import Shown
from grader.notebooks.drawing import chart, show_pictures
from grader.notebooks.pictures import Curve

FEW = 5  # calls, of which the shortest time counts: what else the machine does makes some longer

Append = Callable[[int, int, Any], Any]
Whole = Callable[[int], Any]


def longest(lengths: Sequence[int]) -> int:
    """Return how many tokens are needed for that."""
    return lengths[-1] + FEW


def against_length(lengths: Sequence[int], append: Append, whole: Whole) -> Shown:
    """Return the time of one more token after growing numbers of tokens, both ways.

    append(start, end, cache): returns a cache that holds those tokens too; None is an empty cache.
    whole(end): computes all tokens up to there, without a cache.
    """
    cached = [_after(length, append) * 1e3 for length in lengths]
    again = [min(_time_call(whole, length + 1) for _ in range(FEW)) * 1e3 for length in lengths]
    lines = [Curve("with the cache", lengths, cached), Curve("all again", lengths, again)]
    picture = chart("one more token takes", "tokens so far", "milliseconds", lines)
    ends = (
        f"After {lengths[-1]} tokens: {cached[-1]:.2f} ms with the cache, {again[-1]:.2f} without."
    )
    return show_pictures([picture], ends)


def _after(length: int, append: Append) -> float:
    """Return seconds for one token after so many, the shortest of a few trials."""
    cache = append(0, length, None)
    seconds = []
    for t in range(length, length + FEW):
        start = time.perf_counter()
        cache = append(t, t + 1, cache)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def _time_call(function: Callable[..., Any], *arguments: Any) -> float:
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start
