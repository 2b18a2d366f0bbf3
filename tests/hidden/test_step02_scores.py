"""Step 2 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step02_scores import *

EDGES = {
    "scores_agree": [{"batch": (), "t_q": 5, "t_k": 17, "d_k": 40}],
    "scores_shapes": table(
        queries_and_keys, ((), 40, 17, 11), ((), 1, 40, 1), ((4,), 4, 4, 4), ((2, 1, 3), 2, 5, 4)
    ),
    "scores_prefix": [{"batch": (), "t_q": 11, "t_k": 17, "d_k": 3}],
    "scores_large": [{"batch": (), "t_q": 2, "t_k": 11, "d_k": 5, "size": 300.0}],
}
