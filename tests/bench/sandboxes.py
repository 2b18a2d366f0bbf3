"""Measure the cost of isolation: starting a sandbox, and a worker in it, in milliseconds."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable

import numpy as np

from grader.isolation import Bubblewrap, Isolation, Process, ProcessPlus, start_host
from grader.isolation.client import Program, Worker
from grader.isolation.world import find_world
from grader.steps import registry

STARTS, WORKERS = 10, 100
SOURCE = "import numpy as np\n\ndef linear(x, weight):\n    return x @ weight\n"


def _milliseconds(action: Callable[[], object]) -> float:
    begin = time.perf_counter()
    action()
    return 1000 * (time.perf_counter() - begin)


def _sandbox_starts(isolation: Isolation, limits: registry.Limits) -> float:
    """From nothing to the first worker's number, and all of it ended again."""

    def once() -> None:
        with start_host(isolation, limits) as host:
            Worker(host, math.inf).close()

    return statistics.median(_milliseconds(once) for _ in range(STARTS))


def _worker_serves(isolation: Isolation, limits: registry.Limits) -> float:
    """A worker forked, a small step loaded, one call answered, the worker ended."""
    x = np.ones((4, 8))

    with start_host(isolation, limits) as host:

        def once() -> None:
            worker = Worker(host, math.inf)
            worker.load(Program("step", {"step": (SOURCE, "step.py")}))
            worker.call("linear", [x, x.T], {})
            worker.close()

        once()
        return statistics.median(_milliseconds(once) for _ in range(WORKERS))


def main() -> None:
    """Prints the table."""
    limits, world = registry.load().limits, find_world()
    kinds: list[Isolation] = [
        Process(),
        ProcessPlus(world, limits),
        Bubblewrap(world, limits),
    ]
    print(f"{'isolation':<12}{'start and end':>16}{'worker':>12}   (ms, median)")
    for kind in kinds:
        started, served = _sandbox_starts(kind, limits), _worker_serves(kind, limits)
        print(f"{kind.name:<12}{started:>16.1f}{served:>12.2f}")


if __name__ == "__main__":
    main()
