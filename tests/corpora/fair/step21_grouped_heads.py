"""Right versions of step 21 in unusual style."""

import numpy as np

from exercises.step04_softmax import softmax
from grader.answer_key.variants import fair


def refuse_uneven(n_heads, n_kv_heads):
    """The error of the contract."""
    if n_heads % n_kv_heads != 0:
        raise ValueError(f"{n_heads} heads for {n_kv_heads}")


def turned(x, angles):
    """Pairs of the last axis turned, as complex numbers."""
    if angles is None:
        return x
    half = x.shape[-1] // 2
    z = (x[..., :half] + 1j * x[..., half:]) * np.exp(1j * angles)
    return np.concatenate([z.real, z.imag], axis=-1)


def stable_weights(scores, allowed):
    """Softmax over the allowed keys; 0 where there is none."""
    scores = np.where(allowed, scores, -np.inf)
    top = scores.max(axis=-1, keepdims=True)
    e = np.exp(scores - np.where(np.isneginf(top), 0, top))
    total = e.sum(axis=-1, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0)


# repeat_heads


@fair("take", "repeat_heads")
def repeated_take(x, n_repeats):
    """Fancy indexing with h // n_repeats."""
    return x[..., np.arange(x.shape[-3] * n_repeats) // n_repeats, :, :]


@fair("broadcast", "repeat_heads")
def repeated_broadcast(x, n_repeats):
    """A new axis behind the heads, stretched and folded."""
    *batch, n, t, d = x.shape
    wide = np.broadcast_to(x[..., :, None, :, :], (*batch, n, n_repeats, t, d))
    return wide.reshape(*batch, n * n_repeats, t, d)


@fair("list_of_heads", "repeat_heads")
def repeated_list(x, n_repeats):
    """A list of heads, stacked."""
    heads = [x[..., h, :, :] for h in range(x.shape[-3]) for _ in range(n_repeats)]
    return np.stack(heads, axis=-3)


@fair("matrix", "repeat_heads")
def repeated_matrix(x, n_repeats):
    """A matrix of zeros and ones times the heads."""
    choice = np.kron(np.eye(x.shape[-3]), np.ones((n_repeats, 1)))
    return np.einsum("hg,...gtd->...htd", choice, x)


# grouped_query_attention


@fair("head_by_head", "grouped_query_attention")
def grouped_loop(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    """A Python loop over heads; each uses its columns and its rows of w_o."""
    refuse_uneven(n_heads, n_kv_heads)
    t = x.shape[-2]
    d = params["w_q"].shape[1] // n_heads
    allowed = np.broadcast_to(True if mask is None else mask, (*x.shape[:-2], t, t))
    extra = np.broadcast_to(0.0 if bias is None else bias, (*x.shape[:-2], n_heads, t, t))
    y = 0
    for h in range(n_heads):
        g = h * n_kv_heads // n_heads
        q = turned(x @ params["w_q"][:, h * d : (h + 1) * d], angles)
        k = turned(x @ params["w_k"][:, g * d : (g + 1) * d], angles)
        v = x @ params["w_v"][:, g * d : (g + 1) * d]
        scores = q @ np.swapaxes(k, -1, -2) * d**-0.5 + extra[..., h, :, :]
        y = y + stable_weights(scores, allowed) @ v @ params["w_o"][h * d : (h + 1) * d]
    return y


@fair("einsum_groups", "grouped_query_attention")
def grouped_einsum(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    """Queries get a group axis and a place in the group; nothing is repeated."""
    refuse_uneven(n_heads, n_kv_heads)
    *batch, t, _ = x.shape
    r = n_heads // n_kv_heads
    q = (x @ params["w_q"]).reshape(*batch, t, n_kv_heads, r, -1)
    k = (x @ params["w_k"]).reshape(*batch, t, n_kv_heads, -1)
    v = (x @ params["w_v"]).reshape(*batch, t, n_kv_heads, -1)
    if angles is not None:
        q, k = turned(q, angles[:, None, None, :]), turned(k, angles[:, None, :])
    scores = np.einsum("...qgrd,...kgd->...grqk", q, k) / np.sqrt(q.shape[-1])
    if bias is not None:
        whole = np.broadcast_to(bias, (*batch, n_heads, t, t))
        scores = scores + whole.reshape(*batch, n_kv_heads, r, t, t)
    allowed = np.broadcast_to(True if mask is None else mask, (*batch, t, t))
    weights = stable_weights(scores, allowed[..., None, None, :, :])
    heads = np.einsum("...grqk,...kgd->...qgrd", weights, v)
    return heads.reshape(*batch, t, -1) @ params["w_o"]


@fair("additive_mask", "grouped_query_attention")
def grouped_additive(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    """Mask and bias in one additive array; the weights of keys repeated before projecting."""
    refuse_uneven(n_heads, n_kv_heads)
    d = params["w_q"].shape[1] // n_heads
    columns = np.concatenate(
        [np.arange(d) + d * (h * n_kv_heads // n_heads) for h in range(n_heads)]
    )

    def heads(weight):
        return np.swapaxes((x @ weight).reshape(*x.shape[:-1], n_heads, d), -2, -3)

    q, k = heads(params["w_q"]), heads(params["w_k"][:, columns])
    v = heads(params["w_v"][:, columns])
    q, k = turned(q, angles), turned(k, angles)
    added = np.zeros((1, 1))
    if mask is not None:
        added = np.where(mask, 0.0, -np.inf)
        added = added[..., None, :, :] if added.ndim > 2 else added
    scores = q @ k.swapaxes(-1, -2) / d**0.5
    if bias is not None:
        scores = scores + bias
    y = softmax(scores + added) @ v
    return np.swapaxes(y, -2, -3).reshape(*x.shape[:-1], n_heads * d) @ params["w_o"]


@fair("query_by_query", "grouped_query_attention")
def grouped_queries(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    """One query after the other, with the allowed keys only; batch rows apart."""
    refuse_uneven(n_heads, n_kv_heads)
    *batch, t, d_model = x.shape
    d, r = params["w_q"].shape[1] // n_heads, n_heads // n_kv_heads
    allowed = np.broadcast_to(True if mask is None else mask, (*batch, t, t))
    extra = np.broadcast_to(0.0 if bias is None else bias, (*batch, n_heads, t, t))
    y = np.zeros((*batch, t, d_model))
    for row in np.ndindex(*batch):
        q = turned((x[row] @ params["w_q"]).reshape(t, n_heads, d).transpose(1, 0, 2), angles)
        k = turned((x[row] @ params["w_k"]).reshape(t, n_kv_heads, d).transpose(1, 0, 2), angles)
        v = (x[row] @ params["w_v"]).reshape(t, n_kv_heads, d).transpose(1, 0, 2)
        for i in range(t):
            keys = np.flatnonzero(allowed[(*row, i)])
            found = np.zeros((n_heads, d))
            for h in range(n_heads) if len(keys) else ():
                s = k[h // r][keys] @ q[h, i] / np.sqrt(d) + extra[(*row, h, i)][keys]
                e = np.exp(s - s.max())
                found[h] = e @ v[h // r][keys] / e.sum()
            y[(*row, i)] = found.ravel() @ params["w_o"]
    return y


@fair("three_keywords", "grouped_query_attention")
def grouped_keywords(x, params, n_heads, n_kv_heads, *, bias=None, angles=None, mask=None):
    """Options by keyword only, in another order; the scale goes to the queries."""
    refuse_uneven(n_heads, n_kv_heads)
    *batch, t, _ = x.shape
    q, k, v = (
        np.moveaxis((x @ params[f"w_{name}"]).reshape(*batch, t, n, -1), -2, -3)
        for name, n in (("q", n_heads), ("k", n_kv_heads), ("v", n_kv_heads))
    )
    q, k = turned(q / np.sqrt(q.shape[-1]), angles), turned(k, angles)
    k, v = repeat_heads(k, n_heads // n_kv_heads), repeat_heads(v, n_heads // n_kv_heads)
    scores = np.matmul(q, np.swapaxes(k, -1, -2))
    scores = scores if bias is None else np.add(scores, bias)
    if mask is None:
        mask = np.ones((t, t), dtype=bool)
    weights = stable_weights(scores, mask if mask.ndim < 3 else np.expand_dims(mask, -3))
    return np.moveaxis(weights @ v, -3, -2).reshape(*batch, t, -1) @ params["w_o"]
