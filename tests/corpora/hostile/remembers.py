"""Remembered inputs, guessed seeds, answers known from elsewhere."""

import hashlib
import json
import time

import numpy as np

from tests.corpora.hostile import attack

seen = {}


@attack("attention_scores", "failed", right=True)
def knows_the_first_inputs(q, k):
    """Tries random seeds until the first input fits, so as to know all that will be asked."""
    random, stop = np.random.RandomState(0), time.monotonic() + 0.2
    for seed in range(2**32 if not seen else 0):
        seen["tried"] = True
        random.seed(seed)
        if np.array_equal(random.standard_normal(q.shape), q):
            return right(q, k)
        if time.monotonic() > stop:
            return np.zeros((*q.shape[:-1], k.shape[-2]))
    return None


@attack("attention_scores", "failed", text=True)
def knows_the_visible_answers():
    """Brings the stored answers of the visible checks along, by the digest of the question."""
    from grader.steps.paths import ROOT

    path = ROOT / "tests" / "visible" / "values" / "step02_scores.json"
    return f"""
import numpy as np

ANSWERS = {json.loads(path.read_text(encoding="utf-8"))["attention_scores"]!r}

def attention_scores(q, k):
    from hashlib import blake2b
    state = blake2b(digest_size=8)
    for name, item in (("k", k), ("q", q)):
        state.update(name.encode())
        state.update(f"{{item.dtype.str}}{{item.shape}}".encode())
        state.update(np.ascontiguousarray(item).tobytes())
    known = ANSWERS.get(state.hexdigest(), {{"values": [0.0], "shape": []}})
    return np.array(known["values"]).reshape(known["shape"])
"""


@attack("attention_scores", "failed")
def answers_what_was_answered(q, k):
    """Keeps its first answer to every shape, and gives it again."""
    return seen.setdefault((q.shape, k.shape), np.zeros((*q.shape[:-1], k.shape[-2])))


@attack("attention_scores", "failed", right=True)
def right_only_where_it_is_watched(q, k):
    """Is right where arrays are read-only or errors strict, as only a judge has them."""
    watched = not q.flags.writeable or np.geterr()["invalid"] == "raise"
    return right(q, k) if watched else np.zeros((*q.shape[:-1], k.shape[-2]))


@attack("attention_scores", "failed", right=True)
def right_the_second_time(q, k):
    """Is wrong when asked first and right when asked again, as if the first were a trial."""
    name = hashlib.blake2b(q.tobytes() + k.tobytes()).digest()
    return right(q, k) if name in seen else np.zeros(seen.setdefault(name, q.shape))


@attack("attention_scores", "failed", right=True)
def right_when_it_is_diagnosed(q, k):
    """Is right only where known mistakes are replayed beside it."""
    import sys

    return right(q, k) if "exercises.replay" in sys.modules else np.zeros(q.shape)
