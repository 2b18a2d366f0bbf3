"""Buffers only: the lanes are memoryviews of an own array, changed where they lie."""
from array import array
from math import exp, inf

import numpy as np


def _inplace(lane: memoryview) -> None:
    top = max(lane)
    total = 0.0
    for i, s in enumerate(lane):
        lane[i] = 0.0 if s == -inf else exp(s - top)
        total += lane[i]
    if total:
        for i in range(len(lane)):
            lane[i] /= total


def softmax(scores, axis=-1):
    turned = np.moveaxis(scores, axis, -1)
    buffer = array("d", turned.astype(np.float64).tobytes())
    whole, n = memoryview(buffer), turned.shape[-1]
    for lo in range(0, len(whole), n or 1):
        _inplace(whole[lo:lo + n])
    out = np.frombuffer(buffer, dtype=np.float64).reshape(turned.shape)
    out = out.view()
    out.flags.writeable = False
    return np.moveaxis(out, -1, axis)
