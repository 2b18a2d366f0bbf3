"""Count work instead of timing it."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Sequence, Set
from typing import Any

import numpy as np

PRODUCTS = frozenset(
    {np.dot, np.einsum, np.tensordot, np.inner, np.vdot, np.linalg.multi_dot}
    | {np.average, np.convolve, np.correlate}
    | {getattr(np.linalg, n) for n in ("matmul", "tensordot", "vecdot") if hasattr(np.linalg, n)},
)
CHAINS = frozenset({np.einsum, np.linalg.multi_dot})  # of any number of arrays
PRODUCTS_OF_VECTORS = frozenset(
    getattr(np, name) for name in ("matmul", "vecdot", "matvec", "vecmat") if hasattr(np, name)
)
OUTER = frozenset({np.outer, np.kron, getattr(np.linalg, "outer", np.outer)})
MULTIPLYING = PRODUCTS | OUTER
OPERANDS = ("a", "b", "v", "weights")  # their names, if a product is called with names
# Arrays that have a weight's type or shape, but none of its numbers, such as a cache.
MADE_ALIKE = frozenset({np.empty_like, np.zeros_like, np.ones_like, np.full_like})
# Functions that write into an array, and the names of that one.
WRITING = frozenset({np.copyto, np.put, np.putmask, np.place, np.put_along_axis})
TARGETS = ("dst", "a", "arr")
# Functions that give a weight if only one of their arrays is one.
PLACING = frozenset(
    {np.concatenate, np.stack, np.vstack, np.hstack, np.column_stack, np.block}
    | {np.append, np.insert, np.take, np.take_along_axis, np.where, np.select, np.choose}
)
SCALING = frozenset({np.add, np.subtract, np.divide})
SUMS = frozenset(
    {np.add, np.subtract, np.sum, np.nansum, np.mean, np.nanmean, np.average, np.einsum, np.trace}
    | {np.cumsum, np.nancumsum, getattr(np, "cumulative_sum", np.cumsum)}
)
OPAQUE = frozenset({np.apply_along_axis, np.apply_over_axes})  # they call the student's own code
SUMMING_METHODS = frozenset({"sum", "mean", "cumsum", "trace"})
CONVERSIONS = (
    *("array", "asarray", "asanyarray"),
    *("ascontiguousarray", "asfortranarray", "asarray_chkfinite"),
)
# Methods of arrays that stay as they are, because they are about the array itself.
OWN_METHODS = frozenset({"dot", "view", "resize", "setflags"})
# What an array has of a weight: all of it, rows or columns, or some of these times a number. Such a
# product may scale the weight. It may also be a term of x[0] * w[0] + x[1] * w[1] + ..
WHOLE, PART, TERM = range(3)
_plain = np.asarray  # NumPy's own, whatever `keep_weights` does


class Counting(np.ndarray):
    """An array that counts the multiplications made with it as a weight.

    Views and copies of a counting array count as well, and so does a scaled weight, but the results
    of other operations are ordinary arrays, or count nothing. So `x @ w` costs (elements of x) *
    (columns of w) in any notation. A projection of T tokens costs T times that of one, and a loop
    over prefixes costs T²/2 times that.

    is_result: whether NumPy gave this class to a product, as it does in `x.dot(w)`. stage: WHOLE,
    PART or TERM. parent: what this is a view of.
    """

    products = 0
    is_result = False
    stage = WHOLE
    parent: Counting | None = None
    __array_priority__ = 1.0  # so that the product `x.dot(w)` of an ordinary x passes here

    def __array_finalize__(self, source: Any) -> None:
        if not isinstance(source, Counting):
            return
        self.is_result, self.stage = source.is_result, source.stage
        self.parent = None if self.base is None else source
        if self.base is None:  # new memory. Every method that copies is replaced below.
            self.is_result = True
            if not source.is_result and source.ndim:
                Counting.products += self.size * source.shape[max(source.ndim - 2, 0)]

    def dot(self, b: Any, out: Any = None) -> Any:
        """Multiply as NumPy's function does; the method would not count."""
        return np.dot(self, b, out)

    def __reduce__(self) -> Any:
        return _plain(self).__reduce__()  # so that nobody finds this class in a pickle

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **kwargs: Any
    ) -> Any:
        # `out` and `where` may be weights, too: a comparison of weights is one.
        named = _make_plain(kwargs if out is None else {**kwargs, "out": out}, [])
        result = getattr(ufunc, method)(*_make_plain(inputs, []), **named)
        made = _count_ufunc(ufunc, method, inputs, result)
        for array in out or ():
            if isinstance(array, Counting):
                array._take_over(made)
        return made

    def __setitem__(self, place: Any, value: Any) -> None:
        _plain(self)[place] = value
        self._take_over(value)

    def _take_over(self, written: Any) -> None:
        """Count as what was written here does, and let the arrays below this view do so, too."""
        array: Counting | None = self
        while array is not None:
            array.is_result = not is_weight(written)
            array.stage = max(array.stage, getattr(written, "stage", WHOLE))
            array = array.parent

    def __array_function__(
        self, func: Callable[..., Any], types: Any, args: Any, kwargs: Any
    ) -> Any:
        if func in OPAQUE:
            return _plain(super().__array_function__(func, types, args, kwargs))
        flat: list[Any] = []
        result = func(*_make_plain(args, flat), **_make_plain(kwargs, flat))
        operands = list_operands(func, args, kwargs) if func in MULTIPLYING else ()
        if len(operands) > 1:
            subscripts = args[0] if args and isinstance(args[0], str) else ""
            return _count_function(func, subscripts, [*map(_as_operand, operands)], result)
        if func in WRITING:
            target = args[0] if args else next(kwargs[name] for name in TARGETS if name in kwargs)
            if isinstance(target, Counting):
                written = (item for item in flat if is_weight(item) and item is not target)
                target._take_over(next(written, None))
        weights = [item for item in flat if is_weight(item)]
        if not weights or func in MADE_ALIKE or _is_projection(func, weights):
            return result
        if any(map(_holds_numbers, (*args, *kwargs.values()))):
            return result
        if func in PLACING or len(weights) == len(flat):
            return as_weight(result, _stage(weights), max(item.size for item in weights))
        return result


