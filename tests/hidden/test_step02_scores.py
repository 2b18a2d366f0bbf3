"""Step 2 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step02_scores import *

EDGES = {
    "scores_agree": [{"batch": (), "t_q": 5, "t_k": 17, "d_k": 40}],
    "scores_shapes": [
        {"batch": (), "t_q": 40, "t_k": 17, "d_k": 11},
        {"batch": (), "t_q": 1, "t_k": 40, "d_k": 1},
        {"batch": (4,), "t_q": 4, "t_k": 4, "d_k": 4},
        {"batch": (2, 1, 3), "t_q": 2, "t_k": 5, "d_k": 4},
    ],
    "scores_prefix": [{"batch": (), "t_q": 11, "t_k": 17, "d_k": 3}],
    "scores_large": [{"batch": (), "t_q": 2, "t_k": 11, "d_k": 5, "size": 300.0}],
}
