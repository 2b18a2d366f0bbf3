"""Masks: a hidden score stays hidden, and nothing else changes."""

import numpy as np

from grader.checks.laws.influence import Moves, Nudge, own, past
from grader.steps.inputs import Draw

T, PAD = 4, 7
_draw = Draw("maps", "masks", decimals=2)
_TOKENS = {"tokens": np.asarray([3, PAD, 0, 5]), "pad_id": PAD}
_CHANGED = {"tokens": np.asarray([PAD, 3, PAD, PAD])}
_MASKED = {"scores": _draw.normal(T, T), "mask": past(T)}
_OTHERS = {"scores": _draw.normal(T, T)}

MAPS = {
    "padding_mask": [Moves(Nudge(_TOKENS, _CHANGED, {"tokens": -1}), own(T), -1, output="key")],
    "apply_mask": [
        Moves(
            Nudge(_MASKED, _OTHERS, {"scores": axis}),
            own(T),
            axis,
            output=line,
            input=f"score {line}",
        )
        for axis, line in ((-2, "row"), (-1, "column"))
    ],
}
