"""Step 12 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step12_decoder import *

EDGES = {
    "decoder_blocks": table(decoder, (WIDTHS, (2,), 3, 5, 6)),
    "decoder_padding": table(decoder, (WIDTHS, (1, 6), 9, 7, 2, "each")),
    "decoder_shapes": [
        {"batch": (), "length": 40, "vocabulary": 17, "n_layers": 2, **WIDTHS},
        {
            **{"batch": (1, 4), "length": 17, "vocabulary": 5, "n_layers": 3},
            **{"n_heads": 4, "d_head": 3, "d_ff": 7},
        },
    ],
}
