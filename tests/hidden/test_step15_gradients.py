"""Step 15 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step15_gradients import *

EDGES = {
    "linear_back_shapes": [{"batch": (1, 4), "length": 17, "n_in": 6, "n_out": 2}],
    "softmax_back_shapes": [{"batch": (4, 1), "t_q": 6, "t_k": 40}],
    "entropy_back_ignored": table(ignored, ((1, 5), 6, 7, "minus 1")),
    "table_back_repeated": [{"batch": (3, 2), "length": 9, "vocabulary": 3, "d_model": 6}],
}
