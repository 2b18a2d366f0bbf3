import unittest

import numpy as np

from exercises.step03_mask import causal_mask
from exercises.step11_block import decoder_block, layer_norm


def decoder_logits(tokens, params, n_heads, padding=None):
    length = tokens.shape[-1]
    if length > len(params["position"]):
        raise ValueError("tokens")
    mask = causal_mask(length)
    if padding is not None:
        mask = mask & padding
    x = params["embedding"][tokens] + params["position"][:length]
    for i in range(len(params["blocks"])):
        x = decoder_block(x, params["blocks"][i], n_heads, mask)
    x = layer_norm(x, params["ln_f"]["gain"], params["ln_f"]["bias"])
    return np.einsum("...td,vd->...tv", x, params["embedding"])


class TestDecoder(unittest.TestCase):
    def test_too_long(self):
        with self.assertRaises(ValueError):
            decoder_logits(np.zeros(3, int), {"position": np.zeros((2, 2))}, 1)
