"""Checks of step 19: clipping, AdamW, the learning rate, batches, and one training step."""

import numpy as np

from grader.checks import laws
from grader.checks.tolerances import AFTER_ADAMW
from tests.visible import decoders, standard
from tests.visible.sizes import table

ADAMW, TRAIN = "adamw_run", "train_run"


def some_tree(draw, kind, rows, columns):
    """A tree of that kind, with vectors and matrices; only `one` is a single array."""
    vector, matrix = draw.normal(columns) * 2, draw.normal(rows, columns)
    flat = {"one": {"w": vector}, "two": {"w": matrix, "b": vector}}
    if kind in flat:
        return flat[kind]
    if kind == "list":
        return {"blocks": [{"w": matrix}, {"w": draw.normal(columns, rows) * 3}]}
    norm = {"gain": 1 + draw.normal(columns) / 4, "bias": vector}
    blocks = [{"ln": norm, "w": draw.normal(rows, columns)} for _ in range(2)]
    return {"embedding": matrix, "blocks": blocks, "rows": [vector * 2, [matrix / 2]]}


def everywhere(function, tree):
    """The function's results, in a tree built alike."""
    if isinstance(tree, dict):
        return {key: everywhere(function, item) for key, item in tree.items()}
    if isinstance(tree, list):
        return [everywhere(function, item) for item in tree]
    return function(tree)


def gradients(draw, tree, rows, columns, max_norm, zero=False, over=None):
    """A tree of gradients, and the norm that they may have; `over` times that is what they have."""
    grads = some_tree(draw, tree, rows, columns)
    if over is not None:
        norm = np.sqrt(sum((array**2).sum() for array in grads.values()))
        max_norm = round(float(norm) / over, 2)
    return {"grads": everywhere(np.zeros_like, grads) if zero else grads, "max_norm": max_norm}


def in_other_order(tree):
    """The same tree, with the keys of every dict from last to first."""
    if isinstance(tree, dict):
        return {key: in_other_order(tree[key]) for key in reversed(tree)}
    return [in_other_order(item) for item in tree] if isinstance(tree, list) else tree


def off_zero(array):
    """The same, no number nearer to 0 than 1/16: m̂ / √v̂ jumps there."""
    return array + np.where(array < 0, -1, 1) / 16


def run(draw, tree, rows, columns, steps, changing=False, nudged=False, turned=False, **options):
    """Parameters, and gradients for some steps, of another size in each of them.

    turned: the gradients' keys come in another order.
    """
    sizes = (1.0, 0.125, 4.0, 0.5, 2.0)
    grads = [
        everywhere(lambda g, by=by: off_zero(g) * by, some_tree(draw, tree, rows, columns))
        for by in (sizes * steps)[:steps]
    ]
    grads = [in_other_order(one) for one in grads] if turned else grads
    rates = [0.125 / (1 + number if changing else 1) for number in range(steps)]
    arguments = {
        "params": some_tree(draw, tree, rows, columns),
        "grads": tuple(grads),
        "lr": tuple(rates),
        **options,
    }
    if changing:
        arguments["weight_decay"] = tuple(number / 8 for number in range(steps))
    if nudged:
        arguments["nudge"] = tuple(number / 4 for number in range(steps))
    return arguments


def rate(draw, step, peak, warmup, total, floor=None):
    """The arguments as they are, and a floor where it is given."""
    arguments = {"step": step, "peak": peak, "warmup": warmup, "total": total}
    return arguments if floor is None else {**arguments, "floor": floor}


def windows(draw, number, length, count, ends=False, bad=None, at=-1):
    """A stream of tokens and random starts; `ends` for the first and the last that fit.

    bad: the start `at` that place does not fit.
    """
    starts = draw.tokens(max(1, number - length), count)
    if ends:
        starts[0], starts[-1] = 0, number - length - 1
    if bad is not None:
        starts[at] = number - length if bad > 0 and bad < number else bad
    return {"stream": draw.tokens(50, number), "length": length, "starts": starts}


def trained(draw, batch, length, steps, max_norm=None, **sizes):
    """A decoder, and batches for some steps."""
    arguments = {
        "tokens": tuple(draw.tokens(sizes["vocabulary"], *batch, length) for _ in range(steps)),
        "params": decoders.decoder(draw, t_max=length + 1, **sizes),
        "n_heads": sizes["n_heads"],
        "lr": tuple(0.015625 / (1 + number) for number in range(steps)),
    }
    return arguments if max_norm is None else {**arguments, "max_norm": max_norm}


def adamw(student, case=None):
    """The student's AdamW as a function of all gradients of a run."""
    return laws.InSteps(student.adamw_step, student.new_adamw, ADAMW)


