"""Step 18 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step18_decoder_gradient import *

EDGES = {
    "gradients_blocks": table(texts, (WIDTHS, (2,), 4, 5, 5)),
    "gradients_ignored": table(texts, (WIDTHS, (1, 5), 7, 6, 1, {"ignored": "some"})),
    "gradients_shapes": table(texts, (widths(4, 2, 7), (1, 4), 12, 5, 2)),
}
