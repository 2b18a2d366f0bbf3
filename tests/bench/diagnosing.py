"""Measure the cost of the diagnosis: the same programs with the checks alone, and with causes."""

import statistics
import time

from grader.answer_key.variants import FAIR, MISTAKES, Variant, read
from grader.engine.grading import Grader, make_grader
from grader.isolation import Process, start_host
from grader.steps import registry
from grader.steps.registry import Step

EVERY = 6
ROUNDS = 3


def seconds(grader: Grader, variant: Variant, step: Step, thorough: bool) -> float:
    """One grading of one step."""
    grader.thorough = thorough
    start = time.perf_counter()
    grader.find_causes(variant.submission, step)
    return time.perf_counter() - start


def both(grader: Grader, variant: Variant, step: Step) -> tuple[float, float]:
    """The checks alone, and with causes: the medians, taken in turn."""
    pairs = [
        (seconds(grader, variant, step, False), seconds(grader, variant, step, True))
        for _ in range(ROUNDS)
    ]
    alone, caused = zip(*pairs)
    return statistics.median(alone), statistics.median(caused)


def measured(grader: Grader, step: Step) -> dict[str, list[tuple[float, float]]]:
    """Both for a sample of right programs and of wrong ones."""
    samples = {"passes": read(FAIR, step)[::EVERY], "fails": read(MISTAKES, step)[::EVERY]}
    return {
        kind: [both(grader, variant, step) for variant in sample]
        for kind, sample in samples.items()
    }


def main() -> None:
    """Print, for each step, the time that causes add to the checks."""
    known = registry.load()
    print("checks alone, and what causes add, medians, milliseconds")
    print(f"  {'':<20}{'it passes:':>12}{'more':>7}{'it fails:':>13}{'more':>7}{'ratio':>8}")
    with start_host(Process(), known.limits) as host:
        for step in known.steps:
            found = measured(make_grader(known, host, "visible", 0, [step]), step)
            row = f"  {step.id:<20}"
            for pairs, width in zip(found.values(), (12, 13)):
                alone = statistics.median(pair[0] for pair in pairs) * 1e3
                more = statistics.median(pair[1] - pair[0] for pair in pairs) * 1e3
                row += f"{alone:>{width}.0f}{more:>7.0f}"
            ratio = statistics.median((b - a) / a for a, b in found["fails"])
            print(f"{row}{ratio:>8.2f}")


if __name__ == "__main__":
    main()
