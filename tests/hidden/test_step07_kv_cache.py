"""Step 7 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step07_kv_cache import *

EDGES = {
    "cache_agree": [{"batch": (), "chunks": (17, 1), "d_model": 5, "d_k": 3, "d_v": 4}],
    "cache_one_by_one": [
        {"batch": (), "chunks": (1,) * 17, "d_model": 2, "d_k": 3, "d_v": 4},
        {"batch": (), "chunks": (1,) * 40, "d_model": 5, "d_k": 4, "d_v": 3},
    ],
    "cache_chunks": [
        {"batch": (), "chunks": (1, 1, 6, 2, 1), "d_model": 4, "d_k": 3, "d_v": 5},
        {"batch": (), "chunks": (17, 2, 21), "d_model": 5, "d_k": 3, "d_v": 4},
    ],
    "cache_old_keys": [{"batch": (), "chunks": (1,) * 5, "d_model": 3, "d_k": 4, "d_v": 2}],
    "cache_shapes": [
        {"batch": (2, 1, 3), "chunks": (2, 3), "d_model": 4, "d_k": 6, "d_v": 5},
        {"batch": (7,), "chunks": (3, 4, 1), "d_model": 2, "d_k": 3, "d_v": 4},
    ],
}
