"""From a save to the verdict in `make watch`, as a user sees it, against a cold check.

The command runs in a terminal of its own; the clock starts before the file is written and stops
when the step's line is on the screen, and once more when the explanation below it is. Part I is
finished. The cold check is one of the whole folder.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

import pexpect
from timing import check_part_one, spent

from grader.steps.paths import ROOT

ROUNDS = 9
PAUSE = 0.3
AIM = 0.05  # of the cold check, for a right save's line
STEP = "step02_scores"
# What a save ends in on the screen: the step's line, and the last line of all.
RIGHT = ("passed", "Next: ")
WRONG = ("needs work", "Also failing")
MISTAKE = "\ndef attention_scores(q, k):\n    return q @ np.swapaxes(k, -1, -2)\n"


def saved(terminal: pexpect.spawn, path: Path, text: str, words: tuple[str, str]) -> list[float]:
    """Seconds from a save to the step's line, and to the end of what is said."""
    time.sleep(PAUSE)  # somebody is thinking
    start, times = time.perf_counter(), []
    path.write_text(text, encoding="utf-8")
    for each in words:
        terminal.expect_exact(each)
        times.append(time.perf_counter() - start)
    return times


def main() -> None:
    """Prints medians for a right save and a wrong one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "mine"
        check = check_part_one(folder)
        path = folder / f"{STEP}.py"
        right = path.read_text(encoding="utf-8")
        kinds = {"right": (right, RIGHT), "wrong": (right + MISTAKE, WRONG)}
        command = ["-m", "grader", "watch", "--submission", str(folder)]
        with pexpect.spawn(sys.executable, command, cwd=ROOT, timeout=60) as terminal:
            terminal.expect_exact("watching")
            times = {kind: [] for kind in kinds}
            for _ in range(ROUNDS):
                for kind, (text, words) in kinds.items():
                    row = [*saved(terminal, path, text, words), spent(check, ROOT).wall]
                    times[kind].append(row)
            terminal.sendintr()
            terminal.expect(pexpect.EOF)
    print(f"save to verdict in `make watch`, one step, medians of {ROUNDS}, milliseconds")
    print(f"  {'':<18}{'its line':>10}{'all said':>10}{'cold check':>12}{'of it':>10}{'':>8}")
    for kind, rows in times.items():
        line, said, cold = (statistics.median(column) * 1e3 for column in zip(*rows))
        print(
            f"  a {kind + ' save':<16}{line:>10.0f}{said:>10.0f}{cold:>12.0f}"
            f"{line / cold:>10.2f}{said / cold:>8.2f}"
        )
    print(f"  (the aim: {AIM} for a right save's line)")


if __name__ == "__main__":
    main()
