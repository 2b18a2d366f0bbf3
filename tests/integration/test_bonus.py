"""Bonus exercises: right ones are told from wrong ones, with a reason."""

import shutil
import subprocess
import sys

import pytest

from tests.conftest import ROOT

RIGHT = """
import numpy as np


def previous_token_head(t):
    # the first token has none before it: its own key is the only one that it may see
    return 30 * np.eye(t) * np.sqrt(t), np.eye(t, k=1)


def sample_top_p(logits, u, p):
    shares = np.exp(logits - logits.max())
    shares = shares / shares.sum()
    kept, total = np.zeros(len(shares)), 0.0
    for token in np.argsort(-shares, kind="stable"):
        kept[token] = shares[token]
        total += shares[token]
        if total >= p - 1e-12:
            break
    running = 0.0
    for token, share in enumerate(kept / kept.sum()):
        running += share
        if running > u:
            return token
    return int(np.flatnonzero(kept)[-1])


def averaging_params(d_model):
    zero, eye, bias = np.zeros((d_model, d_model)), np.eye(d_model), np.zeros(d_model)
    return {
        **{"w_q": zero, "w_k": zero, "w_v": eye, "w_o": eye},
        **{"b_q": bias, "b_k": bias, "b_v": bias, "b_o": bias},
    }


def cache_with_room(batch, t_max, d_k):
    from exercises.step03_mask import causal_mask
    from exercises.step05_output import attention

    keys, values, used = np.zeros((batch, t_max, d_k)), np.zeros((batch, t_max, d_k)), [0]

    def attend(x, w_q, w_k, w_v):
        end = used[0] + x.shape[-2]
        keys[:, used[0] : end], values[:, used[0] : end] = x @ w_k, x @ w_v
        used[0] = end
        mask = causal_mask(x.shape[-2], end)
        return attention(x @ w_q, keys[:, :end], values[:, :end], mask)

    return attend, lambda: [keys, values]
"""
WRONG = [
    ("np.eye(t, k=1)", "np.eye(t)", "previous_token_head: not yet. For t = 2, row 1"),
    ("if total >= p - 1e-12", "if total > 2 * p", "sample_top_p: not yet. With p = "),
    ('"w_v": eye', '"w_v": 2 * eye', "averaging_params: not yet. Row 0"),
    ("causal_mask(x.shape[-2], end)", "None", "cache_with_room: not yet. The rows of"),
    ("lambda: [keys, values]", "lambda: [keys.copy(), values]", "A buffer was replaced"),
    ("def averaging_params(d_model):\n", "def averaging_params():\n", "It raised TypeError"),
]


@pytest.fixture
def judged(tmp_path):
    def judged(text=None):
        shutil.copytree(
            ROOT / "solutions",
            tmp_path / "exercises",
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        if text is not None:
            (tmp_path / "exercises" / "bonus.py").write_text(text, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "grader", "bonus"],
            cwd=tmp_path,
            env={"PYTHONPATH": str(ROOT), "NOPEEK_HOME": str(tmp_path), "PYTHONUTF8": "1"},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        return done.returncode, " ".join(done.stdout.split()), done.stderr

    return judged


def test_right_ones_are_right(judged):
    code, told, error = judged(RIGHT)
    assert (code, told.count(": right.")) == (0, 4), told + error


@pytest.mark.parametrize(("was", "now", "says"), WRONG, ids=lambda one: one[:20])
def test_wrong_one_gets_a_reason(judged, was, now, says):
    assert was in RIGHT
    code, told, _ = judged(RIGHT.replace(was, now))
    assert code == 1
    assert says in told
    assert told.count(": right.") == 3


def test_without_a_file_the_tasks_are_shown(judged):
    code, told, _ = judged()
    assert code == 0
    assert told.count("not there yet") == 4


def test_file_that_cannot_be_run_gets_a_sentence(judged):
    code, _, error = judged("def broken(:\n")
    assert code == 2
    assert "exercises/bonus.py cannot be run (SyntaxError" in error
