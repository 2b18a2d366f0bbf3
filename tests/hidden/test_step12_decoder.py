"""Step 12 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step12_decoder import *

EDGES = {
    "decoder_blocks": [
        {"batch": (2,), "length": 3, "vocabulary": 5, "n_layers": 6, **WIDTHS},
    ],
    "decoder_padding": [
        {"batch": (1, 6), "length": 9, "vocabulary": 7, "n_layers": 2, **WIDTHS, "padding": "each"},
    ],
    "decoder_shapes": [
        {"batch": (), "length": 40, "vocabulary": 17, "n_layers": 2, **WIDTHS},
        {
            **{"batch": (1, 4), "length": 17, "vocabulary": 5, "n_layers": 3},
            **{"n_heads": 4, "d_head": 3, "d_ff": 7},
        },
    ],
}
