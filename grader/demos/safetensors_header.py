"""Read the header of a safetensors file, which needs no library."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def read_header(data: bytes | NDArray[np.uint8]) -> tuple[Mapping[str, Mapping[str, Any]], int]:
    """Return what a file says of each tensor, by its name, and where the first tensor starts.

    Each has `dtype`, `shape` and `data_offsets`, which count from that start. Raise ValueError or
    a subclass if it is not JSON.

    >>> read_header((2).to_bytes(8, "little") + b"{}")
    ({}, 10)
    """
    start = 8 + int.from_bytes(bytes(data[:8]), "little")
    header = json.loads(bytes(data[8:start]))
    header.pop("__metadata__", None)
    return header, start
