"""The decoder: no position sees a later token, in any block or in the whole stack."""

from typing import Any

import numpy as np

from grader.checks.laws.influence import Bools, Moves, Nudge, own, past
from grader.steps.inputs import Arguments, Draw

T, V, N_HEADS, D_MODEL, D_FF, N_BLOCKS = 5, 7, 2, 4, 6, 2
PADDED = 2
_draw = Draw("maps", "decoder", decimals=2)
_TOKENS = np.asarray([2, 5, 0, 4, 1])  # all different, so that each can be recognised
_OTHER_TOKENS = np.asarray([6, 3, 6, 3, 6])


def _norm() -> Arguments:
    return {"gain": 1 + _draw.normal(D_MODEL) / 4, "bias": _draw.normal(D_MODEL) / 2}


def _block() -> Arguments:
    square = {f"w_{name}": _draw.normal(D_MODEL, D_MODEL) / 2 for name in "qkvo"}
    return {
        "ln_1": _norm(),
        "attention": square | {f"b_{name}": _draw.normal(D_MODEL) / 2 for name in "qkvo"},
        "ln_2": _norm(),
        "feed_forward": {
            "w_in": _draw.normal(D_MODEL, D_FF) / 2,
            "b_in": _draw.normal(D_FF) / 2,
            "w_out": _draw.normal(D_FF, D_MODEL) / 2,
            "b_out": _draw.normal(D_MODEL) / 2,
        },
    }


_MODEL: Arguments = {
    "embedding": _draw.normal(V, D_MODEL),
    "position": _draw.normal(T + 2, D_MODEL),
    "blocks": [_block() for _ in range(N_BLOCKS)],
    "ln_f": _norm(),
}


def _silent(block: Arguments) -> Arguments:
    """Return the block with an attention that adds nothing."""
    attention = block["attention"]
    nothing = {name: np.zeros_like(attention[name]) for name in ("w_o", "b_o")}
    return block | {"attention": attention | nothing}


def _alone(number: int) -> Arguments:
    blocks = [one if i == number else _silent(one) for i, one in enumerate(_MODEL["blocks"])]
    return _MODEL | {"blocks": blocks}


def _read(number: int, real: Bools | None) -> Moves:
    """Return a decoder with one attending block on a sequence; True marks its real keys.

    Only one block attends at a time, so the map shows which block lets the future in.
    """
    how = f"Only the attention of blocks[{number}] added something."
    arguments: dict[str, Any] = {"tokens": _TOKENS, "params": _alone(number), "n_heads": N_HEADS}
    sees = past(T)
    if real is not None:
        arguments |= {"padding": real[None, :]}
        sees = sees & real | own(T)  # by the residual stream a padded token still reads itself
        how += f" Token {PADDED} is padding."
    return Moves(Nudge(arguments, {"tokens": _OTHER_TOKENS}, {"tokens": -1}), sees, how=how)


MAPS = {
    "decoder_logits": [
        _read(number, real) for real in (None, np.arange(T) != PADDED) for number in range(N_BLOCKS)
    ]
}
