"""Decoders for the checks of Part II: the parameters of a whole GPT-2, as small as wanted."""

import numpy as np

from grader.steps.inputs import Draw


def widths(n_heads: int, d_head: int, d_ff: int) -> dict:
    """These sizes by name; d_model is n_heads * d_head."""
    return {"n_heads": n_heads, "d_head": d_head, "d_ff": d_ff}


def norm(draw: Draw, d_model: int) -> dict:
    """A gain that is not 1 and a bias that is not 0."""
    return {"gain": 1 + draw.normal(d_model) / 4, "bias": draw.normal(d_model) / 4}


def attention(draw: Draw, d_model: int) -> dict:
    """Weights and biases of attention; on normed vectors the scores are a few units in size."""
    weights = {f"w_{name}": draw.normal(d_model, d_model) / 2 for name in "qkvo"}
    return weights | {f"b_{name}": draw.normal(d_model) / 2 for name in "qkvo"}


def feed_forward(draw: Draw, d_model: int, d_ff: int) -> dict:
    """Weights and biases of a feed-forward network."""
    return {
        "w_in": draw.normal(d_model, d_ff) / 2,
        "b_in": draw.normal(d_ff) / 2,
        "w_out": draw.normal(d_ff, d_model) / 2,
        "b_out": draw.normal(d_model) / 2,
    }


def block(draw: Draw, d_model: int, d_ff: int, silent: str | None = None) -> dict:
    """The parameters of one layer. A silent sub-layer, or both, adds nothing to the stream."""
    params = {
        "ln_1": norm(draw, d_model),
        "ln_2": norm(draw, d_model),
        "attention": attention(draw, d_model),
        "feed_forward": feed_forward(draw, d_model, d_ff),
    }
    for name, last in ("attention", "o"), ("feed_forward", "out"):
        if silent in (name, "both"):
            nothing = {key: np.zeros_like(params[name][key]) for key in (f"w_{last}", f"b_{last}")}
            params[name] |= nothing
    return params


def decoder(
    draw: Draw, *, vocabulary: int, t_max: int, n_layers: int, n_heads: int, d_head: int, d_ff: int
) -> dict:
    """The parameters of a decoder with n_layers blocks, each with others; d_model follows."""
    d_model = n_heads * d_head
    return {
        "embedding": draw.normal(vocabulary, d_model),
        "position": draw.normal(t_max, d_model),
        "blocks": [block(draw, d_model, d_ff) for _ in range(n_layers)],
        "ln_f": norm(draw, d_model),
    }
