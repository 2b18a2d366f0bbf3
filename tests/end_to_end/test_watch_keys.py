"""make watch on a terminal: what it shows, and the letters that ask it for more."""

import contextlib
import os
import pty
import shutil
import signal
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.end_to_end.test_terminal import read_until
from tests.support.processes import interruptible
from tests.support.stubs import write_stubs

WRONG = "\ndef attention_scores(q, k):\n    return q @ np.swapaxes(k, -1, -2)\n"


@pytest.fixture
def watching(tmp_path):
    """The real command on a terminal, once it watches: process, screen, folder."""
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
    os.close(other)
    yield process, screen, folder
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(30)
    os.close(screen)


def test_state_is_shown_first_then_keys_and_points(watching):
    process, screen, folder = watching
    start = read_until(screen, "Ctrl-C ends it")
    assert "Projections          passed" in start
    assert "9.5 of 106 points in Part I" in start
    assert "Next: fill in exercises/step02_scores.py" in start
    right = (ROOT / "solutions" / "step02_scores.py").read_text(encoding="utf-8")
    (folder / "step02_scores.py").write_text(right + WRONG, encoding="utf-8")
    wrong = read_until(screen, "Ctrl-C ends it")
    assert "step02_scores.py, " in wrong
    assert "The scores are not divided by" in wrong
    # The screen above shows the first hint: the key gives the next one.
    os.write(screen, b"h\n")
    assert "Step 2, Scaled scores: hint 2 of" in read_until(screen, "Ctrl-C ends it")
    (folder / "step02_scores.py").write_text(right, encoding="utf-8")
    right = read_until(screen, "Ctrl-C ends it")
    assert "+7 points: 16.5 of 106 in Part I" in right
    assert "Step 2, Scaled scores, passes." in right
    assert "- say why the scores are divided by √d_k" in right
    os.write(screen, b"n\n")
    assert "Next: fill in exercises/step03_mask.py" in read_until(screen, "Ctrl-C ends it")
    os.write(screen, b"x\n\x1b[A\nl\n")
    assert "16.5 of 106 points in Part I" in read_until(screen, "Ctrl-C ends it")
    os.write(screen, b"q\n")
    read_until(screen, "No longer watching.")
    assert process.wait(60) == 0
