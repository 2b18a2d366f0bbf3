"""Encode values between judge and worker: framed, typed, capped. No pickle, no eval.

A frame is its length (8 bytes), the call's nonce (16 bytes) and one encoded value. A value is a tag
and its data. Values are scalars, str, None, list, tuple, dict with str keys, arrays (dtype, shape,
memory layout, raw bytes), handles of objects that stay in the worker, and names of types that
cannot cross.

Both sides use this file. The judge bounds what it reads, and the worker what it writes.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

HEADER = struct.Struct(">Q16s")
MAX_FRAME = 64 * 2**20
MAX_DIMENSIONS = 16
MAX_DIGITS = 64
MAX_NAME = 80  # characters of the name of a type that cannot cross
LAYOUTS = {"C": 0, "F": 1, "strided": 2, "reversed": 3}
COUNTED, ROWS = 4, 5  # layouts of arrays that count or note the products made with them

_U32 = struct.Struct(">I")
_U64 = struct.Struct(">Q")
_F64 = struct.Struct(">d")
# The types of number that cross, by the only spelling of each.
_DTYPES: dict[bytes, np.dtype[Any]] = {
    np.dtype(code).newbyteorder("<").str.encode(): np.dtype(code).newbyteorder("<")
    for code in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
}


class ProtocolError(Exception):
    """The bytes are not a value of this format, or hold too much."""


@dataclass(frozen=True)
class Handle:
    """Stands for an object that a student's function returned and that stays in the worker."""

    number: int


@dataclass(frozen=True)
class Foreign:
    """A returned object of a type that cannot cross; the judge learns only the type's name."""

    description: str


class ValueDecoder:
    """Reads values as the judge does: it counts what it takes before it takes it."""

    max_depth, max_items, max_text, errors = 16, 20_000, 2**16, "replace"

    def __init__(self, data: bytes | memoryview, at: int = 0) -> None:
        self.data = memoryview(data)
        self.size = len(data)
        self.at = at
        self.items = 0

    def _handle(self, number: int) -> Any:
        return Handle(number)

    def _lay(self, numbers: NDArray[Any], layout: int, writable: bool) -> NDArray[Any]:
        """Return the array that has these numbers. Only the worker acts on layouts."""
        if numbers.dtype.kind == "b":  # any byte but 0 means True; NumPy trusts that 0 and 1 occur
            numbers = np.asarray(numbers.view(np.uint8) != 0)
        numbers.flags.writeable = False
        return numbers

    def _past(self, size: int) -> int:
        """Return where the next bytes begin, and move past them."""
        at = self.at
        if size > self.size - at:
            raise ProtocolError("the value ends too soon")
        self.at = at + size
        return at

    def _count(self) -> int:
        number: int = _U32.unpack_from(self.data, self._past(4))[0]
        return number

    def _text(self, depth: int = 0) -> str:
        size = self._count()
        if size > self.max_text:
            raise ProtocolError("a text that is too long")
        at = self._past(size)
        return str(self.data[at : at + size], "utf-8", self.errors)

    def _array(self, depth: int) -> NDArray[Any]:
        start = self._past(1)
        self._past(self.data[start])
        self._past(8 * self.data[self._past(1)])
        dtype, shape, size = _read_head(bytes(self.data[start : self.at]))
        at = self._past(2 + size)
        if math.prod(length or 1 for length in shape) > MAX_FRAME:
            raise ProtocolError("an empty array of an impossible shape")
        numbers: NDArray[Any] = np.ndarray(shape, dtype, bytearray(self.data[at + 2 : self.at]))
        return self._lay(numbers, self.data[at], bool(self.data[at + 1]))

    def _float(self, depth: int) -> float:
        return float(_F64.unpack_from(self.data, self._past(8))[0])

    def _whole_number(self, depth: int) -> int:
        digits = self._text()
        if len(digits) > MAX_DIGITS:
            raise ProtocolError("an integer too long to be one")
        try:
            number = int(digits)
        except ValueError as error:
            raise ProtocolError("a malformed integer") from error
        if not -(2**63) <= number < 2**63:  # NumPy would make an array of objects of it
            raise ProtocolError("an integer too long to be one")
        return number

    def _number_of_items(self) -> int:
        number = self._count()
        self.items += number
        if self.items > self.max_items:
            raise ProtocolError("too many items")
        return number

    def _list(self, depth: int) -> list[Any]:
        return [self.value(depth + 1) for _ in range(self._number_of_items())]

    def _mapping(self, depth: int) -> dict[str, Any]:
        return {self._text(): self.value(depth + 1) for _ in range(self._number_of_items())}

    def value(self, depth: int = 0) -> Any:
        """Return the next value."""
        if depth > self.max_depth:
            raise ProtocolError("nested too deeply")
        read = _READERS.get(self.data[self._past(1)])
        if read is None:
            raise ProtocolError("a value of an unknown kind")
        return read(self, depth)


