"""Projections: every position is computed by itself."""

from grader.checks.laws.influence import Moves, Nudge, own
from grader.steps.inputs import Draw

T = 4
_draw = Draw("maps", "projections", decimals=2)
_x, _others = _draw.normal(T, 3), _draw.normal(T, 3)
_LINEAR = {"x": _x, "weight": _draw.normal(3, 2), "bias": _draw.normal(2)}
_PROJECTED = {
    "x": _x,
    "w_q": _draw.normal(3, 2),
    "w_k": _draw.normal(3, 2),
    "w_v": _draw.normal(3, 4),
}

MAPS = {
    "linear": [Moves(Nudge(_LINEAR, {"x": _others}, {"x": -2}), own(T))],
    "project_qkv": [
        Moves(Nudge(_PROJECTED, {"x": _others}, {"x": -2}), own(T), part=i, output=name)
        for i, name in enumerate(("query", "key", "value"))
    ],
}
