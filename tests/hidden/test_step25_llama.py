"""Step 25 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step25_llama import *

EDGES = {
    "rms_shapes": [{"batch": (2, 1, 3), "length": 2, "d_model": 7}],
    "swiglu_shapes": [{"batch": (2, 1, 3), "length": 2, "d_model": 3, "d_ff": 5}],
    "llama_shapes": table(
        text, (SMALL, (2, 1, 3), 3, 4, {"n_layers": 2}), (OTHER, (), 40, 7, {"n_layers": 1})
    ),
    "llama_step_chunks": table(
        chunked, (SMALL, (), (17, 2, 21), 5, 2), (OTHER, (), (1, 1, 6, 2, 1), 5, 3)
    ),
    "llama_step_shapes": table(chunked, (SMALL, (2, 1, 3), (2, 3), 5, 2)),
}
