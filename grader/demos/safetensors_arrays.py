"""Read and write the kit's own safetensors files without the library, which a learner may lack."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

FLOATS = {"F32": "<f4", "F64": "<f8"}


def read_arrays(data: bytes) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the floating-point arrays of a file, by name.

    Raise ValueError if the file is not as a safetensors file should be.

    >>> dict(read_arrays((2).to_bytes(8, "little") + b"{}"))
    {}
    """
    start = 8 + int.from_bytes(data[:8], "little")
    try:
        for name, entry in json.loads(data[8:start]).items():
            if entry.get("dtype") in FLOATS:  # another entry is not an array of the kit's
                first, stop = entry["data_offsets"]
                raw = data[start + first : start + stop]
                yield name, np.frombuffer(raw, FLOATS[entry["dtype"]]).reshape(entry["shape"])
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
