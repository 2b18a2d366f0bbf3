"""Measure `check()` in a notebook, from running the cell to its answer, in a real kernel.

A right one of Part I is also compared with a cold `check` of the same part, in the same run.
"""

import statistics
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from jupyter_client.manager import start_new_kernel
from timing import check_part_one, family_cpu, spent

from grader.answer_key.variants import MISTAKES, read
from grader.notebooks.saving import cell_of
from grader.steps import registry
from grader.steps.paths import ROOT
from grader.steps.stubs import solution_of
from tests.support import kernels
from tests.support.stubs import write_solutions

ROUNDS = 9
AIM = 0.1  # of a cold check
BEGIN = "from grader.notebook import check, lesson"
QUIET = ["--log-level=ERROR"]  # a kernel warns that its sockets are not encrypted


@contextmanager
def kernel(home: Path):
    """A client of a new kernel, which writes nothing outside that folder, and its process."""
    manager, client = start_new_kernel(env=kernels.variables(home), extra_arguments=QUIET)
    try:
        yield client, manager.provisioner.process.pid
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def ran(client, text: str) -> float:
    """Seconds until a cell is done; RuntimeError if it raised."""
    start = time.perf_counter()
    reply = client.execute_interactive(text, output_hook=lambda message: None)
    seconds = time.perf_counter() - start
    if reply["content"]["status"] != "ok":
        raise RuntimeError(f"a cell raised {reply['content'].get('evalue')}")
    return seconds


def taken(client, pid: int, text: str, check: str) -> tuple[float, float]:
    """The median time of a check of that text, and its mean processor time, in milliseconds."""
    ran(client, text)
    ran(client, check)
    before = family_cpu(pid)
    median = statistics.median(ran(client, check) for _ in range(ROUNDS))
    return median * 1e3, (family_cpu(pid) - before) / ROUNDS * 1e3


def main() -> None:
    """Prints medians for each step: right, with a known mistake, and that function alone."""
    medians, right_ones, cold = [], [], []
    kinds = ("right", "mistake", "its function")
    print(f"check() in a notebook, medians of {ROUNDS} and (processor time), milliseconds")
    print(f"  {'':<22}{'first':>8}" + "".join(f"{kind:>16}" for kind in kinds))
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        write_solutions(home / "exercises", registry.load().steps)
        command = check_part_one(home / "part one")
        for step in registry.load().steps:
            right, mistake = cell_of(solution_of(step)), read(MISTAKES, step)[0]
            wrong, function = cell_of(mistake.source), f"check({mistake.replaces!r})"
            with kernel(home) as (client, pid):
                ran(client, f"{BEGIN}\nlesson({step.id!r})\n{right}")
                first = ran(client, "check()") * 1e3
                ways = ((right, "check()"), (wrong, "check()"), (wrong, function))
                times = [taken(client, pid, *way) for way in ways]
            medians += [wall for wall, _ in times]
            if step.part == 1:
                right_ones.append(times[0][0])
                cold.append(spent(command, ROOT).wall * 1e3)
            cells = "".join(f"{f'{wall:.0f} ({cpu:.0f})':>16}" for wall, cpu in times)
            print(f"  {step.id:<22}{first:>8.0f}{cells}", flush=True)
    middle = statistics.median(medians)
    print(f"  median of all {middle:.0f}, slowest {max(medians):.0f}")
    right, whole = statistics.median(right_ones), statistics.median(cold)
    print(f"  right, Part I: {right:.0f}, {right / whole:.2f} of a cold check of it (aim: {AIM})")


if __name__ == "__main__":
    main()
