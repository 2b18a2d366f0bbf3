"""Hidden words: every position is drawn by itself, and scored only if it was chosen."""

import numpy as np

from grader.checks.laws.influence import Map, Moves, Nudge, Scored, own
from grader.steps.inputs import Arguments, Draw

T, V = 5, 7
_draw = Draw("maps", "masked", decimals=2)
# Nothing is hidden, and nothing is chosen both times: what comes out moves with what goes in.
_TEXT: Arguments = {
    "tokens": np.asarray([2, 5, 0, 4, 1]),
    "select": np.asarray([0.5, 0.03, 0.1, 0.7, 0.06]),
    "replace": np.asarray([0.4, 0.85, 0.95, 0.2, 0.88]),
    "random_ids": np.asarray([3, 1, 4, 0, 2]),
    "mask_id": 7,
}
_OTHERS: Arguments = {
    "tokens": np.asarray([6, 3, 6, 3, 6]),
    "select": np.asarray([0.05, 0.6, 0.8, 0.02, 0.4]),
    "replace": np.asarray([0.93, 0.3, 0.1, 0.97, 0.5]),
    "random_ids": np.asarray([1, 2, 3, 4, 0]),
}
_CHANGE = Nudge(_TEXT, _OTHERS, dict.fromkeys(_OTHERS, -1))

_CHOSEN = np.asarray([True, False, True, True, False])
_SCORED: Arguments = {
    "logits": _draw.normal(T, V),
    "targets": np.where(_CHOSEN, _TEXT["tokens"], -100),
}


def _raise_logit(i: int, j: int) -> Arguments:
    logits = _SCORED["logits"].copy()
    logits[i, _TEXT["tokens"][j]] += 1
    return _SCORED | {"logits": logits}


MAPS: dict[str, list[Map]] = {
    "mask_tokens": [
        Moves(_CHANGE, own(T), -1, 0, output="corrupted token", input="position"),
        Moves(_CHANGE, own(T), -1, 1, output="target", input="position"),
    ],
    "masked_lm_loss": [
        Scored(
            _SCORED,
            _raise_logit,
            own(T) & _CHOSEN[:, None],
            how="One position at a time made one of the tokens more likely. "
            "Positions 1 and 4 are not chosen.",
        )
    ],
}
