"""Step 16 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step16_attention_gradient import *

EDGES = {
    "attention_back_mask": table(attended, ((1, 2), 5, 7, 3, 4, "keys")),
    "attention_back_shapes": [{"batch": (4, 1), "t_q": 6, "t_k": 17, "d_k": 2, "d_v": 3}],
    "self_back_no_future": [{"batch": (), "length": 11, "d_model": 2, "d_k": 3, "d_v": 4}],
    "self_back_padding": table(text, ((1, 6), 7, 3, 4, 2, "each")),
    "self_back_shapes": [{"batch": (), "length": 40, "d_model": 3, "d_k": 2, "d_v": 5}],
}
