"""Count work instead of timing it: arrays that note the products made with them.

Each number of such an array knows which row of the first one it comes from. What was only moved,
copied or scaled still belongs to its row. Sums, and numbers of other arrays, belong to none.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

FIRST = 2.0**40  # the first row's id: no other number in an array of ids is that large
PRODUCTS = frozenset(
    {np.dot, np.einsum, np.tensordot, np.inner, np.vdot, np.linalg.multi_dot, np.outer, np.kron}
    | {np.average, np.convolve, np.correlate}
    | {
        getattr(np.linalg, name)
        for name in ("matmul", "tensordot", "vecdot", "outer")
        if hasattr(np.linalg, name)
    }
)
OUTER = frozenset({np.outer, np.kron, getattr(np.linalg, "outer", np.outer)})
PRODUCTS_OF_VECTORS = frozenset(
    getattr(np, name) for name in ("matmul", "vecdot", "matvec", "vecmat") if hasattr(np, name)
)
SUMS = frozenset({np.sum, np.nansum, np.mean, np.nanmean, np.cumsum, np.nancumsum, np.trace})
SUMMING_METHODS = frozenset({"sum", "mean", "cumsum", "trace"})
# Functions that only put numbers in other places; some are not in every version of NumPy.
PLACING = frozenset(
    getattr(np, name)
    for name in (
        *("append", "array_split", "astype", "atleast_1d", "atleast_2d", "atleast_3d", "block"),
        *("broadcast_arrays", "broadcast_to", "choose", "column_stack", "compress", "concatenate"),
        *("copy", "delete", "diagonal", "dsplit", "dstack", "expand_dims", "flip", "fliplr"),
        *("flipud", "hsplit", "hstack", "insert", "matrix_transpose", "moveaxis", "nan_to_num"),
        *("pad", "permute_dims", "ravel", "repeat", "reshape", "resize", "roll", "rollaxis"),
        *("rot90", "select", "split", "squeeze", "stack", "swapaxes", "take", "take_along_axis"),
        *("tile", "transpose", "tril", "triu", "unstack", "vsplit", "vstack", "where"),
    )
    if hasattr(np, name)
)
PLACING_METHODS = frozenset(
    {"__getitem__", "compress", "diagonal", "flatten", "ravel", "repeat", "reshape", "squeeze"}
    | {"swapaxes", "take", "transpose"}
)
UNCHANGED = frozenset({"__copy__", "__deepcopy__", "astype", "copy", "round"})
WRITING = frozenset({np.copyto, np.put, np.putmask, np.place, np.put_along_axis})
CONVERSIONS = (
    *("array", "asarray", "asanyarray"),
    *("ascontiguousarray", "asfortranarray", "asarray_chkfinite"),
)
# Methods of arrays that stay as they are, because they are about the array itself.
OWN_METHODS = frozenset({"dot", "view", "resize", "setflags"})
_plain = np.asarray  # NumPy's own, whatever `keep_tracks` does


class Tracked(np.ndarray):
    """An array that knows for each of its numbers which row of the first one it comes from.

    ids: the id of the row, or 0 for none; negative if the number was multiplied with another one,
    so that a sum would make a product of it. None for an ordinary array.
    """

    products = 0
    ids: Any = None
    __array_priority__ = 1.0  # so that the product `x.dot(k)` of an ordinary x passes here

    @staticmethod
    def note(operands: Sequence[Any], multiplications: int) -> None:
        """Note a product of arrays, numbers and lists. multiplications: by rule of thumb."""

    def __array_finalize__(self, source: Any) -> None:
        if self.base is not None or not is_tracked(source):
            return
        # New memory, although every method is replaced below: the product `x.dot(k)`, or a copy of
        # another type. By chance the shape of a product may be the same.
        if self.shape == source.shape and self.dtype != source.dtype:
            self.ids = source.ids
        elif self.shape != source.shape or source.ndim == 2:
            self.note([source], self.size * source.shape[max(source.ndim - 2, 0)])

    def dot(self, b: Any, out: Any = None) -> Any:
        """Multiply as NumPy's function does; the method would not note anything."""
        return np.dot(self, b, out)

    def __iter__(self) -> Any:
        return (self[place] for place in range(len(self)))

    def __reduce__(self) -> Any:
        return _plain(self).__reduce__()  # so that nobody finds this class in a pickle

    def __setitem__(self, place: Any, value: Any) -> None:
        _plain(self)[place] = value
        if is_tracked(self):
            _try(self.ids.__setitem__, place, value.ids if is_tracked(value) else 0)

    @property
    def T(self) -> Any:  # noqa: N802
        return self.transpose()

    @property
    def mT(self) -> Any:  # noqa: N802
        return self.swapaxes(-1, -2)

    @property
    def flat(self) -> Any:
        """Return all numbers in order: NumPy's own would make new memory of another shape."""
        return self.ravel() if self.flags.c_contiguous else _plain(self).flat

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **kwargs: Any
    ) -> Any:
        named = _make_plain(kwargs if out is None else {**kwargs, "out": out})
        result = getattr(ufunc, method)(*_make_plain(inputs), **named)
        ids = _follow_ufunc(ufunc, method, inputs, result)
        if out is None:
            kind = next((type(one) for one in inputs if is_tracked(one)), Tracked)
            return _with_ids(result, ids, kind)
        for array in out:
            if is_tracked(array):
                _try(array.ids.__setitem__, ..., 0 if ids is None else ids)
        return out[0] if len(out) == 1 else result

    def __array_function__(
        self, func: Callable[..., Any], types: Any, args: Any, kwargs: Any
    ) -> Any:
        if func is np.apply_along_axis:  # it calls the student's own code
            return _plain(super().__array_function__(func, types, args, kwargs))
        result = func(*_make_plain(args), **_make_plain(kwargs))
        tracked = [item for item in _arrays((args, kwargs)) if is_tracked(item)]
        if not tracked:
            return result
        operands = list_operands(func, args, kwargs) if func in PRODUCTS else ()
        if len(operands) > 1:
            _note_product(operands, result, outer=func in OUTER)
        elif func in SUMS or (operands and np.size(result) < np.size(operands[0])):
            _note_sum(tracked[0], result)
        elif func in WRITING:
            _try(func, *_only_ids(args), **_only_ids(kwargs))
        elif (func in PLACING or operands) and "out" not in kwargs:
            told = {name: value for name, value in kwargs.items() if name != "dtype"}
            ids = _try(func, *_only_ids(args), **_only_ids(told))
            return _with_ids(result, ids, type(tracked[0]))
        return result


