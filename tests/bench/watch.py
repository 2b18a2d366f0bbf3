"""From a save to the verdict in `make watch`, as a user sees it, against a cold check.

The command runs in a terminal of its own; the clock starts before the file is written and stops
when the step's line is on the screen, and once more when the explanation below it is. Part I is
finished. The cold check is one of the whole folder.
"""

import os
import pty
import select
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from timing import check_part_one

from grader.steps.paths import ROOT

ROUNDS = 9
PAUSE = 0.3
AIM = 0.05  # of the cold check, for a right save's line
STEP = "step02_scores"
# What a save ends in on the screen: the step's line, and the last line of all.
RIGHT = ("passed", "Next: ")
WRONG = ("needs work", "Also failing")
MISTAKE = "\ndef attention_scores(q, k):\n    return q @ np.swapaxes(k, -1, -2)\n"


class Terminal:
    """`make watch` in a terminal, and what it has written."""

    def __init__(self, folder: Path) -> None:
        self.master, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "grader", "watch", "--submission", str(folder)],
            cwd=ROOT,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.text = ""

    def until(self, words: str, seconds: float = 60.0) -> float:
        """The time at which these words have been written; forgets what stands before them."""
        deadline = time.monotonic() + seconds
        while words not in self.text:
            if not select.select([self.master], [], [], deadline - time.monotonic())[0]:
                raise TimeoutError(f"{words!r} did not come, but {self.text!r}")
            self.text += os.read(self.master, 2**16).decode(errors="replace")
        self.text = self.text.partition(words)[2]
        return time.perf_counter()

    def close(self) -> None:
        """Ends it as Ctrl-C does."""
        os.write(self.master, b"\x03")
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.terminate()
            self.process.wait()
        os.close(self.master)


def cold(command: list[str]) -> float:
    """Seconds for a whole `python -m grader check`."""
    start = time.perf_counter()
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def saved(terminal: Terminal, path: Path, text: str, words: tuple[str, str]) -> tuple[float, float]:
    """Seconds from a save to the step's line, and to the end of what is said."""
    time.sleep(PAUSE)  # somebody is thinking
    start = time.perf_counter()
    path.write_text(text, encoding="utf-8")
    return terminal.until(words[0]) - start, terminal.until(words[1]) - start


def main() -> None:
    """Prints medians for a right save and a wrong one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "mine"
        check = check_part_one(folder)
        path = folder / f"{STEP}.py"
        right = (ROOT / "solutions" / path.name).read_text(encoding="utf-8")
        kinds = {"right": (right, RIGHT), "wrong": (right + MISTAKE, WRONG)}
        terminal = Terminal(folder)
        terminal.until("watching")
        times = {kind: [] for kind in kinds}
        for _ in range(ROUNDS):
            for kind, (text, words) in kinds.items():
                times[kind].append((*saved(terminal, path, text, words), cold(check)))
        terminal.close()
    print(f"save to verdict in `make watch`, one step, medians of {ROUNDS}, milliseconds")
    print(f"  {'':<18}{'its line':>10}{'all said':>10}{'cold check':>12}{'of it':>10}{'':>8}")
    for kind, rows in times.items():
        line, said, check = (statistics.median(column) * 1e3 for column in zip(*rows))
        print(
            f"  a {kind + ' save':<16}{line:>10.0f}{said:>10.0f}{check:>12.0f}"
            f"{line / check:>10.2f}{said / check:>8.2f}"
        )
    print(f"  (the aim: {AIM} for a right save's line)")


if __name__ == "__main__":
    main()
