"""Gradients read backwards: which x gets a gradient from the loss at which position."""

import numpy as np

from grader.checks.laws.influence import Bools, Moves, Nudge, past
from grader.steps.inputs import Draw

T, FEATURES, KEYS, VALUES = 5, 4, 3, 2
PADDED = 2
_draw = Draw("maps", "attention gradient", decimals=2)
_D_OUT, _OTHER = _draw.normal(T, VALUES), _draw.normal(T, VALUES)
_TEXT = {
    "d_out": _D_OUT,
    "x": _draw.normal(T, FEATURES),
    "w_q": _draw.normal(FEATURES, KEYS) / 2,
    "w_k": _draw.normal(FEATURES, KEYS) / 2,
    "w_v": _draw.normal(FEATURES, VALUES),
}
_REAL = (np.arange(T) != PADDED)[None, :]


def _from_behind(sees: Bools, how: str, **more: object) -> Moves:
    """Return whether the gradient of x[i] moves with the slope at output j."""
    change = Nudge({**_TEXT, **more}, {"d_out": _OTHER}, {"d_out": -2})
    sees = sees.T.copy()
    return Moves(change, sees, part=0, output="gradient of x at position", input="loss", how=how)


MAPS = {
    "masked_self_attention_backward": [
        _from_behind(past(T), "The slope of the loss at one output is changed at a time."),
        _from_behind(
            # A padded query still attends, unless it may see nothing at all.
            (past(T) & _REAL) | np.diag(np.arange(T) == PADDED),
            f"The slope of the loss at one output is changed; position {PADDED} is padding.",
            padding=_REAL,
        ),
    ],
}
