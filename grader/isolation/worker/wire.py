"""Read what the judge sends, and write what a student's code returns, with limits on all of it.

Only exact data crosses, never an object's own description of itself.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .codec import MAX_DIMENSIONS, MAX_NAME, Decoder, Encoder
from .tracking import Rows, Weights, keep_tracks, track

Array = NDArray[Any]

MAX_REPLY = 48 * 2**20
MAX_CELLS = 5 * 2**20
MAX_DEPTH = 12
MAX_ITEMS = 10_000
MAX_TEXT = 2000
NUMBERS = (bool, int, float, np.bool_, np.integer, np.floating)
TRACKED = {"weights": Weights, "rows": Rows}
SPECIAL = ((np.matrix, "matrix"), (np.ma.MaskedArray, "masked array"))


def _arrange(flat: Array, layout: str) -> Array:
    """Return a C-ordered array laid out in memory as the judge asked."""
    if layout == "C":
        return flat
    if layout in TRACKED:
        keep_tracks()
        made: Array = track(flat, TRACKED[layout])
        return made
    if layout == "F":
        return np.array(flat, order="F")
    if layout == "strided" and flat.ndim:
        buffer = np.zeros((*flat.shape[:-1], 2 * flat.shape[-1]), flat.dtype)
        buffer[..., ::2] = flat
        return buffer[..., ::2]
    return flat[..., ::-1].copy()[..., ::-1] if layout == "reversed" and flat.ndim else flat


class RequestDecoder(Decoder):
    """Reads requests of the judge; handles stand for what is kept."""

    max_depth = 100
    max_items = max_text = max_json = max_cells = 2**63  # the judge knows what it sends
    errors = "surrogatepass"
    plain = Decoder.plain | {str}

    def __init__(self, kept: Mapping[int, Any]) -> None:
        self.kept = kept

    def _handle(self, number: int) -> Any:
        return self.kept[number]

    def _lay(self, numbers: Array, layout: str, writable: bool) -> Array:
        array = _arrange(numbers, layout)
        if not writable:
            array.flags.writeable = False
        return array


def name_foreign(description: str) -> dict[str, str]:
    """Return the data for an object that cannot cross."""
    return {"foreign": description[:MAX_NAME]}


def _find_numbers(array: Array) -> Array:
    """Return an array of objects that are all numbers, as np.frompyfunc makes it, as numbers."""
    if array.dtype != object or array.size > MAX_CELLS:
        return array
    items = array.ravel().tolist()
    if not items or not all(issubclass(type(item), NUMBERS) for item in items):
        return array
    return np.array(items).reshape(array.shape)


class Reply(Encoder):
    """The reply of a student's code; a note of the type stands for what cannot cross."""

    errors = "replace"

    def _other(self, value: Any) -> Any:
        return name_foreign(type(value).__name__)

    def _whole_number(self, number: int) -> Any:
        return number if -(2**63) <= number < 2**63 else name_foreign("huge integer")

    def _text(self, text: str) -> str:
        return text[:MAX_TEXT]

    def _list(self, base: type[Any], value: Any, depth: int) -> Any:
        return self._refuse(base, value, depth) or super()._list(base, value, depth)

    def _dict(self, value: Any, depth: int) -> Any:
        return self._refuse(dict, value, depth) or super()._dict(value, depth)

    def _refuse(self, base: type[Any], value: Any, depth: int) -> Any:
        """Return the data for a container that is too deep or too long, or None."""
        if depth >= MAX_DEPTH:
            return self._other(value)
        size = base.__len__(value)
        return name_foreign(f"{base.__name__} of {size}") if size > MAX_ITEMS else None

    def _array(self, value: Any) -> Any:
        for kind, name in SPECIAL:  # as plain numbers they would mean something else
            if isinstance(value, kind):
                return name_foreign(name)
        array = _find_numbers(np.asarray(value))
        if array.dtype.kind not in "biuf":
            return name_foreign(f"array of {array.dtype}")
        if array.nbytes > MAX_REPLY or array.size > MAX_CELLS:
            return name_foreign(f"array of {array.nbytes // 2**20} MiB")
        if array.ndim > MAX_DIMENSIONS:
            return name_foreign(f"array of {array.ndim} dimensions")
        # From here on a copy, because a thread of the student's may still be writing into it.
        if array.dtype.itemsize <= 8:
            return self._numbers(array.copy())
        with np.errstate(all="ignore"):  # what is too small becomes 0
            return self._numbers(array.astype(np.float64))
