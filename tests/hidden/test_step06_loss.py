"""Step 6 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step06_loss import *

EDGES = {
    "shift_shapes": [{"batch": (1, 4), "length": 40, "vocabulary": 17}],
    "log_softmax_shapes": [{"batch": (4, 1), "length": 17, "vocabulary": 40}],
    "cross_entropy_ignored": table(
        some_ignored, ((5,), 17, 11, "minus 1"), ((), 40, 120, "minus 100")
    ),
    "cross_entropy_shapes": [{"batch": (1, 4), "length": 17, "vocabulary": 40}],
    "log_prob_shapes": [{"batch": (4, 1), "length": 40, "vocabulary": 17}],
    "logits_shapes": table(model, ((), 40, 17, 5, 3, 6), ((1, 4), 17, 5, 3, 6, 2)),
    "loss_shapes": table(model, ((), 40, 17, 5, 3, 6), ((1, 4), 17, 5, 3, 6, 2)),
}
