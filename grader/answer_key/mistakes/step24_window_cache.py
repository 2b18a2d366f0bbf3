"""Known wrong versions of step 24, each with one mistake."""

import numpy as np

from exercises.step01_projections import project_qkv
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention
from exercises.step22_more_masks import sliding_window_mask
from grader.answer_key.variants import hint, mistake, says

one_cache = {}
newest = {}
every_key = []


def cache_with(window):
    """Return an empty dict that knows its window."""
    if window < 1:
        raise ValueError("window")
    return {"window": window}


def shared_cache(window):
    """Return the module's only dict to every caller."""
    if window < 1:
        raise ValueError("window")
    one_cache["window"] = window
    return one_cache


def forgetful_cache(window):
    """Empty the module's dict, and return it."""
    one_cache.clear()
    return shared_cache(window)


def cache_of_the_newest_window(window):
    """Return an empty dict; the window is noted in the module."""
    if window < 1:
        raise ValueError("window")
    newest["window"] = window
    return {}


def cache_with_texts(window):
    """Return an empty dict that knows its window, and room for the texts."""
    return {**cache_with(window), "x": None}


def at_hand(cache, k, v):
    """Return old keys and values, followed by the new ones."""
    if "k" in cache:
        k = np.concatenate([cache["k"], k], axis=-2)
        v = np.concatenate([cache["v"], v], axis=-2)
    return k, v


def seen(q, k, v, window):
    """Return attention under the window, with the queries at the last positions."""
    return attention(q, k, v, sliding_window_mask(q.shape[-2], window, k.shape[-2]))


def last(k, v, window, number):
    """Return a cache with that many of the last keys and values."""
    start = max(0, k.shape[-2] - number)
    return {"window": window, "k": k[..., start:, :].copy(), "v": v[..., start:, :].copy()}


@mistake(
    "wcache_never_shortened", "attend_with_window_cache", also={"new_window_cache": "cache_with"}
)
@says("Nothing is ever thrown away: the cache grows with the text.")
@hint("How many keys does your cache hold after 100 tokens?")
def keeps_everything(x_new, cache, w_q, w_k, w_v):
    window = cache["window"]
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    k, v = at_hand(cache, k, v)
    return seen(q, k, v, window), {"window": window, "k": k, "v": v}


@mistake(
    "wcache_never_shortened", "attend_with_window_cache", also={"new_window_cache": "cache_with"}
)
@says("Ten windows of keys are kept, far more than a new token may see.")
@hint("How many old keys can the next token still see?")
def keeps_ten_windows(x_new, cache, w_q, w_k, w_v):
    window = cache["window"]
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    k, v = at_hand(cache, k, v)
    return seen(q, k, v, window), last(k, v, window, 10 * window)


@mistake("wcache_minus_zero", "attend_with_window_cache", also={"new_window_cache": "cache_with"})
@says("With a window of 1 the slice from -0 keeps everything.")
@hint("Which keys does a slice from minus window + 1 keep when the window is 1?")
def keeps_from_minus_zero(x_new, cache, w_q, w_k, w_v):
    window = cache["window"]
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    k, v = at_hand(cache, k, v)
    start = -(window - 1)
    return seen(q, k, v, window), {
        "window": window,
        "k": k[..., start:, :].copy(),
        "v": v[..., start:, :].copy(),
    }


@mistake("wcache_values_grow", "attend_with_window_cache", also={"new_window_cache": "cache_with"})
@says("Keys are thrown away, and values are kept for ever.")
@hint("What is kept beside the keys?")
def keeps_all_values(x_new, cache, w_q, w_k, w_v):
    window = cache["window"]
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    old = cache.get("v")
    kept_v = v if old is None else np.concatenate([old, v], axis=-2)
    keys = k if "k" not in cache else np.concatenate([cache["k"], k], axis=-2)
    values = kept_v[..., kept_v.shape[-2] - keys.shape[-2] :, :]
    start = max(0, keys.shape[-2] - window + 1)
    return seen(q, keys, values, window), {
        "window": window,
        "k": keys[..., start:, :].copy(),
        "v": kept_v,
    }


@mistake(
    "wcache_chunks_listed", "attend_with_window_cache", also={"new_window_cache": "cache_with"}
)
@says("The cache is short, but a list still holds every chunk that ever came.")
@hint("What else refers to old keys?")
def keeps_a_history(x_new, cache, w_q, w_k, w_v):
    window = cache["window"]
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    history = [*cache.get("history", []), (k, v)]
    k, v = at_hand(cache, k, v)
    y = seen(q, k, v, window)
    return y, {**last(k, v, window, window - 1), "history": history}


