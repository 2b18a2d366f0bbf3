"""Where the time of grading goes: processor time of the judge and of the workers, in percent.

A stopwatch is put around functions of the judge; the time of an inner one is not counted for the
outer one. Workers run the worker program with two lines more, which note what the student's own
functions take. Processor time, because it says the same on a busy machine as on an idle one.
"""

import contextlib
import shutil
import statistics
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from students import students
from timing import children_cpu, family_cpu

from grader.checks import functions, suites
from grader.checks.laws import cases
from grader.engine import grading
from grader.intake.submission import Submission
from grader.isolation import PROGRAM, Process, client, hosts, process, start_host, wire
from grader.steps import registry

STUDENTS = 20
WORKERS = 16
# In the judge: what a row of the table is called, and the functions that belong to it.
JUDGE: dict[str, list[tuple[Any, str]]] = {
    "the checks and their laws": [(functions.CheckFunction, "run")],
    "making inputs": [(suites.Given, "case"), (cases.Case, "others"), (cases, "digest")],
    "torch, the reference": [(suites.Live, "expect")],
    "comparing values": [(cases, "matches")],
    "putting values into bytes and back": [(wire, "encode"), (wire, "decode")],
    "sending and receiving": [(client.Worker, "_exchange")],
    "starting and ending workers": [
        *((client.Worker, name) for name in ("__init__", "close")),
        *((hosts, "start_host"), (hosts.ForkingHost, "close")),
    ],
    "looking for causes": [(grading, "diagnose")],
}
# In the worker: around each call of a function of the student's.
CALLED = 'function = self.functions[request["function"]]'
CLOCK = """
_LOG = __import__("os").open({path!r}, 0o2001)


def _clocked(function):
    import os, time

    def call(*args, **kwargs):
        start = time.thread_time()
        try:
            return function(*args, **kwargs)
        finally:
            os.write(_LOG, struct.pack("d", time.thread_time() - start))

    return call


"""


class Stopwatch:
    """Processor seconds by name; a name that is entered inside another one stops that."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.inside = ["the rest of the judge"]
        self.last = time.process_time()

    def _charge(self) -> None:
        now = time.process_time()
        self.seconds[self.inside[-1]] += now - self.last
        self.last = now

    @contextlib.contextmanager
    def on(self, name: str) -> Iterator[None]:
        """Counts for `name` until the block ends, unless it is part of a search for causes."""
        self._charge()
        searching = "looking for causes" in self.inside
        self.inside.append("looking for causes" if searching else name)
        try:
            yield
        finally:
            self._charge()
            self.inside.pop()

    def around(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, counted for `name`."""

        def counted(*args: Any, **kwargs: Any) -> Any:
            with self.on(name):
                return function(*args, **kwargs)

        return counted


@contextlib.contextmanager
def watched(watch: Stopwatch) -> Iterator[None]:
    """Puts the stopwatch around everything in the table."""
    with contextlib.ExitStack() as stack:
        for name, places in JUDGE.items():
            for owner, attribute in places:
                counted = watch.around(name, getattr(owner, attribute))
                stack.enter_context(mock.patch.object(owner, attribute, counted))
        yield


@contextlib.contextmanager
def clocked_workers(folder: Path) -> Iterator[Path]:
    """Workers that write into a file how long each call of the student's took."""
    log, program = folder / "calls", folder / "worker" / PROGRAM.name
    log.touch()
    shutil.copytree(PROGRAM.parent, program.parent)
    session = program.with_name("session.py")
    text = session.read_text(encoding="utf-8")
    assert text.count(CALLED) == 1, "the worker program is another: adapt CALLED"
    text = text.replace(CALLED, "function = _clocked(self.functions[request['function']])")
    before, line, after = text.partition("class Session:")
    session.write_text(before + CLOCK.format(path=str(log)) + line + after, encoding="utf-8")
    with mock.patch.object(process, "PROGRAM", program):
        yield log


def _seconds_in(log: Path) -> tuple[float, int]:
    """Return the time of the calls together, and their number."""
    data = log.read_bytes()
    calls = struct.unpack(f"{len(data) // 8}d", data)
    return sum(calls), len(calls)


def starting(registered: registry.Registry) -> tuple[float, float]:
    """Return the start-up time of the worker program, and that of each idle worker."""
    empty = client.Program("empty", {"empty": ("import numpy as np\n", "empty")})
    spent = []
    for workers in (0, WORKERS) * 3:
        before = children_cpu()
        with start_host(Process(), registered.limits) as host:
            client.Worker(host, time.monotonic() + 60).close()
            for _ in range(workers):
                worker = client.Worker(host, time.monotonic() + 60)
                worker.load(empty)
                worker.close()
        spent.append(children_cpu() - before)
    start, all_of_it = statistics.median(spent[::2]), statistics.median(spent[1::2])
    return start, (all_of_it - start) / WORKERS


def measure(names: list[str]) -> tuple[Counter[str], int, int]:
    """Processor seconds of grading a class, by row; how many students, how many calls."""
    registered = registry.load()
    steps = [registered.find(name) for name in names] or list(registered.steps)
    everyone = students(STUDENTS, steps)
    watch, begun = Stopwatch(), [0]
    start, each = starting(registered)

    def work(grader: grading.Grader) -> tuple[Counter[str], int]:
        _grade(grader, "warm", everyone, registered, steps, 2)  # torch, and the cases
        with tempfile.TemporaryDirectory() as folder, clocked_workers(Path(folder)) as log:
            with watched(watch), _counting_workers(begun):
                before, searched = children_cpu(), family_cpu(host.process.pid)
                watch.last = time.process_time()
                _grade(grader, "", everyone, registered, steps, STUDENTS)
                watch._charge()
            children = children_cpu() - before
            searched = family_cpu(host.process.pid) - searched
            theirs, calls = _seconds_in(log)
        found = Counter(watch.seconds)
        found["worker: replaying known mistakes"] = searched
        found["worker: the interpreter and NumPy start"] = start * STUDENTS
        found["worker: one process for each step"] = each * begun[0]
        found["worker: the student's own functions"] = theirs
        rest = children - theirs - start * STUDENTS - each * begun[0]
        found["worker: reading requests, writing answers, loading steps"] = rest
        return found, calls

    with start_host(Process(), registered.limits) as host:
        found, calls = work(grading.make_grader(registered, host, "hidden", 7, steps))
    return found, STUDENTS, calls


@contextlib.contextmanager
def _counting_workers(begun: list[int]) -> Iterator[None]:
    start = hosts.ForkingHost.start

    def counted(host: hosts.ForkingHost) -> Any:
        begun[0] += 1
        return start(host)

    with mock.patch.object(hosts.ForkingHost, "start", counted):
        yield


def _grade(
    grader: Any, prefix: str, everyone: Any, registered: Any, steps: Any, count: int
) -> None:
    for name, sources in list(everyone.items())[:count]:
        with start_host(Process(), registered.limits) as host:
            grader.bench.begin_anew(host)
            grader.grade(Submission(prefix + name, sources), steps)


def main(*names: str) -> None:
    """Prints the table."""
    found, count, calls = measure(list(names))
    total = sum(found.values())
    what = f"steps {' '.join(names)}" if names else "all steps"
    print(
        f"grading one of {count} mixed submissions, {what}: {total / count:.3f} s of a processor, "
        f"{calls / count:.0f} calls of the student's functions"
    )
    for name, seconds in found.most_common():
        print(f"  {name:<60} {1e3 * seconds / count:7.1f} ms {100 * seconds / total:5.1f} %")


if __name__ == "__main__":
    main(*sys.argv[1:])
