"""Step 8 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step08_generation import *

EDGES = {
    "sampling_agree": [{"batch": (), "vocabulary": size} for size in (2, 9, 10, 12, 16, 20)],
    "sampling_shapes": [
        {"batch": (17,), "vocabulary": 11},
        {"batch": (4, 1, 2), "vocabulary": 7},
    ],
    "generation_agree": [
        {"batch": (), "t": 17, "n_new": 7, "vocabulary": 11, "d_model": 6, "d_k": 4, "d_v": 5},
    ],
    "generation_shapes": [
        {"batch": (2, 1, 3), "t": 2, "n_new": 3, "vocabulary": 9, "d_model": 4, "d_k": 5, "d_v": 6},
        {"batch": (2,), "t": 12, "n_new": 30, "vocabulary": 7, "d_model": 5, "d_k": 3, "d_v": 4},
    ],
}
