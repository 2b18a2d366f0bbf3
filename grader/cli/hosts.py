"""Start the host of workers for a command, in the requested isolation, with one clear error."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.report.problem import Problem
from grader.steps.registry import KitError, Limits, Registry

if TYPE_CHECKING:
    from grader.isolation import Host, Isolation


def _choose_isolation(name: str, limits: Limits) -> Isolation:
    """Return the isolation for the user's own code, probed if it is a sandbox."""
    if name in ("auto", "process"):
        from grader.isolation import Process

        return Process()
    from grader.isolation.probe import isolation_for_grading

    return isolation_for_grading(name, limits)


@contextlib.contextmanager
def open_host(registry: Registry, isolation: str = "auto") -> Iterator[Host]:
    """Yield a host for workers.

    Enter this first, because NumPy loads in the host while the rest loads here.
    """
    from grader.isolation import SandboxError, start_host

    try:
        with contextlib.ExitStack() as stack:
            isolated = _choose_isolation(isolation, registry.limits)
            yield stack.enter_context(start_host(isolated, registry.limits))
            with contextlib.suppress(KeyboardInterrupt):  # the work is done, so its result counts
                stack.close()
    except (SandboxError, KitError) as error:
        raise Problem(str(error)) from None
