"""Measure what one more student costs: `grade` on a class, and on a class ten times as large.

    python tests/bench/classes.py [STUDENTS]

All students hand in all steps. There are 20 different submissions, so the students that only the
larger class has are read, stored and published, and not judged.
"""

import sys
import tempfile
from pathlib import Path

from timing import Spent, spent

from grader.answer_key.variants import FAIR, MISTAKES, read
from grader.steps import registry
from grader.steps.paths import ROOT
from tests.support.stubs import write_solutions

KINDS = 20


def hand_in(folder: Path, count: int) -> Path:
    """Write the solutions for each student, with another right or wrong function in most."""
    steps = registry.load().steps
    others = [read(kind, step)[0] for step in steps for kind in (FAIR, MISTAKES)]
    for number in range(count):
        other = others[number % KINDS]
        there = write_solutions(folder / f"student{number:05d}", steps)
        (there / f"{other.step}.py").write_text(other.source, "utf-8")
    return folder


def graded(count: int) -> tuple[Spent, float]:
    """Return what `grade` took for a class, and how many bytes it wrote."""
    with tempfile.TemporaryDirectory() as name:
        there, out = hand_in(Path(name) / "class", count), Path(name) / "out"
        command = [sys.executable, "-m", "grader", "grade", str(there), "--out", str(out)]
        took = spent(command, ROOT)
        if took.status:
            raise SystemExit(f"grade failed: {took.last_line}")
        return took, sum(path.stat().st_size for path in out.rglob("*") if path.is_file())


def main(count: int = 1000) -> None:
    """Print a line for each class, and one for the students that only the larger one has."""
    small, large = graded(count // 10), graded(count)
    print(f"{'students':>10}{'seconds':>10}{'peak MiB':>10}{'kB a student':>14}")
    for size, (took, written) in ((count // 10, small), (count, large)):
        print(f"{size:>10}{took.wall:>10.1f}{took.peak:>10.0f}{written / size / 1e3:>14.1f}")
    more = (large[0].wall - small[0].wall) / (count - count // 10)
    print(f"one more student, whose work is known: {1e3 * more:.1f} ms")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
