"""Draw random parameters of decoder blocks and whole decoders, in the form of steps 11 and 12."""

import numpy as np
from numpy.typing import NDArray

from grader.steps.inputs import Arguments, Draw

Floats = NDArray[np.float64]


def block_params(draw: Draw, d_model: int, d_ff: int) -> Arguments:
    """Return one block in which no bias is 0 and no gain is 1."""

    def weight(rows: int, columns: int) -> Floats:
        return np.asarray(draw.normal(rows, columns) / np.sqrt(rows))

    square = {f"w_{name}": weight(d_model, d_model) for name in "qkvo"}
    biases = {f"b_{name}": draw.normal(d_model) / 4 for name in "qkvo"}
    wide = {"w_in": weight(d_model, d_ff), "b_in": draw.normal(d_ff) / 4}
    narrow = {"w_out": weight(d_ff, d_model), "b_out": draw.normal(d_model) / 4}
    return {
        "ln_1": norm_params(draw, d_model),
        "attention": square | biases,
        "ln_2": norm_params(draw, d_model),
        "feed_forward": wide | narrow,
    }


def norm_params(draw: Draw, d_model: int) -> Arguments:
    """Return gain and bias of one norm."""
    return {"gain": 1 + draw.normal(d_model) / 4, "bias": draw.normal(d_model) / 4}


def decoder_params(draw: Draw, vocabulary: int, longest: int, blocks: list[Arguments]) -> Arguments:
    """Return a decoder of these blocks, for sequences of up to `longest` tokens."""
    d_model = len(blocks[0]["ln_1"]["gain"])
    return {
        "embedding": draw.normal(vocabulary, d_model) / 2,
        "position": draw.normal(longest, d_model) / 2,
        "blocks": blocks,
        "ln_f": norm_params(draw, d_model),
    }
