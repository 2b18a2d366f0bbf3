"""Right versions of step 12 in unusual style."""

import functools
import math
import sys
import warnings

import numpy as np

from exercises.step01_projections import linear
from exercises.step03_mask import apply_mask, causal_mask
from exercises.step04_softmax import softmax
from exercises.step05_output import attention
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import decoder_block, feed_forward, gelu, layer_norm
from grader.answer_key.variants import fair


def embed(tokens, params):
    """Embedding plus position, in a new array."""
    t, t_max = np.shape(tokens)[-1], len(params["position"])
    if t > t_max:
        raise ValueError(f"tokens: {t} are more than T_max = {t_max}")
    return np.take(params["embedding"], tokens, axis=0) + params["position"][:t]


def norm(x, params):
    return layer_norm(x, params["gain"], params["bias"])


def head(x, params):
    return norm(x, params["ln_f"]) @ params["embedding"].T


def seen(t, padding):
    """Every mask at once, as one boolean array."""
    earlier = np.arange(t) <= np.arange(t)[:, None]
    return earlier if padding is None else np.logical_and(earlier, padding)


class Decoder:
    """Its layers are methods; the mask is made where it is needed."""

    def __init__(self, params, n_heads):
        self.params, self.n_heads = params, n_heads

    def mask(self, padding, t):
        return np.tri(t, dtype=bool) & (np.True_ if padding is None else padding)

    def forward(self, tokens, padding):
        x = embed(tokens, self.params)
        for number in range(len(self.params["blocks"])):
            x = self.layer(number, x, self.mask(padding, x.shape[-2]))
        return head(x, self.params)

    def layer(self, number, x, mask):
        return decoder_block(x, self.params["blocks"][number], self.n_heads, mask)


@fair("object", "decoder_logits")
def logits_of_an_object(tokens, params, n_heads, padding=None):
    return Decoder(params, n_heads).forward(tokens, padding)


@fair("reduce", "decoder_logits")
def logits_by_reduce(tokens, params, n_heads, padding=None):
    mask = seen(tokens.shape[-1], padding)
    run = lambda x, block: decoder_block(x, block, n_heads, mask)
    return head(functools.reduce(run, params["blocks"], embed(tokens, params)), params)


@fair("recursion from the top", "decoder_logits")
def logits_recursive(tokens, params, n_heads, padding=None):
    mask = seen(tokens.shape[-1], padding)

    def after(number):
        if number == 0:
            return embed(tokens, params)
        return decoder_block(after(number - 1), params["blocks"][number - 1], n_heads, mask)

    return head(after(len(params["blocks"])), params)


@fair("one text after the other", "decoder_logits")
def logits_text_by_text(tokens, params, n_heads, padding=None):
    t = tokens.shape[-1]
    rows = tokens.reshape(-1, t)
    real = np.ones((len(rows), 1, t), bool) if padding is None else padding.reshape(-1, 1, t)
    results = []
    for row, keys in zip(rows, real):
        x = embed(row, params)
        for block in params["blocks"]:
            x = decoder_block(x, block, n_heads, np.tri(t, dtype=bool) & keys)
        results.append(head(x, params))
    return np.stack(results).reshape(*tokens.shape, -1)


@fair("one batch axis, always", "decoder_logits")
def logits_of_one_batch_axis(tokens, params, n_heads, padding=None):
    *batch, t = tokens.shape
    flat = tokens.reshape(math.prod(batch), t)
    mask = np.broadcast_to(seen(t, padding), (*batch, t, t)).reshape(len(flat), t, t)
    x = embed(flat, params)
    for block in params["blocks"]:
        x = decoder_block(x, block, n_heads, mask)
    return head(x, params).reshape(*batch, t, -1)


@fair("one-hot", "decoder_logits")
def logits_of_one_hot_vectors(tokens, params, n_heads, padding=None):
    embedding, position = params["embedding"], params["position"]
    t = tokens.shape[-1]
    if not t <= position.shape[0]:
        raise ValueError("too many tokens")
    hot = (tokens[..., None] == np.arange(len(embedding))).astype(embedding.dtype)
    x = hot @ embedding + np.eye(t, len(position), dtype=position.dtype) @ position
    for block in params["blocks"]:
        x = decoder_block(x, block, n_heads, seen(t, padding))
    return np.einsum("...d,vd->...v", norm(x, params["ln_f"]), embedding)


