"""Memory, measured wherever it is held: every array and every object counts."""

from __future__ import annotations

import gc
import tracemalloc


def in_use() -> int:
    """Return the bytes in use of all that was allocated since tracing began, which it may now.

    From here on `most` counts anew.
    """
    gc.collect()
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
