import numpy as np


def causal_mask(t_q, t_k=None):
    """unpacked from bits"""
    t_k = t_q if t_k is None else t_k
    if t_k < t_q:
        raise ValueError("t_k")
    rows = ["1" * (t_k - t_q + i + 1) + "0" * (t_q - i - 1) for i in range(t_q)]
    return (np.frombuffer("".join(rows).encode(), dtype=np.uint8) == ord("1")).reshape(t_q, t_k)


def padding_mask(tokens, pad_id):
    return (tokens != pad_id)[..., None, :]


def additive_mask(mask):
    # the sign and exponent bits of minus infinity, or nothing
    bits = np.where(mask, 0, 0xFFF0000000000000).astype(np.uint64)
    return bits.view(np.float64)


def apply_mask(scores, mask):
    return np.where(mask, scores, -np.inf)
