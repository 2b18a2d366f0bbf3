"""The loss: logits that see no later token, each scored against the token that comes next."""

from typing import Any

import numpy as np

from grader.checks.influence_inputs.step05_output import OFFERS
from grader.checks.laws.influence import Bools, Map, Moves, Nudge, Scored, own, past
from grader.steps.inputs import Arguments, Draw

T, V, FEATURES = 5, 7, 4
_draw = Draw("maps", "loss", decimals=2)
_TOKENS = np.asarray([2, 5, 0, 4, 1])  # all different, so that each can be recognised
_OTHER_TOKENS = np.asarray([6, 3, 6, 3, 6])
_NEXT = np.eye(T, k=1, dtype=bool)  # a text's last position has no next token

_MODEL = {
    "embedding": _draw.normal(V, FEATURES),
    "position": _draw.normal(T + 2, FEATURES),
    "w_q": _draw.normal(FEATURES, 3) / 2,
    "w_k": _draw.normal(FEATURES, 3) / 2,
    "w_v": _draw.normal(FEATURES, 2),
    "w_out": _draw.normal(2, V),
}
# Tokens that differ in feature 0 only, which the queries do not read.
_BLIND = _MODEL | {
    "embedding": np.where(np.arange(FEATURES) > 0, 0.5, _MODEL["embedding"]),
    "w_q": _MODEL["w_q"] * (np.arange(FEATURES) > 0)[:, None],
}
# A model in which every token looks at itself alone, so that its row of w_out is its logits.
_BIGRAMS = {
    "embedding": np.eye(V),
    "position": np.zeros((T + 2, V)),
    "w_q": 20 * np.eye(V),
    "w_k": 20 * np.eye(V),
    "w_v": np.eye(V),
    "w_out": _draw.normal(V, V),
}
_SCORED = {"logits": _draw.normal(T, V), "targets": _TOKENS}
RAISED = "One position at a time made one of the targets more likely."


def _read(model: Arguments) -> Nudge:
    return Nudge({"tokens": _TOKENS, "params": model}, {"tokens": _OTHER_TOKENS}, {"tokens": -1})


def _raise_logit(array: Any, i: int, j: int) -> Any:
    array = array.copy()
    array[i, j] += 1
    return array


def _raise_logits(i: int, j: int) -> Arguments:
    return _SCORED | {"logits": _raise_logit(_SCORED["logits"], i, _TOKENS[j])}


def _raise_bigram(i: int, j: int) -> Arguments:
    w_out = _raise_logit(_BIGRAMS["w_out"], _TOKENS[i], _TOKENS[j])
    return {"tokens": _TOKENS, "params": _BIGRAMS | {"w_out": w_out}}


def _shift_map(part: int, name: str, sees: Bools) -> Moves:
    change = Nudge({"tokens": _TOKENS}, {"tokens": _OTHER_TOKENS}, {"tokens": -1})
    return Moves(change, sees[: T - 1], -1, part, output=name)


MAPS: dict[str, list[Map]] = {
    "shift_tokens": [_shift_map(0, "input", own(T)), _shift_map(1, "target", _NEXT)],
    "log_softmax": [
        Moves(
            Nudge({"logits": _SCORED["logits"]}, {"logits": _draw.normal(T, V)}, {"logits": -2}),
            own(T),
            input="logit row",
        )
    ],
    "cross_entropy": [Scored(_SCORED, _raise_logits, own(T), how=RAISED)],
    "sequence_log_prob": [
        Scored(_SCORED, _raise_logits, own(T), 1, "log probability of position", how=RAISED)
    ],
    "next_token_logits": [Moves(_read(_MODEL), past(T), offers=_read(_BLIND), how=OFFERS)],
    "teacher_forced_loss": [
        Scored(
            {"tokens": _TOKENS, "params": _BIGRAMS},
            _raise_bigram,
            _NEXT,
            input="target token",
            how=f"{RAISED} The target of a position is the token after it.",
        )
    ],
}
