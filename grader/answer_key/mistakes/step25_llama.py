"""Known wrong versions of step 25, each with one mistake."""

import numpy as np

from exercises.step01_projections import linear
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import gelu
from exercises.step20_positions import rotary_angles, rotate
from exercises.step21_grouped_heads import grouped_query_attention, repeat_heads
from grader.answer_key.variants import hint, mistake, says

shared_layers = {}
kept_results, kept_arrays = {}, {}


def in_the_same_array(result):
    """Return the result in an array that is reused for every result of that shape."""
    buffer = kept_arrays.setdefault((result.shape, result.dtype), np.empty_like(result))
    buffer[...] = result
    return buffer


def in_half(array):
    """Return float32 numbers with float16's digits, and all others unchanged."""
    return array.astype(np.float16).astype(np.float32) if array.dtype == np.float32 else array


def scaled(x, gain, eps, axis=-1):
    """Return the right result of `rms_norm`, or the same along other axes."""
    return x / np.sqrt(np.mean(x * x, axis=axis, keepdims=True) + eps) * gain


def scaled_with_batch(x, gain, eps):
    """Return the same, with one mean for a position in all sequences of the batch."""
    return scaled(x, gain, eps, (0, -1) if x.ndim > 2 else -1)


def unshifted_attention(q, k, v, mask):
    """Return attention whose exponentials are taken of the scores without a shift."""
    scores = np.where(mask, q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]), -np.inf)
    with np.errstate(all="ignore"):
        e = np.exp(scores)
        return e / e.sum(axis=-1, keepdims=True) @ v


def silu(x):
    """Return x times its sigmoid."""
    with np.errstate(over="ignore"):
        return x / (1 + np.exp(-x))


def gated(x, params):
    """Return the right result of `swiglu`."""
    return linear(silu(linear(x, params["w_gate"])) * linear(x, params["w_up"]), params["w_down"])


def layered(x, params, n_heads, n_kv_heads, mask, angles, eps):
    """Return the right result of `llama_block`."""
    normed = rms_norm(x, params["norm_1"], eps)
    x = x + grouped_query_attention(normed, params["attention"], n_heads, n_kv_heads, mask, angles)
    return x + swiglu(rms_norm(x, params["norm_2"], eps), params["feed_forward"])


def streamed(tokens, params, n_heads, n_kv_heads, base, eps):
    """Return the stream after all blocks."""
    x, angles, mask = inputs(tokens, params, n_heads, base)
    for block in params["blocks"]:
        x = llama_block(x, block, n_heads, n_kv_heads, mask, angles, eps)
    return x


def whole(tokens, params, n_heads, n_kv_heads, base, eps):
    """Return the right result of `llama_logits`."""
    return head(streamed(tokens, params, n_heads, n_kv_heads, base, eps), params, eps)


def inputs(tokens, params, n_heads, base):
    """Return the initial stream, and angles and mask for a whole sequence."""
    t = tokens.shape[-1]
    d_head = params["blocks"][0]["attention"]["w_q"].shape[-1] // n_heads
    angles = rotary_angles(np.arange(t), d_head, base)
    return params["embedding"][tokens], angles, causal_mask(t)


def head(x, params, eps):
    """Apply the last norm and the output head."""
    return linear(rms_norm(x, params["norm_f"], eps), params["w_out"])


def layers_cache(n_layers):
    """Return a cache in a dict."""
    return {"length": 0, "layers": [None] * n_layers}


def shared_cache(n_layers):
    """Return the one dict of this module, emptied."""
    shared_layers.update({"length": 0, "layers": [None] * n_layers})
    return shared_layers


def tokens_cache(n_layers):
    """Return None, because there are no tokens yet."""
    return None


def stepped(
    tokens_new,
    cache,
    params,
    n_heads,
    n_kv_heads,
    base,
    eps,
    positions=None,
    mask=None,
    of_layer=None,
    kept=None,
    attend=attention,
    late=0,
    width=None,
):
    """Take the right step, in which a few things can be replaced.

    positions, mask: made from start and stop. late: the error in the positions of later layers.
    of_layer: which layer's keys a layer reads. kept: which of the present keys and values are
    stored, given the new ones as well. attend: the attention. width: of all heads together.
    """
    start, stop = cache["length"], cache["length"] + tokens_new.shape[-1]
    d_head = (width or params["blocks"][0]["attention"]["w_q"].shape[-1]) // n_heads
    where = np.arange(start, stop) if positions is None else positions(start, stop)
    allowed = causal_mask(stop - start, stop) if mask is None else mask(start, stop)
    x, layers = params["embedding"][tokens_new], []
    for number, block in enumerate(params["blocks"]):
        weights, normed = block["attention"], rms_norm(x, block["norm_1"], eps)
        angles = rotary_angles(where + late * (number > 0), d_head, base)
        q = rotate(split_heads(linear(normed, weights["w_q"]), n_heads), angles)
        k = k_new = rotate(split_heads(linear(normed, weights["w_k"]), n_kv_heads), angles)
        v = v_new = split_heads(linear(normed, weights["w_v"]), n_kv_heads)
        old = cache["layers"][number if of_layer is None else of_layer(number)]
        if old is not None:
            k, v = (np.concatenate(pair, axis=-2) for pair in ((old[0], k), (old[1], v)))
        layers.append((k, v) if kept is None else kept(k, v, k_new, v_new, old))
        k, v = (repeat_heads(heads, n_heads // n_kv_heads) for heads in (k, v))
        visible = allowed[..., -k.shape[-2] :]
        x = x + linear(merge_heads(attend(q, k, v, visible)), weights["w_o"])
        x = x + swiglu(rms_norm(x, block["norm_2"], eps), block["feed_forward"])
    return head(x, params, eps), {"length": stop, "layers": layers}


@mistake("rms_mean_subtracted", "rms_norm")
@says("The mean is subtracted, as in a layer norm.")
@hint("What is the result for features that are all equal?")
def norm_of_layer(x, gain, eps=1e-5):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(np.mean(centred**2, axis=-1, keepdims=True) + eps) * gain


@mistake("rms_variance", "rms_norm")
@says("The variance takes the place of the mean square.")
@hint("Is anything subtracted before squaring?")
def norm_by_variance(x, gain, eps=1e-5):
    return x / np.sqrt(x.var(axis=-1, keepdims=True) + eps) * gain


@mistake("rms_sum", "rms_norm")
@says("The squares are summed, not averaged.")
@hint("What is the mean square of your result?")
def norm_by_length(x, gain, eps=1e-5):
    return x / np.sqrt(np.sum(x * x, axis=-1, keepdims=True) + eps) * gain


@mistake("rms_no_root", "rms_norm")
@says("The root is missing.")
@hint("What happens to the result when x is doubled?")
def norm_without_root(x, gain, eps=1e-5):
    return x / (np.mean(x * x, axis=-1, keepdims=True) + eps) * gain


@mistake("rms_mean_absolute", "rms_norm")
@says("The mean of the absolute values takes the place of the root mean square.")
@hint("What is the size of the features 3 and 4?")
def norm_by_absolute(x, gain, eps=1e-5):
    return x / (np.mean(np.abs(x), axis=-1, keepdims=True) + eps) * gain


@mistake("rms_over_time", "rms_norm")
@says("The mean runs over time: a position depends on later ones.")
@hint("Whose numbers do you average: one position's features or one feature's history?")
def norm_over_time(x, gain, eps=1e-5):
    return x / np.sqrt(np.mean(x * x, axis=-2, keepdims=True) + eps) * gain


@mistake("rms_over_everything", "rms_norm")
@says("One mean is taken over the whole sequence.")
@hint("How many numbers is each mean taken of?")
def norm_over_all(x, gain, eps=1e-5):
    axes = (-2, -1)
    return x / np.sqrt(np.mean(x * x, axis=axes, keepdims=True) + eps) * gain


@mistake("rms_eps_outside", "rms_norm")
@says("eps is added after the root.")
@hint("What exactly is under the root?")
def norm_eps_outside(x, gain, eps=1e-5):
    return x / (np.sqrt(np.mean(x * x, axis=-1, keepdims=True)) + eps) * gain


@mistake("rms_eps_ignored", "rms_norm")
@says("eps is a constant, whatever the argument says.")
@hint("Where does your function read `eps`?")
def norm_eps_fixed(x, gain, eps=1e-5):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 1e-5) * gain


@mistake("rms_eps_missing", "rms_norm")
@says("eps is left out.")
@hint("What is the norm of a position whose features are all 0?")
def norm_without_eps(x, gain, eps=1e-5):
    with np.errstate(all="ignore"):
        return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True)) * gain