class Weights(Tracked):
    """Counts the multiplications made with it as a weight.

    So `x @ w` costs (elements of x) * (columns of w) in any notation. A projection of T tokens
    costs T times that of one, and a loop over prefixes costs T²/2 times that.
    """

    @staticmethod
    def note(operands: Sequence[Any], multiplications: int) -> None:
        Weights.products += multiplications


class Rows(Tracked):
    """Notes how many different rows are in one product; the most that any product had counts."""

    @staticmethod
    def note(operands: Sequence[Any], multiplications: int) -> None:
        for operand in operands:
            ids = [abs(array.ids.ravel()) for array in _arrays(operand) if is_tracked(array)]
            found = np.unique(np.concatenate(ids)) if ids else np.zeros(0)
            Rows.products = max(Rows.products, int(_have_rows(found).sum()))


def track(array: Any, kind: type[Tracked]) -> Any:
    """Return an array whose last axis but one has the rows to be noted."""
    ids = np.full(array.shape, FIRST)
    if array.ndim > 1:
        ids += np.arange(array.shape[-2])[:, np.newaxis]
    return _with_ids(array, ids, kind)


def is_tracked(value: Any) -> bool:
    """Return whether a product with it is noted."""
    return isinstance(value, Tracked) and value.ids is not None and value.ids.shape == value.shape


def _have_rows(ids: Any) -> Any:
    """Return which ids are of rows: among them may be any number, such as infinity."""
    return (abs(ids) >= FIRST) & (abs(ids) < 2 * FIRST)


def _is_multiplied(value: Any) -> bool:
    return bool((_have_rows(value.ids) & (value.ids < 0)).any())


def _is_factor(value: Any) -> bool:
    """Return whether it has numbers of the first array, and all as they were, or scaled."""
    return is_tracked(value) and bool(_have_rows(value.ids).any()) and not _is_multiplied(value)


def _follow_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], result: Any) -> Any:
    """Note what a ufunc multiplies, and return the ids of its result, or None for no rows."""
    tracked = [item for item in inputs if is_tracked(item)]
    others = [item for item in inputs if not is_tracked(item)]
    if not tracked:
        return None
    if ufunc in PRODUCTS_OF_VECTORS:
        _note_product(inputs, result)
        return None
    if ufunc in (np.multiply, np.divide) and others and any(map(_is_factor, tracked)):
        tracked[0].note([], np.size(result))
    if method != "__call__":
        if ufunc is np.add:
            _note_sum(tracked[0], result)
        return None
    if not isinstance(result, np.ndarray) or result.dtype.kind not in "fc":
        return None
    ids: Any = np.array(np.broadcast_to(tracked[0].ids, result.shape))
    if ufunc in (np.add, np.subtract):
        terms = [one for one in tracked if _is_multiplied(one)]
        if terms:  # one more term of a product
            tracked[0].note(terms, 0)
            return None
        if any((one.ids != tracked[0].ids).any() for one in tracked[1:]):
            return -abs(ids)  # rows that were added up
    if ufunc is np.multiply and any(np.size(one) > 1 for one in others):
        return -abs(ids)
    return ids


def _note_sum(array: Any, result: Any) -> None:
    """Note a sum that makes a product of what was multiplied number by number.

    One sum over all numbers, as in a check for NaN, does not.
    """
    if np.ndim(result) and _is_multiplied(array):
        array.note([array], 0)


