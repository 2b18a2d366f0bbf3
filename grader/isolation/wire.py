"""Read what a worker sends, and write what the judge sends."""

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from grader.isolation.worker.codec import Decoder, Encoder, Foreign, Handle, ProtocolError

__all__ = ["Counted", "Foreign", "Handle", "Laid", "ProtocolError", "decode", "encode"]


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


class _RequestEncoder(Encoder):
    """A request of the judge."""

    plain = Encoder.plain | {str, int}

    def _other(self, value: Any) -> Any:
        match value:
            case Handle(number):
                return {"handle": number}
            case Laid(array, layout, writable):
                return self._numbers(array, layout, writable)
            case Counted(array, rows):
                return self._numbers(array, "rows" if rows else "weights", False)
        raise TypeError(f"a {type(value).__name__} cannot be sent to the worker")


def encode(value: Any) -> bytes:
    """Return the value as bytes. Raise TypeError for a type that has no encoding."""
    encoder = _RequestEncoder()
    return encoder.encode(encoder.tree(value))


def decode(data: bytes) -> Any:
    """Return the value in these bytes.

    Raise ProtocolError unless they are exactly one allowed value.
    """
    value, end = Decoder().read(data)
    if end != len(data):
        raise ProtocolError("more values than asked for")
    return value
