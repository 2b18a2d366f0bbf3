"""Grade a large class in earnest: killed again and again on two cores, then on a Dask cluster.

    python tests/bench/ten_thousand.py [--students N] [--kills N] [--folder PATH]

Half of the programs differ from all others in behaviour or text, one in twenty is hostile. It
shows how time and memory grow within one run, and whether both runs wrote the same files.
"""

import argparse
import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from students import Work, each_student, hand_in

from grader.steps import registry
from grader.steps.paths import ROOT
from grader.steps.registry import Step
from tests.corpora import hostile
from tests.support.clusters import local_cluster, results_kept

STEP = "4"
QUARTERS = 4
# When and how long is another in each run: in the gradebook, and on the class page.
LEFT_OUT = ("gradebook.db",)
SECONDS = (
    rb'<section aria-labelledby="slowest">.*?</section>'
    rb'|<td class="number">\d+\.\d</td>(?=<td>[^\n]*</td></tr>)'
    rb"|Graded [-\d]+ [:+\d]+"
)
FACTOR = """

_right_{number} = {name}


def {name}(*args, **kwargs):
    return _right_{number}(*args, **kwargs) * (1 + {number} / 1000)
"""
HELPER = "\n\ndef half_of_{number}(x):\n    return [x[i] * {number} for i in range({odd})]\n"


@dataclass
class Grown:
    """Students graded, seconds and MiB at each look."""

    looks: list[tuple[int, float, float]]

    def quarter(self, students: int, number: int) -> tuple[float, float]:
        """Return the seconds per student in that quarter of the class, and the peak memory."""
        first, last = (students * n // QUARTERS for n in (number, number + 1))
        inside = [look for look in self.looks if first <= look[0] <= last]
        (begun, start, _), (ended, stop, _) = inside[0], inside[-1]
        return (stop - start) / max(1, ended - begun), max(look[2] for look in inside)


def everyone(count: int, step: Step) -> Iterator[tuple[str, Work]]:
    """Return the class: of twenty, one is hostile, five are factors and five have a helper."""
    attacks = [a for a in hostile.attacks() if a.step.id == step.id and a.kept_in_by("process")]
    quick = [attack for attack in attacks if "timeout" not in attack.status]
    name = step.functions[0].name
    for number, (student, work) in enumerate(each_student(count, [step])):
        text = work[step.id]
        if number % 20 == 0:
            text = quick[number // 20 % len(quick)].source + f"\n# {number}\n"
        elif number % 4 == 1:
            text += FACTOR.format(name=name, number=number)
        elif number % 4 == 3:
            text += HELPER.format(number=number, odd=2 * number + 1)
        yield student, {step.id: text}


def resident_mib(pid: int) -> float:
    """Return the resident memory of a process, without its children."""
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 / 2**20
    return 0.0


def grade(folder: Path, out: Path, more: list[str], kills: int, students: int) -> Grown:
    """Run the command until it is over; kill it so many times on the way."""
    command = [sys.executable, "-m", "grader", "grade", str(folder), "--out", str(out)]
    command += ["--isolation", "process", "--seed", "7", "--step", STEP, *more]
    draw = random.Random(students)
    ends = sorted(draw.randrange(students) for _ in range(kills))
    looks, spent = [], 0.0
    while True:
        start = time.perf_counter()
        with (out.parent / f"{out.name}.txt").open("ab") as said:
            process = subprocess.Popen(command, cwd=ROOT, stdout=said, stderr=said)
        while process.poll() is None:
            done = results_kept(out)
            looks.append((done, spent + time.perf_counter() - start, resident_mib(process.pid)))
            if ends and done >= ends[0] and done < students:
                ends.pop(0)
                process.send_signal(signal.SIGKILL)
            time.sleep(1)
        spent += time.perf_counter() - start
        if process.returncode >= 0:
            return Grown(looks)


def differing(one: Path, other: Path) -> list[str]:
    """Return the files that are not the same in both folders."""
    names = {
        path.relative_to(root).as_posix()
        for root in (one, other)
        for path in root.rglob("*")
        if path.is_file() and not path.name.startswith(LEFT_OUT)
    }
    return sorted(name for name in names if _content(one / name) != _content(other / name))


def _content(path: Path) -> bytes:
    """Return a file's bytes, without when and how long submissions were graded."""
    return re.sub(SECONDS, b"", path.read_bytes(), flags=re.DOTALL) if path.exists() else b""


def show(title: str, grown: Grown, students: int) -> None:
    """Print seconds and memory by quarter, and how the last compares with the first."""
    quarters = [grown.quarter(students, number) for number in range(QUARTERS)]
    times = " ".join(f"{1e3 * spent:7.1f}" for spent, _ in quarters)
    sizes = " ".join(f"{peak:6.0f}" for _, peak in quarters)
    slower, larger = (quarters[-1][n] / quarters[0][n] for n in (0, 1))
    print(f"  {title:<32} ms a student {times}   MiB {sizes}   last quarter of the first:")
    print(f"  {'':<32} time {slower:.2f}, memory {larger:.2f}", flush=True)


def main() -> None:
    """Grade the class both ways and print what was seen."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--students", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="work there, and leave everything")
    options = parser.parse_args()
    step = registry.load().find(STEP)
    with contextlib.ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        there = hand_in(everyone(options.students, step), folder / "class")
        texts = {path.read_text() for path in there.rglob("*.py")}
        distinct = len({re.sub(r"# student\d+|# \d+", "", text) for text in texts})
        print(f"{options.students} students, {distinct} distinct programs, step {STEP}")
        cores = str(len(os.sched_getaffinity(0)))
        here = grade(there, folder / "here", ["--jobs", cores], options.kills, options.students)
        show(f"{cores} cores, killed {options.kills} times", here, options.students)
        address, _ = stack.enter_context(local_cluster(folder, int(cores)))
        away = grade(there, folder / "away", ["--scheduler", address], 0, options.students)
        show("a local Dask cluster", away, options.students)
        print(f"  files that differ: {differing(folder / 'here', folder / 'away')[:9]}")


if __name__ == "__main__":
    main()
