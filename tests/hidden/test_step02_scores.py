"""Step 2 on fresh inputs, and in sizes that nobody is shown."""

from tests.visible.test_step02_scores import *  # noqa: F403

EDGES = {
    "scores_shapes": [{"batch": (), "t_q": 40, "t_k": 17, "d_k": 11}],
}