@mistake("rms_eps_maximum", "rms_norm")
@says("eps is a lower limit, not something that is added.")
@hint("What is the result where the mean square equals eps?")
def norm_eps_limit(x, gain, eps=1e-5):
    return x / np.sqrt(np.maximum(np.mean(x * x, axis=-1, keepdims=True), eps)) * gain


@mistake("rms_gain_plus_one", "rms_norm")
@says("The gain is taken for a difference from 1.")
@hint("What should a gain of 1 do?")
def norm_gain_added(x, gain, eps=1e-5):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * (1 + gain)


@mistake("rms_gain_missing", "rms_norm")
@says("The gain is not used.")
@hint("Which arguments does your function read?")
def norm_without_gain(x, gain, eps=1e-5):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps)


@mistake("rms_gain_first", "rms_norm")
@says("The gain is applied before the norm.")
@hint("Does the norm see the gain?")
def norm_after_gain(x, gain, eps=1e-5):
    x = x * gain
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps)


@mistake("np_squeeze_kills_axis", "rms_norm")
@says("Axes of size one disappear from the result.")
@hint("Try a batch of one text, or texts of one token: are all axes still there?")
def np_squeeze_kills_axis_norm(x, gain, eps=1e-5):
    return np.squeeze(scaled(x, gain, eps))


@mistake("rms_squares_clipped", "rms_norm")
@says("Squares are cut off at 10,000, so that they cannot grow too large.")
@hint("What is the mean square of features around 1000?")
def norm_of_clipped(x, gain, eps=1e-5):
    return x / np.sqrt(np.mean(np.minimum(x * x, 1e4), axis=-1, keepdims=True) + eps) * gain


@mistake("np_half_precision", "rms_norm")
@says("float32 features are rounded to half precision.")
@hint("In which dtype do you compute, and how many digits does it have?")
def np_half_precision_norm(x, gain, eps=1e-5):
    return scaled(in_half(x), gain, eps)


@mistake("np_memoised_on_shape", "rms_norm")
@says("The first root mean square is kept for every later x of the same shape.")
@hint("What does the root mean square depend on besides the shape of x?")
def np_memoised_on_shape_norm(x, gain, eps=1e-5):
    key = ("norm", x.shape, x.dtype)
    if key not in kept_results:
        kept_results[key] = np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps)
    return x / kept_results[key] * gain


@mistake("out_returns_view", "rms_norm")
@says("The result lives in a buffer that the next call of the same shape overwrites.")
@hint("Keep an answer, ask for another one, and look at the first again.")
def out_returns_view_norm(x, gain, eps=1e-5):
    return in_the_same_array(scaled(x, gain, eps))


@mistake("np_input_mutated", "rms_norm")
@says("The caller's x is divided by its size.")
@hint("Look for an assignment that changes an array which your function was only lent.")
def np_input_mutated_norm(x, gain, eps=1e-5):
    x /= np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps)
    return x * gain


@mistake("swiglu_silu_on_up", "swiglu")
@says("Silu is applied to the wrong one of the two maps.")
@hint("Which of the two maps is the gate?")
def gate_on_up(x, params):
    return linear(linear(x, params["w_gate"]) * silu(linear(x, params["w_up"])), params["w_down"])


@mistake("swiglu_silu_on_product", "swiglu")
@says("Silu is applied to the product.")
@hint("Which of the two factors goes through silu?")
def gate_on_product(x, params):
    return linear(silu(linear(x, params["w_gate"]) * linear(x, params["w_up"])), params["w_down"])


@mistake("swiglu_silu_clipped", "swiglu")
@says("The sigmoid is held above a small number, so very negative gates let something through.")
@hint("What is silu of a gate of -1000?")
def gate_held_above_0(x, params):
    gate = linear(x, params["w_gate"])
    kept = gate / (1 + np.exp(-np.clip(gate, -20, 20)))
    return linear(kept * linear(x, params["w_up"]), params["w_down"])


@mistake("swiglu_silu_on_both", "swiglu")
@says("Silu is applied to both maps.")
@hint("How often does silu occur in the formula?")
def gate_on_both(x, params):
    return linear(
        silu(linear(x, params["w_gate"])) * silu(linear(x, params["w_up"])), params["w_down"]
    )


@mistake("swiglu_sigmoid", "swiglu")
@says("The gate is the sigmoid alone, without the factor in front.")
@hint("What is silu of 2, and what is the sigmoid of 2?")
def gate_is_sigmoid(x, params):
    gate = linear(x, params["w_gate"])
    with np.errstate(over="ignore"):
        gate = 1 / (1 + np.exp(-gate))
    return linear(gate * linear(x, params["w_up"]), params["w_down"])