@mistake(
    "wcache_old_caches_linked", "attend_with_window_cache", also={"new_window_cache": "cache_with"}
)
@says("Each cache refers to the one before it, so none is ever freed.")
@hint("Does the new cache need the old one?")
def keeps_the_old_cache(x_new, cache, w_q, w_k, w_v):
    window = cache["window"]
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    k, v = at_hand(cache, k, v)
    y = seen(q, k, v, window)
    return y, {**last(k, v, window, window - 1), "before": cache}


@mistake("wcache_module_list", "attend_with_window_cache", also={"new_window_cache": "cache_with"})
@says("A list of the module collects all keys.")
@hint("Which of your variables live longer than a call?")
def keeps_in_the_module(x_new, cache, w_q, w_k, w_v):
    window = cache["window"]
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    k, v = at_hand(cache, k, v)
    every_key.append((k, v))
    return seen(q, k, v, window), last(k, v, window, window - 1)


@mistake(
    "wcache_shortened_single_only",
    "attend_with_window_cache",
    also={"new_window_cache": "cache_with"},
)
@says("The cache is shortened only after a call with several tokens.")
@hint("Feed tokens one by one: when is anything thrown away?")
def shortens_after_chunks(x_new, cache, w_q, w_k, w_v):
    window = cache["window"]
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    k, v = at_hand(cache, k, v)
    y = seen(q, k, v, window)
    number = window - 1 if x_new.shape[-2] > 1 else k.shape[-2]
    return y, last(k, v, window, number)


@mistake(
    "wcache_view_of_growing_buffer",
    "attend_with_window_cache",
    also={"new_window_cache": "cache_with"},
)
@says("A buffer that grows is kept, and the cache is a view of its end.")
@hint("How much memory does a view keep alive?")
def keeps_a_growing_buffer(x_new, cache, w_q, w_k, w_v):
    window = cache["window"]
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    whole_k = k if "all_k" not in cache else np.concatenate([cache["all_k"], k], axis=-2)
    whole_v = v if "all_v" not in cache else np.concatenate([cache["all_v"], v], axis=-2)
    return seen(q, whole_k, whole_v, window), {"window": window, "all_k": whole_k, "all_v": whole_v}


@mistake("wcache_too_short", "attend_with_window_cache", also={"new_window_cache": "cache_with"})
@says("One key less than needed is kept.")
@hint("With a window of 2, how many old keys does a new token need?")
def keeps_too_few(x_new, cache, w_q, w_k, w_v):
    window = cache["window"]
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    k, v = at_hand(cache, k, v)
    return seen(q, k, v, window), last(k, v, window, max(0, window - 2))


@mistake("wcache_keeps_first", "attend_with_window_cache", also={"new_window_cache": "cache_with"})
@says("The first keys are kept, not the last.")
@hint("Which keys does the next token see?")
def keeps_the_first(x_new, cache, w_q, w_k, w_v):
    window = cache["window"]
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    k, v = at_hand(cache, k, v)
    y = seen(q, k, v, window)
    n = window - 1
    return y, {"window": window, "k": k[..., :n, :].copy(), "v": v[..., :n, :].copy()}


@mistake("wcache_not_used", "attend_with_window_cache", also={"new_window_cache": "cache_with"})
@says("The past is missing: old keys are stored and never read.")
@hint("Does anything in the past have an influence on the new output?")
def past_not_used(x_new, cache, w_q, w_k, w_v):
    window = cache["window"]
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    return seen(q, k, v, window), last(k, v, window, window - 1)


@mistake("wcache_replaced", "attend_with_window_cache", also={"new_window_cache": "cache_with"})
@says("Only the keys of the last call are kept.")
@hint("With single tokens and a window of 3, how far back does a token see?")
def last_call_only(x_new, cache, w_q, w_k, w_v):
    window = cache["window"]
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    new = last(k, v, window, window - 1)
    k, v = at_hand(cache, k, v)
    return seen(q, k, v, window), new


@mistake("wcache_not_updated", "attend_with_window_cache", also={"new_window_cache": "cache_with"})
@says("Only the first call stores anything.")
@hint("Run three steps and look at your cache after each.")
def never_updated(x_new, cache, w_q, w_k, w_v):
    window = cache["window"]
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    k, v = at_hand(cache, k, v)
    y = seen(q, k, v, window)
    return y, (cache if "k" in cache else last(k, v, window, window - 1))


