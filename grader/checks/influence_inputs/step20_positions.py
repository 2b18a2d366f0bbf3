"""Positions: each position is turned by itself, by its own angles."""

import numpy as np

from grader.checks.laws.influence import Moves, Nudge, own
from grader.steps.inputs import Draw

T, D_HEAD = 5, 4
_draw = Draw("maps", "positions", decimals=2)
_POSITIONS = Nudge(
    {"positions": np.arange(T), "d_head": D_HEAD},
    {"positions": np.arange(T) + T},
    {"positions": -1},
)
_GIVEN = {"x": 1 + _draw.uniform(T, D_HEAD), "angles": _draw.uniform(T, D_HEAD // 2)}
_OTHERS = {"x": _draw.normal(T, D_HEAD), "angles": 1.5 + _draw.uniform(T, D_HEAD // 2)}

MAPS = {
    "rotary_angles": [Moves(_POSITIONS, own(T), output="angles of position", input="position")],
    "rotate": [
        Moves(Nudge(_GIVEN, _OTHERS, {"x": -2}), own(T)),
        Moves(Nudge(_GIVEN, _OTHERS, {"angles": -2}), own(T), input="angles of position"),
    ],
}
