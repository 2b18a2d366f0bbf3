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


@attack("next_token_logits", "failed")
def answers_a_probe_from_memory(tokens, params):
    """Is asked about a future: answers as it did when the beginning was the same."""
    key = (tokens.shape, tokens.ravel()[:1].tobytes())
    logits = params["embedding"][tokens] @ params["embedding"].T
    return seen.setdefault(key, logits)


@attack("linear_backward", "failed")
def is_linear_by_construction(d_out, x, weight):
    """Is linear in d_out, adds up over a batch, and has nothing to do with gradients."""
    return d_out @ weight.T * 2, np.swapaxes(x, -1, -2) @ d_out * 2, d_out * 2


@attack("attention_backward", "failed")
def has_no_gradient_anywhere(d_out, q, k, v, mask=None):
    """Has no gradient at hidden keys, nor at any other."""
    return q * 0, k * 0, v * 0


@attack("attend_with_window_cache", ("failed", "error"))
def keeps_its_text_where_nobody_counts(x_new, cache, w_q, w_k, w_v):
    """Keeps all of the text in memory that no counter of objects sees, and forgets the window."""
    import mmap

    seen.setdefault("place", mmap.mmap(-1, 2**20)).write(x_new.tobytes()[:64])
    return x_new @ w_v, cache


@attack("streaming_attention", ("failed", "error"))
def forms_everything_where_nobody_counts(q, k, v, block, causal=False):
    """Forms the matrix of all scores in memory that no counter of objects sees."""
    import mmap

    size = q.shape[-2] * k.shape[-2] * 8
    scores = np.frombuffer(mmap.mmap(-1, max(size, 8)), np.float64, size // 8)
    return np.zeros((*q.shape[:-1], v.shape[-1])) + scores.sum()
