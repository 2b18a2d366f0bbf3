"""The cache: a token sees all tokens before it, whichever chunk they came in."""

import numpy as np

from grader.checks.influence_inputs.step05_output import OFFERS
from grader.checks.laws.chunks import InChunks
from grader.checks.laws.influence import Change, Moves, past
from grader.checks.student import Student
from grader.steps.inputs import Draw

CHUNKS = (2, 1, 2)
T, FEATURES = sum(CHUNKS), 4
_draw = Draw("maps", "cache", decimals=2)
_TEXT = {
    "x": _draw.normal(T, FEATURES),
    "w_q": _draw.normal(FEATURES, 3) / 2,
    "w_k": _draw.normal(FEATURES, 3) / 2,
    "w_v": _draw.normal(FEATURES, 2),
}
_OTHERS = {"x": _draw.normal(T, FEATURES)}
# As for masked_self_attention: queries that do not read the only feature that changes.
_BLIND = _TEXT | {"w_q": _TEXT["w_q"] * (np.arange(FEATURES) > 0)[:, None]}
_OTHER_FEATURE = {"x": np.where(np.arange(FEATURES) > 0, _TEXT["x"], _OTHERS["x"])}

MAPS = {
    "attend_with_cache": [
        Moves(
            Change(_TEXT, _OTHERS, {"x": -2}),
            past(T),
            offers=Change(_BLIND, _OTHER_FEATURE, {"x": -2}),
            how=f"The text came in chunks of {', '.join(map(str, CHUNKS))} tokens. {OFFERS}",
        )
    ],
}


def _in_chunks(student: Student) -> InChunks:
    return InChunks(student.attend_with_cache, student.new_cache, CHUNKS, "masked_self_attention")


CALLS = {"attend_with_cache": _in_chunks}
