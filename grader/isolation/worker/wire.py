"""Encode values as bytes in the judge's format, which `grader/isolation/wire.py` describes.

It is written here a second time, because the worker cannot import the judge. Only exact data
crosses, never an object's own description of itself.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .counting import as_weight, keep_weights
from .rows import keep_rows, with_rows

Array = NDArray[Any]
Kept = Mapping[int, Any]
# An array's type, shape, size in bytes, layout, and whether it can be written into.
Head = tuple[np.dtype[Any], tuple[int, ...], int, int, bool]

COUNTED, ROWS = 4, 5  # layouts of arrays that count or note the products made with them
MAX_REPLY = 48 * 2**20
MAX_CELLS = 5 * 2**20
MAX_DEPTH = 12
MAX_ITEMS = 10_000
MAX_DIMENSIONS = 16
MAX_TEXT = 2000
MAX_HEADS = 4096
NUMBERS = (bool, int, float, np.bool_, np.integer, np.floating)
SPECIAL = ((np.matrix, "matrix"), (np.ma.MaskedArray, "masked array"))
CONTAINERS: tuple[tuple[bytes, type[Any]], ...] = ((b"L", list), (b"U", tuple), (b"M", dict))

_U32 = struct.Struct(">I")
_U64 = struct.Struct(">Q")
_F64 = struct.Struct(">d")
_heads: dict[bytes, Head] = {}


def _lay(flat: Array, layout: int, writable: bool) -> Array:
    """Return a C-ordered array laid out in memory as the judge asked."""
    array = flat
    if layout == 1:
        array = np.array(flat, order="F")
    elif layout == 2 and flat.ndim:
        buffer = np.zeros((*flat.shape[:-1], 2 * flat.shape[-1]), flat.dtype)
        array = buffer[..., ::2]
        array[...] = flat
    elif layout == 3 and flat.ndim:
        array = flat[..., ::-1].copy()[..., ::-1]
    elif layout == COUNTED:
        array = as_weight(flat)
        keep_weights()
    elif layout == ROWS:
        array = with_rows(flat)
        keep_rows()
    if not writable:
        array.flags.writeable = False
    return array


def _read_head(head: bytes) -> Head:
    """Return what the bytes before an array's numbers say, worked out once for each such head."""
    if head not in _heads:
        code, ndim = head[1 : 1 + head[0]].decode(), head[1 + head[0]]
        dtype = np.dtype(code)
        shape = struct.unpack_from(f">{ndim}Q", head, 2 + head[0])
        if len(_heads) > MAX_HEADS:
            _heads.clear()
        _heads[head] = dtype, shape, math.prod(shape) * dtype.itemsize, head[-2], bool(head[-1])
    return _heads[head]


def _read_array(data: memoryview, at: int, kept: Kept) -> tuple[Array, int]:
    start = at + 4 + data[at] + 8 * data[at + 1 + data[at]]
    dtype, shape, size, layout, writable = _read_head(bytes(data[at:start]))
    end = start + size
    array: Array = np.ndarray(shape, dtype, bytearray(data[start:end]))
    return (array if writable and not layout else _lay(array, layout, writable)), end


def _read_text(data: memoryview, at: int, kept: Kept) -> tuple[str, int]:
    start = at + 4
    end = start + _U32.unpack_from(data, at)[0]
    return str(data[start:end], "utf-8", "surrogatepass"), end


def _read_float(data: memoryview, at: int, kept: Kept) -> tuple[float, int]:
    return _F64.unpack_from(data, at)[0], at + 8


def _read_kept(data: memoryview, at: int, kept: Kept) -> tuple[Any, int]:
    return kept[_U64.unpack_from(data, at)[0]], at + 8


def _read_int(data: memoryview, at: int, kept: Kept) -> tuple[int, int]:
    text, at = _read_text(data, at, kept)
    return int(text), at


def _read_mapping(data: memoryview, at: int, kept: Kept) -> tuple[dict[str, Any], int]:
    (size,) = _U32.unpack_from(data, at)
    at += 4
    mapping = {}
    for _ in range(size):
        key, at = _read_text(data, at, kept)
        mapping[key], at = READERS[data[at]](data, at + 1, kept)
    return mapping, at


def _read_list(data: memoryview, at: int, kept: Kept) -> tuple[list[Any], int]:
    (size,) = _U32.unpack_from(data, at)
    at += 4
    items = []
    for _ in range(size):
        item, at = READERS[data[at]](data, at + 1, kept)
        items.append(item)
    return items, at


def _read_tuple(data: memoryview, at: int, kept: Kept) -> tuple[tuple[Any, ...], int]:
    items, at = _read_list(data, at, kept)
    return tuple(items), at


READERS: dict[int, Callable[[memoryview, int, Kept], tuple[Any, int]]] = {
    ord("N"): lambda data, at, kept: (None, at),
    ord("T"): lambda data, at, kept: (True, at),
    ord("F"): lambda data, at, kept: (False, at),
    ord("A"): _read_array,
    ord("S"): _read_text,
    ord("D"): _read_float,
    ord("H"): _read_kept,
    ord("I"): _read_int,
    ord("M"): _read_mapping,
    ord("L"): _read_list,
    ord("U"): _read_tuple,
}


