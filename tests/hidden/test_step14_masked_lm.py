"""Step 14 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step14_masked_lm import *

EDGES = {
    "corruption_agree": [{"batch": (2, 1, 3), "length": 17, "vocabulary": 40}],
    "corruption_borders": [{"batch": (), "length": 17, "vocabulary": 11, "rate": 0.25}],
    "corruption_rate": [{"batch": (4,), "length": 11, "vocabulary": 30, "rate": 0.05}],
    "corruption_shapes": table(texts, ((4, 1, 2), 5, 7), ((), 40, 17)),
    "masked_loss_agree": [{"batch": (4,), "length": 17, "vocabulary": 11}],
    "masked_loss_texts": [{"batch": (7,), "length": 4, "vocabulary": 9}],
    "masked_loss_shapes": table(scored, ((4, 1), 17, 40), ((), 40, 101)),
}
