"""make watch on a terminal: its keys, and the terminal as it was on every way out."""

import contextlib
import os
import pty
import shutil
import signal
import subprocess
import sys
import termios

import pytest

from tests.conftest import ROOT
from tests.end_to_end.test_terminal import read_until
from tests.support.processes import interruptible
from tests.support.stubs import write_stubs

WRONG = "\ndef attention_scores(q, k):\n    return q @ np.swapaxes(k, -1, -2)\n"
LFLAG, ECHOES = 3, termios.ICANON | termios.ECHO


@pytest.fixture
def watching(tmp_path):
    """The real command on a terminal, once it watches: process, screen, folder, terminal."""
    folder = tmp_path / "exercises"
    write_stubs(folder)
    shutil.copy(ROOT / "solutions" / "step01_projections.py", folder)
    screen, other = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "grader", "watch"],
        stdin=other,
        stdout=other,
        stderr=other,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "80"},
        start_new_session=True,
        preexec_fn=interruptible,
    )
    yield process, screen, folder, other
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(30)
    os.close(screen)
    os.close(other)


def is_as_before(terminal):
    return termios.tcgetattr(terminal)[LFLAG] & ECHOES == ECHOES


def test_state_is_shown_first_then_keys_and_points(watching):
    process, screen, folder, terminal = watching
    start = read_until(screen, "q quit")
    assert "Projections          passed" in start
    assert "9.5 of 106 points in Part I" in start
    assert "Next: fill in exercises/step02_scores.py" in start
    assert not is_as_before(terminal)
    right = (ROOT / "solutions" / "step02_scores.py").read_text(encoding="utf-8")
    (folder / "step02_scores.py").write_text(right + WRONG, encoding="utf-8")
    wrong = read_until(screen, "q quit")
    assert "step02_scores.py, " in wrong
    assert "The scores are not divided by" in wrong
    # The screen above shows the first hint: the key gives the next one.
    os.write(screen, b"h")
    assert "Step 2, Scaled scores: hint 2 of" in read_until(screen, "q quit")
    (folder / "step02_scores.py").write_text(right, encoding="utf-8")
    right = read_until(screen, "q quit")
    assert "+7 points: 16.5 of 106 in Part I" in right
    assert "Step 2, Scaled scores, passes." in right
    assert "- say why the scores are divided by √d_k" in right
    os.write(screen, b"n")
    assert "Next: fill in exercises/step03_mask.py" in read_until(screen, "q quit")
    os.write(screen, b"x\x1b[Al")
    assert "16.5 of 106 points in Part I" in read_until(screen, "q quit")
    os.write(screen, b"q")
    read_until(screen, "No longer watching.")
    assert process.wait(60) == 0
    assert is_as_before(terminal)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_terminal_is_as_before_after_a_signal(watching, number):
    process, screen, _, terminal = watching
    read_until(screen, "q quit")
    os.kill(process.pid, number)
    process.wait(60)
    assert is_as_before(terminal)


def test_without_a_terminal_there_are_no_keys(tmp_path):
    from grader.cli.keyboard import Keyboard

    with (tmp_path / "input").open("w+", encoding="utf-8") as file, Keyboard(file) as keyboard:
        assert not keyboard.works
        assert keyboard.wait(0.001) == ""
