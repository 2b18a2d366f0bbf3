"""Count the tokens of a call with a cache, and those already in that cache."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grader.diagnosis.calls import Call
from grader.isolation.wire import Handle, Laid

NEW, ALL = "T_new", "the tokens so far"


def count_tokens_fed(calls: Sequence[Call]) -> dict[str, int]:
    """Return the new tokens of the last call, and all so far, or {} if it has no cache.

    Earlier tokens are found through the caches that earlier calls returned. ALL is left out if one
    of these is not among the calls.
    """
    if not calls or _cache(calls[-1]) is None:
        return {}
    new = _new(calls[-1])
    before = _before(_cache(calls[-1]), calls[:-1])
    return {NEW: new} if before is None else {NEW: new, ALL: before + new}


def _before(cache: Handle | None, calls: Sequence[Call]) -> int | None:
    """Return how many tokens went into a cache, or None if that is not known."""
    total = 0
    for call in reversed(calls):
        if cache in _find_returned(call):
            total, cache = total + _new(call), _cache(call)
            if cache is None:
                return total
    return None


def _find_returned(call: Call) -> list[Handle]:
    several = isinstance(call.outcome, (list, tuple))
    values = call.outcome if several else [call.outcome]
    return [value for value in values if isinstance(value, Handle)]


def _cache(call: Call) -> Handle | None:
    """Return the cache among a call's arguments, which also show what is new."""
    handles = (value for value in [*call.args, *call.kwargs.values()] if isinstance(value, Handle))
    return next(handles, None)


def _new(call: Call) -> int:
    """Return how many new tokens a call has; vectors have their features after the time axis."""
    first = next(iter([*call.args, *call.kwargs.values()]), None)
    array = first.array if isinstance(first, Laid) else first
    if not isinstance(array, np.ndarray):
        return 0  # as where an empty cache is made
    return int(array.shape[-1 if array.dtype.kind in "iu" else -2])
