"""Ask which version of Landlock this machine's kernel has."""

from __future__ import annotations

import ctypes
import sys

CREATE_RULESET = 444
ASK_VERSION = 1
# Before version 3, opening a read-only file could empty it.
LEAST = 3


def version() -> int:
    """Return the version of Landlock's interface, or 0 if there is none."""
    if not sys.platform.startswith("linux"):
        return 0
    number: int = ctypes.CDLL(None).syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ASK_VERSION)
    return max(0, number)
