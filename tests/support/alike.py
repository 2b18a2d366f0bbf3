"""When two values are the same to the last bit: in type, shape, number type and bytes."""

import struct

import numpy as np


def alike(one, other):
    """Return whether the two are the same; byte order and memory layout do not count."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        same_type = one.dtype.newbyteorder("<") == other.dtype.newbyteorder("<")
        return same_type and one.shape == other.shape and bits(one) == bits(other)
    if isinstance(one, float):
        return struct.pack(">d", one) == struct.pack(">d", other)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(map(alike, one.values(), other.values()))
    return one == other


def bits(array):
    return array.astype(array.dtype.newbyteorder("<")).tobytes()
