"""Softmax: every row of scores makes a row of weights, whatever the other rows are."""

from grader.checks.laws.influence import Moves, Nudge, own
from grader.steps.inputs import Draw

T_Q, T_K = 4, 3
_draw = Draw("maps", "softmax", decimals=2)
_SCORES = {"scores": _draw.normal(T_Q, T_K)}
_OTHERS = {"scores": _draw.normal(T_Q, T_K)}

MAPS = {
    "softmax": [
        Moves(
            Nudge(_SCORES, _OTHERS, {"scores": -2}),
            own(T_Q),
            output="weight row",
            input="score row",
        ),
    ],
}
