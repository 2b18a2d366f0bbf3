"""Measure how long commands and calls take, in turn in one run: medians and ratios.

Run it with `make bench`, or with the names of some subjects. Machines differ and are busy, so look
at the ratios.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import diagnosing
import functions
import numpy as np
import saving
from timing import check_part_one

from grader.isolation import Process, client, start_host
from grader.steps import registry
from grader.steps.paths import ROOT

ROUNDS = 7
CALLS = 2000

FINISHED = ["check", "--submission", "solutions"]
IMPORTS = "import numpy, pytest, click"
PART_ONE = "python -m grader check, Part I finished, then stubs"
WHOLE = {
    "make check, all steps finished": ["make", "--silent", "check", "SUBMISSION=solutions"],
    "python -m grader check, the same": [sys.executable, "-m", "grader", *FINISHED],
    "import torch": [sys.executable, "-c", "import torch"],
    "import of what the judge imports": [sys.executable, "-c", IMPORTS],
    "interpreter and NumPy": [sys.executable, "-c", "import numpy"],
}


def seconds(command: list[str]) -> float:
    """One run of a command."""
    start = time.perf_counter()
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=False)
    return time.perf_counter() - start


def in_turn(commands: dict[str, list[str]]) -> dict[str, float]:
    """The median time of each, after one run that does not count."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for round_number in range(ROUNDS + 1):
        for name, command in commands.items():
            spent = seconds(command)
            if round_number:
                times[name].append(spent)
    return {name: statistics.median(spent) for name, spent in times.items()}


def per_call(call: Callable[[], object]) -> float:
    """Microseconds, the median of several batches."""
    batches = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(CALLS // ROUNDS):
            call()
        batches.append((time.perf_counter() - start) / (CALLS // ROUNDS))
    return statistics.median(batches) * 1e6


def overhead() -> list[tuple[str, float, float]]:
    """Measure a call through the worker, and the same call here, on small and larger arrays."""
    registered = registry.load()
    source = (ROOT / "solutions" / "step02_scores.py").read_text(encoding="utf-8")
    here: dict[str, Callable[..., object]] = {}
    exec(compile(source, "step02_scores.py", "exec"), here)
    rows = []
    with start_host(Process(), registered.limits) as host:
        worker = client.Worker(host, time.monotonic() + 600)
        worker.load(client.Program("step02_scores", {"step02_scores": (source, "step02")}))
        for size in (4, 64, 256):
            q = k = np.random.default_rng(0).standard_normal((4, size, size))
            there = per_call(lambda: worker.call("attention_scores", [q, k], {}))  # noqa: B023
            alone = per_call(lambda: here["attention_scores"](q, k))  # noqa: B023
            rows.append((f"attention_scores, q and k of shape (4, {size}, {size})", there, alone))
    return rows


def commands() -> None:
    """Print the times of whole commands."""
    with tempfile.TemporaryDirectory() as name:
        times = in_turn({**WHOLE, PART_ONE: check_part_one(Path(name) / "exercises")})
    torch = times["import torch"]
    print(f"whole processes, medians of {ROUNDS}                       seconds   of `import torch`")
    for name, spent in times.items():
        print(f"  {name:<51} {spent:7.3f}   {spent / torch:6.2f}")


def calls() -> None:
    """Print the time of a call of a student's function."""
    print("one call of a student's function                   in the worker   here   ratio")
    for name, there, alone in overhead():
        print(f"  {name:<48} {there:8.0f} µs {alone:8.0f} µs {there / alone:6.1f}")


SUBJECTS = {
    "commands": commands,
    "calls": calls,
    "functions": functions.main,
    "diagnosing": diagnosing.main,
    "saving": saving.main,
}


def main() -> None:
    """Run the subjects named on the command line, or all."""
    unknown = set(sys.argv[1:]) - SUBJECTS.keys()
    if unknown:
        sys.exit(f"no such subject: {', '.join(sorted(unknown))}; there are {', '.join(SUBJECTS)}")
    for number, name in enumerate(sys.argv[1:] or SUBJECTS):
        print("\n" * bool(number), end="")
        SUBJECTS[name]()


if __name__ == "__main__":
    main()
