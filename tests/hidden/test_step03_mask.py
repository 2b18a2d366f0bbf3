"""Step 3 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step03_mask import *

EDGES = {
    "causal_agree": [{"t_q": 17}, {"t_q": 40}, {"t_q": 1, "t_k": 1}],
    "causal_rectangular": [{"t_q": 1, "t_k": 40}, {"t_q": 39, "t_k": 40}, {"t_q": 17, "t_k": 40}],
    "causal_errors": [{"t_q": 40, "t_k": 39}],
    "padding_agree": table(padded_texts, ((), 17, 40, 11, (0, 1, 7, 15)), ((), 6, 9, 8, (0, 3, 5))),
    "padding_shapes": [
        {"batch": (4,), "t": 4, "vocabulary": 5, "pad_id": 0, "pads": (1, 3)},
        {"batch": (2, 1, 3), "t": 1, "vocabulary": 7, "pad_id": 4, "pads": (0,)},
        {"batch": (2, 1, 3), "t": 40, "vocabulary": 7, "pad_id": 4, "pads": (0, 17, 39)},
    ],
    "additive_shapes": [{"shape": (1,)}, {"shape": (2, 1, 1, 40)}, {"shape": (2, 2, 2, 2, 2)}],
    "masking_agree": [{"scores": (17, 40), "mask": (17, 40)}],
    "masking_shapes": [
        {"scores": (1, 1), "mask": (1, 1)},
        {"scores": (1, 40), "mask": (40,)},
        {"scores": (4, 4, 4, 4), "mask": (4, 1, 1, 4)},
        {"scores": (3, 2, 4, 5), "mask": (3, 1, 4, 5)},
        {"scores": (3, 2, 4, 5), "mask": (1, 1, 1, 1)},
    ],
}
