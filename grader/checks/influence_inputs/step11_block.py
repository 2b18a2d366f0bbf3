"""The block: positions meet only in its attention."""

import numpy as np

from grader.checks.laws.influence import Bools, Moves, Nudge, own, past
from grader.steps.inputs import Draw

T, FEATURES, HIDDEN = 5, 4, 3
PADDED = 2
_draw = Draw("maps", "block", decimals=2)
_X, _OTHER_X = _draw.normal(T, FEATURES), _draw.normal(T, FEATURES)


def _norm() -> dict[str, np.ndarray]:
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


def _alone(**others: object) -> Moves:
    return Moves(Nudge({"x": _X, **others}, {"x": _OTHER_X}, {"x": -2}), own(T), input="position")


def _block_under(mask: Bools, how: str) -> Moves:
    """Return a block under that mask; its residual connection also moves each position."""
    arguments = {"x": _X, "params": _BLOCK, "n_heads": 2, "mask": mask}
    change = Nudge(arguments, {"x": _OTHER_X}, {"x": -2})
    return Moves(change, mask | own(T), input="position", how=how)


MAPS = {
    "layer_norm": [_alone(**_norm())],
    "gelu": [_alone()],
    "feed_forward": [_alone(params=_NETWORK)],
    "decoder_block": [
        _block_under(past(T), "Under a causal mask."),
        _block_under(
            past(T) & (np.arange(T) != PADDED),
            f"Under a causal mask that also hides position {PADDED}, which is padding.",
        ),
        _block_under(past(T).T, "Under a mask that hides the past, not the future."),
    ],
}
