"""Known wrong versions of step 19, each with one mistake."""

import math

import numpy as np

from exercises.step18_decoder_gradient import decoder_loss_and_gradients
from grader.answer_key.variants import hint, mistake, says

shared_state = {}


def each(function, *trees):
    """Return the function's results at each place of trees with the same structure."""
    if isinstance(trees[0], dict):
        return {key: each(function, *(tree[key] for tree in trees)) for key in trees[0]}
    if isinstance(trees[0], list):
        return [each(function, *items) for items in zip(*trees, strict=True)]
    return function(*trees)


def leaves(tree):
    """Return all arrays of a tree."""
    if isinstance(tree, dict):
        return [leaf for item in tree.values() for leaf in leaves(item)]
    if isinstance(tree, list):
        return [leaf for item in tree for leaf in leaves(item)]
    return [tree]


def norm_of(tree):
    return math.sqrt(sum(float((leaf**2).sum()) for leaf in leaves(tree)))


def positive(max_norm):
    if max_norm <= 0:
        raise ValueError("max_norm must be above 0")


def clipped(grads, max_norm):
    """Clip the gradients correctly."""
    positive(max_norm)
    norm = norm_of(grads)
    return each(lambda g: g * min(1.0, max_norm / norm) if norm else g, grads), norm


def fresh(params):
    """Return a right state."""
    return {"t": 0, "m": each(np.zeros_like, params), "v": each(np.zeros_like, params)}


def means(state, grads, betas):
    """Return the state after these gradients, a new one."""
    m = each(lambda m, g: betas[0] * m + (1 - betas[0]) * g, state["m"], grads)
    v = each(lambda v, g: betas[1] * v + (1 - betas[1]) * g**2, state["v"], grads)
    return {"t": state["t"] + 1, "m": m, "v": v}


def moved(params, state, lr, betas, eps, weight_decay, t=None):
    """Return right new parameters after the state has been updated."""
    t = state["t"] if t is None else t

    def one(p, m, v):
        step = m / (1 - betas[0] ** t) / (np.sqrt(v / (1 - betas[1] ** t)) + eps)
        return (1 - lr * weight_decay) * p - lr * step

    return each(one, params, state["m"], state["v"])


