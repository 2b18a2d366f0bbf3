"""When two values are the same to the last bit: in type, shape, number type and bytes."""

import struct

import numpy as np


def alike(one, other):
    """Return whether the two are the same; byte order and memory layout do not count."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        one, other = (array.astype(array.dtype.newbyteorder("<")) for array in (one, other))
        same = one.dtype == other.dtype and one.shape == other.shape
        return same and one.tobytes() == other.tobytes()
    if isinstance(one, float):
        return struct.pack(">d", one) == struct.pack(">d", other)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(map(alike, one.values(), other.values()))
    return one == other