def training(student, case=None):
    """The student's training step as a function of all batches of a run."""
    return laws.InSteps(student.train_step, student.new_adamw, TRAIN, AFTER_ADAMW)


LARGE_NORM = [
    *table(gradients, ("one", 2, 3, 1.0), ("two", 3, 2, 0.5), ("two", 2, 4, 2.0)),
    *table(gradients, ("two", 2, 2, None, {"over": 1.25})),
]
SMALL_NORM = table(
    gradients, ("two", 2, 2, None, {"over": 0.8}), ("two", 2, 3, 1e3), ("two", 2, 2, 0.5, True)
)
DEEP_NORM = table(gradients, ("deep", 2, 3, 1.0), ("list", 3, 2, 0.3), ("deep", 2, 3, 1e4))
NORM_BATCH = [{"tree": "deep", "rows": 2, "columns": 3, "max_norm": 1.0}]
BAD_NORM = table(gradients, ("one", 2, 3, 0.0), ("two", 2, 3, -1.0))

FIRST = table(run, ("one", 1, 3, 1), ("two", 2, 3, 1))
STEPS = table(run, ("one", 1, 2, 2), ("two", 3, 2, 5))
OPTIONS = [
    *table(run, ("one", 1, 3, 2, {"eps": 0.1}), ("two", 2, 3, 3, {"betas": (0.5, 0.75)})),
    *table(run, ("two", 2, 2, 2, {"eps": 0.5, "betas": (0.75, 0.9)})),
]
CHANGES = table(
    run, ("one", 1, 3, 3, True), ("two", 2, 2, 3, {"nudged": True}), ("two", 2, 3, 4, True, True)
)
TREES = table(run, ("list", 2, 3, 2), ("deep", 3, 2, 2), ("deep", 3, 2, 2, {"turned": True}))
RUN = [{"tree": "deep", "rows": 2, "columns": 3, "steps": 2}]

RATES = table(
    rate, (0, 1.0, 2, 6), (1, 1.0, 4, 9), (2, 0.5, 2, 6), (5, 0.75, 3, 11), (10, 0.75, 3, 11)
)
RATE_BORDERS = [
    *table(rate, (3, 1.0, 4, 8), (4, 1.0, 4, 8), (8, 1.0, 4, 8), (21, 1.0, 4, 8), (0, 0.5, 0, 5)),
    *table(rate, (4, 0.5, 0, 5), (3, 0.5, 4, 4), (4, 0.5, 4, 4), (0, 0.5, 0, 0)),
]
FLOORS = [
    *table(rate, (0, 1.0, 2, 6, 0.25), (2, 1.0, 2, 6, 0.25), (5, 1.0, 2, 6, 0.25)),
    *table(rate, (9, 1.0, 2, 6, 0.25), (0, 1.0, 16, 20, 0.25), (2, 1.0, 0, 5, 0.25)),
    *table(rate, (3, 0.5, 2, 6, 0.25), (8, 0.5, 2, 6, 0.25), (4, 0.5, 4, 4, 0.125)),
]
BAD_RATES = table(rate, (0, 1.0, 3, 2), (9, 1.0, 5, 4))

WINDOWS = table(windows, (9, 3, 2), (17, 4, 5), (12, 1, 3))
WINDOW_LIMITS = table(windows, (5, 4, 1, True), (9, 3, 3, True), (2, 1, 1, True))
WINDOW_BATCH = [{"number": 40, "length": 3, "count": 6}]
UNFIT = [
    {"number": 9, "length": 3, "count": 2, "bad": 6},
    {"number": 9, "length": 3, "count": 2, "bad": -1},
    {"number": 9, "length": 3, "count": 3, "bad": 40},
    {"number": 4, "length": 4, "count": 1, "bad": 0},
    {"number": 9, "length": 3, "count": 3, "bad": 6, "at": 0},
    {"number": 9, "length": 3, "count": 3, "bad": -1, "at": 1},
    {"number": 20, "length": 3, "count": 2, "bad": -7},  # a slice from there is as long as others
    {"number": 20, "length": 3, "count": 3, "bad": -9, "at": 1},
]

MODEL = {"vocabulary": 6, "n_layers": 1, "n_heads": 2, "d_head": 2, "d_ff": 5}
TRAINED = [
    *table(trained, (MODEL, (), 4, 1), (MODEL, {"n_layers": 2}, (3,), 5, 1)),
    *table(trained, (MODEL, {"n_heads": 1, "d_head": 4}, (), 3, 1)),
]
TRAINED_STEPS = [{"batch": (2,), "length": 5, "steps": 3, **MODEL}]
TRAINED_CLIPPED = table(trained, ((2,), 4, 3, 0.05), ((2,), 4, 2, 50.0), **MODEL)
TRAINED_BATCH = [{"batch": (2,), "length": 4, "steps": 2, **MODEL}]


