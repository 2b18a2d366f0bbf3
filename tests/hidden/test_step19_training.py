"""Step 19 on fresh inputs, and in sizes that no student sees."""

from tests.visible.test_step19_training import *

EDGES = {
    "clip_trees": [{"tree": "deep", "rows": 5, "columns": 7, "max_norm": 0.01}],
    "adamw_steps": [{"tree": "two", "rows": 2, "columns": 3, "steps": 12}],
    "rate_agree": [{"step": 17, "peak": 0.375, "warmup": 5, "total": 40}],
    "batches_agree": [{"number": 60, "length": 17, "count": 7}],
    "train_steps": [{"batch": (), "length": 6, "steps": 5, **MODEL}],
}
