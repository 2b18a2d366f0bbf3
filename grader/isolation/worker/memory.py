"""Memory, measured wherever it is held: every array and every object counts."""

from __future__ import annotations

import gc
import tracemalloc


def in_use(*, warm: bool = False) -> int:
    """Return the bytes in use of all that was allocated since tracing began, which it may now.

    From here on `most` counts anew. warm: leave Python the freed lists, tuples and floats that it
    keeps for reuse; a whole collection gives them back.
    """
    gc.collect(1 if warm else 2)
    if not tracemalloc.is_tracing():
        tracemalloc.start()
    tracemalloc.reset_peak()
    return tracemalloc.get_traced_memory()[0]


def most() -> int:
    """Return the most bytes that were in use at once."""
    return tracemalloc.get_traced_memory()[1]


def stop() -> None:
    """End tracing, which makes everything slow."""
    if tracemalloc.is_tracing():
        tracemalloc.stop()
