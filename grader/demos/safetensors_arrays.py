"""Read the arrays of a safetensors file without the library, which has none for bfloat16."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

FLOATS = {"F16": "<f2", "F32": "<f4", "F64": "<f8"}


def read_arrays(data: bytes | NDArray[np.uint8]) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the floating-point arrays of a file, by name.

    A bfloat16 is the upper half of a float32, so nothing is lost. Raise ValueError if the file is
    not as a safetensors file should be.

    >>> dict(read_arrays((2).to_bytes(8, "little") + b"{}"))
    {}
    """
    start = 8 + int.from_bytes(bytes(data[:8]), "little")
    header = json.loads(bytes(data[8:start]))
    try:
        entries = [
            (n, e["dtype"], e["shape"], *e["data_offsets"])
            for n, e in header.items()
            if n != "__metadata__"
        ]
        for name, kind, shape, first, stop in entries:
            raw = bytes(data[start + first : start + stop])
            if kind == "BF16":
                upper = np.frombuffer(raw, "<u2").astype("<u4") << 16
                yield name, upper.view("<f4").reshape(shape)
            elif kind in FLOATS:
                yield name, np.frombuffer(raw, FLOATS[kind]).reshape(shape)
    except (AttributeError, LookupError, TypeError) as error:
        raise ValueError("not a safetensors file") from error
