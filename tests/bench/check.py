"""Measure a cold `check` beside `import torch`, in turn in one run: medians and ratios."""

import statistics
import sys
import tempfile
from pathlib import Path

from timing import check_part_one, spent

from grader.steps.paths import ROOT

ROUNDS = 7
COMMANDS = {
    "make check, all steps finished": ["make", "--silent", "check", "SUBMISSION=solutions"],
    "import torch": [sys.executable, "-c", "import torch"],
    "import of what the judge imports": [sys.executable, "-c", "import numpy, pytest, click"],
}


def in_turn(commands: dict[str, list[str]]) -> dict[str, float]:
    """Return the median time of each, after one run that does not count."""
    rounds = [[spent(command, ROOT).wall for command in commands.values()] for _ in range(ROUNDS)]
    return dict(zip(commands, map(statistics.median, zip(*rounds[1:]))))


def main() -> None:
    """Print the times of whole commands."""
    with tempfile.TemporaryDirectory() as name:
        part_one = check_part_one(Path(name) / "exercises")
        times = in_turn({**COMMANDS, "python -m grader check, Part I finished": part_one})
    torch = times["import torch"]
    print(f"{'whole processes, medians':<44}seconds   of `import torch`")
    for name, seconds in times.items():
        print(f"  {name:<42} {seconds:6.3f} {seconds / torch:8.2f}")


if __name__ == "__main__":
    main()
