"""Step 18 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step18_decoder_gradient import *

EDGES = {
    "gradients_blocks": [
        {"batch": (2,), "length": 4, "vocabulary": 5, "n_layers": 5, **WIDTHS},
    ],
    "gradients_ignored": [
        {"batch": (1, 5), "length": 7, "vocabulary": 6, "n_layers": 1, **WIDTHS, "ignored": "some"},
    ],
    "gradients_shapes": [
        {
            **{"batch": (1, 4), "length": 12, "vocabulary": 5, "n_layers": 2},
            **{"n_heads": 4, "d_head": 2, "d_ff": 7},
        },
    ],
}
