"""Processor time of judging right code, as a multiple of `import torch`, now and at a commit.

Submissions of steps 1 to 14 are graded with hidden checks, one after another, under `process`.
Start-up is left out: the first two submissions, for which inputs and right results are made, are
not counted. Then come the solutions, programs by other authors, and the solutions once more. The
same program runs on this kit and on the one of the commit, in turn.
"""

import itertools
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from timing import children_cpu

from grader.intake.submission import read_folder
from grader.steps import registry
from grader.steps.paths import ROOT
from tests.sameness.__main__ import checked_out

BEFORE = "d4cd4514"  # calls were recorded, and answers that had passed were known again
ROUNDS = 3
AUTHORS = ROOT / "tests" / "corpora" / "unseen" / "right"
STEPS = 14
FIRST = 2  # submissions for which inputs and right results are made
SEEN, SEEN_LATER = "the solutions", "the solutions, after the others"
# Runs in the folder of a kit. It reads the submissions, and writes seconds for each of them.
PROGRAM = """
import json, os, sys, time
from pathlib import Path

from grader.engine import grading
from grader.intake.submission import Submission
from grader.isolation import Process, start_host
from grader.steps import registry


def spent(pid):
    data = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    own = sum(map(int, data[11:15])) / os.sysconf("SC_CLK_TCK")
    return own + sum(spent(int(child)) for child in children)


known = registry.load()
submissions = json.load(sys.stdin)
steps = [known.find(name) for name in submissions["solutions"]]
found = []
with start_host(Process(), known.limits) as trusted, start_host(Process(), known.limits) as host:
    grader = grading.make_grader(known, trusted, "hidden", 7, steps)
    for name, sources in submissions.items():
        grader.bench.begin_anew(host)
        judge, workers = time.process_time(), spent(host.process.pid) + spent(trusted.process.pid)
        report = grader.grade(Submission(name, sources), steps)
        assert report.score == report.max_score, name
        judge = time.process_time() - judge
        found.append((judge, spent(host.process.pid) + spent(trusted.process.pid) - workers))
json.dump(found, sys.stdout)
"""

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


def judge(kit: Path, submissions: Mapping[str, Sources]) -> list[list[float]]:
    """Seconds of the judge and of the workers, for each submission."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=kit,
        input=json.dumps(submissions),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: list[list[float]] = json.loads(done.stdout)
    return found


def torch_seconds() -> float:
    """Processor seconds of `import torch` in a new interpreter."""
    before = children_cpu()
    subprocess.run([sys.executable, "-c", "import torch"], check=True)
    return children_cpu() - before


def main() -> None:
    """Print the means over the solutions and over the programs by others, for both kits."""
    submissions = dict(right_submissions())
    with checked_out(BEFORE) as before:
        kits = {"now": ROOT, f"at {BEFORE}": before}
        torch, rounds = [], []
        for _ in range(ROUNDS):
            torch.append(torch_seconds())
            rounds.append([judge(kit, submissions) for kit in kits.values()])
    unit = statistics.median(torch)
    medians = np.median(rounds, axis=0) / unit  # by kit, submission, and judge or workers
    print(f"`import torch` takes {unit:.2f} s of a processor: the unit of this table")
    print(f"{'right code of steps 1 to 14':<30}{'kit':<14}{'judge':>8}{'workers':>9}{'both':>7}")
    known = np.array([name in (SEEN, SEEN_LATER) for name in submissions])
    known, others = known[FIRST:], ~known[FIRST:]
    for name, chosen in (("the solutions", known), ("other authors", others)):
        for kit, found in zip(kits, medians[:, FIRST:]):
            judging, working = found[chosen].mean(axis=0)
            print(f"{name:<30}{kit:<14}{judging:8.2f}{working:9.2f}{judging + working:7.2f}")


if __name__ == "__main__":
    main()