@mistake("swiglu_gelu", "swiglu")
@says("The gate is gelu, not silu.")
@hint("Which function has the gate here?")
def gate_is_gelu(x, params):
    return linear(gelu(linear(x, params["w_gate"])) * linear(x, params["w_up"]), params["w_down"])


@mistake("swiglu_relu", "swiglu")
@says("The gate is cut off below 0.")
@hint("What is silu of -1?")
def gate_is_relu(x, params):
    gate = np.maximum(linear(x, params["w_gate"]), 0)
    return linear(gate * linear(x, params["w_up"]), params["w_down"])


@mistake("swiglu_added", "swiglu")
@says("The two maps are added, not multiplied.")
@hint("What does a gate of 0 let through?")
def gate_added(x, params):
    return linear(silu(linear(x, params["w_gate"])) + linear(x, params["w_up"]), params["w_down"])


@mistake("swiglu_no_up", "swiglu")
@says("The second map is left out.")
@hint("Which entries of params does your function read?")
def gate_alone(x, params):
    return linear(silu(linear(x, params["w_gate"])), params["w_down"])


@mistake("swiglu_overflow", "swiglu")
@says("The sigmoid is exp(x) over 1 + exp(x), which is NaN for large x.")
@hint("What is inf divided by inf?")
def gate_overflows(x, params):
    gate = linear(x, params["w_gate"])
    with np.errstate(all="ignore"):
        gate = gate * (np.exp(gate) / (1 + np.exp(gate)))
    return linear(gate * linear(x, params["w_up"]), params["w_down"])


@mistake("swiglu_clipped", "swiglu")
@says("Large gates are cut off.")
@hint("Does silu have an upper limit?")
def gate_clipped(x, params):
    gate = silu(np.clip(linear(x, params["w_gate"]), -50, 50))
    return linear(gate * linear(x, params["w_up"]), params["w_down"])


@mistake("swiglu_softmax_gate", "swiglu")
@says("The gate is a softmax over the hidden units.")
@hint("Do the gates of one position sum to anything?")
def gate_softmax(x, params):
    gate = linear(x, params["w_gate"])
    e = np.exp(gate - gate.max(axis=-1, keepdims=True))
    return linear(e / e.sum(axis=-1, keepdims=True) * linear(x, params["w_up"]), params["w_down"])


@mistake("np_squeeze_kills_axis", "swiglu")
@says("Axes of size one disappear from the result.")
@hint("Try a batch of one text, or texts of one token: are all axes still there?")
def np_squeeze_kills_axis_gate(x, params):
    return np.squeeze(gated(x, params))


@mistake("swiglu_centred_over_time", "swiglu")
@says("The gate is centred over time: a position depends on later ones.")
@hint("Which positions does the gate of the first one depend on?")
def gate_centred_over_time(x, params):
    gate = linear(x, params["w_gate"])
    gate = silu(gate - gate.mean(axis=-2, keepdims=True))
    return linear(gate * linear(x, params["w_up"]), params["w_down"])


@mistake("np_half_precision", "swiglu")
@says("float32 features are rounded to half precision.")
@hint("In which dtype do you compute, and how many digits does it have?")
def np_half_precision_gate(x, params):
    return gated(in_half(x), params)


@mistake("np_memoised_on_shape", "swiglu")
@says("The first result is kept and given again for every later question of the same shape.")
@hint("What does the result depend on besides the shapes of the arguments?")
def np_memoised_on_shape_gate(x, params):
    key = ("gate", x.shape, x.dtype)
    if key not in kept_results:
        kept_results[key] = gated(x, params)
    return kept_results[key]


@mistake("out_returns_view", "swiglu")
@says("The result lives in a buffer that the next call of the same shape overwrites.")
@hint("Keep an answer, ask for another one, and look at the first again.")
def out_returns_view_gate(x, params):
    return in_the_same_array(gated(x, params))


@mistake("np_input_mutated", "swiglu")
@says("The result is written into the caller's x.")
@hint("Look for an assignment that changes an array which your function was only lent.")
def np_input_mutated_gate(x, params):
    x[...] = gated(x, params)
    return x


@mistake("block_no_first_residual", "llama_block")
@says("The attention replaces the stream, instead of being added to it.")
@hint("What does the block return if its attention finds nothing?")
def block_attention_replaces(x, params, n_heads, n_kv_heads, mask, angles, eps=1e-5):
    normed = rms_norm(x, params["norm_1"], eps)
    x = grouped_query_attention(normed, params["attention"], n_heads, n_kv_heads, mask, angles)
    return x + swiglu(rms_norm(x, params["norm_2"], eps), params["feed_forward"])


@mistake("block_no_second_residual", "llama_block")
@says("The network replaces the stream, instead of being added to it.")
@hint("What does the block return if its network finds nothing?")
def block_network_replaces(x, params, n_heads, n_kv_heads, mask, angles, eps=1e-5):
    normed = rms_norm(x, params["norm_1"], eps)
    x = x + grouped_query_attention(normed, params["attention"], n_heads, n_kv_heads, mask, angles)
    return swiglu(rms_norm(x, params["norm_2"], eps), params["feed_forward"])


@mistake("block_post_norm", "llama_block")
@says("The norms come after the sums.")
@hint("What do attention and network read: the stream, or a normed copy?")
def block_norm_after(x, params, n_heads, n_kv_heads, mask, angles, eps=1e-5):
    x = x + grouped_query_attention(x, params["attention"], n_heads, n_kv_heads, mask, angles)
    x = rms_norm(x, params["norm_1"], eps)
    x = x + swiglu(x, params["feed_forward"])
    return rms_norm(x, params["norm_2"], eps)


@mistake("block_parallel", "llama_block")
@says("Both sub-layers read the block's input.")
@hint("What does the second norm read?")
def block_in_parallel(x, params, n_heads, n_kv_heads, mask, angles, eps=1e-5):
    normed = rms_norm(x, params["norm_1"], eps)
    heard = grouped_query_attention(normed, params["attention"], n_heads, n_kv_heads, mask, angles)
    return x + heard + swiglu(rms_norm(x, params["norm_2"], eps), params["feed_forward"])


@mistake("block_adds_to_normed", "llama_block")
@says("The attention is added to the normed copy, not to the stream.")
@hint("What is added to: the stream or the copy?")
def block_adds_to_copy(x, params, n_heads, n_kv_heads, mask, angles, eps=1e-5):
    x = rms_norm(x, params["norm_1"], eps)
    x = x + grouped_query_attention(x, params["attention"], n_heads, n_kv_heads, mask, angles)
    return x + swiglu(rms_norm(x, params["norm_2"], eps), params["feed_forward"])


