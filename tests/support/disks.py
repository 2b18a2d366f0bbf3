"""Disks without room: the size that a file may reach is limited for a while."""

import contextlib
import resource


@contextlib.contextmanager
def little_room(most):
    """Let no file of this process grow above that many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
