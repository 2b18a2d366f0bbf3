"""Watch a student's functions at work, in a worker beside the student's modules.

The file is sent there as text and never imported by the judge. It does not compute any part of an
attention. It calls the student's functions, and notes what goes through the ones that they call.
Two models can be run: `layer`, the one-layer model of step 6, and `decoder`, that of step 12.
"""

import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

Function = Callable[..., Any]
Run = Callable[[Any], Any]


class Written(dict[str, Function]):
    """The student's functions that are written."""

    def __missing__(self, name: str) -> Function:
        """Raise NotImplementedError, as a stub does."""
        raise NotImplementedError(name)


MINE = Written()
# Where each box finds its arrays: a function, and which of its arguments; -1 is its result.
BOXES = {
    "q": (("qkv", 0), ("attention", 0), ("attention_scores", 0)),
    "k": (("qkv", 1), ("attention", 1), ("attention_scores", 1)),
    "v": (("qkv", 2), ("attention", 2), ("attention_output", 1)),
    "scores": (("attention_scores", -1),),
    "masked": (("softmax", 0), ("apply_mask", -1)),
    "softmax": (("softmax", -1),),
    "weights": (("weights", -1), ("attention_output", 0), ("softmax", -1)),
    "output": (("attention", -1), ("attention_output", -1)),
}


class Notes:
    """The notes on one run.

    masked: for each layer, whether it keeps its mask. whole: whether there are blocks, which get
    their mask from outside. calls: the name of each, with its arguments and result.
    """

    watching = False
    masked: Sequence[bool] = ()
    whole = False
    layer = 0
    calls: ClassVar[list[tuple[str, list[Any]]]] = []


def begin(modules: dict[str, str]) -> None:
    """Load the student's functions, and watch them. modules: which module has each."""
    for name, module in modules.items():
        try:
            function = getattr(importlib.import_module(f"exercises.{module}"), name, None)
        except ModuleNotFoundError as error:
            if str(error.name).partition(".")[0] != "exercises":
                raise
            continue  # it stands on a step that is not there
        if function is not None:
            MINE[name] = functools.wraps(function)(_watch(name, function))
            _put_in_place(function, MINE[name])


def _put_in_place(function: Function, watched: Function) -> None:
    """Make every module of the student's that uses the function call the watched one."""
    for name, module in list(sys.modules.items()):
        if name.startswith("exercises."):
            for attribute, value in list(vars(module).items()):
                if value is function:
                    setattr(module, attribute, watched)


def _watch(name: str, function: Function) -> Function:
    names = list(inspect.signature(function).parameters)

    def watched(*args: Any, **named: Any) -> Any:
        if not Notes.watching:
            return function(*args, **named)
        given = dict(zip(names, args)) | named
        if name == "decoder_block":
            Notes.layer += 1
            if not _is_masked() and len(names) > 3:
                t = np.shape(given[names[0]])[-2]
                given[names[3]] = np.ones((t, t), bool)
                args, named = (), given
        result = function(*args, **named)
        if name == "causal_mask" and not Notes.whole and not _is_masked():
            result = np.ones(np.shape(result), bool)
        Notes.calls.append((name, [given[one] for one in names if one in given] + [result]))
        if name in ("project_qkv", "attention_backward"):
            Notes.calls.append(("qkv" if name == "project_qkv" else "d_qkv", list(result)))
        if name == "attention":
            Notes.calls.append(("weights", [_weigh(function, names, given)]))
        return result

    return watched


def _is_masked() -> bool:
    return not 0 <= Notes.layer < len(Notes.masked) or bool(Notes.masked[Notes.layer])


def _weigh(attention: Function, names: Sequence[str], given: dict[str, Any]) -> Any:
    """Return the weights of a call: what it returns with the identity for values."""
    keys = np.shape(given[names[2]])[:-1]
    values = np.broadcast_to(np.eye(keys[-1]), (*keys, keys[-1]))
    Notes.watching = False
    try:
        return attention(**{**given, names[2]: values})
    finally:
        Notes.watching = True


