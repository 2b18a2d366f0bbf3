"""Cross-attention: each position has its own query, and may see the whole real memory."""

import numpy as np

from grader.checks.influence_inputs.step08_generation import BECAME
from grader.checks.influence_inputs.step09_heads import FEATURES, N_HEADS, attention_params
from grader.checks.laws.influence import Bools, Moves, Nudge, everything, own
from grader.steps.inputs import Draw

T, S, PADDED = 4, 5, 2
_draw = Draw("maps", "cross", decimals=2)
_TEXTS = {
    "x": _draw.normal(T, FEATURES),
    "memory": _draw.normal(S, FEATURES),
    "params": attention_params(_draw),
    "n_heads": N_HEADS,
}
_OTHERS = {"x": _draw.normal(T, FEATURES), "memory": _draw.normal(S, FEATURES)}
_REAL = np.arange(S) != PADDED
_PADDED = {"memory_mask": _REAL[None, :]}

_TOKENS = np.asarray([2, 5, 0, 4, 1])  # all different, so that each can be recognised
_OTHER_TOKENS = np.asarray([6, 3, 6, 3, 6])
_BEFORE = np.eye(len(_TOKENS), k=-1, dtype=bool)


def _memory(how: str, seen: Bools) -> Moves:
    """Return what moves with a position of the memory, which may be padding."""
    arguments = _TEXTS if seen.all() else _TEXTS | _PADDED
    change = Nudge(arguments, _OTHERS, {"memory": -2})
    return Moves(change, seen, input="memory position", how=how)


MAPS = {
    "shift_right": [
        Moves(
            Nudge({"tokens": _TOKENS, "start_id": 7}, {"tokens": _OTHER_TOKENS}, {"tokens": -1}),
            _BEFORE,
            -1,
            how=BECAME,
        )
    ],
    "cross_attention": [
        _memory("", everything(T, S)),
        _memory(f"Position {PADDED} of the memory is padding.", everything(T, S) & _REAL),
        Moves(Nudge(_TEXTS, _OTHERS, {"x": -2}), own(T)),
    ],
}
