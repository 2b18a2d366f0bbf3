"""Streaming: a query hears of exactly the keys that it may see, whichever block they come in."""

import numpy as np

from grader.checks.laws.influence import Bools, Moves, Nudge, everything, own, past
from grader.steps.inputs import Arguments, Draw

T_Q, T_K, BLOCK = 3, 5, 2
_draw = Draw("maps", "streaming", decimals=2)


def _asked() -> Arguments:
    return {"q": _draw.normal(T_Q, 3), "k": _draw.normal(T_K, 3), "v": _draw.normal(T_K, 2)}


def _set(name: str) -> Arguments:
    return {f"out_{name}": _draw.normal(T_Q, 2), f"lse_{name}": _draw.normal(T_Q)}


_ASKED, _OTHERS = _asked(), _asked()
_PAIR, _OTHER_PAIR = _set("a") | _set("b"), _set("a") | _set("b")
_MASKS = {
    "": None,
    "Under a causal mask, the queries being the last positions.": past(T_Q, T_K),
    "Under a mask that hides some keys from some queries.": np.asarray(
        [[1, 0, 1, 0, 1], [0, 1, 1, 0, 0], [1, 1, 0, 0, 1]], dtype=bool
    ),
}


def _over_these_keys(how: str, mask: Bools | None) -> Moves:
    arguments = _ASKED if mask is None else _ASKED | {"mask": mask}
    sees = everything(T_Q, T_K) if mask is None else mask
    both = Nudge(arguments, _OTHERS, {"k": -2, "v": -2})
    return Moves(both, sees, part=0, input="key and value", how=how)


def _merged(name: str) -> Moves:
    change = Nudge(_PAIR, _OTHER_PAIR, {f"out_{name}": -2, f"lse_{name}": -1})
    return Moves(change, own(T_Q), part=0, input=f"row of {name}")


def _streamed(how: str, causal: bool) -> Moves:
    arguments = _ASKED | {"block": BLOCK, "causal": causal}
    sees = past(T_Q, T_K) if causal else everything(T_Q, T_K)
    change = Nudge(arguments, _OTHERS, {"k": -2, "v": -2})
    return Moves(change, sees, input="key and value", how=f"In blocks of {BLOCK} keys{how}.")


_SUMS = Moves(
    Nudge(_ASKED | {"mask": past(T_Q, T_K)}, _OTHERS, {"k": -2}),
    past(T_Q, T_K),
    axis=-1,
    part=1,
    output="lse of position",
    input="key",
    how="Under a causal mask.",
)
_QUERIES = Nudge(_ASKED | {"block": BLOCK, "causal": True}, _OTHERS, {"q": -2})

MAPS = {
    "partial_attention": [*(_over_these_keys(how, mask) for how, mask in _MASKS.items()), _SUMS],
    "merge_attention": [_merged("a"), _merged("b")],
    "streaming_attention": [
        _streamed("", causal=False),
        _streamed(", causal", causal=True),
        Moves(_QUERIES, own(T_Q), input="query"),
    ],
}
