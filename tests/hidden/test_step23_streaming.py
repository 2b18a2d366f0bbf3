"""Step 23 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step23_streaming import *

EDGES = {
    "partial_shapes": [{"batch": (2, 1, 3), "t_q": 17, "t_k": 2, "d_k": 3, "d_v": 4}],
    "merging_empty": [{"batch": (2, 1, 3), "t_q": 13, "d_v": 2, "empty": "each"}],
    "merging_shapes": [{"batch": (2, 1, 3), "t_q": 2, "d_v": 4}],
    "streaming_blocks": [{**WIDTHS, "batch": (), "t_q": 3, "t_k": 40, "block": 7}],
    "streaming_causal": table(streamed, ((), 17, 40, 6), ((2,), 5, 6, 1), **WIDTHS),
}