def _watch_anew(masked: Sequence[bool] = (), *, whole: bool = False) -> None:
    """Fill empty notes with what is called from now on. The layers are counted from 0."""
    Notes.watching, Notes.masked, Notes.whole = True, masked, whole
    Notes.layer = -1 if whole else 0
    Notes.calls.clear()


def _note(run: Run, tokens: Any, masked: Sequence[bool], whole: bool) -> Any:
    """Return what a run returns, and fill the notes."""
    _watch_anew(masked, whole=whole)
    return np.asarray(run(tokens), dtype=float)


def _embed(tokens: Any, params: Any, start: int = 0) -> Any:
    """Return what the one layer reads: (T, d_model). start: the first token's position."""
    return params["embedding"][tokens] + params["position"][start : start + len(tokens)]


def _ways(model: str, params: Any, n_heads: int) -> list[Run]:
    """Return what can be run, the most complete first: an unwritten function leads to the next."""
    if model == "decoder":
        return [lambda tokens: MINE["decoder_logits"](tokens, params, n_heads)]
    maps = [params[f"w_{name}"] for name in "qkv"]

    def attend(tokens: Any) -> Any:
        mask = MINE["causal_mask"](len(tokens))
        return MINE["attention"](*MINE["project_qkv"](_embed(tokens, params), *maps), mask)

    def one_by_one(tokens: Any) -> Any:
        q, k, v = MINE["project_qkv"](_embed(tokens, params), *maps)
        scores = MINE["attention_scores"](q, k)
        scores = MINE["apply_mask"](scores, MINE["causal_mask"](len(tokens)))
        weights = MINE["softmax"](scores)
        return MINE["attention_output"](weights, v)

    return [
        lambda tokens: MINE["next_token_logits"](tokens, params),
        lambda tokens: MINE["masked_self_attention"](_embed(tokens, params), *maps),
        attend,
        one_by_one,
    ]


def look_into(
    model: str, tokens: Any, params: Any, n_heads: int, masked: Sequence[bool], other: Any
) -> dict[str, Any]:
    """Return the arrays of all boxes, the result, and the tokens' influence on it.

    masked: for each layer, whether it has its mask. other: tokens that replace these. A box is None
    if no call of the run has its arrays. `result` and `moved` are None if the run did not end.
    """
    whole, result, way = model == "decoder", None, None
    for way in _ways(model, params, n_heads):
        try:
            result = _note(way, tokens, masked, whole)
            break
        except NotImplementedError:
            if whole:
                raise
    layers, called = Notes.layer + 1, sorted({name for name, _ in Notes.calls})
    boxes = {box: _find(places, len(masked), n_heads) for box, places in BOXES.items()}
    boxes["x"] = np.array(_stream(tokens, params, whole)[: len(masked)], dtype=float)
    moved = None
    if result is not None and way is not None:
        moved = np.zeros((len(tokens), len(tokens)))
        for place in range(len(tokens)):
            changed = np.array(tokens)
            changed[place] = other[place]
            after = _note(way, changed, masked, whole)
            moved[:, place] = np.max(np.abs(after - result), axis=-1)
    return {"boxes": boxes, "result": result, "moved": moved, "called": called, "layers": layers}


def _stream(tokens: Any, params: Any, whole: bool) -> list[Any]:
    """Return the activations that each layer reads, then the result of the last block."""
    if not whole:
        return [_embed(tokens, params)]
    blocks = [values for name, values in Notes.calls if name == "decoder_block"]
    return [values[0] for values in blocks] + [values[-1] for values in blocks[-1:]]


def _find(places: Sequence[tuple[str, int]], layers: int, heads: int) -> Any:
    """Return what the calls have at the first place where all heads of all layers have something.

    It is (layers, heads, rows, features), or None if there is no such place.
    """
    for name, place in places:
        calls = [np.asarray(values[place]) for called, values in Notes.calls if called == name]
        found = [row for one in calls if one.ndim > 1 for row in one.reshape(-1, *one.shape[-2:])]
        if len(found) == layers * heads and len({row.shape for row in found}) == 1:
            return np.array(found, dtype=float).reshape(layers, heads, *found[0].shape)
    return None