@mistake(
    "wcache_no_mask_in_chunk", "attend_with_window_cache", also={"new_window_cache": "cache_with"}
)
@says("A chunk is not masked: its first token sees its last.")
@hint("What does the first token of a chunk see?")
def chunk_not_masked(x_new, cache, w_q, w_k, w_v):
    window = cache["window"]
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    k, v = at_hand(cache, k, v)
    return attention(q, k, v), last(k, v, window, window - 1)


@mistake(
    "wcache_causal_mask_only", "attend_with_window_cache", also={"new_window_cache": "cache_with"}
)
@says("The mask is plainly causal, so later tokens of a chunk see beyond the window.")
@hint("Which keys does the last token of a long chunk see?")
def chunk_causal_only(x_new, cache, w_q, w_k, w_v):
    window = cache["window"]
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    k, v = at_hand(cache, k, v)
    y = attention(q, k, v, causal_mask(q.shape[-2], k.shape[-2]))
    return y, last(k, v, window, window - 1)


@mistake(
    "wcache_causal_mask_only", "attend_with_window_cache", also={"new_window_cache": "cache_with"}
)
@says("The mask is plainly causal, so tokens see what the cache holds beyond the window.")
@hint("How many keys may the newest token see, its own included, and how many are at hand?")
def window_kept_causal_only(x_new, cache, w_q, w_k, w_v):
    window = cache["window"]
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    k, v = at_hand(cache, k, v)
    y = attention(q, k, v, causal_mask(q.shape[-2], k.shape[-2]))
    return y, last(k, v, window, window)


@mistake(
    "wcache_cut_before_attending",
    "attend_with_window_cache",
    also={"new_window_cache": "cache_with"},
)
@says("Keys are cut to the window before the attention, so early tokens of a chunk miss theirs.")
@hint("Which keys does the first token of a chunk need?")
def cut_too_early(x_new, cache, w_q, w_k, w_v):
    window = cache["window"]
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    k, v = at_hand(cache, k, v)
    n = max(window, 1)
    k, v = k[..., -n:, :], v[..., -n:, :]
    t_q, t_k = q.shape[-2], k.shape[-2]
    positions = np.arange(t_q)[:, None] + max(t_k - t_q, 0)
    far = np.arange(t_q)[:, None] - np.arange(t_q - t_k, t_q)
    mask = (far >= 0) & (far < window)
    return attention(q, k, v, mask), last(k, v, window, window - 1)


@mistake(
    "wcache_window_of_chunk", "attend_with_window_cache", also={"new_window_cache": "cache_with"}
)
@says("From the second call on the window is not used: a token sees all that is at hand.")
@hint("Which keys must the last token of a chunk not see any more?")
def window_in_first_call(x_new, cache, w_q, w_k, w_v):
    window = cache["window"]
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    first = "k" not in cache
    k, v = at_hand(cache, k, v)
    size = window if first else k.shape[-2]
    return seen(q, k, v, size), last(k, v, window, window - 1)


@mistake(
    "wcache_mask_top_left", "attend_with_window_cache", also={"new_window_cache": "cache_with"}
)
@says("The mask is lined up at the first key, not at the last.")
@hint("With one query and three keys at hand, which does it see?")
def mask_upper_left(x_new, cache, w_q, w_k, w_v):
    window = cache["window"]
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    k, v = at_hand(cache, k, v)
    far = np.arange(q.shape[-2])[:, None] - np.arange(k.shape[-2])
    mask = (far >= 0) & (far < window)
    return attention(q, k, v, mask), last(k, v, window, window - 1)


@mistake("wcache_prepends", "attend_with_window_cache", also={"new_window_cache": "cache_with"})
@says("New keys are put in front of the old ones.")
@hint("Which keys does the mask take for the newest?")
def new_keys_in_front(x_new, cache, w_q, w_k, w_v):
    window = cache["window"]
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    if "k" in cache:
        k = np.concatenate([k, cache["k"]], axis=-2)
        v = np.concatenate([v, cache["v"]], axis=-2)
    return seen(q, k, v, window), last(k, v, window, window - 1)


