"""Count the work of a student's decoder, without a cache and with one.

The file is sent to a worker as text, beside the student's modules, and never imported by the judge.
"""

import importlib
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

MINE: dict[str, Callable[..., Any]] = {}  # the student's functions
MAKERS = ("asarray", "array", "ascontiguousarray", "asfortranarray")


class Tallied(np.ndarray):
    """An array that counts the multiplications made with it, as do all arrays made from it.

    A matrix product of (m, k) and (k, n) counts m·k·n. An elementwise product counts its elements.
    """

    made = 0

    def __array_ufunc__(
        self,
        ufunc: np.ufunc,
        method: str,
        *inputs: Any,
        out: tuple[Any, ...] | None = None,
        **kwargs: Any,
    ) -> Any:
        if out is not None:
            kwargs["out"] = _bare(out)
        plain = _bare(inputs)
        result = getattr(ufunc, method)(*plain, **kwargs)
        if ufunc is np.matmul:
            Tallied.made += np.size(result) * np.shape(plain[0])[-1]
        elif ufunc is np.multiply and method == "__call__":
            Tallied.made += np.size(result)
        return out[0] if out is not None and len(out) == 1 else _tally(result)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any
    ) -> Any:
        args, kwargs = _bare(args), _bare(kwargs)
        result = function(*args, **kwargs)
        Tallied.made += _count(function, [*args, *kwargs.values()], result)
        return _tally(result)

    def dot(self, other: Any, out: Any = None) -> Any:
        """Multiply two arrays; ndarray's own method would not count."""
        return np.dot(self, other, out)


def _turn(old: type[np.ndarray], new: type[np.ndarray], value: Any) -> Any:
    """Return a value with its arrays of one class as the other's."""
    if type(value) is old:
        return value.view(new)
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(_turn(old, new, item) for item in value)
    if isinstance(value, dict):
        return {key: _turn(old, new, item) for key, item in value.items()}
    return value


_bare = partial(_turn, Tallied, np.ndarray)
_tally = partial(_turn, np.ndarray, Tallied)


def _count(function: Callable[..., Any], args: Sequence[Any], result: Any) -> int:
    """Count the multiplications of a function of NumPy.

    A product of (m, k) and (k, n) has m·n numbers and takes m·k·n multiplications: the square root
    of its three sizes, multiplied.
    """
    if function is np.einsum:
        return _of_einsum(*args)
    if function not in (np.dot, np.inner, np.vdot, np.tensordot):
        return 0
    return math.isqrt(np.size(args[0]) * np.size(args[1]) * np.size(result))


def _of_einsum(subscripts: Any, *operands: Any) -> int:
    """Count the combinations of all letters; digits stand for the axes of `...`, from the last."""
    if not isinstance(subscripts, str) or "," not in subscripts:
        return 0
    sizes: dict[str, int] = {}
    for letters, operand in zip(subscripts.replace(" ", "").split("->")[0].split(","), operands):
        shape = np.shape(operand)
        digits = "".join(map(str, reversed(range(len(shape) - len(letters) + 3))))
        for letter, size in zip(letters.replace("...", digits), shape):
            sizes[letter] = max(sizes.get(letter, 1), size)
    return math.prod(sizes.values())


def _keep_tallied(make: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function of NumPy that would return a plain array, which does not count."""

    def make_tallied(value: Any, *args: Any, **kwargs: Any) -> Any:
        result = make(value, *args, **kwargs)
        return result.view(Tallied) if isinstance(value, Tallied) else result

    return make_tallied


def begin(modules: dict[str, str]) -> None:
    """Load the student's functions; modules says which module has each."""
    for name in MAKERS:
        setattr(np, name, _keep_tallied(getattr(np, name)))
    for function, module in modules.items():
        MINE[function] = getattr(importlib.import_module(f"exercises.{module}"), function)


def compare(tokens: Any, params: Any, n_heads: int) -> list[Any]:
    """Return the multiplications for the last token's logits: without a cache, and with one.

    The third result is how far the two ways' logits are apart.
    """
    params, step = _tally(params), MINE["decoder_step"]
    cache = MINE["new_decoder_cache"](len(params["blocks"]))
    _, cache = step(tokens[:-1], cache, params, n_heads)
    Tallied.made = 0
    cached, _ = step(tokens[-1:], cache, params, n_heads)
    with_cache, Tallied.made = Tallied.made, 0
    whole = MINE["decoder_logits"](tokens, params, n_heads)
    apart = np.abs(_bare(whole)[..., -1, :] - _bare(cached)[..., -1, :]).max()
    return [int(Tallied.made), int(with_cache), float(apart)]
