"""Step 5 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step05_output import *

EDGES = {
    "output_shapes": [{"batch": (), "t_q": 17, "t_k": 40, "d_v": 11}],
    "attention_shapes": table(asked, ((), 17, 40, 11, 6, "causal"), ((4, 1), 6, 1, 3, 2, "matrix")),
    "self_attention_padding": table(texts, ((5,), 17, 3, 4, 2, "each")),
    "self_attention_shapes": table(texts, ((), 40, 3, 5, 2), ((1, 4), 17, 2, 1, 3)),
}
