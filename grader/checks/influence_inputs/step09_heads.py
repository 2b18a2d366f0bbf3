"""Heads: each head keeps positions apart, and all heads respect the mask."""

import numpy as np

from grader.checks.influence_inputs.step05_output import OFFERS
from grader.checks.laws.influence import Bools, Moves, Nudge, everything, own, past
from grader.steps.inputs import Arguments, Draw

T, N_HEADS, D_HEAD = 5, 2, 3
FEATURES = N_HEADS * D_HEAD
_draw = Draw("maps", "heads", decimals=2)
_ALONG = {"x": -2}


def attention_params(draw: Draw) -> Arguments:
    """Return random weights and biases of attention over FEATURES features."""
    weights = {f"w_{name}": draw.normal(FEATURES, FEATURES) / 2 for name in "qkvo"}
    return weights | {f"b_{name}": draw.normal(FEATURES) for name in "qkvo"}


_SPLIT = Nudge(
    {"x": _draw.normal(T, FEATURES), "n_heads": N_HEADS}, {"x": _draw.normal(T, FEATURES)}, _ALONG
)
_MERGED = Nudge(
    {"x": _draw.normal(N_HEADS, T, D_HEAD)}, {"x": _draw.normal(N_HEADS, T, D_HEAD)}, _ALONG
)
_PARAMS = attention_params(_draw)
_TEXT: Arguments = {"x": _draw.normal(T, FEATURES), "params": _PARAMS, "n_heads": N_HEADS}
_OTHER_TEXT: Arguments = {"x": _draw.normal(T, FEATURES)}
# Queries that do not read feature 0, which is the only one that changes: what moves then, moves by
# the key and the value of that token. By its query every output would move with its own token.
_UNREAD = np.arange(FEATURES) == 0
_BLIND = _TEXT | {"params": _PARAMS | {"w_q": _PARAMS["w_q"] * ~_UNREAD[:, None]}}
_OTHER_FEATURE = {"x": np.where(_UNREAD, _OTHER_TEXT["x"], _TEXT["x"])}
_OFFERS = Nudge(_BLIND | {"mask": past(T)}, _OTHER_FEATURE, _ALONG)
_SOME = np.asarray(
    [[1, 0, 1, 0, 1], [0, 1, 1, 0, 0], [1, 1, 0, 0, 1], [0, 0, 1, 1, 0], [1, 0, 0, 1, 0]],
    dtype=bool,
)


def _texts(how: str, mask: Bools | None, offers: Nudge | None = None) -> Moves:
    """Return self-attention of a sequence under that mask."""
    arguments = _TEXT if mask is None else _TEXT | {"mask": mask}
    seen = everything(T, T) if mask is None else mask
    # A position always moves with its own query, whatever it sees.
    return Moves(Nudge(arguments, _OTHER_TEXT, _ALONG), seen | own(T), offers=offers, how=how)


MAPS = {
    "split_heads": [Moves(_SPLIT, own(T))],
    "merge_heads": [Moves(_MERGED, own(T))],
    "multi_head_attention": [
        _texts("Without a mask.", None),
        _texts(f"Under a causal mask. {OFFERS}", past(T), _OFFERS),
        _texts("Under a mask that hides some keys from some queries.", _SOME),
    ],
}
