"""Step 13 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step13_decoder_cache import *

EDGES = {
    "step_agree": [{**SMALL, "batch": (), "chunks": (17, 1)}],
    "step_one_by_one": [{**SMALL, "batch": (), "chunks": (1,) * 17}],
    "step_chunks": table(text, (DEEP, (), (1, 1, 6, 2, 1)), (OTHER, (), (17, 2, 21))),
    "step_layers": [{**OTHER, "batch": (), "chunks": (1, 2, 1), "n_layers": 6}],
    "step_shapes": table(text, (OTHER, (2, 1, 3), (2, 3)), (SMALL, (7,), (3, 4, 1))),
    "writing_agree": [{**DEEP, "batch": (), "t": 17, "n_new": 2, "vocabulary": 11}],
    "writing_shapes": [
        {**SMALL, "batch": (2, 1, 3), "t": 2, "n_new": 3, "vocabulary": 9},
        {**OTHER, "batch": (2,), "t": 12, "n_new": 6, "vocabulary": 7},
    ],
}
