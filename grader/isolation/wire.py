"""Encode values between judge and worker: framed, typed, capped. No pickle, no eval.

A frame is its length (8 bytes), the call's nonce (16 bytes) and one encoded value. A value is a tag
and its data. Values are scalars, str, None, list, tuple, dict with str keys, arrays (dtype, shape,
memory layout, raw bytes), handles of objects that stay in the worker, and names of types that
cannot cross. The worker has its own copy of the format, because it may import nothing from this
package.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_FRAME = 64 * 2**20
MAX_DEPTH = 16
MAX_ITEMS = 20_000
MAX_DIMENSIONS = 16
MAX_DIGITS = 64
MAX_TEXT = 2**16
MAX_KEPT = 100  # characters of a name whose bytes are kept
NONCE = 16
HEADER = struct.Struct(">Q16s")

Put = Callable[[bytes], None]

_U32 = struct.Struct(">I")
_U64 = struct.Struct(">Q")
_F64 = struct.Struct(">d")


class ProtocolError(Exception):
    """The bytes are not a value of this format, or hold too much."""


@dataclass(frozen=True)
class Handle:
    """Stands for an object that a student's function returned and that stays in the worker."""

    number: int


@dataclass(frozen=True)
class Laid:
    """An array together with its layout in the worker's memory.

    layout: `C`, `F`, `strided` (every second element of a larger buffer) or `reversed` (negative
    strides on the last axis). writable: whether the worker may write into it.
    """

    array: NDArray[Any]
    layout: str = "C"
    writable: bool = True


@dataclass(frozen=True)
class Counted:
    """An array for which the worker counts the multiplications made with it.

    rows: whether it notes, instead, how many of the rows met in one product.
    """

    array: NDArray[Any]
    rows: bool = False


@dataclass(frozen=True)
class Foreign:
    """A returned object of a type that cannot cross; the judge learns only the type's name."""

    description: str


# The types of number that cross, by the only spelling of each.
_DTYPES: dict[bytes, np.dtype[Any]] = {
    np.dtype(code).newbyteorder("<").str.encode(): np.dtype(code).newbyteorder("<")
    for code in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
}
LAYOUTS = {"C": 0, "F": 1, "strided": 2, "reversed": 3}
COUNTED, ROWS = 4, 5


def _text(tag: bytes, text: str) -> bytes:
    data = text.encode("utf-8", "surrogatepass")
    return tag + _U32.pack(len(data)) + data


@lru_cache(maxsize=4096)
def _key(text: str) -> bytes:
    """Return the encoding of a name that requests use often; never of a whole source.

    Nor of a long name: a student's results come back as arguments, and what is kept here stays.
    """
    return _text(b"", text)


@lru_cache(maxsize=64)
def _sent(dtype: np.dtype[Any]) -> tuple[bytes, np.dtype[Any] | None]:
    """Return the head of an array of that type, and the type to convert it to, if it is another."""
    sent = dtype.newbyteorder("<")
    code = sent.str.encode()
    return b"A" + bytes([len(code)]) + code, None if sent == dtype else sent


@lru_cache(maxsize=4096)
def _head(dtype: np.dtype[Any], shape: tuple[int, ...], layout: int, writable: bool) -> bytes:
    """Return all of an array's bytes that come before its numbers."""
    sizes = struct.pack(f">{len(shape)}Q", *shape)
    return b"".join((_sent(dtype)[0], bytes([len(shape)]), sizes, bytes([layout, writable])))


def _array(array: NDArray[Any], layout: int, writable: bool, put: Put) -> None:
    dtype = array.dtype
    put(_head(dtype, array.shape, layout, writable))
    other = _sent(dtype)[1]
    put((array if other is None else array.astype(other)).tobytes())


def _plain(value: NDArray[Any], put: Put) -> None:
    _array(value, 0, True, put)


def _mapping(value: dict[str, Any], put: Put) -> None:
    put(b"M" + _U32.pack(len(value)))
    for key, item in value.items():
        put(_key(key) if len(key) <= MAX_KEPT else _text(b"", key))
        _write(item, put)


def _items(value: list[Any] | tuple[Any, ...], put: Put) -> None:
    put((b"L" if isinstance(value, list) else b"U") + _U32.pack(len(value)))
    for item in value:
        _write(item, put)


_CODERS: dict[type[Any], Callable[[Any, Put], None]] = {
    np.ndarray: _plain,
    dict: _mapping,
    list: _items,
    tuple: _items,
    str: lambda value, put: put(_text(b"S", value)),
    type(None): lambda _, put: put(b"N"),
    bool: lambda value, put: put(b"T" if value else b"F"),
    int: lambda value, put: put(_text(b"I", str(value))),
    float: lambda value, put: put(b"D" + _F64.pack(value)),
    Handle: lambda value, put: put(b"H" + _U64.pack(value.number)),
    Laid: lambda value, put: _array(value.array, LAYOUTS[value.layout], value.writable, put),
    Counted: lambda value, put: _array(value.array, ROWS if value.rows else COUNTED, False, put),
    np.generic: lambda value, put: _plain(np.asarray(value), put),
}


