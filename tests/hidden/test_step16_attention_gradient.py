"""Step 16 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step16_attention_gradient import *

EDGES = {
    "attention_back_mask": [
        {"batch": (1, 2), "t_q": 5, "t_k": 7, "d_k": 3, "d_v": 4, "mask": "keys"},
    ],
    "attention_back_shapes": [{"batch": (4, 1), "t_q": 6, "t_k": 17, "d_k": 2, "d_v": 3}],
    "self_back_no_future": [{"batch": (), "length": 11, "d_model": 2, "d_k": 3, "d_v": 4}],
    "self_back_padding": [
        {"batch": (1, 6), "length": 7, "d_model": 3, "d_k": 4, "d_v": 2, "place": "each"},
    ],
    "self_back_shapes": [{"batch": (), "length": 40, "d_model": 3, "d_k": 2, "d_v": 5}],
}