def read(data: memoryview, at: int, kept: Kept) -> tuple[Any, int]:
    """Return the value that begins there, and the next value's place; handles stand for `kept`."""
    return READERS[data[at]](data, at + 1, kept)


def write_text(tag: bytes, text: str) -> bytes:
    """Return a text as bytes after its tag."""
    data = text.encode("utf-8", "replace")
    return tag + _U32.pack(len(data)) + data


def write_foreign(description: str) -> bytes:
    """Return the stand-in for an object that cannot cross."""
    return write_text(b"X", description[:80])


def write_handle(number: int) -> bytes:
    """Return the stand-in for an object that stays here under that number."""
    return b"H" + _U64.pack(number)


@lru_cache(maxsize=64)
def _write_name(name: str) -> bytes:
    """Return a name that each reply has."""
    return write_text(b"", name)


def write_mapping(parts: Mapping[str, bytes]) -> bytes:
    """Return a mapping whose values are bytes already."""
    items = [_write_name(name) + part for name, part in parts.items()]
    return b"M" + _U32.pack(len(items)) + b"".join(items)


def write_tuple(parts: list[bytes]) -> bytes:
    """Return a tuple whose values are bytes already."""
    return b"U" + _U32.pack(len(parts)) + b"".join(parts)


def _narrow(array: Array) -> Array:
    """Return wider numbers in float64; what is too small becomes 0, whatever was set for errors."""
    with np.errstate(all="ignore"):
        return array.astype(np.float64)


def _find_numbers(array: Array) -> Array:
    """Return an array of objects that are all numbers, as np.frompyfunc makes it, as numbers."""
    if array.dtype != object or array.size > MAX_CELLS:
        return array
    items = array.ravel().tolist()
    if not items or not all(issubclass(type(item), NUMBERS) for item in items):
        return array
    return np.array(items).reshape(array.shape)


def _write_array(value: Any) -> bytes:
    for kind, name in SPECIAL:  # as plain numbers they would mean something else
        if isinstance(value, kind):
            return write_foreign(name)
    array = _find_numbers(np.asarray(value))
    if array.dtype.kind not in "biuf":
        return write_foreign(f"array of {array.dtype}")
    if array.nbytes > MAX_REPLY or array.size > MAX_CELLS:
        return write_foreign(f"array of {array.nbytes // 2**20} MiB")
    if array.ndim > MAX_DIMENSIONS:
        return write_foreign(f"array of {array.ndim} dimensions")
    # From here on a copy, because a thread of the student's may still be writing into it.
    array = _narrow(array) if array.dtype.itemsize > 8 else array.copy()
    dtype, head = _write_head(array.dtype.str, array.shape)
    return head + np.ascontiguousarray(array, dtype).tobytes()


@lru_cache(maxsize=MAX_HEADS)
def _write_head(kind: str, shape: tuple[int, ...]) -> tuple[np.dtype[Any], bytes]:
    """Return the type in which an array is sent, and what comes before its numbers."""
    dtype = np.dtype(kind).newbyteorder("<")
    code = dtype.str.encode()
    sizes = struct.pack(f">{len(shape)}Q", *shape)
    return dtype, b"A" + bytes([len(code)]) + code + bytes([len(shape)]) + sizes + b"\0\1"


def write(value: Any, depth: int = 0) -> bytes:
    """Return the value's bytes, or a note of its type if it cannot cross."""
    if value is None:
        return b"N"
    if value is True or value is False:
        return b"T" if value else b"F"
    kind = type(value)
    if issubclass(kind, (np.ndarray, np.generic)):
        return _write_array(value)
    if issubclass(kind, int):
        number = int.__int__(value)
        small = -(2**63) <= number < 2**63
        return write_text(b"I", str(number)) if small else write_foreign("huge integer")
    if issubclass(kind, float):
        return b"D" + _F64.pack(float.__float__(value))
    if issubclass(kind, str):
        return write_text(b"S", str.__str__(value)[:MAX_TEXT])
    if depth < MAX_DEPTH and issubclass(kind, (list, tuple, dict)):
        return _write_items(value, depth + 1)
    return write_foreign(kind.__name__)


def _write_items(value: Any, depth: int) -> bytes:
    """Return a container's items as they are now, whatever a subclass or a thread changes later."""
    tag, base = next(pair for pair in CONTAINERS if isinstance(value, pair[1]))
    if base is dict:
        items = list(dict.items(value))
    else:
        items = base.__getitem__(value, slice(None))
    if len(items) > MAX_ITEMS:
        return write_foreign(f"{base.__name__} of {len(items)}")
    if base is dict:
        parts = [write_text(b"", str(key)[:MAX_TEXT]) + write(item, depth) for key, item in items]
    else:
        parts = [write(item, depth) for item in items]
    return tag + _U32.pack(len(parts)) + b"".join(parts)