def _note_product(operands: Sequence[Any], result: Any, outer: bool = False) -> None:
    """Note a product of arrays, numbers and lists.

    In a chain the larger arrays may be what the product of the smaller ones is multiplied with.
    """
    tracked = next(one for one in _arrays(operands) if is_tracked(one))
    weights = [one for one in operands if _is_factor(one)]
    sizes = [np.size(one) for one in operands if not _is_factor(one) and np.ndim(one)]
    made = sum(min(sizes, default=0) * (one.shape[-1] if one.ndim > 1 else 1) for one in weights)
    if len(operands) > len(weights) and (outer or not sizes):
        made = np.size(result)
    tracked.note(operands, made if np.size(result) else 0)


def list_operands(func: Callable[..., Any], args: Any, kwargs: Any) -> Sequence[Any]:
    """Return what a function multiplies, as it is given: arrays, numbers, and lists of either."""
    if func is np.linalg.multi_dot:
        return [*(args[0] if args else kwargs["arrays"])]
    if func is np.einsum:  # its subscripts are text, or a list after each array
        return [*(args[1:] if isinstance(args[0], str) else args[: len(args) // 2 * 2 : 2])]
    positional = args[::2] if func is np.average else args  # its axis is between
    named = [kwargs[name] for name in ("a", "b", "v", "weights") if name in kwargs]
    return [operand for operand in [*positional, *named][:2] if operand is not None]


def keep_tracks() -> None:
    """Let tracked arrays that are converted to arrays stay so, as in `np.asarray(k)`."""
    for name in CONVERSIONS:
        original = getattr(np, name)
        if not hasattr(original, "__wrapped__"):
            setattr(np, name, _keep(original))


def _keep(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def converted(*args: Any, **kwargs: Any) -> Any:
        given = args[0] if args else kwargs.get("object", kwargs.get("a"))
        kind = next((type(item) for item in _arrays(given) if is_tracked(item)), None)
        if kind is None:
            return original(*args, **kwargs)
        result = original(*_make_plain(args), **_make_plain(kwargs))
        told = {name: value for name, value in kwargs.items() if name in ("ndmin", "order")}
        return _with_ids(result, _try(original, _only_ids(given), **told), kind)

    return converted


def _replace_method(name: str) -> None:
    """Let a method of arrays return a tracked one if it only puts numbers in other places."""
    method = getattr(np.ndarray, name)

    @functools.wraps(method)
    def replaced(self: Tracked, *args: Any, **kwargs: Any) -> Any:
        result = method(_plain(self), *_make_plain(args), **_make_plain(kwargs))
        if not is_tracked(self):
            return result
        if name in SUMMING_METHODS:
            _note_sum(self, result)
        if name in UNCHANGED:
            return _with_ids(result, self.ids.copy(), type(self))
        if name not in PLACING_METHODS or "out" in kwargs:
            return result
        ids = _try(method, self.ids, *_only_ids(args), **kwargs)
        return _with_ids(result, ids, type(self))

    setattr(Tracked, name, replaced)


for _name, _method in vars(np.ndarray).items():
    if callable(_method) and _name[:1] != "_" and _name not in OWN_METHODS:
        _replace_method(_name)
for _name in ("__getitem__", "__copy__", "__deepcopy__"):
    _replace_method(_name)


def _try(work: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return the result of the same work on ids, or None if ids do not allow it."""
    try:
        with np.errstate(all="ignore"):
            return work(*args, **kwargs)
    except Exception:
        return None


def _with_ids(value: Any, ids: Any, kind: type[Tracked]) -> Any:
    """Return arrays with these ids; any other value, or with ids of another shape, as it is."""
    if isinstance(value, (list, tuple)) and isinstance(ids, (list, tuple)):
        return type(value)([_with_ids(*pair, kind) for pair in zip(value, ids)])
    if not isinstance(ids, np.ndarray) or type(value) not in (np.ndarray, Weights, Rows):
        return value
    if ids.shape != value.shape:
        return value
    tracked = value.view(kind)
    tracked.ids = ids
    return tracked


def _arrays(value: Any) -> Sequence[Any]:
    """Return all arrays in a nest of lists, tuples and dicts."""
    found: list[Any] = []
    _map_arrays(value, found.append)
    return found


def _make_plain(value: Any) -> Any:
    """Return the value with ordinary arrays in it."""
    return _map_arrays(value, lambda one: _plain(one) if isinstance(one, Tracked) else one)


def _only_ids(value: Any) -> Any:
    """Return the value with ids in it: of no row for other arrays of floating-point numbers."""

    def ids(array: Any) -> Any:
        if is_tracked(array):
            return array.ids
        return np.zeros(array.shape) if array.dtype.kind in "fc" else array

    return _map_arrays(value, ids)


def _map_arrays(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return the same nest of lists, tuples and dicts, with every array changed.

    A list or tuple of a class of its own, such as a named tuple, becomes an ordinary one, and a
    deque becomes a list. NumPy asks the class of each array in them.
    """
    if isinstance(value, np.ndarray):
        return change(value)
    if isinstance(value, (list, deque)):
        return [_map_arrays(item, change) for item in value]
    if isinstance(value, tuple):
        return tuple(_map_arrays(item, change) for item in value)
    if isinstance(value, dict):
        return {key: _map_arrays(item, change) for key, item in value.items()}
    return value
