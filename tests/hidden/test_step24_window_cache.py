"""Step 24 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step24_window_cache import *

EDGES = {
    "wcache_agree": [{**WIDTHS, "batch": (), "chunks": (17, 1), "window": 5}],
    "wcache_one_by_one": [{**OTHER, "batch": (), "chunks": (1,) * 17, "window": 4}],
    "wcache_chunks": table(windowed, (WIDTHS, (), (1, 1, 6, 2, 1), 2), (OTHER, (), (17, 2, 21), 6)),
    "wcache_size": [
        {"batch": (), "chunks": (1,) * 20, "d_model": 1, "d_k": 9000, "d_v": 5, "window": 1}
    ],
    "wcache_shapes": [
        {"batch": (2, 1, 3), "chunks": (2, 3), "d_model": 4, "d_k": 6, "d_v": 5, "window": 2}
    ],
}
