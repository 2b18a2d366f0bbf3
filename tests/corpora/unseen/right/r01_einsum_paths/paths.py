"""Contraction plans, spelled out by hand."""
import numpy as np

PAIR = ["einsum_path", (0, 1)]


def contract(spec, *operands):
    return np.einsum(spec, *map(np.asarray, operands), optimize=PAIR if len(operands) == 2 else False)
