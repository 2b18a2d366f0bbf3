"""Step 1 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step01_projections import *

EDGES = {
    "linear_agree": [{"lead": (17,), "d_in": 40, "d_out": 11}],
    "linear_bias": [
        {"lead": (4, 4), "d_in": 4, "d_out": 4},
        {"lead": (40,), "d_in": 2, "d_out": 1},
    ],
    "linear_shapes": [
        {"lead": (), "d_in": 1, "d_out": 17},
        {"lead": (4, 4), "d_in": 4, "d_out": 4},
        {"lead": (2, 1, 3, 1), "d_in": 5, "d_out": 4},
    ],
    "projections_agree": [{"batch": (), "t": 17, "d_model": 40, "d_k": 11, "d_v": 5}],
    "projections_shapes": [
        {"batch": (), "t": 40, "d_model": 3, "d_k": 17, "d_v": 4},
        {"batch": (4,), "t": 4, "d_model": 4, "d_k": 4, "d_v": 4},
        {"batch": (2, 1, 3), "t": 1, "d_model": 5, "d_k": 4, "d_v": 6},
    ],
}
