"""Gradients of a block read backwards: which x gets a gradient from the loss at which position."""

from typing import Any

import numpy as np

from grader.checks.laws.influence import Bools, Moves, Nudge, own, past
from grader.steps.inputs import Draw

T, FEATURES, HIDDEN = 5, 4, 3
PADDED = 2
_draw = Draw("maps", "block gradient", decimals=2)
_D_OUT, _OTHER = _draw.normal(T, FEATURES), _draw.normal(T, FEATURES)
_X = _draw.normal(T, FEATURES)
HOW = "The slope of the loss at one output is changed at a time"


def _norm() -> dict[str, Any]:
    return {"gain": 1.5 + _draw.uniform(FEATURES).round(2), "bias": _draw.normal(FEATURES)}


_NETWORK = {
    "w_in": _draw.normal(FEATURES, HIDDEN) / 2,
    "b_in": _draw.normal(HIDDEN) / 2,
    "w_out": _draw.normal(HIDDEN, FEATURES),
    "b_out": _draw.normal(FEATURES),
}
_ATTENTION = {
    **{name: _draw.normal(FEATURES, FEATURES) / 2 for name in ("w_q", "w_k", "w_v", "w_o")},
    **{name: _draw.normal(FEATURES) / 2 for name in ("b_q", "b_k", "b_v", "b_o")},
}
_BLOCK = {"ln_1": _norm(), "ln_2": _norm(), "attention": _ATTENTION, "feed_forward": _NETWORK}
_PADDED = past(T) & (np.arange(T) != PADDED)


def _from_behind(sees: Bools, how: str, part: int | None = 0, **more: Any) -> Moves:
    change = Nudge({"d_out": _D_OUT, "x": _X, **more}, {"d_out": _OTHER}, {"d_out": -2})
    what = "gradient of x at position"
    return Moves(change, sees.T.copy(), part=part, output=what, input="loss", how=how)


def _block_under(params: Any, extra: Bools) -> list[Moves]:
    given = {"params": params, "n_heads": 2}
    return [
        _from_behind(past(T), f"{HOW}, under a causal mask.", mask=past(T), **given),
        _from_behind(
            _PADDED | extra,
            f"{HOW}, under a causal mask that also hides position {PADDED}, which is padding.",
            mask=_PADDED,
            **given,
        ),
    ]


MAPS = {
    "layer_norm_backward": [_from_behind(own(T), f"{HOW}.", gain=_norm()["gain"])],
    "gelu_backward": [_from_behind(own(T), f"{HOW}.", None)],
    "feed_forward_backward": [_from_behind(own(T), f"{HOW}.", params=_NETWORK)],
    "multi_head_attention_backward": _block_under(_ATTENTION, np.diag(np.arange(T) == PADDED)),
    "decoder_block_backward": _block_under(_BLOCK, own(T)),
}
