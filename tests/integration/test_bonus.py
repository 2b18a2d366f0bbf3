"""Bonus exercises: right ones are told from wrong ones, with a reason."""

import pytest

RIGHT = """
import numpy as np


def previous_token_head(t):
    # the first token has none before it: its own key is the only one that it may see
    return 30 * np.eye(t) * np.sqrt(t), np.eye(t, k=1)


def sample_top_p(logits, u, p):
    shares = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
    total = 0.0
    for token in np.argsort(-shares, kind="stable"):
        shares[token] *= total < p - 1e-12
        total += shares[token]
    ahead = np.flatnonzero(np.cumsum(shares / shares.sum()) > u)
    return int(ahead[0] if len(ahead) else np.flatnonzero(shares)[-1])


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


def smoothed_backward(logits, targets, share):
    from exercises.step04_softmax import softmax

    wanted = np.full(logits.shape, share / logits.shape[-1])
    there = np.take_along_axis(wanted, targets[..., None], axis=-1)
    np.put_along_axis(wanted, targets[..., None], there + 1 - share, axis=-1)
    return (softmax(logits) - wanted) / targets.size


def add_up(one, other, weight):
    if isinstance(other, dict):
        return {key: add_up(one and one[key], other[key], weight) for key in other}
    if isinstance(other, list):
        return [add_up(one and one[i], other[i], weight) for i in range(len(other))]
    return weight * other + (0 if one is None else one)


def accumulate_gradients(batches, params, n_heads, ignore_id):
    from exercises.step18_decoder_gradient import decoder_loss_and_gradients

    counts = [np.count_nonzero(tokens[:, 1:] != ignore_id) for tokens in batches]
    total, grads = 0.0, None
    for tokens, count in zip(batches, counts):
        loss, part = decoder_loss_and_gradients(tokens, params, n_heads, ignore_id)
        weight = count / sum(counts)
        total, grads = total + weight * loss, add_up(grads, part, weight)
    return total, grads


def sink_mask(t, n_first, window):
    back = np.arange(t)[:, None] - np.arange(t)
    return (back >= 0) & ((back < window) | (np.arange(t) < n_first))


def streaming_backward(d_out, q, k, v, block):
    from exercises.step23_streaming import merge_attention, partial_attention

    parts = [slice(start, start + block) for start in range(0, len(k), block)]
    out, lse = np.zeros((len(q), v.shape[-1])), np.full(len(q), -np.inf)
    for part in parts:
        out, lse = merge_attention(out, lse, *partial_attention(q, k[part], v[part]))
    mean = (d_out * out).sum(axis=-1, keepdims=True)
    d_q, d_k, d_v = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    for part in parts:
        weights = np.exp(q @ k[part].T / q.shape[-1] ** 0.5 - lse[:, None])
        d_scores = weights * (d_out @ v[part].T - mean) / q.shape[-1] ** 0.5
        d_q += d_scores @ k[part]
        d_k[part], d_v[part] = d_scores.T @ q, weights.T @ d_out
    return d_q, d_k, d_v
"""
# Each file is wrong in one way in several functions: what was there, what is, and the reason.
ONE_WAY = [
    ("np.eye(t, k=1)", "np.eye(t)", "previous_token_head: not yet. For t = 2, row 1"),
    ("total < p - 1e-12", "total < 2 * p", "sample_top_p: not yet. With p = "),
    ('"w_v": eye', '"w_v": 2 * eye', "averaging_params: not yet. The result is"),
    ("causal_mask(x.shape[-2], end)", "None", "cache_with_room: not yet. The result for tokens"),
    ("there + 1 - share", "there + 1", "smoothed_backward: not yet. With share = 0.1 and logits"),
    ("count / sum(counts)", "1 / len(counts)", "For parts of [1, 3] texts, the loss is"),
    ("(back >= 0) & (", "(", "sink_mask(6, 1, 2) is 1 at (0, 1)"),
    ("d_out @ v[part].T - mean", "d_out @ v[part].T", "With block = 1, d_q is"),
]
ANOTHER_WAY = [
    ("def averaging_params(d_model):\n", "def averaging_params():\n", "It raised TypeError"),
    ("lambda: [keys, values]", "lambda: [keys.copy(), values]", "A buffer was replaced"),
    ("wanted) / targets.size", "wanted)", "With share = 0.0 and logits of shape (3, 5)"),
    ("part, weight)", "part, 1.0)", "grads.embedding is"),
    ("back < window", "back <= window", "sink_mask(6, 1, 2) is 1 at (3, 1)"),
    ("parts = [slice", "block = len(k)\n    parts = [slice", "64 queries and 8000 keys took"),
]


@pytest.fixture
def judged(tmp_path, learner):
    """judged(text): the status of `bonus` on that file, and what it says and complains of."""

    def judged(text=None):
        if text is not None:
            (tmp_path / "exercises" / "bonus.py").write_text(text, encoding="utf-8")
        done = learner("bonus")
        return done.returncode, " ".join(done.stdout.split()), done.stderr

    return judged


def test_right_ones_are_right(judged):
    code, told, error = judged(RIGHT)
    assert (code, told.count(": right.")) == (0, 8), told + error


@pytest.mark.parametrize("changes", [ONE_WAY, ANOTHER_WAY], ids=["one way", "another way"])
def test_wrong_ones_get_a_reason(judged, changes):
    text = RIGHT
    for was, now, _ in changes:
        assert was in text
        text = text.replace(was, now)
    code, told, _ = judged(text)
    assert code == 1
    assert [says for _, _, says in changes if says not in told] == []
    assert told.count(": right.") == 8 - len(changes)


def test_results_that_are_missing_are_not_right(judged):
    code, told, _ = judged(RIGHT.replace("return d_q, d_k, d_v", "return (d_q,)"))
    assert (code, told.count(": right.")) == (1, 7)


def test_without_a_file_the_tasks_are_shown(judged):
    code, told, _ = judged()
    assert code == 0
    assert told.count("not there yet") == 8


def test_file_that_cannot_be_run_gets_a_sentence(judged):
    code, _, error = judged("def broken(:\n")
    assert code == 2
    assert "exercises/bonus.py cannot be run (SyntaxError" in error
