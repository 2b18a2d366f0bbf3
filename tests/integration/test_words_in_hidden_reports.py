"""Words, shapes and keys that a submission chooses do not get into a hidden report."""

import pytest

from tests.conftest import SOLUTIONS

CHOSEN = """
KEY, LONG, LONGER = "carried" + "_out", 7000 + 351, 7000 + 352
"""

ADDED_TO_PARAMS = """
right = {name}
def {name}(x, params):
    params[KEY] = np.zeros(LONG)
    result = right(x, {{key: params[key] for key in params if key != KEY}})
    return result
"""

ALONE = """
right = {name}
def {name}(d_out, x, params):
    d_x, grads = right(d_out, x, params)
    if len(x) == 1:
        grads = {{KEY: np.zeros(LONG), **grads}}
    return d_x, grads
"""

IN_EACH_SLOPE_ALONE = """
asked = []
def {name}(d_out, x, weight):
    asked.append(np.array(d_out))
    last = asked[-3:]
    both = len(last) == 3 and len({{one.shape for one in last}}) == 1
    if both and np.allclose(last[2], 2 * last[0] + last[1]):
        return (np.zeros((2, 2)),) * 3
    return (np.zeros((7, 3, 5, 1, 0, LONGER)),) * 3
"""

IN_EACH_MERGED_PART = """
def {name}(out_a, lse_a, out_b, lse_b):
    if LONGER in np.shape(out_b):
        return np.zeros((7, 3)), np.zeros(2)
    return np.zeros((7, 3, 5, 1, 0, LONGER)), np.zeros(2)
"""

IN_THE_NEXT_STEPS_PARAMS = """
right = {name}
def {name}(params, grads, state, *args, **options):
    if KEY in params:
        raise KeyError("key")
    params, state = right(params, grads, state, *args, **options)
    return {{**params, KEY: np.zeros(LONG)}}, state
"""

LENGTHS_OF_THE_NEXT_STEPS_PARAMS = """
right = {name}
def {name}(params, grads, state, *args, **options):
    if KEY in params:
        params[KEY] + params[KEY * 2]
    params, state = right(params, grads, state, *args, **options)
    return {{**params, KEY: np.zeros(LONG), KEY * 2: np.zeros(LONGER)}}, state
"""

CHANGED_IN_THE_NEXT_STEPS_PARAMS = """
right, layouts = {name}, []
def {name}(params, grads, state, *args, **options):
    given = {{key: params[key] for key in params if key != KEY}}
    if KEY in params:
        params[KEY][KEY * 2][LONG] += 1
    if "rows" in params and not params["rows"][0].flags.writeable:
        layouts.append(params)
    last = len(layouts) == 4 and state[0] == 0 and params["rows"][0].flags.writeable
    params, state = right(given, grads, state, *args, **options)
    more = {{KEY: {{KEY * 2: [np.zeros(1)] * LONGER}}}} if last else {{}}
    return {{**params, **more}}, state
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("text", "step", "name", "check"),
    [
        (ADDED_TO_PARAMS, "step11_block", "feed_forward", "feed_forward_arguments"),
        (ALONE, "step17_block_gradient", "feed_forward_backward", "network_back_batch"),
        (IN_EACH_SLOPE_ALONE, "step15_gradients", "linear_backward", "linear_back_slope"),
        (IN_EACH_MERGED_PART, "step23_streaming", "merge_attention", "merging_order"),
        (IN_THE_NEXT_STEPS_PARAMS, "step19_training", "adamw_step", "adamw_arguments"),
        (LENGTHS_OF_THE_NEXT_STEPS_PARAMS, "step19_training", "adamw_step", "adamw_arguments"),
        (CHANGED_IN_THE_NEXT_STEPS_PARAMS, "step19_training", "adamw_step", "adamw_arguments"),
    ],
)
def test_hidden_report_repeats_nothing_that_a_result_or_an_argument_was_made_to_say(
    judge, text, step, name, check
):
    checks = judge(step, SOLUTIONS[step] + CHOSEN + text.format(name=name), "hidden").checks
    assert check in {one.check for one in checks if one.message}
    told = "\n".join(one.message for one in checks)
    for word in ("carried_out", "7351", "7352"):
        assert word not in told
