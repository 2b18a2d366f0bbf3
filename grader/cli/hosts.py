"""Start the host of workers for a command, in the requested isolation."""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.steps.registry import Registry

if TYPE_CHECKING:
    from grader.isolation import Host, Isolation


@contextlib.contextmanager
def open_host(registry: Registry, isolation: str = "auto") -> "Iterator[Host]":
    """Yield a host for workers. isolation: `auto` is a plain process, for the user's own code.

    Enter this first, because NumPy loads in the host while the rest loads here.
    """
    from grader.isolation import Process, start_host

    here: Isolation = Process()
    if isolation not in ("auto", here.name):
        from grader.isolation.probe import isolation_for_grading

        here = isolation_for_grading(isolation, registry.limits)
    with contextlib.ExitStack() as stack:
        yield stack.enter_context(start_host(here, registry.limits))
        with contextlib.suppress(KeyboardInterrupt):  # the work is done, so its result counts
            stack.close()