@mistake("block_same_norm_twice", "llama_block")
@says("The first norm's gain is used for both.")
@hint("Which gain belongs to the network?")
def block_first_norm_twice(x, params, n_heads, n_kv_heads, mask, angles, eps=1e-5):
    normed = rms_norm(x, params["norm_1"], eps)
    x = x + grouped_query_attention(normed, params["attention"], n_heads, n_kv_heads, mask, angles)
    return x + swiglu(rms_norm(x, params["norm_1"], eps), params["feed_forward"])


@mistake("block_no_second_norm", "llama_block")
@says("The network reads the stream without a norm.")
@hint("How many norms does a block have?")
def block_one_norm(x, params, n_heads, n_kv_heads, mask, angles, eps=1e-5):
    normed = rms_norm(x, params["norm_1"], eps)
    x = x + grouped_query_attention(normed, params["attention"], n_heads, n_kv_heads, mask, angles)
    return x + swiglu(x, params["feed_forward"])


@mistake("block_mask_dropped", "llama_block")
@says("The mask is not handed on.")
@hint("Which arguments does your attention get?")
def block_without_mask(x, params, n_heads, n_kv_heads, mask, angles, eps=1e-5):
    mask = None
    normed = rms_norm(x, params["norm_1"], eps)
    x = x + grouped_query_attention(normed, params["attention"], n_heads, n_kv_heads, mask, angles)
    return x + swiglu(rms_norm(x, params["norm_2"], eps), params["feed_forward"])


@mistake("block_own_mask", "llama_block")
@says("The block makes a causal mask of its own and ignores the one that it was given.")
@hint("Which mask does the attention get when positions are padded?")
def block_makes_mask(x, params, n_heads, n_kv_heads, mask, angles, eps=1e-5):
    mask = causal_mask(x.shape[-2])
    normed = rms_norm(x, params["norm_1"], eps)
    x = x + grouped_query_attention(normed, params["attention"], n_heads, n_kv_heads, mask, angles)
    return x + swiglu(rms_norm(x, params["norm_2"], eps), params["feed_forward"])


@mistake("block_angles_made", "llama_block")
@says("If the angles are None, the block makes angles of its own.")
@hint("Which features does attention turn if it is given no angles?")
def block_angles_made(x, params, n_heads, n_kv_heads, mask, angles, eps=1e-5):
    if angles is None:
        d_head = params["attention"]["w_q"].shape[-1] // n_heads
        angles = rotary_angles(np.arange(x.shape[-2]), d_head)
    return layered(x, params, n_heads, n_kv_heads, mask, angles, eps)


@mistake("block_angles_dropped", "llama_block")
@says("The angles are not handed on.")
@hint("How does the attention learn where a token is?")
def block_without_angles(x, params, n_heads, n_kv_heads, mask, angles, eps=1e-5):
    angles = None
    normed = rms_norm(x, params["norm_1"], eps)
    x = x + grouped_query_attention(normed, params["attention"], n_heads, n_kv_heads, mask, angles)
    return x + swiglu(rms_norm(x, params["norm_2"], eps), params["feed_forward"])


@mistake("block_eps_dropped", "llama_block")
@says("eps is not handed on to the norms.")
@hint("Which eps do your norms use?")
def block_without_eps(x, params, n_heads, n_kv_heads, mask, angles, eps=1e-5):
    eps = 1e-5
    normed = rms_norm(x, params["norm_1"], eps)
    x = x + grouped_query_attention(normed, params["attention"], n_heads, n_kv_heads, mask, angles)
    return x + swiglu(rms_norm(x, params["norm_2"], eps), params["feed_forward"])


@mistake("block_eps_first_only", "llama_block")
@says("eps reaches only the first norm.")
@hint("Which eps does the second norm use?")
def block_eps_once(x, params, n_heads, n_kv_heads, mask, angles, eps=1e-5):
    normed = rms_norm(x, params["norm_1"], eps)
    x = x + grouped_query_attention(normed, params["attention"], n_heads, n_kv_heads, mask, angles)
    return x + swiglu(rms_norm(x, params["norm_2"]), params["feed_forward"])


@mistake("mutates_argument", "llama_block")
@says("The stream is added to in place, so the caller's x changes.")
@hint("To whom does x belong?")
def block_in_place(x, params, n_heads, n_kv_heads, mask, angles, eps=1e-5):
    normed = rms_norm(x, params["norm_1"], eps)
    if x.dtype == np.float64 and x.flags.writeable:
        x += grouped_query_attention(normed, params["attention"], n_heads, n_kv_heads, mask, angles)
    else:
        x = x + grouped_query_attention(
            normed, params["attention"], n_heads, n_kv_heads, mask, angles
        )
    return x + swiglu(rms_norm(x, params["norm_2"], eps), params["feed_forward"])


@mistake("np_squeeze_kills_axis", "llama_block")
@says("Axes of size one disappear from the result.")
@hint("Try a batch of one text, or texts of one token: are all axes still there?")
def np_squeeze_kills_axis_block(x, params, n_heads, n_kv_heads, mask, angles, eps=1e-5):
    return np.squeeze(layered(x, params, n_heads, n_kv_heads, mask, angles, eps))


@mistake("block_batch_mixed", "llama_block")
@says("The second norm measures all sequences of a batch together.")
@hint("How many numbers is each mean of the second norm taken of?")
def block_norm_of_batch(x, params, n_heads, n_kv_heads, mask, angles, eps=1e-5):
    normed = rms_norm(x, params["norm_1"], eps)
    x = x + grouped_query_attention(normed, params["attention"], n_heads, n_kv_heads, mask, angles)
    return x + swiglu(scaled_with_batch(x, params["norm_2"], eps), params["feed_forward"])


@mistake("np_half_precision", "llama_block")
@says("A float32 stream is rounded to half precision.")
@hint("In which dtype do you compute, and how many digits does it have?")
def np_half_precision_block(x, params, n_heads, n_kv_heads, mask, angles, eps=1e-5):
    return layered(in_half(x), params, n_heads, n_kv_heads, mask, angles, eps)


@mistake("np_memoised_on_shape", "llama_block")
@says("The first result is kept and given again for every later question of the same shape.")
@hint("What does the result depend on besides the shapes of the arguments?")
def np_memoised_on_shape_block(x, params, n_heads, n_kv_heads, mask, angles, eps=1e-5):
    key = ("block", x.shape, x.dtype)
    if key not in kept_results:
        kept_results[key] = layered(x, params, n_heads, n_kv_heads, mask, angles, eps)
    return kept_results[key]


