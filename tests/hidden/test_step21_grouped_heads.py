"""Step 21 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step21_grouped_heads import *

EDGES = {
    "repeat_shapes": [{"batch": (1, 4), "kv_heads": 5, "repeats": 2, "length": 3, "d_head": 2}],
    "groups_mask": [
        {**OTHER, "batch": (4, 1), "length": 6, "mask": "keys"},
        {**SIZES, "batch": (2, 2), "length": 3, "mask": "inner"},
    ],
    "groups_shapes": [
        {"kv_heads": 2, "repeats": 4, "d_model": 3, "half": 3, "batch": (), "length": 17},
        {"kv_heads": 1, "repeats": 6, "d_model": 6, "half": 1, "batch": (2, 1, 3), "length": 4},
    ],
}
