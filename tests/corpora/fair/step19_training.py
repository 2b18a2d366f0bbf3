"""Right versions of step 19 in unusual style."""

import functools
import itertools
import math
from collections import namedtuple

import numpy as np

from exercises.step18_decoder_gradient import decoder_loss_and_gradients
from grader.answer_key.variants import fair

Step = namedtuple("Step", "params state")


def paths(tree, way=()):
    """The way to each array, and the array."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, item in items:
        if isinstance(item, (dict, list)):
            yield from paths(item, (*way, key))
        else:
            yield (*way, key), item


def built(tree, arrays):
    """A tree built like this one, of the arrays in the order of its paths."""
    arrays = iter(arrays)

    def build(node):
        if isinstance(node, dict):
            return {key: build(item) for key, item in node.items()}
        if isinstance(node, list):
            return [build(item) for item in node]
        return next(arrays)

    return build(tree)


def flat(tree):
    """All numbers of a tree in one vector, in float64."""
    found = [np.ravel(array).astype(np.float64) for _, array in paths(tree)]
    return np.concatenate(found) if found else np.zeros(0)


def unflat(tree, vector):
    """The numbers of a vector in a tree built like this one."""
    ends = itertools.accumulate(array.size for _, array in paths(tree))
    pieces = np.split(vector, list(ends)[:-1])
    shapes = [array.shape for _, array in paths(tree)]
    return built(tree, [p.reshape(s) for p, s in zip(pieces, shapes, strict=True)])


def same_order(like, tree):
    """The tree with its keys in the order of the other."""
    if isinstance(like, dict):
        return {key: same_order(like[key], tree[key]) for key in like}
    if isinstance(like, list):
        return [same_order(a, b) for a, b in zip(like, tree, strict=True)]
    return tree


# clip_gradients


def clip_by_vector(grads, max_norm):
    """One long vector, its norm by NumPy, and back into a tree."""
    if max_norm <= 0:
        raise ValueError(max_norm)
    vector = flat(grads)
    norm = np.linalg.norm(vector)
    return unflat(grads, vector * min(1.0, max_norm / norm) if norm > 0 else vector), norm


@fair("flat_vector", "clip_gradients")
def clip_by_vector_alone(grads, max_norm):
    """One long vector, its norm by NumPy, and back into a tree."""
    return clip_by_vector(grads, max_norm)


@fair("fsum", "clip_gradients")
def clip_by_fsum(grads, max_norm):
    """Exactly rounded sum; copies where nothing is clipped; a list as result."""
    if not max_norm > 0:
        raise ValueError("max_norm")
    norm = math.sqrt(math.fsum(float(g) ** 2 for _, a in paths(grads) for g in a.ravel()))
    factor = max_norm / norm if norm > max_norm else 1.0
    return [built(grads, [a * factor for _, a in paths(grads)]), norm]


def clip_by_norms(grads, max_norm):
    """The norm of the arrays' norms; a division in place of the product."""
    if max_norm <= 0.0:
        raise ValueError("max_norm must be above 0")
    norm = np.linalg.norm([np.linalg.norm(a) for _, a in paths(grads)])
    if norm > max_norm:
        grads = built(grads, [a / (norm / max_norm) for _, a in paths(grads)])
    return grads, norm


@fair("norm_of_norms", "clip_gradients")
def clip_by_norms_alone(grads, max_norm):
    """The norm of the arrays' norms; a division in place of the product."""
    return clip_by_norms(grads, max_norm)


# adamw_step


def nothing_yet(params):
    return None


def vectors(params):
    size = flat(params).size
    return {"t": 0, "m": np.zeros(size), "v": np.zeros(size)}


def by_path(params):
    return {}


def closure_state(params):
    """A function that takes gradients and gives m̂ and v̂ as vectors."""
    t, m, v = 0, 0.0, 0.0

    def update(g, beta_1, beta_2):
        nonlocal t, m, v
        t += 1
        m = beta_1 * m + (1 - beta_1) * g
        v = beta_2 * v + (1 - beta_2) * g * g
        return m / (1 - beta_1**t), v / (1 - beta_2**t)

    return update


def remembering():
    m = v = 0.0
    corrected = None
    for t in itertools.count(1):
        g, (beta_1, beta_2) = yield corrected
        m, v = m + (1 - beta_1) * (g - m), v + (1 - beta_2) * (g * g - v)
        corrected = m / (1 - beta_1**t), v / (1 - beta_2**t)


def generator_state(params):
    state = remembering()
    next(state)
    return state


