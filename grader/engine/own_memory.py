"""Limit the memory that judging may take, whatever a submission answers."""

import contextlib
import ctypes
import gc
from pathlib import Path

MEMORY_MIB = 640  # beyond what is loaded at first, which is about 250 MiB
LEFT_MIB = 256  # of them, what submissions may leave behind
M_MMAP_THRESHOLD, LARGE = -3, 2**17  # of glibc's mallopt, which raises it otherwise


def limit_memory() -> int:
    """Limit the memory of this process, and return how many bytes it holds now.

    It may take MEMORY_MIB more. If a check needs more than that, the check fails; the process and
    its other verdicts continue. Where nothing can be limited, 0 is returned.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, LARGE)  # large blocks leave no holes
    held = held_memory()
    if held:
        with contextlib.suppress(ImportError, OSError, ValueError):
            import resource

            _, hard = resource.getrlimit(resource.RLIMIT_DATA)
            resource.setrlimit(resource.RLIMIT_DATA, (held + MEMORY_MIB * 2**20, hard))
    return held


def held_memory() -> int:
    """Return how many bytes this process holds after it has freed what it can; 0 if unknown."""
    gc.collect()
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)  # what was freed goes back to the system
    with contextlib.suppress(IndexError, OSError, ValueError):
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(status.partition("VmData:")[2].split()[0]) * 1024
    return 0


def is_spent(first: int) -> bool:
    """Return whether too much was left behind since this process held `first` bytes."""
    return bool(first) and held_memory() > first + LEFT_MIB * 2**20
