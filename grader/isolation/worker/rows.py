"""Find out how many rows of an array meet in one product."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .counting import (
    CONVERSIONS,
    OWN_METHODS,
    PRODUCTS,
    PRODUCTS_OF_VECTORS,
    list_operands,
    map_arrays,
)

FIRST = 2.0**40  # the first row's id: no other number in an array of ids is that large
SUMS = frozenset({np.sum, np.nansum, np.mean})
# Functions that only put numbers in other places; some are not in every version of NumPy.
PLACING = frozenset(
    getattr(np, name)
    for name in (
        *("append", "array_split", "astype", "atleast_1d", "atleast_2d", "atleast_3d", "block"),
        *("broadcast_arrays", "broadcast_to", "choose", "column_stack", "compress", "concatenate"),
        *("copy", "delete", "diagonal", "dsplit", "dstack", "einsum", "expand_dims", "flip"),
        *("fliplr", "flipud", "hsplit", "hstack", "insert", "matrix_transpose", "moveaxis"),
        *("nan_to_num", "pad", "permute_dims", "ravel", "repeat", "reshape", "resize", "roll"),
        *("rollaxis", "rot90", "select", "split", "squeeze", "stack", "swapaxes", "take"),
        *("take_along_axis", "tile", "transpose", "tril", "triu", "unstack", "vsplit", "vstack"),
        "where",
    )
    if hasattr(np, name)
)
PLACING_METHODS = frozenset(
    {"__getitem__", "compress", "diagonal", "flatten", "ravel", "repeat", "reshape", "squeeze"}
    | {"swapaxes", "take", "transpose"}
)
UNCHANGED = frozenset({"__copy__", "__deepcopy__", "astype", "copy", "round"})
_plain = np.asarray  # NumPy's own, whatever `keep_rows` does


class Rows(np.ndarray):
    """An array that knows for each of its numbers which row of the first one it comes from.

    A product with any array notes how many different rows were in it. Numbers that were only moved,
    copied or scaled still belong to their row. Those of other arrays and of sums belong to none.

    ids: for each number the id of its row, or 0 for none; None for an ordinary array. multiplied:
    whether it was multiplied number by number, so that a sum would make a product of it.
    """

    products = 0  # the most rows in one of them
    ids: Any = None
    multiplied = False
    __array_priority__ = 1.0  # so that the product `x.dot(k)` of an ordinary x passes here

    def __array_finalize__(self, source: Any) -> None:
        if self.base is not None or not knows_rows(source):
            return
        # New memory, although every method is replaced below: the product `x.dot(k)`, or a copy of
        # another type. By chance the shape of a product may be the same.
        if self.shape != source.shape:
            _note(source)
        elif self.dtype != source.dtype:
            self.ids, self.multiplied = source.ids, source.multiplied

    def dot(self, b: Any, out: Any = None) -> Any:
        """Multiply as NumPy's function does; the method would not note anything."""
        return np.dot(self, b, out)

    def __iter__(self) -> Any:
        return (self[place] for place in range(len(self)))

    def __reduce__(self) -> Any:
        return _plain(self).__reduce__()  # so that nobody finds this class in a pickle

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
        if ufunc in PRODUCTS_OF_VECTORS:
            _note(*inputs)
            return result
        rows = [item for item in inputs if knows_rows(item)]
        if not rows:
            return result
        others = max((np.size(item) for item in inputs if not knows_rows(item)), default=0)
        if method != "__call__":
            if ufunc is np.add and _is_sum_of_products(rows[0], result):
                _note(rows[0])
            return result
        if ufunc in (np.add, np.subtract) and (terms := [one for one in rows if one.multiplied]):
            _note(*terms)  # one more term of a product
            return result if out is None else out[0]
        multiplied = rows[0].multiplied or (ufunc is np.multiply and others > 1)
        if out is not None:
            (made,) = out if len(out) == 1 else (result,)
            if knows_rows(made):
                made.multiplied = made.multiplied or multiplied
                return made
            return result
        if not isinstance(result, np.ndarray) or result.dtype.kind not in "fc":
            return result
        return _with_ids(result, np.broadcast_to(rows[0].ids, result.shape), multiplied)

    def __array_function__(
        self, func: Callable[..., Any], types: Any, args: Any, kwargs: Any
    ) -> Any:
        result = func(*_make_plain(args), **_make_plain(kwargs))
        flat = _arrays((args, kwargs))
        rows = [item for item in flat if knows_rows(item)]
        if not rows:
            return result
        operands = list_operands(func, args, kwargs) if func in PRODUCTS else ()
        if len(operands) > 1:
            _note(*operands)
        elif func in SUMS:
            if _is_sum_of_products(rows[0], result):
                _note(rows[0])
        elif func in PLACING and "out" not in kwargs:
            told = {name: value for name, value in kwargs.items() if name != "dtype"}
            ids = _try(func, *_only_ids(args), **_only_ids(told))
            return _with_ids(result, ids, any(item.multiplied for item in rows))
        return result


