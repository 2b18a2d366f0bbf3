"""Step 11 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step11_block import *

EDGES = {
    "norm_eps": [{"batch": (2,), "length": 2, "d_model": 5, "eps": 3.0, "flat": True}],
    "norm_shapes": table(vectors, ((), 40, 17), ((1, 4), 1, 3)),
    "gelu_shapes": [{"batch": (4, 1), "length": 17, "d_ff": 40}],
    "feed_forward_shapes": table(fed, ((), 17, 5, 20), ((1, 4), 2, 6, 5)),
    "block_mask": table(block, ((5,), 17, 2, 3, 4, "each"), ((1, 2), 7, 2, 2, 3, "any")),
    "block_shapes": table(block, ((), 40, 3, 2, 5), ((1, 4), 17, 2, 1, 3)),
}
