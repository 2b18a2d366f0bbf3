"""Step 4 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step04_softmax import *

EDGES = {
    "softmax_agree": [{"shape": (17, 40)}],
    "softmax_axis": table(
        scores_along, ((4,), 0), ((4, 4, 4), 1), ((40, 1, 17), -3), ((2, 3, 2, 4, 5), -4)
    ),
    "softmax_shapes": [{"shape": (1,)}, {"shape": (40, 17)}, {"shape": (2, 1, 3, 1, 4)}],
    "softmax_distribution": [{"shape": (17, 40), "size": 5.0, "share": 0.9}],
    "softmax_blocked": table(
        blocked_scores, ((1, 1),), ((4,),), ((4, 4, 4), 0, 1e3), ({"size": 1e3}, (2, 3, 11, 17))
    ),
    "softmax_large": [{"shape": (17, 40), "middle": 0.0, "spread": 300.0, "step": -5e3}],
}
