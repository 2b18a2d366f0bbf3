"""Step 20 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step20_positions import *

EDGES = {
    "angles_agree": [{"batch": (), "length": 17, "half": 32}],
    "angles_far": [{"batch": (1, 3), "length": 2, "half": 64, "far": FAR}],
    "angles_shapes": [{"batch": (2, 1, 3), "length": 5, "half": 2}],
    "rotate_shapes": table(turned, ((2, 1, 3), 4, 2, (1, 3)), ((5,), 17, 4)),
    "slopes_agree": [{"power": 5}, {"power": 2}],
    "alibi_rectangular": [{"power": 4, "t_q": 17, "t_k": 40}, {"power": 0, "t_q": 1, "t_k": 1}],
}
