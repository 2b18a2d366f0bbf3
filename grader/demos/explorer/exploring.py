"""Ask a student's decoder, layer by layer. It runs in a worker beside the student's modules.

It is sent there as text and never imported by the judge. Everything that is shown comes out of the
student's functions, so a mistake in one of them can be seen in all of it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

MINE: dict[str, Callable[..., Any]] = {}  # the student's functions


def begin(modules: dict[str, str]) -> None:
    """Load the student's functions: modules says which module has each."""
    for function, module in modules.items():
        MINE[function] = getattr(importlib.import_module(f"exercises.{module}"), function)


def look_into(
    tokens: Any, other: Any, params: Any, n_heads: int, masked: Sequence[bool]
) -> dict[str, Any]:
    """Return the attention weights of all layers, the logits, and what every token moves.

    masked: for each layer, whether it has its mask. other: tokens to put in place of these. All of
    it comes as a dict; `apart` says how far the layers one by one are from `decoder_logits`.
    """
    weights, logits = _run_layers(tokens, params, n_heads, masked, True)
    moved = np.zeros((len(tokens), len(tokens)))
    for place in range(len(tokens)):
        changed = np.array(tokens)
        changed[place] = other[place]
        _, after = _run_layers(changed, params, n_heads, masked, False)
        moved[:, place] = np.max(np.abs(after - logits), axis=-1)
    apart = 0.0
    if all(masked):
        whole = MINE["decoder_logits"](tokens, params, n_heads)
        apart = float(np.max(np.abs(np.asarray(whole) - logits)))
    return {"weights": np.array(weights), "logits": logits, "moved": moved, "apart": apart}


def _run_layers(
    tokens: Any, params: Any, n_heads: int, masked: Sequence[bool], keep: bool
) -> tuple[list[Any], Any]:
    """Run the blocks one after the other, each with its mask or without one."""
    t = len(tokens)
    x = params["embedding"][tokens] + params["position"][:t]
    weights = []
    for block, has_mask in zip(params["blocks"], masked):
        mask = MINE["causal_mask"](t) if has_mask else np.ones((t, t), bool)
        if keep:
            weights.append(_find_weights(x, block, n_heads, mask))
        x = MINE["decoder_block"](x, block, n_heads, mask)
    normed = MINE["layer_norm"](x, params["ln_f"]["gain"], params["ln_f"]["bias"])
    return weights, np.asarray(MINE["linear"](normed, params["embedding"].T), dtype=float)


def _find_weights(x: Any, block: Any, n_heads: int, mask: Any) -> Any:
    """Return the weights of every head: with the identity for values, attention gives them."""
    normed = MINE["layer_norm"](x, block["ln_1"]["gain"], block["ln_1"]["bias"])
    own = block["attention"]
    q, k = (
        MINE["split_heads"](MINE["linear"](normed, own[f"w_{name}"], own[f"b_{name}"]), n_heads)
        for name in "qk"
    )
    values = np.broadcast_to(np.eye(len(x)), (n_heads, len(x), len(x)))
    return np.asarray(MINE["attention"](q, k, values, mask), dtype=float)


def fill_cache(tokens: Any, params: Any, n_heads: int) -> list[Any]:
    """Feed the tokens one by one; return the numbers held after each, and the logits of each."""
    cache = MINE["new_decoder_cache"](len(params["blocks"]))
    held, logits = [], []
    for place in range(len(tokens)):
        new, cache = MINE["decoder_step"](tokens[place : place + 1], cache, params, n_heads)
        held.append(_count(cache, set()))
        logits.append(np.asarray(new, dtype=float)[-1])
    return [held, np.array(logits)]


def _count(value: Any, seen: set[int]) -> int:
    """Return how many numbers the arrays in a cache hold, whatever it is built of."""
    if id(value) in seen:
        return 0
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        return int(value.size)
    if isinstance(value, dict):
        return sum(_count(item, seen) for item in value.values())
    if isinstance(value, (list, tuple, set)):
        return sum(_count(item, seen) for item in value)
    return _count(vars(value), seen) if hasattr(value, "__dict__") else 0


def write_on(tokens: Any, count: int, params: Any, n_heads: int) -> Any:
    """Return the tokens that the decoder writes on from these, the most likely each time."""
    return np.asarray(MINE["decoder_generate"](tokens, count, params, n_heads))
