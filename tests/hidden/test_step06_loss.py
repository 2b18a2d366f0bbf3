"""Step 6 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step06_loss import *

EDGES = {
    "shift_shapes": [{"batch": (1, 4), "length": 40, "vocabulary": 17}],
    "log_softmax_shapes": [{"batch": (4, 1), "length": 17, "vocabulary": 40}],
    "cross_entropy_ignored": [
        {"batch": (5,), "length": 17, "vocabulary": 11, "ignored": "minus 1"},
        {"batch": (), "length": 40, "vocabulary": 120, "ignored": "minus 100"},
    ],
    "cross_entropy_shapes": [{"batch": (1, 4), "length": 17, "vocabulary": 40}],
    "log_prob_shapes": [{"batch": (4, 1), "length": 40, "vocabulary": 17}],
    "logits_shapes": [
        {"batch": (), "length": 40, "vocabulary": 17, "d_model": 5, "d_k": 3, "d_v": 6},
        {"batch": (1, 4), "length": 17, "vocabulary": 5, "d_model": 3, "d_k": 6, "d_v": 2},
    ],
    "loss_shapes": [
        {"batch": (), "length": 40, "vocabulary": 17, "d_model": 5, "d_k": 3, "d_v": 6},
        {"batch": (1, 4), "length": 17, "vocabulary": 5, "d_model": 3, "d_k": 6, "d_v": 2},
    ],
}
