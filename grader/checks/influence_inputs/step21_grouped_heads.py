"""Grouped heads: sharing keys mixes no positions, and every head respects the mask."""

import numpy as np

from grader.checks.influence_inputs.step05_output import OFFERS
from grader.checks.laws.influence import Bools, Moves, Nudge, everything, own, past
from grader.steps.inputs import Arguments, Draw

T, N_HEADS, N_KV_HEADS, D_HEAD, FEATURES = 5, 4, 2, 2, 6
_draw = Draw("maps", "grouped heads", decimals=2)
_ALONG = {"x": -2}


def attention_params(draw: Draw) -> Arguments:
    """Return random weights of attention over FEATURES features."""
    wide, narrow = N_HEADS * D_HEAD, N_KV_HEADS * D_HEAD
    shapes = {"q": (FEATURES, wide), "k": (FEATURES, narrow), "v": (FEATURES, narrow)}
    weights = {f"w_{name}": draw.normal(*shape) / 2 for name, shape in shapes.items()}
    return weights | {"w_o": draw.normal(wide, FEATURES) / 2}


_REPEATED = Nudge(
    {"x": _draw.normal(N_KV_HEADS, T, D_HEAD), "n_repeats": 2},
    {"x": _draw.normal(N_KV_HEADS, T, D_HEAD)},
    _ALONG,
)
_PARAMS = attention_params(_draw)
_TEXT: Arguments = {
    **{"x": _draw.normal(T, FEATURES), "params": _PARAMS},
    **{"n_heads": N_HEADS, "n_kv_heads": N_KV_HEADS},
}
_OTHER_TEXT: Arguments = {"x": _draw.normal(T, FEATURES)}
# As for multi_head_attention: queries that do not read the only feature that changes.
_UNREAD = np.arange(FEATURES) == 0
_BLIND = _TEXT | {"params": _PARAMS | {"w_q": _PARAMS["w_q"] * ~_UNREAD[:, None]}}
_OTHER_FEATURE = {"x": np.where(_UNREAD, _OTHER_TEXT["x"], _TEXT["x"])}
_TURNED = {"angles": np.arange(T)[:, None] * np.asarray([[1.0]])}
_OFFERS = Nudge(_BLIND | _TURNED | {"mask": past(T)}, _OTHER_FEATURE, _ALONG)
# Two documents in one row: neither may move the other.
_PACKED = past(T) & (np.arange(T)[:, None] // 3 == np.arange(T) // 3)


def _texts(how: str, mask: Bools | None, offers: Nudge | None = None) -> Moves:
    """Return self-attention of a sequence under that mask; `offers` turns it as well."""
    turned = {} if offers is None else _TURNED
    arguments = _TEXT | turned | ({} if mask is None else {"mask": mask})
    seen = everything(T, T) if mask is None else mask
    return Moves(Nudge(arguments, _OTHER_TEXT, _ALONG), seen, offers=offers, how=how)


MAPS = {
    "repeat_heads": [Moves(_REPEATED, own(T))],
    "grouped_query_attention": [
        _texts("Without a mask.", None),
        _texts(f"Under a causal mask, queries and keys turned. {OFFERS}", past(T), _OFFERS),
        _texts("Under a mask of two documents: positions 0 to 2, and 3 to 4.", _PACKED),
    ],
}
