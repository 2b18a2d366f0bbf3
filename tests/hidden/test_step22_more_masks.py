"""Step 22 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step22_more_masks import *

EDGES = {
    "window_agree": [{"t_q": 40, "window": 17}, {"t_q": 1, "window": 1}],
    "window_rectangular": [{"t_q": 1, "window": 1, "t_k": 40}, {"t_q": 17, "window": 5, "t_k": 40}],
    "prefix_agree": [{"t": 40, "n_prefix": 17}],
    "documents_again": [{"batch": (), "runs": (1, 2) * 6, "numbers": (0, 1, 2)}],
    "documents_shapes": [{"batch": (2, 1, 3), "runs": (5, 1, 11), "numbers": (2, 1)}],
    "places_again": [{"batch": (), "runs": (1, 2) * 6, "numbers": (0, 1, 2)}],
    "places_shapes": [{"batch": (2, 1, 3), "runs": (5, 1, 11), "numbers": (2, 1)}],
}
