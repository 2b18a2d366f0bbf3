"""Limit the memory that judging may take, whatever a submission answers."""

from __future__ import annotations

import contextlib
import ctypes
import gc
from pathlib import Path

MEMORY_MIB = 640  # beyond what is loaded, which is about 300 MiB


def limit_memory() -> None:
    """Limit the memory of this process beyond what it has loaded.

    If a check needs more, that check fails; the process and its other verdicts continue.
    """
    gc.collect()
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)  # what was freed goes back to the system
    with contextlib.suppress(ImportError, IndexError, OSError, ValueError):
        import resource

        status = Path("/proc/self/status").read_text(encoding="ascii")
        held = int(status.partition("VmData:")[2].split()[0]) * 1024
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (held + MEMORY_MIB * 2**20, hard))
