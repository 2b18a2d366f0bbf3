"""Watch a student's decoder at work, in a worker beside the student's modules.

The file is sent there as text and never imported by the judge. It does not compute any part of a
decoder. It calls the student's `decoder_logits`, and notes the values that pass through the
functions below it.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

Function = Callable[..., Any]
MINE: dict[str, Function] = {}  # the student's functions


class LogitsNotes:
    """The notes on one run of `decoder_logits`.

    masked: for each layer, whether it keeps its mask; None while nobody watches. keeps: whether
    weights are kept. begun: how many blocks have begun. made: the weights of each block, by the
    function that made them.
    """

    masked: Sequence[bool] | None = None
    keeps = False
    begun = 0
    made: ClassVar[dict[str, list[list[Any]]]] = {}


def begin(modules: dict[str, str]) -> None:
    """Load the student's functions, and watch three of them. modules: which module has each."""
    for function, module in modules.items():
        MINE[function] = getattr(importlib.import_module(f"exercises.{module}"), function)
    watches = {"decoder_block": _watch_block, "attention": _watch_attention}
    for name, watch in {**watches, "softmax": _watch_softmax}.items():
        _put_in_place(MINE[name], functools.wraps(MINE[name])(watch(MINE[name])))


def _put_in_place(function: Function, watched: Function) -> None:
    """Make every module of the student's that uses the function call the watched one."""
    for name, module in list(sys.modules.items()):
        if name.startswith("exercises."):
            for attribute, value in list(vars(module).items()):
                if value is function:
                    setattr(module, attribute, watched)


def _watch_block(block: Function) -> Function:
    def watched(*args: Any, **named: Any) -> Any:
        if LogitsNotes.masked is not None:
            layer = LogitsNotes.begun
            LogitsNotes.begun += 1
            for made in LogitsNotes.made.values():
                made.append([])
            if layer < len(LogitsNotes.masked) and not LogitsNotes.masked[layer]:
                args, named = _take_mask_away(args, named)
        return block(*args, **named)

    return watched


def _take_mask_away(args: Any, named: Any) -> tuple[Any, Any]:
    """Return a block's arguments with a mask that hides nothing."""
    t = np.shape(args[0] if args else named["x"])[-2]
    if len(args) > 3:
        return (*args[:3], np.ones((t, t), bool), *args[4:]), named
    return args, {**named, "mask": np.ones((t, t), bool)}


def _watch_attention(attention: Function) -> Function:
    def watched(*args: Any, **named: Any) -> Any:
        if LogitsNotes.keeps and LogitsNotes.begun:
            LogitsNotes.keeps = False
            # With the identity for values, what comes out is the weights.
            given = inspect.signature(attention).bind(*args, **named)
            values = list(given.arguments)[2]
            keys = np.shape(given.arguments[values])[:-1]
            given.arguments[values] = np.broadcast_to(np.eye(keys[-1]), (*keys, keys[-1]))
            LogitsNotes.made["attention"][-1].append(attention(*given.args, **given.kwargs))
            LogitsNotes.keeps = True
        return attention(*args, **named)

    return watched


def _watch_softmax(softmax: Function) -> Function:
    def watched(*args: Any, **named: Any) -> Any:
        weights = softmax(*args, **named)
        if LogitsNotes.keeps and LogitsNotes.begun:
            LogitsNotes.made["softmax"][-1].append(weights)
        return weights

    return watched


def look_into(
    tokens: Any, other: Any, params: Any, n_heads: int, masked: Sequence[bool]
) -> dict[str, Any]:
    """Return the logits, the attention weights of all layers, and the tokens' influence.

    masked: for each layer, whether it has its mask. other: tokens that replace these. The result is
    a dict. `layers` counts the blocks that ran. `weights` is None if neither `attention` nor
    `softmax` made them.
    """
    logits = _run(tokens, params, n_heads, masked, True)
    layers, made = LogitsNotes.begun, LogitsNotes.made
    moved = np.zeros((len(tokens), len(tokens)))
    for place in range(len(tokens)):
        changed = np.array(tokens)
        changed[place] = other[place]
        after = _run(changed, params, n_heads, masked, False)
        moved[:, place] = np.max(np.abs(after - logits), axis=-1)
    shape = (n_heads, len(tokens), len(tokens))
    weights = [_join(each, shape) for each in made.values()]
    found = next((each for each in weights if each is not None), None)
    return {"weights": found, "logits": logits, "moved": moved, "layers": layers}


def _run(tokens: Any, params: Any, n_heads: int, masked: Sequence[bool], keeps: bool) -> Any:
    """Return the student's own logits, without the masks of some layers."""
    LogitsNotes.masked, LogitsNotes.keeps, LogitsNotes.begun = masked, keeps, 0
    LogitsNotes.made = {"attention": [], "softmax": []}
    try:
        return np.asarray(MINE["decoder_logits"](tokens, params, n_heads), dtype=float)
    finally:
        LogitsNotes.masked, LogitsNotes.keeps = None, False


def _join(layers: list[list[Any]], shape: tuple[int, ...]) -> Any:
    """Return the weights as (layers, heads, T, T), or None if a layer has fewer."""
    joined = []
    for calls in layers:
        fitting = [np.asarray(each, dtype=float) for each in calls]
        fitting = [each for each in fitting if each.shape[-2:] == shape[1:]]
        heads = [each.reshape(-1, *shape[1:]) for each in fitting]
        if sum(map(len, heads)) != shape[0]:
            return None
        joined.append(np.concatenate(heads))
    return np.array(joined) if joined else None


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
    """Return how many numbers the arrays in a cache hold, whatever its structure."""
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
    """Return the tokens with which the decoder continues these, the most likely each time."""
    return np.asarray(MINE["decoder_generate"](tokens, count, params, n_heads))
