"""Step 10 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step10_cross_attention import *

EDGES = {
    "shift_right_shapes": table(unshifted, ((1, 4), 2, 30), ((), 40, 50)),
    "cross_mask": table(two_texts, ((4, 1), 3, 6, 4, 2, "each"), ((2, 2), 2, 5, 2, 2, "keys")),
    "cross_shapes": table(two_texts, ((), 17, 4, 6, 1), ((), 3, 40, 2, 3), ((2, 1, 3), 4, 2, 3, 2)),
}
