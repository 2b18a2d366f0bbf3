"""`check` and `watch` on a real terminal: what goes on is said, and letters ask for more."""

import os
import sys

import pexpect
import pytest

from tests.conftest import ROOT, STEPS
from tests.support.processes import interruptible
from tests.support.stubs import solution_text, write_solutions, write_stubs

HANGS = "\ndef causal_mask(t_q, t_k=None):\n    while True:\n        pass\n"
WRONG = "\ndef attention_scores(q, k):\n    return q @ np.swapaxes(k, -1, -2)\n"


@pytest.fixture
def run(tmp_path):
    """run(arguments): the command on a terminal, in the test's folder."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "80"}
    how = {"cwd": tmp_path, "env": env, "preexec_fn": interruptible, "encoding": "utf-8"}
    opened = []

    def run(*arguments):
        opened.append(pexpect.spawn(sys.executable, ["-m", "grader", *arguments], 60, **how))
        return opened[-1]

    yield run
    for terminal in opened:
        terminal.close(force=True)


@pytest.fixture
def mine(tmp_path):
    """Steps 1 to 3, of which the third never ends."""
    folder = write_solutions(tmp_path / "mine", STEPS[:3])
    with (folder / "step03_mask.py").open("a", encoding="utf-8") as file:
        file.write(HANGS)
    return str(folder)


def test_step_that_hangs_is_named_and_an_interrupt_keeps_what_was_judged(run, mine):
    terminal = run("check", "2", "3", "--submission", mine)
    terminal.expect_exact("judging step 3, Masks ...")
    assert "Scaled scores" in terminal.before
    terminal.sendintr()
    terminal.expect_exact("rest.")  # "judges the rest.", wrapped by the length of a path
    assert "Stopped. 1 step of 2 had been judged" in terminal.before
    assert "Traceback" not in terminal.before
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 1


def test_watch_shows_the_state_and_answers_saves_and_letters(run, tmp_path):
    folder = write_stubs(tmp_path / "exercises")
    write_solutions(folder, STEPS[:1])
    terminal = run("watch")

    def read():
        terminal.expect_exact("Ctrl-C ends it")
        return terminal.before

    start = read()
    assert "Projections          passed" in start
    assert "9.5 of 106 points in Part I" in start
    assert "Next: fill in exercises/step02_scores.py" in start
    right = solution_text("step02_scores")
    (folder / "step02_scores.py").write_text(right + WRONG, encoding="utf-8")
    wrong = read()
    assert "  step02_scores.py ---" in wrong
    assert "Scaled scores        needs work" in wrong
    assert "Projections" not in wrong
    assert "The scores are not divided by" in wrong
    # The screen above shows the first hint: the letter gives the next one.
    terminal.sendline("h")
    assert "Step 2, Scaled scores: hint 2 of" in read()
    (tmp_path / "new").write_text(right, encoding="utf-8")
    (tmp_path / "new").replace(folder / "step02_scores.py")  # as many editors save
    passes = read()
    assert f"all {len(STEPS)} steps judged: {len(STEPS) - 2} to do" in passes
    assert "+7 points: 16.5 of 106 in Part I" in passes
    assert "Step 2, Scaled scores, passes." in passes
    assert "- say why the scores are divided by √d_k" in passes
    terminal.sendline("n")
    assert "Next: fill in exercises/step03_mask.py" in read()
    terminal.sendline("x\n\x1b[A\nl")
    assert "16.5 of 106 points in Part I" in read()
    terminal.sendline("q")
    terminal.expect_exact("No longer watching.")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0