def stepped(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    """Take a right step."""
    state = means(state, grads, betas)
    return moved(params, state, lr, betas, eps, weight_decay), state


def one_for_all(params):
    """Return the module's only state."""
    if not shared_state:
        shared_state.update(fresh(params))
    return shared_state


def stepped_in_place(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    """Take a right step, with the state in the dict that came in."""
    params, new = stepped(params, grads, state, lr, betas, eps, weight_decay)
    state.update(new)
    return params, state


def from_params(params):
    """Return a state whose means begin at the parameters."""
    return {"t": 0, "m": each(np.copy, params), "v": each(np.zeros_like, params)}


def with_room(params):
    """Return a right state that also holds arrays for the next parameters."""
    return {**fresh(params), "next": each(np.empty_like, params)}


def stepped_into(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    """Take a right step, into the arrays that the state holds."""
    room = state["next"]
    new, state = stepped(params, grads, state, lr, betas, eps, weight_decay)
    for place, leaf in zip(leaves(room), leaves(new), strict=True):
        place[...] = leaf
    return room, {**state, "next": room}


def views_of_params(params):
    """Return a state that keeps the initial parameters themselves."""
    return {**fresh(params), "params": params}


# clip_gradients


@mistake("clip_each_array", "clip_gradients")
@says("Each array is clipped by its own norm, so the direction changes.")
@hint("How many norms are there for a tree of two arrays?")
def clip_each_array(grads, max_norm):
    positive(max_norm)

    def one(g):
        norm = math.sqrt(float((g**2).sum()))
        return g * min(1.0, max_norm / norm) if norm else g

    return each(one, grads), norm_of(grads)


@mistake("clip_each_number", "clip_gradients")
@says("Each number is cut off at ±max_norm: that is clipping by value.")
@hint("Does the direction of the gradient stay the same?")
def clip_each_number(grads, max_norm):
    positive(max_norm)
    return each(lambda g: np.clip(g, -max_norm, max_norm), grads), norm_of(grads)


@mistake("clip_always_scales", "clip_gradients")
@says("Gradients are always scaled to max_norm, small ones upwards.")
@hint("What should happen to gradients whose norm is below max_norm?")
def clip_always_scales(grads, max_norm):
    positive(max_norm)
    norm = norm_of(grads)
    return each(lambda g: g * max_norm / norm if norm else g, grads), norm


@mistake("clip_adds_torchs_number", "clip_gradients")
@says("1e-6 is added to the norm, as torch does it.")
@hint("By exactly which number does the docstring scale?")
def clip_with_torchs_number(grads, max_norm):
    positive(max_norm)
    norm = norm_of(grads)
    return each(lambda g: g * min(1.0, max_norm / (norm + 1e-6)), grads), norm


@mistake("clip_limit_too_high", "clip_gradients")
@says("Gradients are scaled only if their norm is more than twice max_norm.")
@hint("What happens to gradients whose norm is just above max_norm?")
def clip_above_twice_only(grads, max_norm):
    result, norm = clipped(grads, max_norm)
    return (result if norm > 2 * max_norm else grads), norm


@mistake("clip_norm_after", "clip_gradients")
@says("The norm that comes back is that of the clipped gradients.")
@hint("Which norm does the docstring promise: before or after?")
def clip_norm_after(grads, max_norm):
    result, norm = clipped(grads, max_norm)
    return result, min(norm, max_norm)


@mistake("clip_norm_squared", "clip_gradients")
@says("The root of the sum of squares is missing.")
@hint("What is the norm of (3, 4)?")
def clip_without_root(grads, max_norm):
    positive(max_norm)
    norm = norm_of(grads) ** 2
    return each(lambda g: g * min(1.0, max_norm / norm) if norm else g, grads), norm


@mistake("clip_sum_of_norms", "clip_gradients")
@says("The norms of the arrays are added up, not their squares.")
@hint("What is the norm of two arrays, [3] and [4]: 5 or 7?")
def clip_sum_of_norms(grads, max_norm):
    positive(max_norm)
    norm = sum(math.sqrt(float((g**2).sum())) for g in leaves(grads))
    return each(lambda g: g * min(1.0, max_norm / norm) if norm else g, grads), norm


@mistake("clip_largest_number", "clip_gradients")
@says("The norm is the largest number in size, not the root of the sum of squares.")
@hint("What is the norm of (3, 4)?")
def clip_largest_number(grads, max_norm):
    positive(max_norm)
    norm = max(float(np.abs(g).max()) for g in leaves(grads))
    return each(lambda g: g * min(1.0, max_norm / norm) if norm else g, grads), norm


@mistake("clip_root_mean_square", "clip_gradients")
@says("The squares are averaged, not added up.")
@hint("What is the norm of (3, 4)?")
def clip_root_mean_square(grads, max_norm):
    positive(max_norm)
    norm = norm_of(grads) / math.sqrt(sum(g.size for g in leaves(grads)))
    return each(lambda g: g * min(1.0, max_norm / norm) if norm else g, grads), norm


@mistake("clip_blocks_forgotten", "clip_gradients")
@says("Only arrays outside of lists count in the norm.")
@hint("Which kinds of nodes does a tree have besides dicts?")
def clip_lists_forgotten(grads, max_norm):
    positive(max_norm)

    def outside(tree):
        if isinstance(tree, dict):
            return [leaf for item in tree.values() for leaf in outside(item)]
        return [] if isinstance(tree, list) else [tree]

    norm = math.sqrt(sum(float((g**2).sum()) for g in outside(grads)))
    return each(lambda g: g * min(1.0, max_norm / norm) if norm else g, grads), norm


@mistake("clip_tree_flattened", "clip_gradients")
@says("The clipped gradients come back as a flat list of arrays.")
@hint("How should the clipped tree be built?")
def clip_flattened(grads, max_norm):
    result, norm = clipped(grads, max_norm)
    return leaves(result), norm


@mistake("clip_any_max_norm", "clip_gradients")
@says("A max_norm of 0 or less is taken without a ValueError.")
@hint("What would a max_norm of −1 do to the sign of the gradients?")
def clip_any_max_norm(grads, max_norm):
    norm = norm_of(grads)
    return each(lambda g: g * min(1.0, max_norm / norm) if norm else g, grads), norm


@mistake("clip_zero_divides", "clip_gradients")
@says("Gradients that are all 0 become NaN: 0 is divided by their norm.")
@hint("What is the norm of a tree of zeros, and what is max_norm divided by it?")
def clip_zero_divides(grads, max_norm):
    positive(max_norm)
    norm = norm_of(grads)
    unit = np.float64(norm)
    with np.errstate(all="ignore"):
        return each(lambda g: g / unit * min(norm, max_norm), grads), norm


@mistake("np_input_mutated", "clip_gradients")
@says("The caller's gradients are scaled in place.")
@hint("What does *= do to an array that your function was only lent?")
def clip_in_place(grads, max_norm):
    positive(max_norm)
    norm = norm_of(grads)
    if norm > max_norm:
        for g in leaves(grads):
            g *= max_norm / norm
    return grads, norm


@mistake("np_half_precision", "clip_gradients")
@says("Clipped gradients of float32 parameters are kept in half precision.")
@hint("In which dtype do you keep the clipped gradients, and how many digits does it have?")
def clip_in_half(grads, max_norm):
    tree, norm = clipped(grads, max_norm)
    single = np.float32
    return each(lambda g: g.astype("e").astype("f") if g.dtype == single else g, tree), norm


# adamw_step


@mistake("adam_no_bias_correction", "adamw_step", also={"new_adamw": "fresh"})
@says("The bias correction is missing: m and v are used as they are.")
@hint("After the first step, how much of the gradient is in m?")
def adamw_no_correction(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    state = means(state, grads, betas)

    def one(p, m, v):
        return (1 - lr * weight_decay) * p - lr * m / (np.sqrt(v) + eps)

    return each(one, params, state["m"], state["v"]), state


@mistake("adam_time_from_zero", "adamw_step", also={"new_adamw": "fresh"})
@says("t is 0 in the first step, so the bias correction divides by 0.")
@hint("What is 1 − β₁ᵗ in your first step?")
def adamw_time_from_zero(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    new = means(state, grads, betas)
    with np.errstate(all="ignore"):
        t = np.float64(state["t"])
        return moved(params, new, lr, betas, eps, weight_decay, t), new


@mistake("adam_time_stands_still", "adamw_step", also={"new_adamw": "fresh"})
@says("t stays 1 in every step.")
@hint("Print t in three steps in a row.")
def adamw_time_stands_still(
    params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01
):
    state = {**means(state, grads, betas), "t": 1}
    return moved(params, state, lr, betas, eps, weight_decay), state


@mistake("adam_time_twice", "adamw_step", also={"new_adamw": "fresh"})
@says("t grows once for each array, not once for each step.")
@hint("Print t in three steps in a row.")
def adamw_time_per_array(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    state = means(state, grads, betas)
    result = moved(params, state, lr, betas, eps, weight_decay)
    return result, {**state, "t": state["t"] - 1 + len(leaves(params))}


@mistake("adam_state_forgotten", "adamw_step", also={"new_adamw": "fresh"})
@says("m and v begin at 0 in every step: the state is not kept.")
@hint("What does the second step know about the first gradient?")
def adamw_state_forgotten(
    params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01
):
    return stepped(params, grads, fresh(params), lr, betas, eps, weight_decay)[0], state


@mistake("adam_l2_in_gradient", "adamw_step", also={"new_adamw": "fresh"})
@says("Weight decay is added to the gradient: that is Adam with L2, not AdamW.")
@hint("Does the decay go through m and v, or past them?")
def adamw_l2(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    grads = each(lambda g, p: g + weight_decay * p, grads, params)
    return stepped(params, grads, state, lr, betas, eps, 0.0)


@mistake("adam_decay_without_lr", "adamw_step", also={"new_adamw": "fresh"})
@says("The decay is not multiplied by the learning rate.")
@hint("By which factor does the docstring shrink a parameter?")
def adamw_decay_without_lr(
    params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01
):
    return stepped(params, grads, state, lr, betas, eps, weight_decay / lr)


@mistake("adam_decay_missing", "adamw_step", also={"new_adamw": "fresh"})
@says("Weight decay is missing: this is Adam.")
@hint("Follow the argument weight_decay through your function: where does it act?")
def adamw_no_decay(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    return stepped(params, grads, state, lr, betas, eps, 0.0)


@mistake("adam_decay_after", "adamw_step", also={"new_adamw": "fresh"})
@says("The parameter is shrunk after the step, so the step is shrunk as well.")
@hint("Which p is in the first term of the docstring: the old or the new one?")
def adamw_decay_after(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    params, state = stepped(params, grads, state, lr, betas, eps, 0.0)
    return each(lambda p: (1 - lr * weight_decay) * p, params), state


@mistake("adam_decay_matrices_only", "adamw_step", also={"new_adamw": "fresh"})
@says("Only matrices are shrunk; biases and gains are left out.")
@hint("Which arrays does the docstring name?")
def adamw_decay_matrices_only(
    params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01
):
    new, state = stepped(params, grads, state, lr, betas, eps, 0.0)
    return each(lambda n, p: n - lr * weight_decay * p * (p.ndim > 1), new, params), state


@mistake("adam_eps_inside", "adamw_step", also={"new_adamw": "fresh"})
@says("eps is under the root.")
@hint("Is eps added to v̂ or to its root?")
def adamw_eps_inside(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    state = means(state, grads, betas)
    c_1, c_2 = (1 - beta ** state["t"] for beta in betas)

    def one(p, m, v):
        return (1 - lr * weight_decay) * p - lr * m / c_1 / np.sqrt(v / c_2 + eps)

    return each(one, params, state["m"], state["v"]), state


@mistake("adam_eps_before_correction", "adamw_step", also={"new_adamw": "fresh"})
@says("eps is added before the bias correction of v.")
@hint("To which root is eps added: that of v or that of v̂?")
def adamw_eps_before_correction(
    params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01
):
    state = means(state, grads, betas)
    c_1, c_2 = (1 - beta ** state["t"] for beta in betas)

    def one(p, m, v):
        step = m / c_1 / ((np.sqrt(v) + eps) / np.sqrt(c_2))
        return (1 - lr * weight_decay) * p - lr * step

    return each(one, params, state["m"], state["v"]), state


@mistake("adam_v_of_gradient", "adamw_step", also={"new_adamw": "fresh"})
@says("v is a mean of the gradients' sizes, not of their squares.")
@hint("Which power of the gradient is in v?")
def adamw_v_of_sizes(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    m = means(state, grads, betas)
    v = each(lambda v, g: betas[1] * v + (1 - betas[1]) * np.abs(g), state["v"], grads)
    state = {**m, "v": v}
    return moved(params, state, lr, betas, eps, weight_decay), state


@mistake("adam_no_root", "adamw_step", also={"new_adamw": "fresh"})
@says("The step is divided by v̂, not by its root.")
@hint("If all gradients are ten times as large, what becomes of your step?")
def adamw_no_root(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    state = means(state, grads, betas)
    c_1, c_2 = (1 - beta ** state["t"] for beta in betas)

    def one(p, m, v):
        return (1 - lr * weight_decay) * p - lr * m / c_1 / (v / c_2 + eps)

    return each(one, params, state["m"], state["v"]), state


@mistake("adam_betas_swapped", "adamw_step", also={"new_adamw": "fresh"})
@says("β₁ and β₂ are swapped.")
@hint("Which of the two means has the longer memory?")
def adamw_betas_swapped(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    return stepped(params, grads, state, lr, betas[::-1], eps, weight_decay)


@mistake("adam_factors_swapped", "adamw_step", also={"new_adamw": "fresh"})
@says("β and 1 − β have changed places: the new gradient gets the weight of the old mean.")
@hint("With β = 0.9, how much of the new gradient should be in the mean?")
def adamw_factors_swapped(
    params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01
):
    return stepped(params, grads, state, lr, tuple(1 - beta for beta in betas), eps, weight_decay)


@mistake("adam_betas_fixed", "adamw_step", also={"new_adamw": "fresh"})
@says("The argument betas is not used: the defaults are used instead.")
@hint("Follow the argument betas through your function: where does it act?")
def adamw_betas_fixed(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    return stepped(params, grads, state, lr, (0.9, 0.999), eps, weight_decay)


@mistake("adam_eps_fixed", "adamw_step", also={"new_adamw": "fresh"})
@says("The argument eps is not used: the default is used instead.")
@hint("Follow the argument eps through your function: where does it act?")
def adamw_eps_fixed(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    return stepped(params, grads, state, lr, betas, 1e-8, weight_decay)


@mistake("adam_lr_in_m", "adamw_step", also={"new_adamw": "fresh"})
@says("The learning rate is kept in m, so a new one does not hold for old gradients.")
@hint("If lr changes between two steps, what should it be multiplied by in the second?")
def adamw_lr_in_m(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    m = each(lambda m, g: betas[0] * m + (1 - betas[0]) * lr * g, state["m"], grads)
    state = {**means(state, grads, betas), "m": m}
    c_1, c_2 = (1 - beta ** state["t"] for beta in betas)

    def one(p, m, v):
        return (1 - lr * weight_decay) * p - m / c_1 / (np.sqrt(v / c_2) + eps)

    return each(one, params, state["m"], state["v"]), state


@mistake("adam_sgd", "adamw_step", also={"new_adamw": "fresh"})
@says("This is plain gradient descent: nothing is divided by the root of v̂.")
@hint("If all gradients are ten times as large, what becomes of your step?")
def adamw_plain_descent(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    return each(lambda p, g: (1 - lr * weight_decay) * p - lr * g, params, grads), state


@mistake("adam_ascends", "adamw_step", also={"new_adamw": "fresh"})
@says("The step is added, not subtracted: the loss grows.")
@hint("Where does a gradient point: where the loss grows, or where it falls?")
def adamw_ascends(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    new = means(state, grads, betas)
    result = moved(params, new, lr, betas, eps, weight_decay)
    return each(lambda p, r: 2 * (1 - lr * weight_decay) * p - r, params, result), new


@mistake("adam_lists_forgotten", "adamw_step", also={"new_adamw": "fresh"})
@says("Parameters inside lists are not updated.")
@hint("Which kinds of nodes does a tree have besides dicts?")
def adamw_lists_forgotten(
    params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01
):
    new, state = stepped(params, grads, state, lr, betas, eps, weight_decay)

    def outside(old, tree):
        if isinstance(tree, dict):
            return {key: outside(old[key], item) for key, item in tree.items()}
        return old if isinstance(tree, list) else tree

    return outside(params, new), state


@mistake("adam_keeps_start", "adamw_step", also={"new_adamw": "views_of_params"})
@says("The step starts from parameters that the state has kept, not from those that came in.")
@hint("Which params does the docstring update: the ones of the last step, or the argument?")
def adamw_keeps_start(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    new, kept = stepped(state["params"], grads, state, lr, betas, eps, weight_decay)
    return new, {**kept, "params": new}


@mistake("adam_m_from_params", "adamw_step", also={"new_adamw": "from_params"})
@says("m begins with the parameters, not with zeros.")
@hint("How much gradient has been seen before the first step?")
def adamw_m_from_params(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    return stepped(params, grads, state, lr, betas, eps, weight_decay)


@mistake("adam_shared_state", "adamw_step", also={"new_adamw": "one_for_all"})
@says("There is one state for all training runs.")
@hint("Begin a second run while the first goes on: does the first notice?")
def adamw_shared_state(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    if {leaf.shape for leaf in leaves(state["m"])} != {leaf.shape for leaf in leaves(params)}:
        state.update(fresh(params))
    return stepped_in_place(params, grads, state, lr, betas, eps, weight_decay)


@mistake("np_returns_alias", "adamw_step", also={"new_adamw": "with_room"})
@says("The new parameters live in arrays of the state, which the next step fills again.")
@hint("Keep the parameters of one step, take another step, and look at the first again.")
def adamw_same_room(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    return stepped_into(params, grads, state, lr, betas, eps, weight_decay)


@mistake("np_input_mutated", "adamw_step", also={"new_adamw": "fresh"})
@says("The caller's parameters are changed in place.")
@hint("What does -= do to an array that your function was only lent?")
def adamw_in_place(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    new, state = stepped(params, grads, state, lr, betas, eps, weight_decay)
    for old, leaf in zip(leaves(params), leaves(new), strict=True):
        old[...] = leaf
    return params, state


@mistake("adam_state_is_gradient", "adamw_step", also={"new_adamw": "fresh"})
@says("m is the newest gradient alone: there is no running mean.")
@hint("What should be left in m of the gradient before last?")
def adamw_m_is_gradient(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    return stepped(
        params, grads, {**state, "m": each(np.zeros_like, grads)}, lr, betas, eps, weight_decay
    )


@mistake("np_half_precision", "adamw_step", also={"new_adamw": "fresh"})
@says("The new float32 parameters are kept in half precision.")
@hint("In which dtype do you keep the parameters, and how many digits does it have?")
def adamw_in_half(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    single = {leaf.dtype for leaf in leaves(params)} == {np.dtype(np.float32)}
    params, state = stepped(params, grads, state, lr, betas, eps, weight_decay)
    if single:
        params = each(lambda p: p.astype(np.float16).astype(np.float32), params)
    return params, state


# learning_rate


@mistake("rate_ramp_from_zero", "learning_rate")
@says("The ramp begins at 0: the first step changes nothing.")
@hint("What is your learning rate in step 0?")
def rate_ramp_from_zero(step, peak, warmup, total, floor=0.0):
    if warmup > total:
        raise ValueError("warmup is more than total")
    if step < warmup:
        return peak * step / warmup
    if step >= total:
        return floor
    share = (step - warmup) / (total - warmup)
    return floor + (peak - floor) * (1 + math.cos(math.pi * share)) / 2


@mistake("rate_cosine_from_start", "learning_rate")
@says("The cosine counts from step 0, not from the end of the warm-up.")
@hint("What should the learning rate be right after the warm-up, and what is it?")
def rate_cosine_from_start(step, peak, warmup, total, floor=0.0):
    if warmup > total:
        raise ValueError("warmup is more than total")
    if step < warmup:
        return peak * (step + 1) / warmup
    if step >= total:
        return floor
    return floor + (peak - floor) * (1 + math.cos(math.pi * step / total)) / 2


@mistake("rate_linear_decay", "learning_rate")
@says("The learning rate falls along a straight line, not along a cosine.")
@hint("What is half of a cosine wave at a quarter of its way?")
def rate_linear_decay(step, peak, warmup, total, floor=0.0):
    if warmup > total:
        raise ValueError("warmup is more than total")
    if step < warmup:
        return peak * (step + 1) / warmup
    if step >= total:
        return floor
    return floor + (peak - floor) * (1 - (step - warmup) / (total - warmup))


@mistake("rate_no_half", "learning_rate")
@says("The cosine is not halved and moved up: it falls below the floor.")
@hint("Between which two numbers does 1 + cos run, and between which two should the rate run?")
def rate_plain_cosine(step, peak, warmup, total, floor=0.0):
    if warmup > total:
        raise ValueError("warmup is more than total")
    if step < warmup:
        return peak * (step + 1) / warmup
    if step >= total:
        return floor
    return floor + (peak - floor) * math.cos(math.pi * (step - warmup) / (total - warmup))


@mistake("rate_quarter_wave", "learning_rate")
@says("A quarter of a wave is used, which ends steeply, not half of one.")
@hint("How fast does the rate change at the very end?")
def rate_quarter_wave(step, peak, warmup, total, floor=0.0):
    if warmup > total:
        raise ValueError("warmup is more than total")
    if step < warmup:
        return peak * (step + 1) / warmup
    if step >= total:
        return floor
    share = (step - warmup) / (total - warmup)
    return floor + (peak - floor) * math.cos(math.pi / 2 * share)


@mistake("rate_floor_not_used", "learning_rate")
@says("The argument floor is not used: the rate falls to 0.")
@hint("Follow the argument floor through your function: where does it act?")
def rate_without_floor(step, peak, warmup, total, floor=0.0):
    if warmup > total:
        raise ValueError("warmup is more than total")
    if step < warmup:
        return peak * (step + 1) / warmup
    if step >= total:
        return 0.0
    return peak * (1 + math.cos(math.pi * (step - warmup) / (total - warmup))) / 2


@mistake("rate_floor_added", "learning_rate")
@says("The floor is added to a curve that already begins at the peak.")
@hint("What is your rate right after the warm-up, with a floor?")
def rate_floor_added(step, peak, warmup, total, floor=0.0):
    if warmup > total:
        raise ValueError("warmup is more than total")
    if step < warmup:
        return peak * (step + 1) / warmup
    if step >= total:
        return floor
    return floor + peak * (1 + math.cos(math.pi * (step - warmup) / (total - warmup))) / 2


@mistake("rate_floor_is_a_share", "learning_rate")
@says("The floor is taken as a share of the peak.")
@hint("With a peak of 0.5 and a floor of 0.25, at which rate does the curve end?")
def rate_floor_is_a_share(step, peak, warmup, total, floor=0.0):
    if warmup > total:
        raise ValueError("warmup is more than total")
    if step < warmup:
        return peak * (step + 1) / warmup
    low = floor * peak
    if step >= total:
        return low
    share = (step - warmup) / (total - warmup)
    return low + (peak - low) * (1 + math.cos(math.pi * share)) / 2


@mistake("rate_floor_as_maximum", "learning_rate")
@says("The rate falls towards 0 and is cut off at the floor.")
@hint("Where does the cosine end: at 0 or at the floor?")
def rate_floor_as_maximum(step, peak, warmup, total, floor=0.0):
    if warmup > total:
        raise ValueError("warmup is more than total")
    if step < warmup:
        return peak * (step + 1) / warmup
    if step >= total:
        return floor
    share = (step - warmup) / (total - warmup)
    return max(floor, peak * (1 + math.cos(math.pi * share)) / 2)


@mistake("rate_floor_in_ramp", "learning_rate")
@says("The floor holds for the ramp as well: the first steps are not below it.")
@hint("Is floor in the first line of the docstring's formula?")
def rate_floor_in_ramp(step, peak, warmup, total, floor=0.0):
    if warmup > total:
        raise ValueError("warmup is more than total")
    if step < warmup:
        return max(floor, peak * (step + 1) / warmup)
    if step >= total:
        return floor
    share = (step - warmup) / (total - warmup)
    return floor + (peak - floor) * (1 + math.cos(math.pi * share)) / 2


@mistake("rate_floor_needs_ramp", "learning_rate")
@says("Without a warm-up the floor is not used: the cosine falls to 0.")
@hint("Which line of the docstring's formula holds if warmup is 0, and is floor in it?")
def rate_floor_needs_ramp(step, peak, warmup, total, floor=0.0):
    if warmup > total:
        raise ValueError("warmup is more than total")
    if step < warmup:
        return peak * (step + 1) / warmup
    if step >= total:
        return floor
    share = (step - warmup) / (total - warmup)
    end = floor if warmup else 0.0
    return end + (peak - end) * (1 + math.cos(math.pi * share)) / 2


@mistake("rate_ramp_to_floor", "learning_rate")
@says("The ramp begins at the floor, not near 0.")
@hint("Is floor in the first line of the docstring's formula?")
def rate_ramp_from_floor(step, peak, warmup, total, floor=0.0):
    if warmup > total:
        raise ValueError("warmup is more than total")
    if step < warmup:
        return floor + (peak - floor) * (step + 1) / warmup
    if step >= total:
        return floor
    share = (step - warmup) / (total - warmup)
    return floor + (peak - floor) * (1 + math.cos(math.pi * share)) / 2


@mistake("rate_rises_again", "learning_rate")
@says("After the last step the cosine goes on, and the rate rises again.")
@hint("What is your rate at twice the total?")
def rate_rises_again(step, peak, warmup, total, floor=0.0):
    if warmup > total:
        raise ValueError("warmup is more than total")
    if step < warmup:
        return peak * (step + 1) / warmup
    if warmup == total:
        return floor
    share = (step - warmup) / (total - warmup)
    return floor + (peak - floor) * (1 + math.cos(math.pi * share)) / 2


@mistake("rate_divides_by_zero", "learning_rate")
@says("A warm-up as long as the whole run divides by 0.")
@hint("What is total − warmup if nothing follows the warm-up?")
def rate_divides_by_zero(step, peak, warmup, total, floor=0.0):
    if warmup > total:
        raise ValueError("warmup is more than total")
    share = min(1.0, max(0.0, (step - warmup) / (total - warmup)))
    if step < warmup:
        return peak * (step + 1) / warmup
    return floor + (peak - floor) * (1 + math.cos(math.pi * share)) / 2


@mistake("rate_no_warmup_divides", "learning_rate")
@says("Without a warm-up it divides by 0.")
@hint("What does warmup = 0 do to your ramp?")
def rate_no_warmup_divides(step, peak, warmup, total, floor=0.0):
    if warmup > total:
        raise ValueError("warmup is more than total")
    ramp = peak * (step + 1) / warmup
    if step < warmup:
        return ramp
    if step >= total:
        return floor
    share = (step - warmup) / (total - warmup)
    return floor + (peak - floor) * (1 + math.cos(math.pi * share)) / 2


@mistake("rate_no_error", "learning_rate")
@says("A warm-up longer than the whole run is taken without a ValueError.")
@hint("When would the peak be reached if warmup is more than total?")
def rate_no_error(step, peak, warmup, total, floor=0.0):
    if step < warmup:
        return peak * (step + 1) / warmup
    if step >= total:
        return floor
    share = (step - warmup) / (total - warmup)
    return floor + (peak - floor) * (1 + math.cos(math.pi * share)) / 2


# sample_batch


@mistake("batch_one_too_short", "sample_batch")
@says("The windows are a token too short: the last target is missing.")
@hint("How many tokens does a text of `length` inputs need, its targets included?")
def batch_one_too_short(stream, length, starts):
    if np.any(starts < 0) or np.any(starts + length + 1 > len(stream)):
        raise ValueError("a window does not fit")
    return np.stack([stream[start : start + length] for start in starts])


@mistake("batch_transposed", "sample_batch")
@says("The windows are the columns: the result is (length + 1, B).")
@hint("Which axis counts the sequences, and which the time?")
def batch_transposed(stream, length, starts):
    if np.any(starts < 0) or np.any(starts + length + 1 > len(stream)):
        raise ValueError("a window does not fit")
    return stream[starts + np.arange(length + 1)[:, None]]


@mistake("batch_contiguous", "sample_batch")
@says("The windows follow each other from the first start: the other starts are not used.")
@hint("Where does the second window begin?")
def batch_contiguous(stream, length, starts):
    if np.any(starts < 0) or np.any(starts + length + 1 > len(stream)):
        raise ValueError("a window does not fit")
    rows = np.arange(len(starts))[:, None] * (length + 1)
    return np.take(stream, starts[0] + rows + np.arange(length + 1), mode="wrap")


@mistake("batch_starts_multiplied", "sample_batch")
@says("The starts are taken for numbers of windows, not for places in the stream.")
@hint("Which token of the stream comes first in a window that starts at 3?")
def batch_starts_multiplied(stream, length, starts):
    if np.any(starts < 0) or np.any(starts + length + 1 > len(stream)):
        raise ValueError("a window does not fit")
    return np.take(stream, (starts * length)[:, None] + np.arange(length + 1), mode="wrap")


@mistake("batch_negative_starts", "sample_batch")
@says("A negative start is read from the end of the stream.")
@hint("What does NumPy do with the index −1?")
def batch_negative_starts(stream, length, starts):
    if np.any(starts + length + 1 > len(stream)):
        raise ValueError("a window does not fit")
    return stream[starts[:, None] + np.arange(length + 1)]


@mistake("batch_negative_starts", "sample_batch")
@says("A negative start is refused only where a window would run over the end of the stream.")
@hint("Which windows of a stream of 10 tokens begin at −5, and are they in the stream?")
def batch_negative_slices(stream, length, starts):
    windows = [stream[start : start + length + 1] for start in starts]
    if any(len(window) <= length for window in windows):
        raise ValueError("a window does not fit")
    return np.stack(windows)


@mistake("batch_end_one_late", "sample_batch")
@says("A window may begin one place too late: its last target is not in the stream.")
@hint("Which is the last start that leaves room for length + 1 tokens?")
def batch_end_one_late(stream, length, starts):
    if np.any(starts < 0) or np.any(starts + length > len(stream)):
        raise ValueError("a window does not fit")
    return np.take(stream, starts[:, None] + np.arange(length + 1), mode="clip")


@mistake("batch_end_one_early", "sample_batch")
@says("The last window that fits is refused.")
@hint("Which is the last start that leaves room for length + 1 tokens?")
def batch_end_one_early(stream, length, starts):
    if np.any(starts < 0) or np.any(starts + length + 1 >= len(stream)):
        raise ValueError("a window does not fit")
    return stream[starts[:, None] + np.arange(length + 1)]


@mistake("batch_cut_short", "sample_batch")
@says("A window that runs out of the stream begins again at its start.")
@hint("What should happen to a window that does not fit?")
def batch_wraps(stream, length, starts):
    return np.take(stream, starts[:, None] + np.arange(length + 1), mode="wrap")


@mistake("batch_only_first_checked", "sample_batch")
@says("Only the first start is checked.")
@hint("Which of the starts may lie too far back?")
def batch_only_first_checked(stream, length, starts):
    if starts[0] < 0 or starts[0] + length + 1 > len(stream):
        raise ValueError("a window does not fit")
    return np.take(stream, starts[:, None] + np.arange(length + 1), mode="clip")


@mistake("batch_only_last_checked", "sample_batch")
@says("Only the last start is checked, as if the starts were in order.")
@hint("Does the docstring say in which order the starts come?")
def batch_only_last_checked(stream, length, starts):
    if starts[-1] < 0 or starts[-1] + length + 1 > len(stream):
        raise ValueError("a window does not fit")
    return np.take(stream, starts[:, None] + np.arange(length + 1), mode="clip")


@mistake("batch_only_last_checked", "sample_batch")
@says("The first start is checked for its beginning and the last for its end, no others.")
@hint("Does the docstring say in which order the starts come?")
def batch_checked_as_if_sorted(stream, length, starts):
    if starts[0] < 0 or starts[-1] + length + 1 > len(stream):
        raise ValueError("a window does not fit")
    return np.take(stream, starts[:, None] + np.arange(length + 1), mode="clip")


@mistake("batch_random_starts", "sample_batch")
@says("Starts are drawn at random: the argument is only used for its length.")
@hint("Call your function twice with the same starts: are the answers the same?")
def batch_random_starts(stream, length, starts):
    if np.any(starts < 0) or np.any(starts + length + 1 > len(stream)):
        raise ValueError("a window does not fit")
    starts = np.random.randint(0, len(stream) - length, size=len(starts))
    return stream[starts[:, None] + np.arange(length + 1)]


@mistake("np_input_mutated", "sample_batch")
@says("The windows are read column by column, and the caller's starts move along.")
@hint("What does += do to an array that your function was only lent?")
def batch_moves_starts(stream, length, starts):
    if np.any(starts < 0) or np.any(starts + length + 1 > len(stream)):
        raise ValueError("a window does not fit")
    columns = []
    for _ in range(length + 1):
        columns.append(stream[starts])
        starts += 1
    return np.stack(columns, axis=-1)


# train_step


@mistake("train_loss_after", "train_step")
@says("The loss that comes back is that after the step.")
@hint("Which parameters does the loss belong to: the old or the new ones?")
def train_loss_after(tokens, params, state, n_heads, lr, max_norm=1.0):
    _, grads = decoder_loss_and_gradients(tokens, params, n_heads)
    params, state = adamw_step(params, clipped(grads, max_norm)[0], state, lr)
    return decoder_loss_and_gradients(tokens, params, n_heads)[0], params, state


@mistake("train_not_clipped", "train_step")
@says("The gradients are not clipped.")
@hint("Follow the argument max_norm through your function: where does it act?")
def train_not_clipped(tokens, params, state, n_heads, lr, max_norm=1.0):
    loss, grads = decoder_loss_and_gradients(tokens, params, n_heads)
    return (loss, *adamw_step(params, grads, state, lr))


@mistake("train_clip_unused", "train_step")
@says("AdamW gets gradients that are not clipped to max_norm.")
@hint("Which tree goes into AdamW, and how large is its norm?")
def train_max_norm_fixed(tokens, params, state, n_heads, lr, max_norm=1.0):
    loss, grads = decoder_loss_and_gradients(tokens, params, n_heads)
    return (loss, *adamw_step(params, clipped(grads, 1.0)[0], state, lr))


@mistake("train_clips_params", "train_step")
@says("The parameters are clipped after the step, and not the gradients before it.")
@hint("What is too large now and then: gradients or parameters?")
def train_clips_params(tokens, params, state, n_heads, lr, max_norm=1.0):
    loss, grads = decoder_loss_and_gradients(tokens, params, n_heads)
    params, state = adamw_step(params, grads, state, lr)
    return loss, clipped(params, max_norm)[0], state


@mistake("train_new_state_every_step", "train_step")
@says("Every step begins with a new state of AdamW.")
@hint("What does the second step know about the first gradient?")
def train_new_state(tokens, params, state, n_heads, lr, max_norm=1.0):
    loss, grads = decoder_loss_and_gradients(tokens, params, n_heads)
    return (loss, *adamw_step(params, clipped(grads, max_norm)[0], new_adamw(params), lr))


@mistake("train_old_params", "train_step")
@says("The old parameters come back: the new ones are dropped.")
@hint("Which of your variables holds the parameters after the step?")
def train_old_params(tokens, params, state, n_heads, lr, max_norm=1.0):
    loss, grads = decoder_loss_and_gradients(tokens, params, n_heads)
    _, state = adamw_step(params, clipped(grads, max_norm)[0], state, lr)
    return loss, params, state


@mistake("train_no_decay", "train_step")
@says("Weight decay is switched off.")
@hint("Which defaults does AdamW have here?")
def train_no_decay(tokens, params, state, n_heads, lr, max_norm=1.0):
    loss, grads = decoder_loss_and_gradients(tokens, params, n_heads)
    clip = clipped(grads, max_norm)[0]
    return (loss, *adamw_step(params, clip, state, lr, weight_decay=0.0))


@mistake("train_two_steps", "train_step")
@says("AdamW is called twice for each batch.")
@hint("How many steps does one call take?")
def train_two_steps(tokens, params, state, n_heads, lr, max_norm=1.0):
    loss, grads = decoder_loss_and_gradients(tokens, params, n_heads)
    params, state = adamw_step(params, clipped(grads, max_norm)[0], state, lr)
    return (loss, *adamw_step(params, clipped(grads, max_norm)[0], state, lr))


@mistake("train_plain_descent", "train_step")
@says("The step is one of plain gradient descent, not of AdamW.")
@hint("Which function of this step moves the parameters?")
def train_plain_descent(tokens, params, state, n_heads, lr, max_norm=1.0):
    loss, grads = decoder_loss_and_gradients(tokens, params, n_heads)
    return loss, each(lambda p, g: p - lr * g, params, clipped(grads, max_norm)[0]), state


@mistake("np_input_mutated", "train_step")
@says("The caller's parameters are changed in place.")
@hint("Whose arrays are params, and may they change?")
def train_in_place(tokens, params, state, n_heads, lr, max_norm=1.0):
    loss, grads = decoder_loss_and_gradients(tokens, params, n_heads)
    new, state = adamw_step(params, clipped(grads, max_norm)[0], state, lr)
    for old, leaf in zip(leaves(params), leaves(new), strict=True):
        old[...] = leaf
    return loss, params, state


@mistake("train_shared_state", "train_step", also={"new_adamw": "fresh", "adamw_step": "stepped"})
@says("The state of the newest run is kept outside, and the one that is passed in is not used.")
@hint("Begin a second run while the first goes on: does the first notice?")
def train_keeps_state(tokens, params, state, n_heads, lr, max_norm=1.0):
    if state["t"] == 0:
        shared_state["newest"] = state
    loss, grads = decoder_loss_and_gradients(tokens, params, n_heads)
    clip = clipped(grads, max_norm)[0]
    params, shared_state["newest"] = stepped(params, clip, shared_state["newest"], lr)
    return loss, params, shared_state["newest"]


@mistake(
    "np_returns_alias", "train_step", also={"new_adamw": "with_room", "adamw_step": "stepped_into"}
)
@says("The new parameters live in arrays of the state, which the next step fills again.")
@hint("Keep the parameters of one step, take another step, and look at the first again.")
def train_same_room(tokens, params, state, n_heads, lr, max_norm=1.0):
    loss, grads = decoder_loss_and_gradients(tokens, params, n_heads)
    return loss, *stepped_into(params, clipped(grads, max_norm)[0], state, lr)


@mistake("clip_vectors_not_counted", "clip_gradients")
@says("Arrays with one axis, such as biases and gains, are left out of the norm.")
@hint("Which arrays of the tree does your sum of squares run over?")
def clip_vectors_not_counted(grads, max_norm):
    if max_norm <= 0:
        raise ValueError("max_norm must be above 0")
    squares = [0.0]
    map_tree(lambda g: squares.append(float((g * g).sum()) if g.ndim > 1 else 0.0), grads)
    norm = math.sqrt(sum(squares))
    if norm <= max_norm:
        return grads, norm
    return map_tree(lambda g: g * (max_norm / norm), grads), norm


@mistake("adam_time_from_two", "adamw_step")
@says("t is 2 in the first step.")
@hint("What is t when AdamW is called for the first time?")
def adam_time_from_two(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    t, m, v = state
    t, (beta_1, beta_2) = t + 1, betas
    m = map_tree(lambda old, g: beta_1 * old + (1 - beta_1) * g, m, grads)
    v = map_tree(lambda old, g: beta_2 * old + (1 - beta_2) * (g * g), v, grads)

    def moved(p, mean, square):
        step = mean / (1 - beta_1 ** (t + 1)) / (np.sqrt(square / (1 - beta_2 ** (t + 1))) + eps)
        return (1 - lr * weight_decay) * p - lr * step

    return map_tree(moved, params, m, v), (t, m, v)


@mistake("adam_time_one_behind", "adamw_step")
@says("The bias correction uses t - 1, with 1 in place of 0.")
@hint("Which t belongs to the first step, and which to the second?")
def adam_time_one_behind(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    t, m, v = state
    t, (beta_1, beta_2) = t + 1, betas
    m = map_tree(lambda old, g: beta_1 * old + (1 - beta_1) * g, m, grads)
    v = map_tree(lambda old, g: beta_2 * old + (1 - beta_2) * (g * g), v, grads)

    def moved(p, mean, square):
        step = (
            mean
            / (1 - beta_1 ** max(t - 1, 1))
            / (np.sqrt(square / (1 - beta_2 ** max(t - 1, 1))) + eps)
        )
        return (1 - lr * weight_decay) * p - lr * step

    return map_tree(moved, params, m, v), (t, m, v)


@mistake("adam_both_corrected_by_beta_1", "adamw_step")
@says("Both moments are corrected with β₁.")
@hint("Which decay made m small in the first steps, and which made v small?")
def adam_both_corrected_by_beta_1(
    params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01
):
    t, m, v = state
    t, (beta_1, beta_2) = t + 1, betas
    m = map_tree(lambda old, g: beta_1 * old + (1 - beta_1) * g, m, grads)
    v = map_tree(lambda old, g: beta_2 * old + (1 - beta_2) * (g * g), v, grads)

    def moved(p, mean, square):
        step = mean / (1 - beta_1**t) / (np.sqrt(square / (1 - beta_1**t)) + eps)
        return (1 - lr * weight_decay) * p - lr * step

    return map_tree(moved, params, m, v), (t, m, v)


@mistake("adam_pairs_by_order", "adamw_step")
@says(
    "The arrays of params and grads are paired in the order in which they come, not by their keys."
)
@hint("What if grads names its arrays in another order than params?")
def adam_pairs_by_order(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    t, m, v = state
    t, (beta_1, beta_2), flat = t + 1, betas, []

    def gather(tree):
        for item in tree.values() if isinstance(tree, dict) else tree:
            gather(item) if isinstance(item, (dict, list)) else flat.append(item)

    gather(grads)
    left = iter(flat)
    grads = map_tree(lambda p: next(left), params)
    m = map_tree(lambda old, g: beta_1 * old + (1 - beta_1) * g, m, grads)
    v = map_tree(lambda old, g: beta_2 * old + (1 - beta_2) * (g * g), v, grads)

    def moved(p, mean, square):
        step = mean / (1 - beta_1**t) / (np.sqrt(square / (1 - beta_2**t)) + eps)
        return (1 - lr * weight_decay) * p - lr * step

    return map_tree(moved, params, m, v), (t, m, v)


@mistake("adam_counts_in_module", "adamw_step")
@says("The steps are counted in the module, for all optimisers together.")
@hint("Where does t live, and who else counts there?")
def adam_counts_in_module(
    params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01
):
    _, m, v = state
    shared_state["steps"] = shared_state.get("steps", 0) + 1
    t, (beta_1, beta_2) = shared_state["steps"], betas
    m = map_tree(lambda old, g: beta_1 * old + (1 - beta_1) * g, m, grads)
    v = map_tree(lambda old, g: beta_2 * old + (1 - beta_2) * (g * g), v, grads)

    def moved(p, mean, square):
        step = mean / (1 - beta_1**t) / (np.sqrt(square / (1 - beta_2**t)) + eps)
        return (1 - lr * weight_decay) * p - lr * step

    return map_tree(moved, params, m, v), (t, m, v)
