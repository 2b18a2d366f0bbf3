"""Measure the checks of one function on right code, the parts side by side in one run."""

import statistics
import time
from collections import defaultdict

from grader.engine.bench import Sitting
from grader.engine.grading import Grader, make_grader
from grader.intake.submission import read_folder
from grader.isolation import Process, start_host
from grader.steps import registry
from grader.steps.paths import ROOT
from grader.steps.registry import Function, Step

ROUNDS = 7
COMPARED = 2  # the part whose median the others are held against


def _seconds(grader: Grader, step: Step, function: Function) -> float:
    """Its visible checks on the solutions, once; the worker is there already."""
    solutions = read_folder(ROOT / "solutions", grader.registry)
    with Sitting(grader.bench, grader.attempt(solutions, step, grader.right)) as sitting:
        sitting.run(function.checks[:1])
        start = time.perf_counter()
        verdicts = sitting.run(function.checks)
        spent = time.perf_counter() - start
    assert all(verdict.points == verdict.max_points for verdict in verdicts)
    return spent


def medians() -> dict[tuple[Step, str], float]:
    """For every function that has checks; all functions in turn, round after round."""
    registered = registry.load()

    def work(grader: Grader) -> dict[tuple[Step, str], float]:
        times = defaultdict(list)
        for _ in range(ROUNDS):
            for step in registered.steps:
                for function in step.functions:
                    if function.checks:
                        times[step, function.name].append(_seconds(grader, step, function))
        return {name: statistics.median(spent) for name, spent in times.items()}

    with start_host(Process(), registered.limits) as host:
        found: dict[tuple[Step, str], float] = work(
            make_grader(registered, host, "visible", 0, registered.steps, thorough=False)
        )
    return found


def main() -> None:
    """Prints them, and the parts beside each other."""
    found = medians()
    print(f"the visible checks of one function, medians of {ROUNDS}              ms")
    for (step, name), spent in found.items():
        print(f"  {step.number:>2}  {name:<48} {spent * 1e3:8.1f}")
    for name, middle in (("median", statistics.median), ("mean", statistics.mean)):
        parts = {
            number: middle([spent for (step, _), spent in found.items() if step.part == number])
            for number in sorted({step.part for step, _ in found})
        }
        each = ", ".join(
            f"{number}: {spent * 1e3:.1f} ms ({spent / parts[COMPARED]:.2f} times)"
            for number, spent in parts.items()
        )
        print(f"{name} of each part, compared with Part {COMPARED}: {each}")


if __name__ == "__main__":
    main()
