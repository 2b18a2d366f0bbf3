"""`check` on a real terminal: what goes on is said, and what was judged is kept."""

import contextlib
import os
import pty
import shutil
import signal
import subprocess
import sys
import time

import pytest

from tests.conftest import ROOT, STEPS
from tests.support.processes import interruptible

HANGS = "\ndef causal_mask(t_q, t_k=None):\n    while True:\n        pass\n"


@pytest.fixture
def mine(tmp_path):
    """Steps 1 to 3, of which the third never ends."""
    for step in STEPS[:3]:
        shutil.copy(ROOT / "solutions" / step.filename, tmp_path)
    path = tmp_path / "step03_mask.py"
    path.write_text(path.read_text(encoding="utf-8") + HANGS, encoding="utf-8")
    return tmp_path


@pytest.fixture
def terminal(mine):
    """terminal(columns): `check 1 2 3` on a terminal that wide; its process and its screen.

    Up to two steps are judged by one process, in order.
    """
    opened = []

    def start(columns=80, steps=("1", "2", "3")):
        screen, other = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "grader", "check", *steps, "--submission", str(mine)],
            stdin=other,
            stdout=other,
            stderr=other,
            cwd=mine,
            env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": str(columns)},
            start_new_session=True,
            preexec_fn=interruptible,
        )
        os.close(other)
        opened.append((process, screen))
        return process, screen

    yield start
    for process, screen in opened:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)
        os.close(screen)


def read_until(screen, words, seconds=60):
    """All that comes until these words do."""
    text, deadline = "", time.monotonic() + seconds
    while words not in text:
        assert time.monotonic() < deadline, text
        try:
            text += os.read(screen, 4096).decode(errors="replace")
        except OSError:
            break
    return text


def test_step_that_hangs_is_named_while_it_does(terminal):
    _, screen = terminal()
    assert "judging step 3, Masks ..." in read_until(screen, "judging step 3, Masks ...")


def test_interrupt_keeps_what_was_judged(terminal):
    process, screen = terminal(steps=("2", "3"))
    before = read_until(screen, "judging step 3")
    os.killpg(process.pid, signal.SIGINT)
    after = read_until(screen, "judges the rest.")
    assert "Scaled scores" in before
    assert "Stopped. 1 step of 2 had been judged" in after
    assert "Traceback" not in after
    assert process.wait(30) == 1