def _write(value: Any, put: Put) -> None:
    """Write the value's bytes piece by piece."""
    coder = _CODERS.get(type(value)) or next(
        (coder for kind, coder in _CODERS.items() if isinstance(value, kind)), None
    )
    if coder is None:
        raise TypeError(f"a {type(value).__name__} cannot be sent to the worker")
    coder(value, put)


def encode(value: Any) -> bytes:
    """Return the value as bytes. Raise TypeError for a type that has no encoding."""
    pieces: list[bytes] = []
    _write(value, pieces.append)
    return b"".join(pieces)


class _Reader:
    """Reads one value, counting what it takes before it takes it."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.size = len(data)
        self.at = 0
        self.items = 0

    def past(self, size: int) -> int:
        """Return where the next bytes begin, and move past them."""
        at = self.at
        if size > self.size - at:
            raise ProtocolError("the value ends too soon")
        self.at = at + size
        return at

    def take(self, size: int) -> bytes:
        at = self.past(size)
        return self.data[at : at + size]

    def count(self) -> int:
        number: int = _U32.unpack_from(self.data, self.past(4))[0]
        return number

    def text(self) -> str:
        size = self.count()
        if size > MAX_TEXT:
            raise ProtocolError("a text that is too long")
        return self.take(size).decode("utf-8", "replace")

    def array(self) -> NDArray[Any]:
        dtype = _DTYPES.get(self.take(self.take(1)[0]))
        if dtype is None:
            raise ProtocolError("an array of a type that is not allowed")
        dimensions = self.take(1)[0]
        if dimensions > MAX_DIMENSIONS:
            raise ProtocolError("an array of too many dimensions")
        shape = struct.unpack_from(f">{dimensions}Q", self.data, self.past(8 * dimensions))
        self.past(2)  # the layout, which only the worker acts on
        raw = self.take(math.prod(shape) * dtype.itemsize)
        if math.prod(size or 1 for size in shape) > MAX_FRAME:
            raise ProtocolError("an empty array of an impossible shape")
        array: NDArray[Any] = np.frombuffer(raw, dtype)
        if dtype.kind == "b":  # any byte but 0 means True; NumPy trusts that only 0 and 1 occur
            array = array.view(np.uint8) != 0
        return array.reshape(shape)

    def whole_number(self) -> int:
        digits = self.text()
        if len(digits) > MAX_DIGITS:
            raise ProtocolError("an integer too long to be one")
        try:
            number = int(digits)
        except ValueError as error:
            raise ProtocolError("a malformed integer") from error
        if not -(2**63) <= number < 2**63:  # NumPy would make an array of objects of it
            raise ProtocolError("an integer too long to be one")
        return number

    def several(self, depth: int) -> list[Any]:
        number = self.count()
        self.items += number
        if self.items > MAX_ITEMS:
            raise ProtocolError("too many items")
        return [self.value(depth + 1) for _ in range(number)]

    def mapping(self, depth: int) -> dict[str, Any]:
        number = self.count()
        self.items += number
        if self.items > MAX_ITEMS:
            raise ProtocolError("too many items")
        return {self.text(): self.value(depth + 1) for _ in range(number)}

    def value(self, depth: int = 0) -> Any:
        if depth > MAX_DEPTH:
            raise ProtocolError("nested too deeply")
        tag = self.take(1)
        if tag in _CONSTANTS:
            return _CONSTANTS[tag]
        match tag:
            case b"I":
                return self.whole_number()
            case b"D":
                return float(_F64.unpack(self.take(8))[0])
            case b"S":
                return self.text()
            case b"A":
                return self.array()
            case b"L":
                return self.several(depth)
            case b"U":
                return tuple(self.several(depth))
            case b"M":
                return self.mapping(depth)
            case b"H":
                return Handle(int(_U64.unpack(self.take(8))[0]))
            case b"X":
                return Foreign(self.text()[:80])
        raise ProtocolError("a value of an unknown kind")


_CONSTANTS: dict[bytes, Any] = {b"N": None, b"T": True, b"F": False}


def decode(data: bytes) -> Any:
    """Return the value in these bytes.

    Raise ProtocolError unless they are exactly one allowed value.
    """
    if len(data) > MAX_FRAME:
        raise ProtocolError("too large")
    reader = _Reader(bytes(data))
    value = reader.value()
    if reader.at != len(data):
        raise ProtocolError("more values than asked for")
    return value
