"""Count work instead of timing it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

PRODUCTS = frozenset({np.dot, np.einsum, np.tensordot, np.inner, np.vdot})


class Counting(np.ndarray):
    """An array that counts the multiplications made with it as a weight.

    Views of a counting array count as well, but the results of operations are ordinary arrays. So
    `x @ w` costs (elements of x) * (columns of w) in any notation. A projection of T tokens costs T
    times that of one, and a loop over prefixes costs T²/2 times that.
    """

    products = 0

    def _count(self, operands: Sequence[Any], result: Any) -> None:
        plain = [np.size(operand) for operand in operands if not isinstance(operand, Counting)]
        if plain and np.size(result) and self.ndim >= 2:
            Counting.products += max(plain) * self.shape[-1]

    def dot(self, b: Any, out: Any = None) -> Any:
        """Multiply as NumPy's function does; the method would not count."""
        return np.dot(self, b, out)

    def __reduce__(self) -> Any:
        return np.asarray(self).__reduce__()  # so that nobody finds this class in a pickle

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **kwargs: Any
    ) -> Any:
        # `out` and `where` may be weights, too: a comparison of weights is one.
        named = _make_plain(kwargs if out is None else {**kwargs, "out": out}, [])
        result = getattr(ufunc, method)(*_make_plain(inputs, []), **named)
        if ufunc is np.matmul or (ufunc is np.multiply and all(map(np.ndim, inputs))):
            self._count(inputs, result)
        elif isinstance(result, np.ndarray) and all(
            isinstance(item, Counting) or not np.ndim(item) for item in inputs
        ):
            return result.view(Counting)  # a scaled weight is still a weight
        return result

    def __array_function__(
        self, func: Callable[..., Any], types: Any, args: Any, kwargs: Any
    ) -> Any:
        flat: list[Any] = []
        result = func(*_make_plain(args, flat), **_make_plain(kwargs, flat))
        if func is np.einsum and len(flat) > 2 and isinstance(args[0], str):
            _count_einsum(args[0], flat)
            return result
        if func in PRODUCTS:
            self._count(flat, result)
            return result
        shaped = isinstance(result, np.ndarray) and all(isinstance(a, Counting) for a in flat)
        return result.view(Counting) if shaped else result


def _count_einsum(subscripts: str, operands: Sequence[Any]) -> None:
    """Count each weight's multiplications with the smallest array that shares an axis with it.

    Larger ones may be what the product is multiplied with next: cached keys, or weights of
    attention.
    """
    terms = [{*term} - {*". "} for term in subscripts.partition("->")[0].split(",")]
    pairs = list(zip(terms, operands))
    for axes, weight in pairs:
        if isinstance(weight, Counting) and weight.ndim >= 2:
            others = [(a, o) for a, o in pairs if a & axes and not isinstance(o, Counting)]
            Counting.products += min((np.size(o) for _, o in others), default=0) * weight.shape[-1]


def _make_plain(value: Any, flat: list[Any]) -> Any:
    """Return the value with ordinary arrays in it, and note all arrays that were found.

    A list or tuple of a class of its own, such as a named tuple, becomes an ordinary one.
    """
    if isinstance(value, np.ndarray):
        flat.append(value)
        return np.asarray(value) if isinstance(value, Counting) else value
    if isinstance(value, list):
        return [_make_plain(item, flat) for item in value]
    if isinstance(value, tuple):
        return tuple(_make_plain(item, flat) for item in value)
    if isinstance(value, dict):
        return {key: _make_plain(item, flat) for key, item in value.items()}
    return value
