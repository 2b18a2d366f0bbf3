"""Step 21 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step21_grouped_heads import *

# Heads that share no keys: so many that texts, or queries, stay as many as they are.
FOUR = {**SIZES, "kv_heads": 4, "repeats": 1}
EDGES = {
    "repeat_shapes": [{"batch": (1, 4), "kv_heads": 5, "repeats": 2, "length": 3, "d_head": 2}],
    "groups_bias": table(
        text, (FOUR, (4,), 3, {"biased": "heads"}), (FOUR, (), 4, {"biased": "matrix"})
    ),
    "groups_mask": table(text, (OTHER, (4, 1), 6, "keys"), (SIZES, (2, 2), 3, "inner")),
    "groups_shapes": table(text, ((), 17, 2, 4, 3, 3), ((2, 1, 3), 4, 1, 6, 6, 1)),
}
