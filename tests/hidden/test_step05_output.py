"""Step 5 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step05_output import *

EDGES = {
    "output_shapes": [{"batch": (), "t_q": 17, "t_k": 40, "d_v": 11}],
    "attention_shapes": [
        {"batch": (), "t_q": 17, "t_k": 40, "d_k": 11, "d_v": 6, "mask": "causal"},
        {"batch": (4, 1), "t_q": 6, "t_k": 1, "d_k": 3, "d_v": 2, "mask": "matrix"},
    ],
    "self_attention_padding": [
        {"batch": (5,), "length": 17, "d_model": 3, "d_k": 4, "d_v": 2, "padding": "each"},
    ],
    "self_attention_shapes": [
        {"batch": (), "length": 40, "d_model": 3, "d_k": 5, "d_v": 2},
        {"batch": (1, 4), "length": 17, "d_model": 2, "d_k": 1, "d_v": 3},
    ],
}