class Optimizer:
    """Keeps one cell for each array, by its number."""

    __slots__ = ("cells", "t")

    def __init__(self, params):
        self.t = 0
        self.cells = [[np.zeros(a.shape), np.zeros(a.shape)] for _, a in paths(params)]

    def step(self, params, grads, lr, betas, eps, decay):
        self.t += 1
        new = []
        for cell, (_, p), (_, g) in zip(
            self.cells, paths(params), paths(same_order(params, grads)), strict=True
        ):
            for number, power in enumerate((1, 2)):
                cell[number] = betas[number] * cell[number] + (1 - betas[number]) * g**power
            m, v = (c / (1 - b**self.t) for c, b in zip(cell, betas, strict=True))
            new.append(p - lr * decay * p - lr * (m / (np.sqrt(v) + eps)))
        return built(params, new)


def object_step(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    return state.step(params, grads, lr, betas, eps, weight_decay), state


def history(params):
    """All gradients so far: both means are sums over them."""
    return ()


histories, numbers = {}, itertools.count()


def numbered(params):
    return next(numbers)


@fair("flat_vectors", "adamw_step", also={"new_adamw": "vectors"})
def adamw_on_vectors(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    """m and v are vectors, changed in place."""
    g = flat(same_order(params, grads))
    state["t"] += 1
    state["m"] *= betas[0]
    state["m"] += (1 - betas[0]) * g
    state["v"] *= betas[1]
    state["v"] += (1 - betas[1]) * g * g
    c_1, c_2 = (1 - beta ** state["t"] for beta in betas)
    p = flat(params)
    p = p - lr * weight_decay * p - lr * (state["m"] / c_1) / (np.sqrt(state["v"] / c_2) + eps)
    return unflat(params, p), state


def adamw_as_torch(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    """torch's order: decay first, one step size, the root divided by the root of the correction."""
    g, t = flat(same_order(params, grads)), state["t"] + 1
    p = flat(params) * (1 - lr * weight_decay)
    m = state["m"] + (g - state["m"]) * (1 - betas[0])
    v = state["v"] * betas[1] + (1 - betas[1]) * g * g
    denominator = np.sqrt(v) / math.sqrt(1 - betas[1] ** t) + eps
    p = p + m / denominator * -(lr / (1 - betas[0] ** t))
    return Step(unflat(params, p), {"t": t, "m": m, "v": v})


@fair("as_torch_does", "adamw_step", also={"new_adamw": "vectors"})
def adamw_as_torch_alone(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    """torch's order: decay first, one step size, the root divided by the root of the correction."""
    return adamw_as_torch(params, grads, state, lr, betas, eps, weight_decay)


def adamw_by_closure(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    """The state is a function."""
    m, v = state(flat(same_order(params, grads)), *betas)
    p = flat(params)
    return unflat(params, (1 - lr * weight_decay) * p - lr * m / (np.sqrt(v) + eps)), state


@fair("closure", "adamw_step", also={"new_adamw": "closure_state"})
def adamw_by_closure_alone(
    params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01
):
    """The state is a function."""
    return adamw_by_closure(params, grads, state, lr, betas, eps, weight_decay)


@fair("generator", "adamw_step", also={"new_adamw": "generator_state"})
def adamw_by_generator(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    """The state is a generator to which gradients are sent; a list as result."""
    m, v = state.send((flat(same_order(params, grads)), betas))
    p = flat(params)
    return [unflat(params, p * (1 - lr * weight_decay) - lr * m / (np.sqrt(v) + eps)), state]


@fair("object", "adamw_step", also={"new_adamw": "Optimizer"})
def adamw_by_object(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    """new_adamw is a class with slots."""
    return state.step(params, grads, lr, betas, eps, weight_decay), state


@fair("by_path", "adamw_step", also={"new_adamw": "by_path"})
def adamw_by_path(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    """A dict by the way to each array, empty at first, copied at every step."""
    grads, new_state, arrays = dict(paths(grads)), {}, []
    for way, p in paths(params):
        t, m, v = state.get(way, (0, 0.0, 0.0))
        t, m = t + 1, betas[0] * m + (1 - betas[0]) * grads[way]
        v = betas[1] * v + (1 - betas[1]) * grads[way] ** 2
        new_state[way] = t, m, v
        step = m / (1 - betas[0] ** t) / (np.sqrt(v / (1 - betas[1] ** t)) + eps)
        arrays.append(p - lr * (weight_decay * p + step))
    return built(params, arrays), new_state


@fair("lazy", "adamw_step", also={"new_adamw": "nothing_yet"})
def adamw_lazy(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    """The state before the first step is None; extended precision inside."""
    g = flat(same_order(params, grads)).astype(np.longdouble)
    t, m, v = state or (0, np.zeros_like(g), np.zeros_like(g))
    state = t + 1, betas[0] * m + (1 - betas[0]) * g, betas[1] * v + (1 - betas[1]) * g * g
    t, m, v = state
    step = m / (1 - betas[0] ** t) / (np.sqrt(v / (1 - betas[1] ** t)) + eps)
    p = (1 - lr * weight_decay) * flat(params) - lr * step
    return unflat(params, p.astype(np.float64)), state


@fair("whole_history", "adamw_step", also={"new_adamw": "history"})
def adamw_from_history(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    """All gradients are kept, and both means are computed from them anew."""
    state = (*state, flat(same_order(params, grads)))
    t = len(state)

    def mean(beta, power):
        parts = [beta ** (t - i) * g**power for i, g in enumerate(state, 1)]
        return sum(parts) / sum(beta ** (t - i) for i in range(1, t + 1))

    p = flat(params)
    step = mean(betas[0], 1) / (np.sqrt(mean(betas[1], 2)) + eps)
    return unflat(params, p - lr * (weight_decay * p + step)), state


@fair("numbered", "adamw_step", also={"new_adamw": "numbered"})
def adamw_numbered(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    """The state is a number; what belongs to it lies in a dict of the module."""
    params, histories[state] = adamw_as_torch(
        params, grads, histories.get(state, vectors(params)), lr, betas, eps, weight_decay
    )
    return params, state


# learning_rate


@fair("interpolated", "learning_rate")
def rate_by_cases(step, peak, warmup, total, floor=0.0):
    """One expression with conditions; a NumPy number as result."""
    if total < warmup:
        raise ValueError("warmup")
    share = np.clip((step - warmup) / max(total - warmup, 1), 0, 1)
    fallen = floor + (peak - floor) * np.cos(np.pi / 2 * share) ** 2
    return (
        np.where(step < warmup, peak * (step + 1) / max(warmup, 1), fallen)[()]
        if (step < total)
        else np.float64(floor)
    )


@fair("schedule_list", "learning_rate")
def rate_by_list(step, peak, warmup, total, floor=0.0):
    """The whole schedule as a list; its last value is the floor."""
    if warmup > total:
        raise ValueError("warmup")
    ramp = [peak * (i + 1) / warmup for i in range(warmup)]
    angles = [math.pi * i / (total - warmup) for i in range(total - warmup)]
    fall = [floor + 0.5 * (peak - floor) * (1 + math.cos(angle)) for angle in angles]
    return [*ramp, *fall, floor][min(step, total)]


# sample_batch


@fair("list_of_slices", "sample_batch")
def batches_by_slices(stream, length, starts):
    """A slice for each start; a list of lists would do as well, but this is an array."""
    windows = []
    for start in starts.tolist():
        window = stream[start : start + length + 1]
        if start < 0 or len(window) <= length:
            raise ValueError(f"start {start}")
        windows.append(window)
    return np.array(windows)


@fair("strided_view", "sample_batch")
def batches_by_view(stream, length, starts):
    """All windows as a view, of which the starts choose."""
    last = len(stream) - length - 1
    if last < 0 or starts.min() < 0 or starts.max() > last:
        raise ValueError("starts")
    return np.lib.stride_tricks.sliding_window_view(stream, length + 1)[starts]


@fair("take", "sample_batch")
def batches_by_take(stream, length, starts):
    """np.take refuses what lies behind the end; negative starts are refused first."""
    if (np.asarray(starts) < 0).any():
        raise ValueError("negative start")
    try:
        return np.take(stream, np.add.outer(starts, np.arange(length + 1)))
    except IndexError as error:
        raise ValueError("a window does not fit") from error


# train_step


@fair(
    "closure_inside",
    "train_step",
    also={"new_adamw": "closure_state", "adamw_step": "adamw_by_closure"},
)
def train_with_closure(tokens, params, state, n_heads, lr, max_norm=1.0):
    """Its own AdamW, whose state is a function; the loss as a 0-d array."""
    loss, grads = decoder_loss_and_gradients(tokens, params, n_heads)
    grads, _ = clip_by_vector(grads, max_norm)
    params, state = adamw_by_closure(params, grads, state, lr)
    return np.asarray(loss), params, state


@fair(
    "object_inside",
    "train_step",
    also={"new_adamw": "Optimizer", "adamw_step": "object_step"},
)
def train_with_object(batch, weights, optimizer, heads, rate, max_norm=1.0):
    """An optimiser object, other parameter names, prints the loss."""
    loss, grads = decoder_loss_and_gradients(batch, weights, heads)
    print(f"loss {loss:.3f}")
    clipped = clip_by_norms(grads, max_norm)[0]
    return [loss, optimizer.step(weights, clipped, rate, (0.9, 0.999), 1e-8, 0.01), optimizer]


@fair("partial", "train_step")
def train_by_partial(tokens, params, state, n_heads, lr, max_norm=1.0):
    """The student's own functions, composed with partial."""
    step = functools.partial(adamw_step, lr=lr)
    loss, grads = decoder_loss_and_gradients(tokens, params, n_heads)
    new, state = step(params, clip_gradients(grads, max_norm)[0], state)
    return loss, new, state