def test_clip_large(student, given):
    """A norm above max_norm becomes max_norm: all gradients are scaled alike."""
    laws.agrees(student.clip_gradients, given.cases(gradients, LARGE_NORM))


def test_clip_small(student, given):
    """Gradients whose norm is at most max_norm stay as they are, zeros too."""
    laws.agrees(student.clip_gradients, given.cases(gradients, SMALL_NORM))


def test_clip_trees(student, given):
    """The norm is one for the whole tree, with lists in dicts and dicts in lists."""
    laws.agrees(student.clip_gradients, given.cases(gradients, DEEP_NORM))


def test_adamw_first(student, given):
    """The first step, with t = 1, moves the parameters as torch's AdamW does."""
    laws.agrees_in_parts(adamw(student), given.cases(run, FIRST))


def test_adamw_steps(student, given):
    """After each further step the parameters are where torch's AdamW has them."""
    laws.agrees_in_parts(adamw(student), given.cases(run, STEPS))


def test_adamw_options(student, given):
    """betas and eps are used as they are given, and eps stands beside the root."""
    laws.agrees_in_parts(adamw(student), given.cases(run, OPTIONS))


def test_adamw_changes(student, given):
    """lr and weight_decay may change from step to step; a step starts from its params argument."""
    laws.agrees_in_parts(adamw(student), given.cases(run, CHANGES))


def test_adamw_trees(student, given):
    """Every array of the tree takes its step, with lists in dicts and dicts in lists."""
    laws.agrees_in_parts(adamw(student), given.cases(run, TREES))


def test_adamw_separate(student, given):
    """Two states share nothing, and an earlier result stays as it was."""
    cases = given.cases(run, RUN) + given.cases(run, RUN, salt="another run")
    laws.are_separate(student, [adamw(student)] * len(cases), cases)


def test_rate_agree(student, given):
    """A ramp to peak, then half a cosine down to 0."""
    laws.agrees(student.learning_rate, given.cases(rate, RATES))


def test_rate_borders(student, given):
    """Right at the ends of ramp and cosine, and without either of them."""
    laws.agrees(student.learning_rate, given.cases(rate, RATE_BORDERS))


def test_rate_floor(student, given):
    """The cosine ends at floor, and there the rate stays; the ramp does not know it."""
    laws.agrees(student.learning_rate, given.cases(rate, FLOORS))


def test_batches_agree(student, given):
    """Each window begins at its start and holds length + 1 tokens."""
    laws.agrees(student.sample_batch, given.cases(windows, WINDOWS))


def test_batches_limits(student, given):
    """The first and the last window that fit are allowed."""
    laws.agrees(student.sample_batch, given.cases(windows, WINDOW_LIMITS))


def test_train_agree(student, given):
    """One step gives the loss before it, and the parameters that torch has after it."""
    laws.agrees_in_parts(training(student), given.cases(trained, TRAINED))


def test_train_steps(student, given):
    """Over several steps the state is kept, and loss and parameters stay right."""
    laws.agrees_in_parts(training(student), given.cases(trained, TRAINED_STEPS))


def test_train_clipped(student, given):
    """Gradients are clipped to max_norm, all together, before AdamW sees them."""
    laws.agrees_in_parts(training(student), given.cases(trained, TRAINED_CLIPPED))


def test_train_separate(student, given):
    """Two training runs share nothing, and an earlier result stays as it was."""
    cases = given.cases(trained, TRAINED_BATCH)
    cases = cases + given.cases(trained, TRAINED_BATCH, salt="another run")
    laws.are_separate(student, [training(student)] * len(cases), cases)


test_clip_float32 = standard.in_float32("clip_gradients", gradients, LARGE_NORM)
test_clip_arguments = standard.untouched("clip_gradients", gradients, NORM_BATCH)
test_adamw_float32 = standard.in_float32(adamw, run, FIRST + STEPS)
test_adamw_arguments = standard.untouched(adamw, run, RUN)
test_batches_arguments = standard.untouched("sample_batch", windows, WINDOW_BATCH)
test_train_arguments = standard.untouched(training, trained, TRAINED_BATCH)
test_clip_errors = standard.refused(
    "clip_gradients", gradients, BAD_NORM, "max_norm is not above 0"
)
test_rate_errors = standard.refused("learning_rate", rate, BAD_RATES, "warmup is more than total")
test_batches_errors = standard.refused("sample_batch", windows, UNFIT, "A window does not fit")
test_batches_repeat = standard.when_repeated("sample_batch", windows, WINDOW_BATCH)
