"""Encode values between judge and worker: framed, typed, capped. No pickle, no eval.

A frame is its length (8 bytes), the message's nonce (16 bytes), and one value or more. A value is
the lengths of its two parts (4 and 8 bytes), JSON, and the numbers of all its arrays in order. An
object of one key in the JSON stands for what JSON does not have: a tuple, a dict with str keys, an
array (dtype, shape, memory layout, whether it is writable), the handle of an object that stays in
the worker, or the name of a type that cannot cross.

Both sides use this file. The judge bounds what it reads, and the worker what it writes.
"""

import json
import math
import struct
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

NONCE = 16
HEADER = struct.Struct(f">Q{NONCE}s")
PARTS = struct.Struct(">IQ")
MAX_FRAME = 64 * 2**20
MAX_DIMENSIONS = 16
MAX_DIGITS = 20
MAX_HEAD = 500  # characters of an array's type and shape
MAX_NAME = 80  # characters of the name of a type that cannot cross

# The types of number that cross, by the only spelling of each.
_DTYPES: dict[str, np.dtype[Any]] = {
    np.dtype(code).newbyteorder("<").str: np.dtype(code).newbyteorder("<")
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


def _whole_number(digits: str) -> int:
    """Return the number, unless NumPy would make an array of objects of it."""
    if len(digits) > MAX_DIGITS or not -(2**63) <= int(digits) < 2**63:
        raise ProtocolError("an integer too long to be one")
    return int(digits)


_decode = json.JSONDecoder(parse_int=_whole_number).decode
_encode = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


class Decoder:
    """Reads values as the judge does: it counts what it takes before it takes it."""

    max_depth, max_items, max_text, max_json = 16, 20_000, 2**16, 2**21
    max_cells = 5 * 2**20  # in all arrays; a judge makes several copies, eight bytes a cell
    errors = "replace"
    plain: frozenset[type[Any]] = frozenset((float, int, bool, type(None)))  # taken as they are

    def read(self, data: bytes | memoryview, at: int = 0) -> tuple[Any, int]:
        """Return the value that begins there, and where the next one does."""
        view = memoryview(data)[at:]
        if len(view) < PARTS.size:
            raise ProtocolError("the value ends too soon")
        text, numbers = PARTS.unpack_from(view)
        start, end = PARTS.size + text, PARTS.size + text + numbers
        if end > len(view):
            raise ProtocolError("the value ends too soon")
        if text > self.max_json:
            raise ProtocolError("a text that is too long")
        try:
            tree = _decode(str(view[PARTS.size : start], "utf-8", self.errors))
        except (ValueError, RecursionError):
            raise ProtocolError("not JSON, or nested too deeply") from None
        self.left, self.items, self.cells = view[start:end], 0, 0
        value = self._value(tree, 0)
        if self.left:
            raise ProtocolError("more numbers than asked for")
        return value, at + end

    def _value(self, tree: Any, depth: int) -> Any:
        kind = type(tree)
        if kind in self.plain:
            return tree
        if kind is str:
            return self._text(tree)
        if kind is list:
            return self._list(tree, depth)
        for name, part in tree.items():
            read, of = _READERS.get(name, (None, object))
            if read is not None and type(part) is of:
                return read(self, part, depth)
            break
        raise ProtocolError("a value of an unknown kind")

    def _text(self, text: str) -> str:
        if len(text) > self.max_text:
            raise ProtocolError("a text that is too long")
        return (
            text
            if text.isascii()
            else text.encode("utf-8", self.errors).decode("utf-8", self.errors)
        )

    def _list(self, items: Collection[Any], depth: int) -> list[Any]:
        self.items += len(items)
        plain, depth = self.plain, depth + 1
        if self.items > self.max_items:
            raise ProtocolError("too many items")
        if depth > self.max_depth:
            raise ProtocolError("nested too deeply")
        return [one if type(one) in plain else self._value(one, depth) for one in items]

    def _dict(self, items: dict[str, Any], depth: int) -> dict[str, Any]:
        names = items if str in self.plain else map(self._text, items)
        return dict(zip(names, self._list(items.values(), depth)))

    def _array(self, head: str, depth: int) -> Any:
        """Return an array of the next numbers."""
        dtype, shape, size, layout, writable = _read_head(head)
        if size > len(self.left):
            raise ProtocolError("the value ends too soon")
        numbers, self.left = self.left[:size], self.left[size:]
        array: NDArray[Any] = np.ndarray(shape, dtype, bytearray(numbers))
        self.cells += max(1, array.size)
        if self.cells > self.max_cells:
            return Foreign("array of too many numbers")
        return self._lay(array, layout, writable)

    def _handle(self, number: int) -> Any:
        if number < 0:
            raise ProtocolError("a handle below nothing")
        return Handle(number)

    def _lay(self, numbers: NDArray[Any], layout: str, writable: bool) -> NDArray[Any]:
        """Return the array that has these numbers. Only the worker acts on layouts."""
        if numbers.dtype.kind == "b":  # any byte but 0 means True; NumPy trusts that 0 and 1 occur
            numbers = np.asarray(numbers.view(np.uint8) != 0)
        numbers.flags.writeable = False
        return numbers


_READERS: dict[str, tuple[Callable[[Any, Any, int], Any], type[Any]]] = {
    "array": (Decoder._array, str),
    "dict": (Decoder._dict, dict),
    "tuple": (lambda decoder, items, depth: tuple(decoder._list(items, depth)), list),
    "handle": (lambda decoder, number, depth: decoder._handle(number), int),
    "foreign": (lambda decoder, name, depth: Foreign(decoder._text(name)[:MAX_NAME]), str),
}


@lru_cache(maxsize=4096)
def _read_head(head: str) -> tuple[np.dtype[Any], tuple[int, ...], int, str, bool]:
    """Return an array's type, shape, size in bytes, layout, and whether it is writable."""
    code, lengths, layout, writable = (*head.split(" ", 4), "", "", "")[:4]
    dtype = _DTYPES.get(code)
    if dtype is None or len(head) > MAX_HEAD:  # heads stay in memory
        raise ProtocolError("an array of a type that is not allowed")
    if not all(map(str.isdecimal, sides := lengths.split(",") if lengths else [])):
        raise ProtocolError("an array of an impossible shape")
    if len(sides) > MAX_DIMENSIONS:
        raise ProtocolError("an array of too many dimensions")
    shape = tuple(map(int, sides))
    size = math.prod(shape) * dtype.itemsize
    if size <= MAX_FRAME < math.prod(length or 1 for length in shape):
        raise ProtocolError("an empty array of an impossible shape")
    return dtype, shape, size, layout, writable == "1"


@lru_cache(maxsize=4096)
def _write_head(
    dtype: np.dtype[Any], shape: tuple[int, ...], layout: str, writable: bool
) -> tuple[np.dtype[Any], str]:
    """Return the type in which numbers of this one are sent, and an array's head."""
    sent, lengths = dtype.newbyteorder("<"), ",".join(map(str, shape))
    return sent, f"{sent.str} {lengths} {layout} {writable:d}"


class Encoder:
    """Writes values as they are now, whatever a subclass or a thread changes later.

    A value is first a tree, which `encode` turns into bytes. The arrays in the trees are copied.
    """

    errors = "surrogatepass"
    plain: frozenset[type[Any]] = frozenset((float, bool, type(None)))  # written as they are

    def __init__(self) -> None:
        self.numbers: list[bytes] = []  # of all arrays so far

    def encode(self, tree: Any) -> bytes:
        """Return a tree as bytes. Its arrays are all that were written, in this order."""
        text, numbers = _encode(tree).encode("utf-8", self.errors), b"".join(self.numbers)
        self.numbers.clear()
        return PARTS.pack(len(text), len(numbers)) + text + numbers

    def tree(self, value: Any, depth: int = 0) -> Any:
        """Return the JSON data for a value."""
        kind = type(value)
        if kind in self.plain:
            return value
        write = _WRITERS.get(kind) or next(
            (write for base, write in _WRITERS.items() if issubclass(kind, base)), None
        )
        return self._other(value) if write is None else write(self, value, depth)

    def _array(self, value: Any) -> Any:
        return self._numbers(np.asarray(value))

    def _numbers(self, array: NDArray[Any], layout: str = "C", writable: bool = True) -> Any:
        """Return the JSON data for an array of numbers, and copy these."""
        dtype, head = _write_head(array.dtype, array.shape, layout, writable)
        self.numbers.append((array if array.dtype == dtype else array.astype(dtype)).tobytes())
        return {"array": head}

    def _whole_number(self, number: int) -> Any:
        return number

    def _text(self, text: str) -> str:
        return text

    def _list(self, base: type[Any], value: Any, depth: int) -> Any:
        given, plain, depth = base.__getitem__(value, slice(None)), self.plain, depth + 1
        items = [one if type(one) in plain else self.tree(one, depth) for one in given]
        return items if base is list else {"tuple": items}

    def _dict(self, value: dict[Any, Any], depth: int) -> Any:
        items = [*dict.items(value)]
        return {"dict": {self._text(str(key)): self.tree(one, depth + 1) for key, one in items}}

    def _other(self, value: Any) -> Any:
        raise NotImplementedError


_WRITERS: dict[type[Any], Callable[[Any, Any, int], Any]] = {
    np.ndarray: lambda encoder, value, depth: encoder._array(value),
    np.generic: lambda encoder, value, depth: encoder._array(value),
    int: lambda encoder, value, depth: encoder._whole_number(int.__int__(value)),
    float: lambda encoder, value, depth: float.__float__(value),
    str: lambda encoder, value, depth: encoder._text(str.__str__(value)),
    list: lambda encoder, value, depth: encoder._list(list, value, depth),
    tuple: lambda encoder, value, depth: encoder._list(tuple, value, depth),
    dict: lambda encoder, value, depth: encoder._dict(value, depth),
}
