"""Count and time a decoder's work, with a cache and without.

It is sent to a worker as text, beside the student's modules, and never imported by the judge.
"""

import importlib
import math
import time

import numpy as np

ENOUGH = 0.5  # seconds after which nothing is measured again
MAKERS = ("asarray", "array", "ascontiguousarray", "asfortranarray")


class Tallied(np.ndarray):
    """An array that counts the multiplications made with it; so does what is made from it.

    A matrix product of (m, k) and (k, n) counts m·k·n, a product element by element its elements.
    """

    made = 0

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        if out is not None:
            kwargs["out"] = _bare(out)
        plain = _bare(inputs)
        result = getattr(ufunc, method)(*plain, **kwargs)
        if ufunc is np.matmul:
            Tallied.made += np.size(result) * plain[0].shape[-1]
        elif ufunc is np.multiply and method == "__call__":
            Tallied.made += np.size(result)
        return out[0] if out is not None and len(out) == 1 else _tally(result)

    def __array_function__(self, function, types, args, kwargs):
        args, kwargs = _bare(args), _bare(kwargs)
        Tallied.made += PRODUCTS[function](*args, **kwargs) if function in PRODUCTS else 0
        return _tally(function(*args, **kwargs))

    def dot(self, other, out=None):
        return np.dot(self, other, out)  # ndarray's own would not count


def _bare(value):
    if isinstance(value, Tallied):
        return value.view(np.ndarray)
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(_bare(item) for item in value)
    if isinstance(value, dict):
        return {key: _bare(item) for key, item in value.items()}
    return value


def _tally(value):
    if type(value) is np.ndarray:
        return value.view(Tallied)
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(_tally(item) for item in value)
    if isinstance(value, dict):
        return {key: _tally(item) for key, item in value.items()}
    return value


def _of_dot(a, b, out=None):
    """Every element of one with as many of the other as its last axis but one does not meet."""
    a, b = np.asanyarray(a), np.asanyarray(b)
    if not a.ndim or not b.ndim:
        return max(a.size, b.size)
    return a.size * b.size // b.shape[max(b.ndim - 2, 0)]


def _of_inner(a, b):
    return np.size(a) * np.size(b) // max(1, np.shape(b)[-1] if np.ndim(b) else 1)


def _of_tensordot(a, b, axes=2):
    if isinstance(axes, (int, np.integer)):
        met = np.shape(b)[:axes]
    else:
        met = [np.shape(b)[axis] for axis in np.atleast_1d(axes[1])]
    return np.size(a) * np.size(b) // max(1, math.prod(met))


def _of_einsum(subscripts, *operands, **options):
    """As many as there are combinations of all its letters; those of `...` as one letter."""
    if not isinstance(subscripts, str) or len(operands) < 2:
        return 0
    sizes = {}
    for letters, operand in zip(subscripts.replace(" ", "").split("->")[0].split(","), operands):
        before, dots, after = letters.partition("...")
        shape = np.shape(operand)
        end = len(shape) - len(after)
        for letter, size in (*zip(before, shape), *zip(after, shape[end:])):
            sizes[letter] = max(sizes.get(letter, 1), size)
        if dots:
            rest = math.prod(shape[len(before) : end])
            sizes["..."] = max(sizes.get("...", 1), rest)
    return math.prod(sizes.values())


PRODUCTS = {
    np.dot: _of_dot,
    np.inner: _of_inner,
    np.vdot: lambda a, b: np.size(a),
    np.tensordot: _of_tensordot,
    np.einsum: _of_einsum,
}


def _keeping(make):
    """The function of NumPy that makes plain arrays, which would no longer count, of any."""

    def make_tallied(value, *args, **kwargs):
        result = make(value, *args, **kwargs)
        return result.view(Tallied) if isinstance(value, Tallied) else result

    return make_tallied


def begin(modules):
    """Loads the student's functions: modules says which module has each."""
    for name in MAKERS:
        setattr(np, name, _keeping(getattr(np, name)))
    for function, module in modules.items():
        MINE[function] = getattr(importlib.import_module(f"exercises.{module}"), function)


MINE = {}


def _whole(tokens, params, n_heads):
    """The logits after the last token, without a cache; what it takes to make them is all of it."""
    return lambda: MINE["decoder_logits"](tokens, params, n_heads)[..., -1, :]


def _run_cached(tokens, params, n_heads):
    """The same from a cache that holds all tokens but the last."""
    step = MINE["decoder_step"]
    cache = MINE["new_decoder_cache"](len(params["blocks"]))
    _, cache = step(tokens[:-1], cache, params, n_heads)
    return lambda: step(tokens[-1:], cache, params, n_heads)[0][..., -1, :]


def cost(way, tokens, params, n_heads, repeats):
    """Of the logits after the last token: [multiplications, seconds (the least), the logits]."""
    prepared = {"whole": _whole, "cached": _run_cached}[way]
    seconds, begun = math.inf, time.perf_counter()
    for _ in range(repeats):
        work = prepared(tokens, params, n_heads)
        start = time.perf_counter()
        work()
        seconds = min(seconds, time.perf_counter() - start)
        if time.perf_counter() - begun > ENOUGH:
            break
    work = prepared(tokens, _tally(params), n_heads)
    Tallied.made = 0
    logits = work()
    return [int(Tallied.made), float(seconds), np.array(_bare(logits), dtype=float)]
