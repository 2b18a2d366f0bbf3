"""Count work instead of timing it: arrays that note the products made with them.

What is only moved, copied or scaled by a number still notes. The result of a product does not.
"""

import functools
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def _named(names: str, *places: Any) -> frozenset[Any]:
    """Return NumPy's functions of these names; some are not in every version."""
    return frozenset(
        getattr(place, name) for place in places for name in names.split() if hasattr(place, name)
    )


PRODUCTS = _named("dot einsum tensordot inner vdot outer matmul vecdot multi_dot", np, np.linalg)
PRODUCTS_OF_VECTORS = _named("matmul vecdot matvec vecmat", np)
# Functions that only put numbers in other places, each of them once.
PLACING = _named(
    "append array_split astype atleast_1d atleast_2d atleast_3d block column_stack concatenate "
    "copy dsplit dstack expand_dims flip fliplr flipud hsplit hstack matrix_transpose moveaxis "
    "permute_dims ravel reshape roll rollaxis rot90 split squeeze stack swapaxes take transpose "
    "unstack vsplit vstack",
    np,
)
PLACING_METHODS = frozenset(
    {"__getitem__", "__copy__", "__deepcopy__", "astype", "compress", "copy", "diagonal", "flatten"}
    | {"ravel", "reshape", "squeeze", "swapaxes", "take", "transpose"}
)
CONVERSIONS = (
    *("array", "asarray", "asanyarray"),
    *("ascontiguousarray", "asfortranarray", "asarray_chkfinite"),
)
# Methods of arrays that stay as they are, because they are about the array itself.
OWN_METHODS = frozenset({"dot", "view", "resize", "setflags"})
_plain = np.asarray  # NumPy's own, whatever `keep_tracks` does


