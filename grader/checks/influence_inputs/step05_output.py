"""Attention: an output moves with the positions that its query may see, and with nothing else."""

from dataclasses import replace

import numpy as np

from grader.checks.laws.influence import Bools, Moves, Nudge, everything, own, past
from grader.steps.inputs import Draw

T, T_Q, T_K, FEATURES = 5, 3, 5, 4
PADDED = 2
_draw = Draw("maps", "output", decimals=2)

_SHARES = np.tri(T_Q, T_K, T_K - T_Q) / np.arange(T_K - T_Q + 1, T_K + 1)[:, None]
_MIXED = {"weights": _SHARES, "v": _draw.normal(T_K, 2)}
_OTHER_VALUES = {"v": _draw.normal(T_K, 2)}
_OTHER_WEIGHTS = {"weights": _draw.uniform(T_Q, T_K) / T_K}

_ASKED = {"q": _draw.normal(T_Q, 3), "k": _draw.normal(T_K, 3), "v": _draw.normal(T_K, 2)}
_OTHERS = {"q": _draw.normal(T_Q, 3), "k": _draw.normal(T_K, 3), "v": _draw.normal(T_K, 2)}
_MASKS = {
    "": None,
    "Under a causal mask, the queries being the last positions.": past(T_Q, T_K),
    "Under a mask that hides some keys from some queries.": np.asarray(
        [[1, 0, 1, 0, 1], [0, 1, 1, 0, 0], [1, 1, 0, 0, 1]], dtype=bool
    ),
}


def _keys_and_values(how: str, mask: Bools | None) -> Moves:
    arguments = _ASKED if mask is None else _ASKED | {"mask": mask}
    change = Nudge(arguments, _OTHERS, {"k": -2, "v": -2})
    sees = everything(T_Q, T_K) if mask is None else mask
    return Moves(change, sees, input="key and value", how=how)


def _queries(mask: Bools) -> Moves:
    return Moves(Nudge(_ASKED | {"mask": mask}, _OTHERS, {"q": -2}), own(T_Q), input="query")


def change_tokens(draw: Draw, length: int) -> tuple[Nudge, Nudge]:
    """Return a change of one token at a time, and a change of only its key and value.

    In the second change, queries do not read feature 0, which is the only feature that changes. So
    an output moves only through the token's key and value. Through the query, every output would
    move with its own token.
    """
    text = {
        "x": draw.normal(length, FEATURES),
        "w_q": draw.normal(FEATURES, 3) / 2,
        "w_k": draw.normal(FEATURES, 3) / 2,
        "w_v": draw.normal(FEATURES, 2),
    }
    others, along, read = draw.normal(length, FEATURES), {"x": -2}, np.arange(FEATURES) > 0
    blind = text | {"w_q": text["w_q"] * read[:, None]}
    offered = {"x": np.where(read, text["x"], others)}
    return Nudge(text, {"x": others}, along), Nudge(blind, offered, along)


_TOKENS, _OFFERED = change_tokens(_draw, T)
OFFERS = "Up to a position's own token, a changed token keeps its query: its key and value change."


def _texts(real: Bools) -> Moves:
    """Return self-attention over a sequence whose keys are real where the padding mask is True."""
    padding = {} if real.all() else {"padding": real[None, :]}
    return Moves(
        replace(_TOKENS, arguments=_TOKENS.arguments | padding),
        past(T) & real | own(T),  # a padded token is hidden as a key, not as a query
        offers=replace(_OFFERED, arguments=_OFFERED.arguments | padding),
        offered=past(T) & (real | ~own(T)),
        how=OFFERS + (f" Token {PADDED} is padding." if padding else ""),
    )


MAPS = {
    "attention_output": [
        Moves(Nudge(_MIXED, _OTHER_VALUES, {"v": -2}), past(T_Q, T_K), input="value"),
        Moves(Nudge(_MIXED, _OTHER_WEIGHTS, {"weights": -2}), own(T_Q), input="weight row"),
    ],
    "attention": [
        *(_keys_and_values(how, mask) for how, mask in _MASKS.items()),
        _queries(past(T_Q, T_K)),
    ],
    "masked_self_attention": [
        _texts(np.full(T, True)),
        _texts(np.arange(T) != PADDED),
    ],
}
