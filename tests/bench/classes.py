"""Grading a class, side by side with nbgrader and otter: the same functions, the same students.

    python tests/bench/classes.py [--students N] [--theirs N] [--rounds N] [--isolation NAME]

Seconds by the clock, so the machine must have nothing else to do. What does not grow with the class
is taken off by grading a class of half the size too.
"""

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import rivals
from students import KINDS, Work, hand_in, students
from timing import Spent, spent

from grader.steps import registry
from grader.steps.paths import ROOT
from grader.steps.registry import Registry, Step

Graded = Callable[[Mapping[str, Work], Path], Spent]
ASSIGNMENTS = {"one step (4, softmax)": ["4"], "all steps": []}


@dataclass(frozen=True)
class Rate:
    """Seconds per student: with everything, and without what a class of any size takes."""

    whole: float
    more: float


@dataclass(frozen=True)
class Options:
    """The options on the command line."""

    students: int
    theirs: int
    rounds: int
    isolation: str


def ours(options: Options, steps: Sequence[Step], jobs: int) -> Graded:
    """Our own command, in as many processes as that."""
    named = [part for step in steps for part in ("--step", step.id)]
    command = [sys.executable, "-m", "grader", "grade"]
    more = ["--jobs", str(jobs), "--isolation", options.isolation, "--seed", "7", *named]

    def grade(everyone: Mapping[str, Work], folder: Path) -> Spent:
        there = hand_in(everyone.items(), folder / "class")
        took = spent([*command, str(there), "--out", str(folder / "out"), *more], ROOT)
        if took.status:
            raise rivals.NotThere(f"grade failed: {took.last_line}")
        return took

    return grade


def theirs(tool: str, tests: rivals.Tests) -> Graded:
    """nbgrader or otter; it must at least accept the work that is right."""

    def grade(everyone: Mapping[str, Work], folder: Path) -> Spent:
        took, failed = getattr(rivals, tool)(everyone, tests, folder)
        right = [name for name, kind in zip(everyone, KINDS * len(everyone)) if kind == "right"]
        if any(failed[name] for name in right):
            raise rivals.NotThere(f"{tool} rejects work that is right")
        return took

    return grade


def rate(grade: Graded, steps: Sequence[Step], count: int, rounds: int) -> Rate:
    """Medians over several rounds of a class, and of half of it."""
    found: dict[int, list[Spent]] = {count: [], count // 2: []}
    for _ in range(rounds):
        for size, times in found.items():
            with tempfile.TemporaryDirectory() as folder:
                times.append(grade(students(size, steps), Path(folder) / "work"))
    half = count // 2
    all_of_it, half_of_it = (
        statistics.median(took.wall for took in found[size]) for size in (count, half)
    )
    return Rate(all_of_it / count, (all_of_it - half_of_it) / (count - half))


def _line(name: str, count: int, found: Rate, best: Rate) -> str:
    ratios = f"{found.whole / best.whole:12.1f} {found.more / best.more:9.1f}"
    return f"  {name:<36} {count:8d} {found.whole:10.3f} {found.more:9.3f} {ratios}"


def side_by_side(registered: Registry, title: str, names: list[str], options: Options) -> None:
    """One table: everyone's seconds per student for one assignment, and the ratios to ours."""
    steps = [registered.find(name) for name in names] or list(registered.steps)
    tests = rivals.tests_of(registered, steps)
    calls = sum(test.count("assert alike(") for step in tests.values() for test in step.values())
    checks = sum(len(step.checks) for step in steps)
    print(f"\n{title}: {checks} checks of ours, {calls} assertions of nbgrader's and otter's")
    print(f"  seconds per student{'':18}students      whole  no start   times ours  no start")
    best = None
    for jobs in sorted({1, len(os.sched_getaffinity(0))}, reverse=True):
        found = rate(ours(options, steps, jobs), steps, options.students, options.rounds)
        best = best or found
        name = f"nopeek, {options.isolation}, --jobs {jobs}"
        print(_line(name, options.students, found, best), flush=True)
    assert best is not None
    for tool in rivals.WANTED:
        try:
            found = rate(theirs(tool, tests), steps, options.theirs, min(options.rounds, 3))
            print(_line(f"{tool}, no isolation", options.theirs, found, best), flush=True)
        except rivals.NotThere as error:
            print(f"  {tool:<36} not measured: {error}", flush=True)


def scaling(registered: Registry, options: Options) -> None:
    """Twice and four times the students, one job and two: seconds, ratios, memory."""
    steps = list(registered.steps)
    print("\nour own, all steps          seconds per student    of the smallest class    peak MiB")
    first: dict[int, float] = {}
    jobs_there = len(os.sched_getaffinity(0))
    for jobs in sorted({1, jobs_there}):
        for factor in (1, 2, 4):
            count = options.students // 4 * factor
            walls, peak = [], 0.0
            for _ in range(options.rounds):
                with tempfile.TemporaryDirectory() as folder:
                    grade = ours(options, steps, jobs)
                    took = grade(students(count, steps), Path(folder) / "work")
                walls.append(took.wall / count)
                peak = max(peak, took.peak)
            wall = statistics.median(walls)
            base = first.setdefault(jobs, wall)
            numbers = f"{wall:18.3f} {wall / base:24.2f} {peak:13.0f}"
            print(f"  --jobs {jobs}, {count:4d} students {numbers}", flush=True)
            last = wall
        if jobs == 1:
            alone = last
    if jobs_there > 1:
        print(f"  {jobs_there} jobs are {alone / last:.2f} times as fast as one")


def main() -> None:
    """Prints all tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--students", type=int, default=100, help="of ours")
    parser.add_argument("--theirs", type=int, default=4, help="of nbgrader's and otter's")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--isolation", default="bubblewrap")
    options = Options(**vars(parser.parse_args()))
    if os.getloadavg()[0] > 0.5:
        print(f"the machine is busy (load {os.getloadavg()[0]:.1f}): these times mean little")
    registered = registry.load()
    for title, names in ASSIGNMENTS.items():
        side_by_side(registered, title, names, options)
    scaling(registered, options)


if __name__ == "__main__":
    main()
