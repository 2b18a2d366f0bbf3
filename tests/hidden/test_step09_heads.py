"""Step 9 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step09_heads import *

EDGES = {
    "split_shapes": [{"batch": (1, 4), "length": 17, "n_heads": 5, "d_head": 2}],
    "merge_shapes": [{"batch": (1, 4), "length": 17, "n_heads": 5, "d_head": 2}],
    "heads_mask": [
        {"batch": (4, 1), "length": 6, "n_heads": 4, "d_head": 2, "mask": "keys"},
        {"batch": (2, 2), "length": 3, "n_heads": 2, "d_head": 3, "mask": "inner"},
    ],
    "heads_blocked": [{"batch": (5,), "length": 7, "n_heads": 5, "d_head": 1, "mask": "padded"}],
    "heads_shapes": [
        {"batch": (), "length": 17, "n_heads": 6, "d_head": 2},
        {"batch": (2, 1, 3), "length": 4, "n_heads": 3, "d_head": 2},
    ],
}
