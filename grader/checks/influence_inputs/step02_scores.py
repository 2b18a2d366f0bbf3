"""Scores: a row for each query and a column for each key, independent of all other positions."""

from grader.checks.laws.influence import Moves, Nudge, own
from grader.steps.inputs import Draw

T_Q, T_K = 3, 4
_draw = Draw("maps", "scores", decimals=2)
_ASKED = {"q": _draw.normal(T_Q, 5), "k": _draw.normal(T_K, 5)}
_OTHERS = {"q": _draw.normal(T_Q, 5), "k": _draw.normal(T_K, 5)}

MAPS = {
    "attention_scores": [
        Moves(Nudge(_ASKED, _OTHERS, {"q": -2}), own(T_Q), output="row", input="query"),
        Moves(Nudge(_ASKED, _OTHERS, {"k": -2}), own(T_K), -1, output="column", input="key"),
    ],
}
