"""Step 9 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step09_heads import *

EDGES = {
    "split_shapes": [{"batch": (1, 4), "length": 17, "n_heads": 5, "d_head": 2}],
    "merge_shapes": [{"batch": (1, 4), "length": 17, "n_heads": 5, "d_head": 2}],
    "heads_mask": table(text, ((4, 1), 6, 4, 2, "keys"), ((2, 2), 3, 2, 3, "inner")),
    "heads_blocked": [{"batch": (5,), "length": 7, "n_heads": 5, "d_head": 1, "mask": "padded"}],
    "heads_shapes": table(text, ((), 17, 6, 2), ((2, 1, 3), 4, 3, 2)),
}
