"""Step 10 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step10_cross_attention import *

EDGES = {
    "shift_right_shapes": [
        {"batch": (1, 4), "length": 2, "vocabulary": 30},
        {"batch": (), "length": 40, "vocabulary": 50},
    ],
    "cross_mask": [
        {"batch": (4, 1), "length": 3, "source": 6, "n_heads": 4, "d_head": 2, "mask": "each"},
        {"batch": (2, 2), "length": 2, "source": 5, "n_heads": 2, "d_head": 2, "mask": "keys"},
    ],
    "cross_shapes": [
        {"batch": (), "length": 17, "source": 4, "n_heads": 6, "d_head": 1},
        {"batch": (), "length": 3, "source": 40, "n_heads": 2, "d_head": 3},
        {"batch": (2, 1, 3), "length": 4, "source": 2, "n_heads": 3, "d_head": 2},
    ],
}