_READERS: dict[int, Callable[[Any, int], Any]] = {
    ord("N"): lambda decoder, depth: None,
    ord("T"): lambda decoder, depth: True,
    ord("F"): lambda decoder, depth: False,
    ord("A"): ValueDecoder._array,
    ord("S"): ValueDecoder._text,
    ord("M"): ValueDecoder._mapping,
    ord("I"): ValueDecoder._whole_number,
    ord("D"): ValueDecoder._float,
    ord("L"): ValueDecoder._list,
    ord("U"): lambda decoder, depth: tuple(decoder._list(depth)),
    ord("H"): lambda decoder, depth: decoder._handle(
        _U64.unpack_from(decoder.data, decoder._past(8))[0]
    ),
    ord("X"): lambda decoder, depth: Foreign(decoder._text()[:MAX_NAME]),
}


@lru_cache(maxsize=4096)
def _read_head(head: bytes) -> tuple[np.dtype[Any], tuple[int, ...], int]:
    """Return an array's type, shape and size in bytes."""
    dtype = _DTYPES.get(head[1 : 1 + head[0]])
    if dtype is None:
        raise ProtocolError("an array of a type that is not allowed")
    dimensions = head[1 + head[0]]
    if dimensions > MAX_DIMENSIONS:
        raise ProtocolError("an array of too many dimensions")
    shape = struct.unpack_from(f">{dimensions}Q", head, 2 + head[0])
    return dtype, shape, math.prod(shape) * dtype.itemsize


def write_text(tag: bytes, text: str, errors: str = "surrogatepass") -> bytes:
    """Return a text as bytes after its tag."""
    data = text.encode("utf-8", errors)
    return tag + _U32.pack(len(data)) + data


@lru_cache(maxsize=4096)
def write_name(name: str, errors: str = "surrogatepass") -> bytes:
    """Return a short name that many messages have."""
    return write_text(b"", name, errors)


def write_handle(number: int) -> bytes:
    """Return the bytes for an object that stays in the worker under that number."""
    return b"H" + _U64.pack(number)


@lru_cache(maxsize=4096)
def _head(
    kind: np.dtype[Any], shape: tuple[int, ...], layout: int, writable: bool
) -> tuple[np.dtype[Any], bytes]:
    """Return the type in which an array is sent, and what comes before its numbers."""
    dtype = kind.newbyteorder("<")
    code = dtype.str.encode()
    sizes = struct.pack(f">{len(shape)}Q", *shape)
    ends = bytes([len(shape)]), sizes, bytes([layout, writable])
    return dtype, b"".join((b"A", bytes([len(code)]), code, *ends))


def write_array(array: NDArray[Any], layout: int = 0, writable: bool = True) -> bytes:
    """Return an array of numbers as bytes."""
    dtype, head = _head(array.dtype, array.shape, layout, writable)
    return head + (array if array.dtype == dtype else array.astype(dtype)).tobytes()


def write_sequence(tag: bytes, parts: Sequence[bytes]) -> bytes:
    """Return a container whose parts are bytes already."""
    return tag + _U32.pack(len(parts)) + b"".join(parts)


def write_mapping(parts: Mapping[str, bytes]) -> bytes:
    """Return a mapping whose values are bytes already."""
    return write_sequence(b"M", [write_name(name) + part for name, part in parts.items()])


class ValueEncoder:
    """Writes values as they are now, whatever a subclass or a thread changes later."""

    errors = "surrogatepass"

    def _other(self, value: Any) -> bytes:
        raise NotImplementedError

    def _array(self, value: Any) -> bytes:
        return write_array(np.asarray(value))

    def _whole_number(self, number: int) -> bytes:
        return write_text(b"I", str(number))

    def _text(self, tag: bytes, text: str) -> bytes:
        return write_text(tag, text, self.errors)

    def _key(self, key: str) -> bytes:
        return write_name(key, self.errors) if len(key) <= MAX_NAME else self._text(b"", key)

    def _container(self, tag: bytes, base: type[Any], value: Any, depth: int) -> bytes:
        if base is dict:
            pairs = list(dict.items(value))
            parts = [self._key(str(key)) + self.write(one, depth + 1) for key, one in pairs]
        else:
            parts = [self.write(one, depth + 1) for one in base.__getitem__(value, slice(None))]
        return write_sequence(tag, parts)

    def write(self, value: Any, depth: int = 0) -> bytes:
        """Return the value's bytes."""
        if value is None:
            return b"N"
        kind = type(value)
        write = _WRITERS.get(kind) or next(
            (write for base, write in _WRITERS.items() if issubclass(kind, base)), None
        )
        return self._other(value) if write is None else write(self, value, depth)


_WRITERS: dict[type[Any], Callable[[Any, Any, int], bytes]] = {
    np.ndarray: lambda encoder, value, depth: encoder._array(value),
    np.generic: lambda encoder, value, depth: encoder._array(value),
    bool: lambda encoder, value, depth: b"T" if value else b"F",
    int: lambda encoder, value, depth: encoder._whole_number(int.__int__(value)),
    float: lambda encoder, value, depth: b"D" + _F64.pack(float.__float__(value)),
    str: lambda encoder, value, depth: encoder._text(b"S", str.__str__(value)),
    list: lambda encoder, value, depth: encoder._container(b"L", list, value, depth),
    tuple: lambda encoder, value, depth: encoder._container(b"U", tuple, value, depth),
    dict: lambda encoder, value, depth: encoder._container(b"M", dict, value, depth),
}