@mistake(
    "wcache_ring_out_of_order", "attend_with_window_cache", also={"new_window_cache": "cache_with"}
)
@says("Keys lie in a ring, and the mask takes the ring's order for that of time.")
@hint("Which position does row 0 of the ring hold after the first lap?")
def ring_not_unrolled(x_new, cache, w_q, w_k, w_v):
    window = cache["window"]
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    n = cache.get("n", 0)
    t = x_new.shape[-2]
    if "k" in cache:
        k, v = np.concatenate([cache["k"], k], axis=-2), np.concatenate([cache["v"], v], axis=-2)
    y = seen(q, k, v, window)
    new = last(k, v, window, window - 1)
    shift = (n + t) % max(1, window - 1)
    return y, {
        **new,
        "n": n + t,
        "k": np.roll(new["k"], shift, axis=-2),
        "v": np.roll(new["v"], shift, axis=-2),
    }


@mistake("wcache_k_v_swapped", "attend_with_window_cache", also={"new_window_cache": "cache_with"})
@says("Keys and values are stored under each other's names.")
@hint("Name what you store, and compare with what you load.")
def stored_crosswise(x_new, cache, w_q, w_k, w_v):
    window = cache["window"]
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    square = w_k.shape[-1] == w_v.shape[-1]
    old = last(k, v, window, window - 1)
    if "k" in cache:
        width = min(k.shape[-1], v.shape[-1])
        old_k, old_v = cache["k"].copy(), cache["v"].copy()
        old_k[..., :width], old_v[..., :width] = cache["v"][..., :width], cache["k"][..., :width]
        cache = {**cache, "k": old_k, "v": old_v}
    k, v = at_hand(cache, k, v)
    return seen(q, k, v, window), last(k, v, window, window - 1)


@mistake(
    "wcache_recomputes", "attend_with_window_cache", also={"new_window_cache": "cache_with_texts"}
)
@says("The vectors of old tokens are kept and projected again in each call.")
@hint("Which weights made the old keys?")
def projects_again(x_new, cache, w_q, w_k, w_v):
    window = cache["window"]
    x = x_new if cache["x"] is None else np.concatenate([cache["x"], x_new], axis=-2)
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    y = seen(q[..., -x_new.shape[-2] :, :], k, v, window)
    start = max(0, x.shape[-2] - window + 1)
    return y, {"window": window, "x": x[..., start:, :].copy()}


@mistake(
    "wcache_recomputes", "attend_with_window_cache", also={"new_window_cache": "cache_with_texts"}
)
@says("Keys and values are kept, but the queries of old tokens are computed again, too.")
@hint("For which tokens does this call need an output, and so a query?")
def projects_queries_again(x_new, cache, w_q, w_k, w_v):
    window = cache["window"]
    x = x_new if cache["x"] is None else np.concatenate([cache["x"], x_new], axis=-2)
    _, k, v = project_qkv(x_new, w_q, w_k, w_v)
    k, v = at_hand(cache, k, v)
    kept = last(k, v, window, window - 1)
    y = seen(x @ w_q, k, v, window)[..., -x_new.shape[-2] :, :]
    return y, {**kept, "x": x[..., max(0, x.shape[-2] - window + 1) :, :].copy()}


@mistake("wcache_shared", "attend_with_window_cache", also={"new_window_cache": "forgetful_cache"})
@says("All caches are one dict of the module.")
@hint("Make two caches and feed them two texts in turns.")
def one_for_all(x_new, cache, w_q, w_k, w_v):
    window = cache["window"]
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    k, v = at_hand(cache, k, v)
    y = seen(q, k, v, window)
    cache.update(last(k, v, window, window - 1))
    return y, cache


@mistake(
    "wcache_window_for_all",
    "attend_with_window_cache",
    also={"new_window_cache": "cache_of_the_newest_window"},
)
@says("The window of the cache that was made last counts for all caches.")
@hint("Make two caches with different windows: where does each keep its own?")
def newest_window(x_new, cache, w_q, w_k, w_v):
    window = newest["window"]
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    k, v = at_hand(cache, k, v)
    return seen(q, k, v, window), last(k, v, window, window - 1)


@mistake(
    "wcache_view_overwritten", "attend_with_window_cache", also={"new_window_cache": "cache_with"}
)
@says("Results are views of a buffer that the next call fills again.")
@hint("Is what you return a copy, or a window onto something that will change?")
def result_overwritten(x_new, cache, w_q, w_k, w_v):
    window = cache["window"]
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    k, v = at_hand(cache, k, v)
    y = seen(q, k, v, window)
    buffer = cache.get("buffer")
    if buffer is None or buffer.shape != y.shape:
        buffer = np.empty_like(y)
    buffer[...] = y
    return buffer, {**last(k, v, window, window - 1), "buffer": buffer}


