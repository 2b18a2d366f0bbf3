"""Step 7 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step07_kv_cache import *

EDGES = {
    "cache_agree": [{"batch": (), "chunks": (17, 1), "d_model": 5, "d_k": 3, "d_v": 4}],
    "cache_one_by_one": table(text, ((), (1,) * 17, 2, 3, 4), ((), (1,) * 40, 5, 4, 3)),
    "cache_chunks": table(text, ((), (1, 1, 6, 2, 1), 4, 3, 5), ((), (17, 2, 21), 5, 3, 4)),
    "cache_old_keys": [{"batch": (), "chunks": (1,) * 5, "d_model": 3, "d_k": 4, "d_v": 2}],
    "cache_shapes": table(text, ((2, 1, 3), (2, 3), 4, 6, 5), ((7,), (3, 4, 1), 2, 3, 4)),
}
