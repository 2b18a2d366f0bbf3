"""Processor time of judging right code, as a multiple of `import torch`.

Submissions of steps 1 to 14 are graded with hidden checks, one after another, under `process`.
Start-up is left out: the first two submissions, for which inputs and right results are made, are
not counted. Then come the solutions, programs by other authors, and the solutions once more.
"""

import itertools
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from timing import children_cpu, family_cpu

from grader.engine.grading import make_grader
from grader.intake.submission import Submission, read_folder
from grader.isolation import Process, start_host
from grader.steps import registry
from grader.steps.paths import ROOT

ROUNDS = 3
AUTHORS = ROOT / "tests" / "corpora" / "unseen" / "right"
STEPS = 14
FIRST = 2  # submissions for which inputs and right results are made
SEEN, SEEN_LATER = "the solutions", "the solutions, after the others"

Sources = Mapping[str, str]


def read(folder: Path) -> Sources:
    """The step files of a folder."""
    return dict(read_folder(folder, registry.load()).sources)


def right_submissions() -> Iterator[tuple[str, Sources]]:
    """The solutions, each time with another comment; in between others, Part I and II by two."""
    solutions = dict(list(read(ROOT / "solutions").items())[:STEPS])

    def again(mark: str) -> Sources:
        return {name: f"{text}\n# {mark}\n" for name, text in solutions.items()}

    yield "solutions", solutions
    for mark in ("solutions, the second time", SEEN):
        yield mark, again(mark)
    programs = {path.name: read(path) for path in sorted(AUTHORS.iterdir())}
    first = [(n, p) for n, p in programs.items() if [*p] == list(solutions)[:8]]
    second = [(n, p) for n, p in programs.items() if [*p] == list(solutions)[8:]]
    for (name, one), (other, two) in zip(first, itertools.cycle(second)):
        yield f"{name} and {other}", {**one, **two}
    yield SEEN_LATER, again(SEEN_LATER)


def judge(submissions: Mapping[str, Sources]) -> list[tuple[float, float]]:
    """Seconds of the judge and of the workers, for each submission."""
    known = registry.load()
    steps, found = known.steps[:STEPS], []
    hosts = (start_host(Process(), known.limits) for _ in range(2))
    with next(hosts) as trusted, next(hosts) as host:
        grader = make_grader(known, trusted, "hidden", 7, steps)
        pids = trusted.process.pid, host.process.pid
        for name, sources in submissions.items():
            grader.bench.begin_anew(host)
            judging, working = time.process_time(), sum(map(family_cpu, pids))
            report = grader.grade(Submission(name, sources), steps)
            if report.score != report.max_score:
                raise SystemExit(f"{name} is not right")
            judging = time.process_time() - judging
            found.append((judging, sum(map(family_cpu, pids)) - working))
    return found


def torch_seconds() -> float:
    """Processor seconds of `import torch` in a new interpreter."""
    before = children_cpu()
    subprocess.run([sys.executable, "-c", "import torch"], check=True)
    return children_cpu() - before


def main() -> None:
    """Print the means over the solutions and over the programs by others."""
    submissions = dict(right_submissions())
    unit = statistics.median(torch_seconds() for _ in range(ROUNDS))
    rounds = [judge(submissions) for _ in range(ROUNDS)]
    medians = np.median(rounds, axis=0) / unit  # by submission, and judge or workers
    print(f"`import torch` takes {unit:.2f} s of a processor: the unit of this table")
    print(f"{'right code of steps 1 to 14':<30}{'judge':>8}{'workers':>9}{'both':>7}")
    known = np.array([name in (SEEN, SEEN_LATER) for name in submissions])[FIRST:]
    for name, chosen in (("the solutions", known), ("other authors", ~known)):
        judging, working = medians[FIRST:][chosen].mean(axis=0)
        print(f"{name:<30}{judging:8.2f}{working:9.2f}{judging + working:7.2f}")


if __name__ == "__main__":
    main()
