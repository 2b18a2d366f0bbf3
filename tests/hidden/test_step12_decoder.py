"""Step 12 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step12_decoder import *

EDGES = {
    "decoder_blocks": table(decoder, (WIDTHS, (2,), 3, 5, 6)),
    "decoder_padding": table(decoder, (WIDTHS, (1, 6), 9, 7, 2, "each")),
    "decoder_shapes": table(decoder, (WIDTHS, (), 40, 17, 2), (widths(4, 3, 7), (1, 4), 17, 5, 3)),
}