class Tracked(np.ndarray):
    """An array that notes products made with it.

    width: how many numbers belong to one row of the first array; 0 if nothing is noted. What is
    written into is data, and notes nothing.
    """

    products = 0
    width = 0
    __array_priority__ = 1.0  # so that the product `x.dot(k)` of an ordinary x passes here

    @staticmethod
    def note(operands: Sequence[Any], multiplications: int) -> None:
        """Note a product of arrays, numbers and lists. multiplications: by rule of thumb."""

    def __array_finalize__(self, source: Any) -> None:
        if not is_tracked(source):
            return
        if self.base is not None:
            self.width = source.width
        elif self.dtype == source.dtype:  # new memory, as no replaced method makes: `x.dot(k)`
            self.note([source], self.size * source.shape[max(source.ndim - 2, 0)])

    def dot(self, b: Any, out: Any = None) -> Any:
        """Multiply as NumPy's function does; the method would not note anything."""
        return np.dot(self, b, out)

    def __reduce__(self) -> Any:
        return _plain(self).__reduce__()  # so that nobody finds this class in a pickle

    @property
    def flat(self) -> Any:
        """Return all numbers in order: NumPy's own would make new memory of another shape."""
        return _plain(self).flat

    def __setitem__(self, place: Any, value: Any) -> None:
        super().__setitem__(place, value)
        self.width = 0

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **kwargs: Any
    ) -> Any:
        named = _make_plain(kwargs if out is None else {**kwargs, "out": out})
        result = getattr(ufunc, method)(*_make_plain(inputs), **named)
        tracked = [one for one in inputs if is_tracked(one)]
        scaled = [one for one in inputs if np.size(one) > 1]
        if tracked and ufunc in PRODUCTS_OF_VECTORS:
            _note_product(inputs, result)
        elif tracked and ufunc in (np.multiply, np.divide) and np.size(result) > tracked[0].size:
            tracked[0].note(tracked, np.size(result))
        elif tracked and out is None and method == "__call__" and len(scaled) < 2:
            return _track_like(result, tracked[0])
        for array in out or ():
            if isinstance(array, Tracked):
                array.width = 0
        return result if out is None or len(out) > 1 else out[0]

    def __array_function__(
        self, func: Callable[..., Any], types: Any, args: Any, kwargs: Any
    ) -> Any:
        if func is np.apply_along_axis:  # it calls the student's own code
            return _plain(super().__array_function__(func, types, args, kwargs))
        result = func(*_make_plain(args), **_make_plain(kwargs))
        arrays = [one for one in _arrays((args, kwargs)) if one.dtype.kind in "fc"]
        tracked = [one for one in arrays if is_tracked(one)]
        operands = _list_operands(func, args, kwargs) if tracked and func in PRODUCTS else ()
        if len(operands) > 1:
            _note_product(operands, result)
        elif tracked and func in PLACING:  # rows of several arrays, or none
            alike = {getattr(one, "width", 0) for one in arrays} == {tracked[0].width}
            return _track_like(result, tracked[0]) if alike else result
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
    """Notes how many rows are in one product; the most that any product had counts."""

    @staticmethod
    def note(operands: Sequence[Any], multiplications: int) -> None:
        for operand in operands:
            rows = [one.size // one.width for one in _arrays(operand) if is_tracked(one)]
            Rows.products = max(Rows.products, sum(rows))


def track(array: Any, kind: type[Tracked]) -> Any:
    """Return an array whose last axis but one has the rows to be noted."""
    tracked = array.view(kind)
    tracked.width = max(1, array.size // array.shape[-2]) if kind is Rows else 1
    return tracked


def is_tracked(value: Any) -> bool:
    """Return whether a product with it is noted."""
    return isinstance(value, Tracked) and value.width > 0


def _track_like(value: Any, source: Tracked) -> Any:
    """Return arrays that note as this one does, also in a list; any other value as it is."""
    if isinstance(value, (list, tuple)):
        return type(value)([_track_like(one, source) for one in value])
    if type(value) is not np.ndarray or value.dtype.kind not in "fc":
        return value
    tracked = value.view(type(source))
    tracked.width = source.width
    return tracked


def _note_product(operands: Sequence[Any], result: Any) -> None:
    """Note a product of arrays, numbers and lists.

    In a chain the larger arrays may be what the product of the smaller ones is multiplied with.
    """
    weights = [one for one in operands if is_tracked(one)]
    sizes = [np.size(one) for one in operands if not is_tracked(one) and np.ndim(one)]
    columns = sum(one.shape[-1] if one.ndim > 1 else 1 for one in weights)
    made = min(sizes) * columns if sizes else np.size(result)
    tracked = next(one for one in _arrays(operands) if is_tracked(one))
    tracked.note(operands, made if np.size(result) else 0)


def _list_operands(func: Callable[..., Any], args: Any, kwargs: Any) -> Sequence[Any]:
    """Return what a function multiplies, as it is given: arrays, numbers, and lists of either."""
    if func is np.linalg.multi_dot:
        return [*(args[0] if args else kwargs["arrays"])]
    if func is np.einsum:  # its subscripts are text, or a list after each array
        return [*(args[1:] if isinstance(args[0], str) else args[: len(args) // 2 * 2 : 2])]
    return [*args, *(kwargs[name] for name in ("a", "b", "x1", "x2") if name in kwargs)][:2]


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
        tracked = next((item for item in _arrays(given) if is_tracked(item)), None)
        if tracked is None:
            return original(*args, **kwargs)
        return _track_like(original(*_make_plain(args), **_make_plain(kwargs)), tracked)

    return converted


def _replace_method(name: str) -> None:
    """Let a method of arrays return a tracked one if it only puts numbers in other places."""
    method = getattr(np.ndarray, name)

    @functools.wraps(method)
    def replaced(self: Tracked, *args: Any, **kwargs: Any) -> Any:
        result = method(_plain(self), *_make_plain(args), **_make_plain(kwargs))
        keeps = name in PLACING_METHODS and is_tracked(self) and "out" not in kwargs
        return _track_like(result, self) if keeps else result

    setattr(Tracked, name, replaced)


for _name in vars(np.ndarray):
    _is_public = _name[:1] != "_" and _name not in OWN_METHODS
    if (_is_public and callable(getattr(np.ndarray, _name))) or _name in PLACING_METHODS:
        _replace_method(_name)


def _arrays(value: Any) -> Sequence[Any]:
    """Return all arrays in a nest of lists, tuples and dicts."""
    found: list[Any] = []
    _map_arrays(value, found.append)
    return found


def _make_plain(value: Any) -> Any:
    """Return the value with ordinary arrays in it."""
    return _map_arrays(value, lambda one: _plain(one) if isinstance(one, Tracked) else one)


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
