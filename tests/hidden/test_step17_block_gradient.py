"""Step 17 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step17_block_gradient import *

EDGES = {
    "norm_back_shapes": [{"batch": (1, 4), "length": 6, "d_model": 17}],
    "heads_back_mask": table(attended, ((1, 5), 6, 2, 3, "each")),
    "heads_back_shapes": [{"batch": (), "length": 17, "n_heads": 4, "d_head": 2}],
    "block_back_mask": table(block, ((1, 5), 6, 3, 2, 4, "each")),
    "block_back_shapes": [{"batch": (), "length": 17, "n_heads": 4, "d_head": 2, "d_ff": 7}],
}