@mistake("out_returns_view", "llama_block")
@says("The result lives in a buffer that the next call of the same shape overwrites.")
@hint("Keep an answer, ask for another one, and look at the first again.")
def out_returns_view_block(x, params, n_heads, n_kv_heads, mask, angles, eps=1e-5):
    return in_the_same_array(layered(x, params, n_heads, n_kv_heads, mask, angles, eps))


@mistake("mask_one_for_all_refused", "llama_block")
@says("A mask whose batch axis is 1 is indexed with the number of each sequence.")
@hint("Which mask has sequence 2, if there is one mask for the whole batch?")
def mask_one_for_all_refused(x, params, n_heads, n_kv_heads, mask, angles, eps=1e-5):
    each = mask is not None and x.ndim == mask.ndim > 2
    mask = mask[np.arange(len(x))] if each else mask
    return layered(x, params, n_heads, n_kv_heads, mask, angles, eps)


@mistake("llama_no_last_norm", "llama_logits")
@says("The last norm is missing.")
@hint("What comes between the last block and the output head?")
def logits_without_norm(tokens, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    x, angles, mask = inputs(tokens, params, n_heads, base)
    for block in params["blocks"]:
        x = llama_block(x, block, n_heads, n_kv_heads, mask, angles, eps)
    return linear(x, params["w_out"])


@mistake("llama_tied_head", "llama_logits")
@says("The embedding serves as output head, where the model has one of its own.")
@hint("Which entries of params does your function read?")
def logits_tied(tokens, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    x, angles, mask = inputs(tokens, params, n_heads, base)
    for block in params["blocks"]:
        x = llama_block(x, block, n_heads, n_kv_heads, mask, angles, eps)
    return linear(rms_norm(x, params["norm_f"], eps), params["embedding"].T)


@mistake("llama_no_angles", "llama_logits")
@says("No angles are used, so the order of the past is invisible.")
@hint("How does the model tell two orders of the same tokens apart?")
def logits_without_angles(tokens, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    x, angles, mask = inputs(tokens, params, n_heads, base)
    angles = None
    for block in params["blocks"]:
        x = llama_block(x, block, n_heads, n_kv_heads, mask, angles, eps)
    return head(x, params, eps)


@mistake("llama_no_mask", "llama_logits")
@says("No mask is used.")
@hint("What does the first position see?")
def logits_without_mask(tokens, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    x, angles, mask = inputs(tokens, params, n_heads, base)
    mask = None
    for block in params["blocks"]:
        x = llama_block(x, block, n_heads, n_kv_heads, mask, angles, eps)
    return head(x, params, eps)


@mistake("llama_one_block_unmasked", "llama_logits")
@says("The last block has no mask.")
@hint("Which blocks get the mask?")
def logits_last_block_open(tokens, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    x, angles, mask = inputs(tokens, params, n_heads, base)
    *others, final = params["blocks"]
    for block in others:
        x = llama_block(x, block, n_heads, n_kv_heads, mask, angles, eps)
    x = llama_block(x, final, n_heads, n_kv_heads, None, angles, eps)
    return head(x, params, eps)


@mistake("llama_angles_of_d_model", "llama_logits")
@says("The speeds are those of a head of twice the size.")
@hint("How many features has a head, and how do you find out?")
def logits_other_speeds(tokens, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    x, angles, mask = inputs(tokens, params, n_heads, base)
    d_head = 2 * angles.shape[-1]
    angles = rotary_angles(np.arange(tokens.shape[-1]), 2 * d_head, base)[:, : d_head // 2]
    angles = angles + np.arange(len(angles))[:, None] * 0.5
    for block in params["blocks"]:
        x = llama_block(x, block, n_heads, n_kv_heads, mask, angles, eps)
    return head(x, params, eps)


@mistake("llama_angles_of_d_model", "llama_logits")
@says("d_head is taken for d_model / n_heads.")
@hint("How many columns has w_q, and for how many heads?")
def logits_head_of_d_model(tokens, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    x, _, mask = inputs(tokens, params, n_heads, base)
    angles = rotary_angles(np.arange(tokens.shape[-1]), x.shape[-1] // n_heads, base)
    for block in params["blocks"]:
        x = llama_block(x, block, n_heads, n_kv_heads, mask, angles, eps)
    return head(x, params, eps)


@mistake("llama_angles_from_end", "llama_logits")
@says("Positions are counted backwards from the end.")
@hint("Which position has the first token, in a short text and in a long one?")
def logits_counted_from_end(tokens, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    x, angles, mask = inputs(tokens, params, n_heads, base)
    angles = angles[::-1] * (1 + len(angles))
    for block in params["blocks"]:
        x = llama_block(x, block, n_heads, n_kv_heads, mask, angles, eps)
    return head(x, params, eps)


@mistake("llama_angles_by_token", "llama_logits")
@says("Angles are made from the ids of the tokens, not from their positions.")
@hint("What is turned: by where a token is, or by which one it is?")
def logits_angles_by_id(tokens, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    x, angles, mask = inputs(tokens, params, n_heads, base)
    if tokens.ndim == 1:
        angles = rotary_angles(tokens + np.arange(len(tokens)) ** 2, 2 * angles.shape[-1], base)
    for block in params["blocks"]:
        x = llama_block(x, block, n_heads, n_kv_heads, mask, angles, eps)
    return head(x, params, eps)


@mistake("llama_angles_added", "llama_logits")
@says("Angles are given to the first block only.")
@hint("In which blocks are queries and keys turned?")
def logits_angles_first_block(tokens, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    x, angles, mask = inputs(tokens, params, n_heads, base)
    angles = angles if len(params["blocks"]) > 1 else None
    for block in params["blocks"]:
        x = llama_block(x, block, n_heads, n_kv_heads, mask, angles, eps)
        angles = None
    return head(x, params, eps)


@mistake("llama_first_block_only", "llama_logits")
@says("Only the first block runs.")
@hint("How often does your loop run for three blocks?")
def logits_first_block(tokens, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    x, angles, mask = inputs(tokens, params, n_heads, base)
    x = llama_block(x, params["blocks"][0], n_heads, n_kv_heads, mask, angles, eps)
    return head(x, params, eps)


@mistake("np_int64_only", "llama_logits")
@says("Tokens of another integer type than int64 are refused.")
@hint("Which types of integers may an array of tokens have in this course?")
def logits_int64_only(tokens, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    if tokens.dtype != np.int64:
        raise TypeError("tokens must be int64")
    return head(streamed(tokens, params, n_heads, n_kv_heads, base, eps), params, eps)


@mistake("llama_first_block_repeated", "llama_logits")
@says("The first block runs as often as there are blocks.")
@hint("Which parameters does the second block use?")
def logits_first_repeated(tokens, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    x, angles, mask = inputs(tokens, params, n_heads, base)
    for _ in params["blocks"]:
        x = llama_block(x, params["blocks"][0], n_heads, n_kv_heads, mask, angles, eps)
    return head(x, params, eps)


@mistake("llama_blocks_reversed", "llama_logits")
@says("The blocks run from the last to the first.")
@hint("Which block reads the embedding?")
def logits_reversed(tokens, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    x, angles, mask = inputs(tokens, params, n_heads, base)
    for block in reversed(params["blocks"]):
        x = llama_block(x, block, n_heads, n_kv_heads, mask, angles, eps)
    return head(x, params, eps)


@mistake("llama_base_ignored", "llama_logits")
@says("base is not handed on.")
@hint("Where does your function read `base`?")
def logits_fixed_base(tokens, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    x, angles, mask = inputs(tokens, params, n_heads, 10000.0)
    for block in params["blocks"]:
        x = llama_block(x, block, n_heads, n_kv_heads, mask, angles, eps)
    return head(x, params, eps)


@mistake("llama_eps_ignored", "llama_logits")
@says("eps is not handed on to the blocks.")
@hint("Which eps do the norms of the blocks use?")
def logits_fixed_eps(tokens, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    x, angles, mask = inputs(tokens, params, n_heads, base)
    for block in params["blocks"]:
        x = llama_block(x, block, n_heads, n_kv_heads, mask, angles)
    return head(x, params, eps)


@mistake("llama_last_norm_eps", "llama_logits")
@says("The last norm uses an eps of its own.")
@hint("How many norms are there, and which eps has each?")
def logits_last_eps(tokens, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    x, angles, mask = inputs(tokens, params, n_heads, base)
    for block in params["blocks"]:
        x = llama_block(x, block, n_heads, n_kv_heads, mask, angles, eps)
    return head(x, params, 1e-5)


@mistake("llama_scaled_embedding", "llama_logits")
@says("The embedding is scaled by √d_model.")
@hint("Is anything done to the rows of the embedding before the first block?")
def logits_scaled_embedding(tokens, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    x, angles, mask = inputs(tokens, params, n_heads, base)
    x = x * np.sqrt(x.shape[-1]) if x.shape[-1] > 1 else x
    for block in params["blocks"]:
        x = llama_block(x, block, n_heads, n_kv_heads, mask, angles, eps)
    return head(x, params, eps)


@mistake("np_squeeze_kills_axis", "llama_logits")
@says("Axes of size one disappear from the result.")
@hint("Try a batch of one text, or texts of one token: are all axes still there?")
def np_squeeze_kills_axis_logits(tokens, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    return np.squeeze(whole(tokens, params, n_heads, n_kv_heads, base, eps))


@mistake("llama_batch_mixed", "llama_logits")
@says("The last norm measures all sequences of a batch together.")
@hint("How many numbers is each mean of the last norm taken of?")
def logits_norm_of_batch(tokens, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    x = streamed(tokens, params, n_heads, n_kv_heads, base, eps)
    return linear(scaled_with_batch(x, params["norm_f"], eps), params["w_out"])


@mistake("softmax_no_max_subtraction", "llama_logits")
@says("The exponentials are taken of the scores as they are, and overflow.")
@hint("What is exp(1000), and what is it divided by itself?")
def logits_without_maximum(tokens, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    cache = layers_cache(len(params["blocks"]))
    options = {"base": base, "eps": eps, "attend": unshifted_attention}
    return stepped(tokens, cache, params, n_heads, n_kv_heads, **options)[0]


@mistake("np_half_precision", "llama_logits")
@says("A float32 embedding is rounded to half precision.")
@hint("In which dtype do you compute, and how many digits does it have?")
def np_half_precision_logits(tokens, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    params = {**params, "embedding": in_half(params["embedding"])}
    return whole(tokens, params, n_heads, n_kv_heads, base, eps)


@mistake("np_memoised_on_shape", "llama_logits")
@says("The first result is kept and given again for every later text of the same length.")
@hint("What do the logits depend on besides the number of tokens?")
def np_memoised_on_shape_logits(tokens, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    key = ("logits", tokens.shape, params["w_out"].shape, params["w_out"].dtype)
    if key not in kept_results:
        kept_results[key] = whole(tokens, params, n_heads, n_kv_heads, base, eps)
    return kept_results[key]


@mistake("out_returns_view", "llama_logits")
@says("The result lives in a buffer that the next call of the same shape overwrites.")
@hint("Keep an answer, ask for another one, and look at the first again.")
def out_returns_view_logits(tokens, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    return in_the_same_array(whole(tokens, params, n_heads, n_kv_heads, base, eps))


@mistake("np_input_mutated", "llama_logits")
@says("Each block is taken out of the caller's list.")
@hint("How many blocks has the caller's list after the call?")
def np_input_mutated_logits(tokens, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    x, angles, mask = inputs(tokens, params, n_heads, base)
    while params["blocks"]:
        x = llama_block(x, params["blocks"].pop(0), n_heads, n_kv_heads, mask, angles, eps)
    return head(x, params, eps)


@mistake("step_positions_from_zero", "llama_step", also={"new_llama_cache": "layers_cache"})
@says("The positions of each chunk begin at 0.")
@hint("What is the position of a token that comes after five others?")
def step_counts_from_zero(tokens_new, cache, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    return stepped(
        tokens_new,
        cache,
        params,
        n_heads,
        n_kv_heads,
        base,
        eps,
        positions=lambda start, stop: np.arange(stop - start),
    )


@mistake("llama_angles_of_d_model", "llama_step", also={"new_llama_cache": "layers_cache"})
@says("d_head is taken for d_model / n_heads.")
@hint("How many columns has w_q, and for how many heads?")
def step_head_of_d_model(tokens_new, cache, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    return stepped(
        tokens_new,
        cache,
        params,
        n_heads,
        n_kv_heads,
        base,
        eps,
        width=params["embedding"].shape[-1],
    )


@mistake("step_position_one_late", "llama_step", also={"new_llama_cache": "layers_cache"})
@says("The positions of a chunk begin one too late once there is a past.")
@hint("At which position is the second token?")
def step_one_late(tokens_new, cache, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    return stepped(
        tokens_new,
        cache,
        params,
        n_heads,
        n_kv_heads,
        base,
        eps,
        positions=lambda start, stop: np.arange(start, stop) + (start > 0),
    )


@mistake("step_start_read_late", "llama_step", also={"new_llama_cache": "layers_cache"})
@says("Later layers read the length after the first layer's cache has grown.")
@hint("When is the start position read, and what has changed by then?")
def step_start_grows(tokens_new, cache, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    return stepped(
        tokens_new,
        cache,
        params,
        n_heads,
        n_kv_heads,
        base,
        eps,
        late=tokens_new.shape[-1],
    )


@mistake("step_counts_calls", "llama_step", also={"new_llama_cache": "layers_cache"})
@says("The length counts calls, not tokens.")
@hint("How much does the length grow when three tokens come at once?")
def step_counts_calls(tokens_new, cache, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    calls = cache.get("calls", 0)
    logits, new = stepped(
        tokens_new,
        cache,
        params,
        n_heads,
        n_kv_heads,
        base,
        eps,
        positions=lambda start, stop: np.arange(stop - start) + calls,
    )
    return logits, {**new, "calls": calls + 1}


@mistake("step_mask_missing", "llama_step", also={"new_llama_cache": "layers_cache"})
@says("The tokens of a chunk see each other without a mask.")
@hint("What does the first token of a chunk see?")
def step_unmasked(tokens_new, cache, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    return stepped(
        tokens_new,
        cache,
        params,
        n_heads,
        n_kv_heads,
        base,
        eps,
        mask=lambda start, stop: np.ones((stop - start, stop), dtype=bool),
    )


@mistake("step_mask_top_left", "llama_step", also={"new_llama_cache": "layers_cache"})
@says("The mask is lined up at the first key.")
@hint("With one query and ten keys, what should the mask look like?")
def step_mask_upper_left(tokens_new, cache, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    return stepped(
        tokens_new,
        cache,
        params,
        n_heads,
        n_kv_heads,
        base,
        eps,
        mask=lambda start, stop: np.tri(stop - start, stop, dtype=bool),
    )


@mistake("step_past_hidden", "llama_step", also={"new_llama_cache": "layers_cache"})
@says("Only the chunk itself is seen, and not the past.")
@hint("How many keys may a new token see after five others?")
def step_chunk_only(tokens_new, cache, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    return stepped(
        tokens_new,
        cache,
        params,
        n_heads,
        n_kv_heads,
        base,
        eps,
        mask=lambda start, stop: (
            np.tri(stop - start, stop, start, dtype=bool) & (np.arange(stop) >= start)
        ),
    )


@mistake("step_layers_share", "llama_step", also={"new_llama_cache": "layers_cache"})
@says("All layers read the keys of the first.")
@hint("Whose keys does the second layer read?")
def step_first_layer_keys(tokens_new, cache, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    return stepped(
        tokens_new, cache, params, n_heads, n_kv_heads, base, eps, of_layer=lambda number: 0
    )


@mistake("step_layers_shifted", "llama_step", also={"new_llama_cache": "layers_cache"})
@says("Each layer reads the keys of the layer below.")
@hint("Which layer made the keys that layer 1 reads?")
def step_layer_below(tokens_new, cache, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    return stepped(
        tokens_new,
        cache,
        params,
        n_heads,
        n_kv_heads,
        base,
        eps,
        of_layer=lambda number: max(number - 1, 0),
    )


@mistake("step_keeps_last_chunk", "llama_step", also={"new_llama_cache": "layers_cache"})
@says("Only the keys of the last chunk are kept.")
@hint("How many keys does your cache hold after three calls?")
def step_last_chunk(tokens_new, cache, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    return stepped(
        tokens_new,
        cache,
        params,
        n_heads,
        n_kv_heads,
        base,
        eps,
        kept=lambda k, v, k_new, v_new, old: (k_new, v_new),
    )


@mistake("step_keeps_first_chunk", "llama_step", also={"new_llama_cache": "layers_cache"})
@says("Only the first call stores keys.")
@hint("How many keys does your cache hold after three calls?")
def step_first_chunk(tokens_new, cache, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    return stepped(
        tokens_new,
        cache,
        params,
        n_heads,
        n_kv_heads,
        base,
        eps,
        kept=lambda k, v, k_new, v_new, old: (k, v) if old is None else old,
    )


@mistake("step_stores_twice", "llama_step", also={"new_llama_cache": "layers_cache"})
@says("New keys are stored twice.")
@hint("How many keys does your cache hold after three tokens?")
def step_double(tokens_new, cache, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    def twice(k, v, k_new, v_new, old):
        return np.concatenate([k, k_new], axis=-2), np.concatenate([v, v_new], axis=-2)

    longer = lambda start, stop: np.tri(stop - start, 2 * stop, 2 * start, dtype=bool)
    return stepped(
        tokens_new, cache, params, n_heads, n_kv_heads, base, eps, kept=twice, mask=longer
    )


@mistake("step_values_of_keys", "llama_step", also={"new_llama_cache": "layers_cache"})
@says("Keys are kept in place of the values.")
@hint("Name what you store, and compare with what you load.")
def step_keys_as_values(tokens_new, cache, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    return stepped(
        tokens_new,
        cache,
        params,
        n_heads,
        n_kv_heads,
        base,
        eps,
        kept=lambda k, v, k_new, v_new, old: (k, k),
    )


@mistake("kv_rope_rotated_wrongly", "llama_step", also={"new_llama_cache": "layers_cache"})
@says("Stored keys are turned once more in the next call.")
@hint("Is the angle of an old key allowed to change?")
def step_turns_again(tokens_new, cache, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    def turned_again(k, v, k_new, v_new, old):
        return rotate(k, np.ones((1, k.shape[-1] // 2))), v

    return stepped(tokens_new, cache, params, n_heads, n_kv_heads, base, eps, kept=turned_again)


@mistake("kv_rope_rotated_wrongly", "llama_step", also={"new_llama_cache": "layers_cache"})
@says("Keys are stored before they are turned, and not turned when they are read again.")
@hint("Which angle has an old key when a new query meets it?")
def step_stores_unturned(tokens_new, cache, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    width = params["blocks"][0]["attention"]["w_q"].shape[-1] // n_heads
    start = cache["length"]
    where = np.arange(start, start + tokens_new.shape[-1])
    back = -rotary_angles(where, width, base)

    def unturned(k, v, k_new, v_new, old):
        k_new = rotate(k_new, back)
        return (k_new if old is None else np.concatenate([old[0], k_new], axis=-2)), v

    return stepped(tokens_new, cache, params, n_heads, n_kv_heads, base, eps, kept=unturned)


@mistake("step_keys_in_half", "llama_step", also={"new_llama_cache": "layers_cache"})
@says("Keys are kept in half precision.")
@hint("In which dtype does your cache keep what it is given?")
def step_half(tokens_new, cache, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    def halved(k, v, k_new, v_new, old):
        return k.astype(np.float16), v.astype(np.float16)

    return stepped(tokens_new, cache, params, n_heads, n_kv_heads, base, eps, kept=halved)


@mistake("step_recomputes", "llama_step", also={"new_llama_cache": "tokens_cache"})
@says("The tokens are kept, and all of them go through the layers in each call.")
@hint("How much work is the hundredth token?")
def step_from_the_start(tokens_new, cache, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    tokens = tokens_new if cache is None else np.concatenate([cache, tokens_new], axis=-1)
    logits = llama_logits(tokens, params, n_heads, n_kv_heads, base, eps)
    return logits[..., -tokens_new.shape[-1] :, :], tokens


@mistake("step_recomputes", "llama_step", also={"new_llama_cache": "layers_cache"})
@says("Each layer keeps what goes into it, and computes all keys and values from that again.")
@hint("Which products does the hundredth token need that the tenth does not?")
def step_keys_computed_again(
    tokens_new, cache, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5
):
    start, stop = cache["length"], cache["length"] + tokens_new.shape[-1]
    d_head = params["blocks"][0]["attention"]["w_q"].shape[-1] // n_heads
    angles = rotary_angles(np.arange(stop), d_head, base)
    x, layers = params["embedding"][tokens_new], []
    for block, old in zip(params["blocks"], cache["layers"]):
        weights, normed = block["attention"], rms_norm(x, block["norm_1"], eps)
        every = normed if old is None else np.concatenate([old, normed], axis=-2)
        layers.append(every)
        q = rotate(split_heads(linear(normed, weights["w_q"]), n_heads), angles[start:])
        k = rotate(split_heads(linear(every, weights["w_k"]), n_kv_heads), angles)
        v = split_heads(linear(every, weights["w_v"]), n_kv_heads)
        k, v = (repeat_heads(heads, n_heads // n_kv_heads) for heads in (k, v))
        y = attention(q, k, v, causal_mask(stop - start, stop))
        x = x + linear(merge_heads(y), weights["w_o"])
        x = x + swiglu(rms_norm(x, block["norm_2"], eps), block["feed_forward"])
    return head(x, params, eps), {"length": stop, "layers": layers}


@mistake("step_base_ignored", "llama_step", also={"new_llama_cache": "layers_cache"})
@says("base is not handed on.")
@hint("Where does your function read `base`?")
def step_fixed_base(tokens_new, cache, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    return stepped(tokens_new, cache, params, n_heads, n_kv_heads, 10000.0, eps)


@mistake("step_eps_ignored", "llama_step", also={"new_llama_cache": "layers_cache"})
@says("eps is not handed on.")
@hint("Where does your function read `eps`?")
def step_fixed_eps(tokens_new, cache, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    return stepped(tokens_new, cache, params, n_heads, n_kv_heads, base, 1e-5)


@mistake("step_all_rows", "llama_step", also={"new_llama_cache": "layers_cache"})
@says("Each chunk is answered with the last token's logits in every row.")
@hint("Which row of the logits belongs to the first token of the chunk?")
def step_last_row_only(tokens_new, cache, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    logits, new = stepped(tokens_new, cache, params, n_heads, n_kv_heads, base, eps)
    return np.broadcast_to(logits[..., -1:, :], logits.shape).copy(), new


@mistake("step_shared_cache", "llama_step", also={"new_llama_cache": "shared_cache"})
@says("All caches are one dict of the module.")
@hint("Make two caches and feed them two texts in turns.")
def step_one_cache(tokens_new, cache, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    logits, new = stepped(tokens_new, cache, params, n_heads, n_kv_heads, base, eps)
    cache.update(new)
    return logits, cache


@mistake("step_batch_mixed", "llama_step", also={"new_llama_cache": "layers_cache"})
@says("The kept values are averaged over the batch.")
@hint("Does every sequence of a batch have a past of its own?")
def step_mixes_batch(tokens_new, cache, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    def averaged(k, v, k_new, v_new, old):
        if v.ndim < 4:
            return k, v
        return k, np.broadcast_to(v.mean(axis=0), v.shape).copy()

    return stepped(tokens_new, cache, params, n_heads, n_kv_heads, base, eps, kept=averaged)


@mistake("step_later_chunks_unmasked", "llama_step", also={"new_llama_cache": "layers_cache"})
@says("Only the first chunk has a causal mask; later ones see all of themselves.")
@hint("What does the first token of the second chunk see?")
def step_masks_first_chunk(tokens_new, cache, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    def open_later(start, stop):
        return causal_mask(stop) if start == 0 else np.ones((stop - start, stop), dtype=bool)

    return stepped(tokens_new, cache, params, n_heads, n_kv_heads, base, eps, mask=open_later)


@mistake("np_squeeze_kills_axis", "llama_step", also={"new_llama_cache": "layers_cache"})
@says("Axes of size one disappear from the result.")
@hint("Try a batch of one text, or texts of one token: are all axes still there?")
def np_squeeze_kills_axis_step(
    tokens_new, cache, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5
):
    logits, new = stepped(tokens_new, cache, params, n_heads, n_kv_heads, base, eps)
    return np.squeeze(logits), new


@mistake("softmax_no_max_subtraction", "llama_step", also={"new_llama_cache": "layers_cache"})
@says("The exponentials are taken of the scores as they are, and overflow.")
@hint("What is exp(1000), and what is it divided by itself?")
def step_without_maximum(tokens_new, cache, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    options = {"base": base, "eps": eps, "attend": unshifted_attention}
    return stepped(tokens_new, cache, params, n_heads, n_kv_heads, **options)


@mistake("np_half_precision", "llama_step", also={"new_llama_cache": "layers_cache"})
@says("float32 keys and values are kept in half precision.")
@hint("In which dtype does your cache keep what it is given?")
def np_half_precision_step(tokens_new, cache, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    def roughly(k, v, k_new, v_new, old):
        return in_half(k), in_half(v)

    return stepped(tokens_new, cache, params, n_heads, n_kv_heads, base, eps, kept=roughly)


@mistake("np_input_mutated", "llama_step", also={"new_llama_cache": "layers_cache"})
@says("The gain of the last norm is multiplied into the caller's w_out.")
@hint("Look for an assignment that changes an array which your function was only lent.")
def np_input_mutated_step(tokens_new, cache, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    params["w_out"] *= params["norm_f"][:, None]
    params = {**params, "norm_f": np.ones_like(params["norm_f"])}
    return stepped(tokens_new, cache, params, n_heads, n_kv_heads, base, eps)
