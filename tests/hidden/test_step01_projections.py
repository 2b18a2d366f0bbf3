"""Step 1 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step01_projections import *

EDGES = {
    "linear_agree": [{"lead": (17,), "d_in": 40, "d_out": 11}],
    "linear_bias": table(vectors_and_bias, ((4, 4), 4, 4), ((40,), 2, 1)),
    "linear_shapes": table(thirds, ((), 1, 17), ((4, 4), 4, 4), ((2, 1, 3, 1), 5, 4)),
    "projections_agree": [{"batch": (), "t": 17, "d_model": 40, "d_k": 11, "d_v": 5}],
    "projections_shapes": table(
        text, ((), 40, 3, 17, 4), ((4,), 4, 4, 4, 4), ((2, 1, 3), 1, 5, 4, 6)
    ),
}