def with_rows(array: Any) -> Any:
    """Return an array whose last axis but one has the rows to be noted."""
    ids = FIRST + np.arange(array.shape[-2])[:, np.newaxis]
    return _with_ids(array, np.broadcast_to(ids, array.shape))


def knows_rows(value: Any) -> bool:
    """Return whether a product with it is noted."""
    return isinstance(value, Rows) and value.ids is not None


def keep_rows() -> None:
    """Let arrays with rows that are converted to arrays keep them, as in `np.asarray(k)`."""
    for name in CONVERSIONS:
        original = getattr(np, name)
        if not getattr(original, "keeps_rows", False):
            setattr(np, name, _keep(original))


def _keep(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def converted(*args: Any, **kwargs: Any) -> Any:
        given = args[0] if args else kwargs.get("object", kwargs.get("a"))
        rows = [item for item in _arrays(given) if knows_rows(item)]
        if not rows:
            return original(*args, **kwargs)
        result = original(*_make_plain(args), **_make_plain(kwargs))
        told = {name: value for name, value in kwargs.items() if name in ("ndmin", "order")}
        return _with_ids(result, _try(original, _only_ids(given), **told), rows[0].multiplied)

    converted.keeps_rows = True  # type: ignore[attr-defined]
    return converted


def _replace_method(name: str) -> None:
    """Let a method of arrays return rows if it only puts numbers in other places."""
    method = getattr(np.ndarray, name)

    @functools.wraps(method)
    def replaced(self: Rows, *args: Any, **kwargs: Any) -> Any:
        result = method(_plain(self), *_make_plain(args), **_make_plain(kwargs))
        if not knows_rows(self):
            return result
        if name in ("sum", "mean") and _is_sum_of_products(self, result):
            _note(self)
        if name in UNCHANGED:
            return _with_ids(result, self.ids, self.multiplied)
        if name not in PLACING_METHODS or "out" in kwargs:
            return result
        ids = _try(method, self.ids, *_only_ids(args), **kwargs)
        return _with_ids(result, ids, self.multiplied)

    setattr(Rows, name, replaced)


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


def _with_ids(value: Any, ids: Any, multiplied: bool = False) -> Any:
    """Return arrays with these ids; any other value, or with ids of another shape, as it is."""
    if isinstance(value, (list, tuple)) and isinstance(ids, (list, tuple)):
        pairs = zip(value, ids)
        return type(value)([_with_ids(one, its, multiplied) for one, its in pairs])
    if type(value) not in (np.ndarray, Rows) or np.shape(ids) != value.shape or ids is None:
        return value
    rows = value.view(Rows)
    rows.ids, rows.multiplied = ids, multiplied
    return rows


def _is_sum_of_products(rows: Any, result: Any) -> bool:
    """Return whether a sum makes a product of what was multiplied number by number.

    One sum over all numbers, as in a check for NaN, does not.
    """
    return bool(rows.multiplied and np.ndim(result))


def _note(*operands: Any) -> None:
    """Note how many different rows are in an array, or together in a list of them.

    The most that any product had counts.
    """
    for operand in operands:
        ids = [array.ids.ravel() for array in _arrays(operand) if knows_rows(array)]
        found = np.unique(np.concatenate(ids)) if ids else np.zeros(0)
        Rows.products = max(Rows.products, int((found >= FIRST).sum()))


def _arrays(value: Any) -> Sequence[Any]:
    """Return all arrays in a nest of lists, tuples and dicts."""
    found: list[Any] = []
    map_arrays(value, found.append)
    return found


def _make_plain(value: Any) -> Any:
    """Return the value with ordinary arrays in it."""
    return map_arrays(value, lambda array: _plain(array) if isinstance(array, Rows) else array)


def _only_ids(value: Any) -> Any:
    """Return the value with ids in it: of no row for other arrays of floating-point numbers."""

    def ids(array: Any) -> Any:
        if knows_rows(array):
            return array.ids
        return np.zeros(array.shape) if array.dtype.kind in "fc" else array

    return map_arrays(value, ids)