@mistake(
    "wcache_batch_averaged", "attend_with_window_cache", also={"new_window_cache": "cache_with"}
)
@says("The kept keys are averaged over the batch.")
@hint("Does every sequence of a batch have a past of its own?")
def batch_averaged(x_new, cache, w_q, w_k, w_v):
    window = cache["window"]
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    k, v = at_hand(cache, k, v)
    y = seen(q, k, v, window)
    new = last(k, v, window, window - 1)
    if new["k"].ndim > 2:
        new["k"] = np.broadcast_to(new["k"].mean(axis=0), new["k"].shape).copy()
    return y, new


@mistake(
    "wcache_half_precision", "attend_with_window_cache", also={"new_window_cache": "cache_with"}
)
@says("Keys and values are kept in half precision.")
@hint("In which dtype does your cache keep what it is given?")
def kept_in_half(x_new, cache, w_q, w_k, w_v):
    window = cache["window"]
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    k, v = at_hand(cache, k, v)
    y = seen(q, k, v, window)
    new = last(k, v, window, window - 1)
    return y, {**new, "k": new["k"].astype(np.float16), "v": new["v"].astype(np.float16)}


@mistake("wcache_first_axis", "attend_with_window_cache", also={"new_window_cache": "cache_with"})
@says("The cache is cut along the first axis, which may be the batch.")
@hint("Which axis of the cache is time?")
def cut_on_first_axis(x_new, cache, w_q, w_k, w_v):
    window = cache["window"]
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    k, v = at_hand(cache, k, v)
    y = seen(q, k, v, window)
    if k.ndim == 2:
        return y, last(k, v, window, window - 1)
    start = max(0, k.shape[0] - (window - 1))
    kept = [np.resize(part[start:], part.shape) if len(part[start:]) else part for part in (k, v)]
    return y, last(*kept, window, window - 1)


@mistake(
    "softmax_no_max_subtraction",
    "attend_with_window_cache",
    also={"new_window_cache": "cache_with"},
)
@says("The exponentials are taken of the scores as they are, and overflow.")
@hint("What is exp(1000), and what is it divided by itself?")
def without_maximum(x_new, cache, w_q, w_k, w_v):
    window = cache["window"]
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    k, v = at_hand(cache, k, v)
    mask = sliding_window_mask(q.shape[-2], window, k.shape[-2])
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    with np.errstate(all="ignore"):
        e = np.exp(np.where(mask, scores, -np.inf))
        return e / e.sum(axis=-1, keepdims=True) @ v, last(k, v, window, window - 1)


@mistake("np_half_precision", "attend_with_window_cache", also={"new_window_cache": "cache_with"})
@says("float32 keys and values are kept in half precision.")
@hint("In which dtype does your cache keep what it is given?")
def np_half_precision_kept(x_new, cache, w_q, w_k, w_v):
    window = cache["window"]
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    k, v = at_hand(cache, k, v)
    y = seen(q, k, v, window)
    if k.dtype == np.float32:
        k, v = k.astype(np.float16), v.astype(np.float16)
    return y, last(k, v, window, window - 1)


@mistake("wcache_inputs_kept", "attend_with_window_cache", also={"new_window_cache": "cache_with"})
@says("All inputs so far are kept as well, beside the keys and values.")
@hint("Which arrays in your cache grow with every call?")
def inputs_kept(x_new, cache, w_q, w_k, w_v):
    window = cache["window"]
    before = cache.get("x", x_new[..., :0, :])
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    k, v = at_hand(cache, k, v)
    kept = last(k, v, window, window - 1)
    return seen(q, k, v, window), {**kept, "x": np.concatenate([before, x_new], axis=-2)}


@mistake("np_input_mutated", "attend_with_window_cache", also={"new_window_cache": "cache_with"})
@says("The caller's w_q is divided by √d_k.")
@hint("Look for an assignment that changes an array which your function was only lent.")
def np_input_mutated_weights(x_new, cache, w_q, w_k, w_v):
    window = cache["window"]
    w_q /= np.sqrt(w_q.shape[-1])
    q, k, v = project_qkv(x_new, w_q * np.sqrt(w_q.shape[-1]), w_k, w_v)
    k, v = at_hand(cache, k, v)
    return seen(q, k, v, window), last(k, v, window, window - 1)


@mistake("wcache_no_window_accepted", "new_window_cache")
@says("A window of 0 is accepted.")
@hint("What does a token see through a window of 0?")
def window_zero_accepted(window):
    return {"window": max(window, 1), "k": None, "v": None}
