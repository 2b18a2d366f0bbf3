"""Step 8 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step08_generation import *

EDGES = {
    "sampling_agree": [{"batch": (), "vocabulary": size} for size in (2, 9, 10, 12, 16, 20)],
    "sampling_shapes": table(at_an_edge, ((17,), 11), ((4, 1, 2), 7)),
    "generation_agree": table(model, ((), 17, 7, 11, 6, 4, 5)),
    "generation_shapes": table(model, ((2, 1, 3), 2, 3, 9, 4, 5, 6), ((2,), 12, 8, 7, 5, 3, 4)),
}