def list_operands(func: Callable[..., Any], args: Any, kwargs: Any) -> Sequence[Any]:
    """Return what a function multiplies, as it is given: arrays, numbers, and lists of either."""
    if func is np.linalg.multi_dot:
        return [*(args[0] if args else kwargs["arrays"])]
    if func is np.einsum:  # its subscripts are text, or a list after each array
        return [*(args[1:] if isinstance(args[0], str) else args[: len(args) // 2 * 2 : 2])]
    positional = args[::2] if func is np.average else args  # its axis is between
    named = [kwargs[name] for name in OPERANDS if name in kwargs]
    return [operand for operand in [*positional, *named][:2] if operand is not None]


def as_weight(value: Any, stage: int = WHOLE, size: int = 0) -> Any:
    """Return an array, or each in a list or tuple, as one that counts; other values as they are.

    stage, size: those of the weight that it was made from.
    """
    if type(value) in (list, tuple):
        return type(value)(as_weight(item, stage, size) for item in value)
    if not isinstance(value, np.ndarray):
        return value
    weight = value.view(Counting)
    weight.stage = max(stage, PART) if value.size < size else stage
    return weight


def is_weight(value: Any) -> bool:
    """Return whether products with it count; those with an empty part of a weight do not."""
    return isinstance(value, Counting) and not value.is_result and value.size > 0


def _replace_method(name: str) -> None:
    """Let a method of arrays return a weight if it is a weight's."""
    method = getattr(np.ndarray, name)

    @functools.wraps(method)
    def replaced(self: Counting, *args: Any, **kwargs: Any) -> Any:
        result = method(_plain(self), *args, **kwargs)
        if self.is_result or (self.stage == TERM and name in SUMMING_METHODS):
            return result
        made = as_weight(result, self.stage, self.size)
        if isinstance(made, Counting) and result.base is not None:
            made.parent = self
        return made

    setattr(Counting, name, replaced)


for _name, _method in vars(np.ndarray).items():
    if callable(_method) and _name[:1] != "_" and _name not in OWN_METHODS:
        _replace_method(_name)
for _name in ("__getitem__", "__copy__", "__deepcopy__"):
    _replace_method(_name)


def keep_weights() -> None:
    """Let weights that are converted to arrays count, as in `np.asarray(w)`: from now on."""
    for name in CONVERSIONS:
        original = getattr(np, name)
        if not hasattr(original, "__wrapped__"):
            setattr(np, name, _keep(original))


def _keep(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def converted(*args: Any, **kwargs: Any) -> Any:
        given = args[0] if args else kwargs.get("object", kwargs.get("a"))
        several: Sequence[Any] = [given]
        if isinstance(given, (list, tuple)) and given:
            several = given
        if not all(map(is_weight, several)):
            return original(*args, **kwargs)
        result = original(*_make_plain(args, []), **_make_plain(kwargs, []))
        return as_weight(result, _stage(several))

    return converted


def _count_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], result: Any) -> Any:
    """Count what a ufunc multiplies. Return its result, as a weight if it still is one."""
    weights = [item for item in inputs if is_weight(item)]
    several = method != "__call__" or sum(map(bool, map(np.ndim, inputs))) > 1
    if not weights or (several and _is_projection(ufunc, weights)):
        return result
    if all(is_weight(item) or not np.ndim(item) for item in inputs):
        own = getattr(np, ufunc.__name__, None) is not ufunc  # of the student, by `np.frompyfunc`
        if (own or ufunc in (np.multiply, np.divide)) and len(weights) < len(inputs):
            return _scaled(weights[0], result)
        return as_weight(result, _stage(weights))  # also a sum with a number
    if ufunc in PRODUCTS_OF_VECTORS:
        _count(inputs, result)
    elif ufunc is np.multiply and all(map(np.ndim, inputs)):
        Counting.products += np.size(result)
    elif ufunc in _keeping(weights) and np.shape(result) == weights[0].shape:
        return as_weight(result, _stage(weights))
    return result


def _keeping(weights: Sequence[Any]) -> Set[np.ufunc]:
    """Return the functions of a weight and other data of its shape that give a weight.

    A part plus data may be the row of biases below a weight, as in `x @ w[:-1] + w[-1]`.
    """
    return SCALING if _stage(weights) == WHOLE else frozenset({np.divide})


def _stage(weights: Sequence[Any]) -> int:
    return int(max(weight.stage for weight in weights))


def _is_projection(func: Callable[..., Any], weights: Sequence[Any]) -> bool:
    """Return whether a function adds terms up, so that the result is data and no weight."""
    return func in SUMS and _stage(weights) == TERM


def _holds_numbers(value: Any) -> bool:
    """Return whether it is a list of data; one of integers may be a shape, axes or places."""
    return isinstance(value, (list, tuple)) and any(isinstance(item, float) for item in value)


def _as_operand(value: Any) -> Any:
    """Return an operand as an array: a weight if it is a list that holds only weights."""
    return value if isinstance(value, np.ndarray) else np.asarray(value)  # see `keep_weights`


def _count_function(
    func: Callable[..., Any], subscripts: str, operands: Sequence[Any], result: Any
) -> Any:
    """Count what a function multiplies. Return its result, as a weight if it still is one."""
    weights = [operand for operand in operands if is_weight(operand)]
    others = [operand for operand in operands if not is_weight(operand)]
    by_number = len(weights) == 1 and not any(other.ndim for other in others)
    if by_number and (func is not np.einsum or np.size(result) == weights[0].size):
        return _scaled(weights[0], result)
    if func in OUTER and weights:
        if not others:
            return as_weight(result, _stage(weights))
        Counting.products += np.size(result)
    elif subscripts and len(operands) > 2:
        _count_einsum(subscripts, operands)
    else:
        _count(operands, result, among=min if func in CHAINS else max)
    return result


def _scaled(weight: Any, result: Any) -> Any:
    """Return a weight times a number. Of a part of it, count the product: it may be a term."""
    if weight.stage == WHOLE:
        return as_weight(result)
    Counting.products += np.size(result)
    return as_weight(result, TERM)


def _count(
    operands: Sequence[Any], result: Any, among: Callable[[Sequence[int]], int] = max
) -> None:
    """Count the product of an array and the first weight among these.

    among: which of several arrays it is, by their sizes. In a chain the larger ones may be what the
    product is multiplied with next.
    """
    weights = [operand for operand in operands if is_weight(operand)]
    others = [np.size(operand) for operand in operands if not is_weight(operand)]
    if weights and others and np.size(result) and weights[0].ndim:
        Counting.products += among(others) * _columns(weights[0])


def _columns(weight: Any) -> int:
    return weight.shape[-1] if weight.ndim > 1 else 1


def _count_einsum(subscripts: str, operands: Sequence[Any]) -> None:
    """Count each weight's multiplications with the smallest array that shares an axis with it.

    Larger ones may be what the product is multiplied with next: cached keys, or weights of
    attention.
    """
    terms = [{*term} - {*". "} for term in subscripts.partition("->")[0].split(",")]
    pairs = list(zip(terms, operands))
    for axes, weight in pairs:
        if is_weight(weight) and weight.ndim:
            others = [np.size(o) for a, o in pairs if a & axes and not is_weight(o)]
            if others:
                Counting.products += min(others) * _columns(weight)


def _make_plain(value: Any, flat: list[Any]) -> Any:
    """Return the value with ordinary arrays in it, and note all arrays that were found."""

    def plain(array: Any) -> Any:
        flat.append(array)
        return _plain(array) if isinstance(array, Counting) else array

    return map_arrays(value, plain)


def map_arrays(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return the same nest of lists, tuples and dicts, with every array changed.

    A list or tuple of a class of its own, such as a named tuple, becomes an ordinary one, and a
    deque becomes a list. NumPy asks the class of each array in them.
    """
    if isinstance(value, np.ndarray):
        return change(value)
    if isinstance(value, (list, deque)):
        return [map_arrays(item, change) for item in value]
    if isinstance(value, tuple):
        return tuple(map_arrays(item, change) for item in value)
    if isinstance(value, dict):
        return {key: map_arrays(item, change) for key, item in value.items()}
    return value
