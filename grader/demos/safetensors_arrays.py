"""Read and write safetensors files without the library, which has no arrays for bfloat16."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
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


def format_arrays(arrays: Mapping[str, NDArray[Any]], kind: str) -> bytes:
    """Return the file of these arrays, all of the same kind: `F32` or `F64`.

    >>> dict(read_arrays(format_arrays({"a": np.ones(2)}, "F32")))
    {'a': array([1., 1.], dtype=float32)}
    """
    header, parts, end = {}, [], 0
    for name, array in arrays.items():
        data = np.ascontiguousarray(array, FLOATS[kind]).tobytes()
        offsets = [end, end + len(data)]
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": offsets}
        parts.append(data)
        end += len(data)
    head = json.dumps(header).encode()
    return len(head).to_bytes(8, "little") + head + b"".join(parts)
