"""Measure memory wherever it is held: every array and every object counts."""

from __future__ import annotations

import gc
import tracemalloc


def in_use(*, warm: bool = False) -> int:
    """Return the bytes in use of everything allocated since tracing began; start tracing if needed.

    From here on, `most` counts anew. warm: leave Python the freed lists, tuples and floats that it
    keeps for reuse. A full collection would return them.
    """
    gc.collect(1 if warm else 2)
    if not tracemalloc.is_tracing():
        tracemalloc.start()
    tracemalloc.reset_peak()
    return tracemalloc.get_traced_memory()[0]


def most() -> int:
    """Return the largest number of bytes that were in use at once."""
    return tracemalloc.get_traced_memory()[1]


def stop() -> None:
    """Stop tracing, which slows everything down."""
    if tracemalloc.is_tracing():
        tracemalloc.stop()