@fair("written out with an additive mask", "decoder_logits")
def logits_written_out(tokens, params, n_heads, padding=None):
    x = embed(tokens, params)
    may = seen(x.shape[-2], padding)
    may = may if may.ndim == 2 else np.expand_dims(may, -3)
    extra = np.where(may, 0.0, -np.inf)
    for block in params["blocks"]:
        a, inside = block["attention"], norm(x, block["ln_1"])
        q = split_heads(inside @ a["w_q"] + a["b_q"], n_heads) / math.sqrt(x.shape[-1] // n_heads)
        k = split_heads(inside @ a["w_k"] + a["b_k"], n_heads)
        v = split_heads(inside @ a["w_v"] + a["b_v"], n_heads)
        weights = softmax(np.einsum("...id,...jd->...ij", q, k) + extra)
        x = x + merge_heads(np.einsum("...ij,...jd->...id", weights, v)) @ a["w_o"] + a["b_o"]
        f, inside = block["feed_forward"], norm(x, block["ln_2"])
        x = x + gelu(inside @ f["w_in"] + f["b_in"]) @ f["w_out"] + f["b_out"]
    return head(x, params)


@fair("head by head", "decoder_logits")
def logits_head_by_head(tokens, params, n_heads, padding=None):
    x = embed(tokens, params)
    may, d_head = seen(x.shape[-2], padding), x.shape[-1] // n_heads
    for block in params["blocks"]:
        weights, inside = block["attention"], norm(x, block["ln_1"])
        added = weights["b_o"]
        for h in range(n_heads):
            mine = slice(h * d_head, (h + 1) * d_head)
            q, k, v = (
                inside @ weights[f"w_{name}"][:, mine] + weights[f"b_{name}"][mine]
                for name in "qkv"
            )
            added = added + attention(q, k, v, may) @ weights["w_o"][mine]
        x = x + added
        x = x + feed_forward(norm(x, block["ln_2"]), block["feed_forward"])
    return head(x, params)


@fair("position by position, with kept keys", "decoder_logits")
def logits_position_by_position(tokens, params, n_heads, padding=None):
    embed(tokens, params)
    t, kept = tokens.shape[-1], [([], []) for _ in params["blocks"]]
    rows = []
    for i in range(t):
        x = params["embedding"][tokens[..., i : i + 1]] + params["position"][i]
        real = True if padding is None else padding[..., None, :, : i + 1]
        for block, (keys, values) in zip(params["blocks"], kept):
            a, inside = block["attention"], norm(x, block["ln_1"])
            q, k, v = (
                split_heads(linear(inside, a[f"w_{n}"], a[f"b_{n}"]), n_heads) for n in "qkv"
            )
            keys.append(k)
            values.append(v)
            k, v = np.concatenate(keys, axis=-2), np.concatenate(values, axis=-2)
            scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(k.shape[-1])
            weights = softmax(apply_mask(scores, np.broadcast_to(real, scores.shape)))
            x = x + linear(merge_heads(weights @ v), a["w_o"], a["b_o"])
            x = x + feed_forward(norm(x, block["ln_2"]), block["feed_forward"])
        rows.append(head(x, params))
    return np.concatenate(rows, axis=-2)


@fair("every prefix anew", "decoder_logits")
def logits_of_every_prefix(tokens, params, n_heads, padding=None):
    embed(tokens, params)
    rows = []
    for end in range(1, tokens.shape[-1] + 1):
        x = embed(tokens[..., :end], params)
        for block in params["blocks"]:
            part = None if padding is None else padding[..., :end]
            x = decoder_block(x, block, n_heads, seen(end, part))
        rows.append(head(x[..., -1:, :], params))
    return np.concatenate(rows, axis=-2)


@fair("float32 where it may be, Fortran order, and talk", "decoder_logits")
def logits_with_talk(tokens, params, n_heads, padding=None):
    print("decoder_logits of", tokens.shape)
    warnings.warn("this is only a warning", stacklevel=2)
    x = embed(tokens, params)
    for number, block in enumerate(params["blocks"]):
        print("block", number, file=sys.stderr)
        x = np.asfortranarray(decoder_block(x, block, n_heads, seen(x.shape[-2], padding)))
    return np.asfortranarray(head(x, params).astype(params["embedding"].dtype))


@fair("norm folded into the head", "decoder_logits")
def logits_with_folded_norm(tokens, params, n_heads, padding=None):
    x = embed(tokens, params)
    mask = causal_mask(x.shape[-2])
    if padding is not None:
        mask = np.minimum(mask, padding)
    for block in params["blocks"]:
        x = decoder_block(x, block, n_heads, mask)
    x = x - np.mean(x, axis=-1, keepdims=True)
    x = x / np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True) + 1e-5)
    embedding, last = params["embedding"], params["ln_f"]
    return x @ (embedding * last["gain"]).T + embedding @ last["bias"]


@fair("padded up to the table of positions", "decoder_logits")
def logits_of_a_full_table(tokens, params, n_heads, padding=None):
    *batch, t = tokens.shape
    room = len(params["position"])
    if t > room:
        raise ValueError("tokens: too many")
    full = np.zeros((*batch, room), dtype=tokens.dtype)
    full[..., :t] = tokens
    real = np.ones((*batch, 1, room), bool)
    if padding is not None:
        real[..., :t] = padding
    x = params["embedding"][full] + params["position"]
    for block in params["blocks"]:
        x = decoder_block(x, block, n_heads, seen(room, real))
    return head(x, params)[..., :t, :]