def go_back(
    model: str, tokens: Any, params: Any, n_heads: int, masked: Sequence[bool]
) -> dict[str, Any]:
    """Return the size of the gradients for a loss at each position: (T, layers, …, T).

    The loss is that of the word which comes next; at the end, that of the most likely word.
    """
    whole, t = model == "decoder", len(tokens)
    logits = _note(_ways(model, params, n_heads)[0], tokens, masked, whole)
    wanted, stream = np.append(tokens[1:], np.argmax(logits[-1])), _stream(tokens, params, whole)
    found: dict[str, list[Any]] = {name: [] for name in "xqkv"}
    for place in range(t):
        targets = np.where(np.arange(t) == place, wanted, -100)
        d_logits = MINE["cross_entropy_backward"](logits, targets, -100)
        back = _back_blocks if whole else _back_layer
        _watch_anew(() if whole else masked, whole=whole)
        found["x"].append(back(d_logits, stream, params, n_heads, masked))
        for index, name in enumerate("qkv"):
            gradient = _find([("d_qkv", index)], len(masked), n_heads)
            if gradient is not None:  # the last layer comes first
                found[name].append(np.linalg.norm(gradient[::-1], axis=-1))
    return {name: np.array(each) if len(each) == t else None for name, each in found.items()}


def _back_layer(d_logits: Any, stream: Any, params: Any, n_heads: int, masked: Any) -> Any:
    maps = [params[f"w_{name}"] for name in "qkv"]
    output = MINE["masked_self_attention"](stream[0], *maps)
    d_output = MINE["linear_backward"](d_logits, output, params["w_out"])[0]
    d_x = MINE["masked_self_attention_backward"](d_output, stream[0], *maps)[0]
    return np.linalg.norm(d_x, axis=-1)[None]


def _back_blocks(d_logits: Any, stream: Any, params: Any, n_heads: int, masked: Any) -> Any:
    norm, t = params["ln_f"], len(d_logits)
    normed = MINE["layer_norm"](stream[-1], norm["gain"], norm["bias"])
    d_normed = MINE["linear_backward"](d_logits, normed, params["embedding"].T)[0]
    d_x = MINE["layer_norm_backward"](d_normed, stream[-1], norm["gain"])[0]
    sizes: list[Any] = []
    for layer in reversed(range(len(masked))):
        mask, block = np.tri(t, dtype=bool) | (not masked[layer]), params["blocks"][layer]
        d_x, _ = MINE["decoder_block_backward"](d_x, stream[layer], block, n_heads, mask)
        sizes.insert(0, np.linalg.norm(d_x, axis=-1))
    return np.array(sizes)


def fill_cache(model: str, tokens: Any, params: Any, n_heads: int, layers: int) -> dict[str, Any]:
    """Feed the tokens one by one.

    Return the numbers that the cache held after each, the logits of each, how many keys attention
    got for each, and the keys and values that it got at last, (layers, heads, keys, features).
    """
    decoder, maps = model == "decoder", [params.get(f"w_{name}") for name in "qkv"]
    cache = MINE["new_decoder_cache"](layers) if decoder else MINE["new_cache"]()
    held, logits, rows, kept = [], [], [], {}
    for place in range(len(tokens)):
        token = tokens[place : place + 1]
        _watch_anew()
        if decoder:
            new, cache = MINE["decoder_step"](token, cache, params, n_heads)
        else:
            x = _embed(token, params, place)
            new, cache = MINE["attend_with_cache"](x, cache, *maps)
            new = new @ params["w_out"]
        kept = {name: _find(BOXES[name][1:], layers, n_heads) for name in "kv"}
        held.append(_count(cache, set()))
        rows.append(-1 if kept["k"] is None else kept["k"].shape[-2])
        logits.append(np.asarray(new, dtype=float)[-1])
    return {"held": held, "logits": np.array(logits), "rows": rows, **kept}


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
