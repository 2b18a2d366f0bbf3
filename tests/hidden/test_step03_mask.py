"""Step 3 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step03_mask import *

EDGES = {
    "causal_agree": [{"t_q": 17}, {"t_q": 40}, {"t_q": 1, "t_k": 1}],
    "causal_rectangular": [{"t_q": 1, "t_k": 40}, {"t_q": 39, "t_k": 40}, {"t_q": 17, "t_k": 40}],
    "causal_errors": [{"t_q": 40, "t_k": 39}],
    "padding_agree": table(padded_texts, ((), 17, 40, 11, (0, 1, 7, 15)), ((), 6, 9, 8, (0, 3, 5))),
    "padding_shapes": [
        *table(padded_texts, ((4,), 4, 5, 0, (1, 3)), ((2, 1, 3), 1, 7, 4, (0,))),
        *table(padded_texts, ((2, 1, 3), 40, 7, 4, (0, 17, 39))),
    ],
    "additive_shapes": [{"shape": (1,)}, {"shape": (2, 1, 1, 40)}, {"shape": (2, 2, 2, 2, 2)}],
    "masking_agree": [{"scores": (17, 40), "mask": (17, 40)}],
    "masking_shapes": [
        *table(scores_and_mask, ((1, 1), (1, 1)), ((1, 40), (40,)), ((4, 4, 4, 4), (4, 1, 1, 4))),
        *table(scores_and_mask, ((3, 2, 4, 5), (3, 1, 4, 5)), ((3, 2, 4, 5), (1, 1, 1, 1))),
    ],
}
