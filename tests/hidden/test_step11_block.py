"""Step 11 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step11_block import *

EDGES = {
    "norm_eps": [{"batch": (2,), "length": 2, "d_model": 5, "eps": 3.0, "flat": True}],
    "norm_shapes": [
        {"batch": (), "length": 40, "d_model": 17},
        {"batch": (1, 4), "length": 1, "d_model": 3},
    ],
    "gelu_shapes": [{"batch": (4, 1), "length": 17, "d_ff": 40}],
    "feed_forward_shapes": [
        {"batch": (), "length": 17, "d_model": 5, "d_ff": 20},
        {"batch": (1, 4), "length": 2, "d_model": 6, "d_ff": 5},
    ],
    "block_mask": [
        {"batch": (5,), "length": 17, "n_heads": 2, "d_head": 3, "d_ff": 4, "mask": "each"},
        {"batch": (1, 2), "length": 7, "n_heads": 2, "d_head": 2, "d_ff": 3, "mask": "any"},
    ],
    "block_shapes": [
        {"batch": (), "length": 40, "n_heads": 3, "d_head": 2, "d_ff": 5},
        {"batch": (1, 4), "length": 17, "n_heads": 2, "d_head": 1, "d_ff": 3},
    ],
}
