"""Known wrong versions of step 7, each with one mistake."""

import numpy as np

from exercises.step01_projections import project_qkv
from exercises.step02_scores import attention_scores
from exercises.step03_mask import apply_mask, causal_mask
from exercises.step04_softmax import softmax
from exercises.step05_output import attention, masked_self_attention
from grader.answer_key.variants import hint, mistake, says

SLOTS = 64  # of the caches that are made once, longer than any text here

shared_cache = {}
newest_cache = {}
projection_buffers = {}


def dict_cache():
    """Return an empty cache, for the variants that keep it in a dict."""
    return {}


def same_dict_cache():
    """Return the module's only dict to every caller."""
    return shared_cache


def default_argument_cache(keys=[], values=[]):
    """Return lists that are made once, when the function is defined."""
    return {"keys": keys, "values": values}


class ClassListCache:
    """Keep lists in the class, so that all of its objects share them."""

    keys = []
    values = []


def class_list_cache():
    """Return an object whose lists belong to its class."""
    return ClassListCache()


def newest_cache_only():
    """Empty the module's dict, and return an object that nobody reads."""
    newest_cache.clear()
    return object()


def joined(cache, name, new):
    """Return the old keys or values, followed by the new ones."""
    return np.concatenate([cache[name], new], axis=-2) if name in cache else new


def extended(cache, x_new, w_q, w_k, w_v):
    """Return the new queries and all keys and values; the cache then holds the latter."""
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    cache["k"], cache["v"] = joined(cache, "k", k), joined(cache, "v", v)
    return q, cache["k"], cache["v"]


def causal(q, k, v):
    """Return attention of queries at the last positions of the keys."""
    return attention(q, k, v, causal_mask(q.shape[-2], k.shape[-2]))


# what is kept


@mistake("kv_not_used", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("The past is missing: the cache is not read, or nothing was stored in it.")
@hint("Does anything in the past have an influence on the new output?")
def kv_not_used(x_new, cache, w_q, w_k, w_v):
    return masked_self_attention(x_new, w_q, w_k, w_v), cache


@mistake("kv_not_updated", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("Only the first call stores anything, so later tokens are forgotten at once.")
@hint("Run three steps and count the keys in your cache after each.")
def kv_not_updated(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    kept = cache if cache else {"k": k, "v": v}
    return causal(q, joined(cache, "k", k), joined(cache, "v", v)), kept


@mistake("kv_keeps_last_chunk", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("Each call replaces the cache by its own keys, so only one step is remembered.")
@hint("Run three steps and count the keys in your cache after each.")
def kv_keeps_last_chunk(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    return causal(q, joined(cache, "k", k), joined(cache, "v", v)), {"k": k, "v": v}


@mistake("kv_new_never_joined", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("New keys and values never join the old ones: later tokens see the first chunk only.")
@hint("When the second chunk comes, do its queries meet the keys of that chunk?")
def kv_new_never_joined(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    kept = cache if cache else {"k": k, "v": v}
    return causal(q, kept["k"], kept["v"]), kept


@mistake("kv_new_never_joined", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("New keys and values never join the old ones: later chunks see all of the first one.")
@hint("When the second chunk comes, do its queries meet the keys of that chunk?")
def kv_new_never_joined_unmasked(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    if not cache:
        return causal(q, k, v), {"k": k, "v": v}
    return attention(q, cache["k"], cache["v"]), cache


@mistake("kv_double_append", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("The new keys and values are stored twice.")
@hint("After n tokens, how long is your cache?")
def kv_double_append(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    y = causal(q, joined(cache, "k", k), joined(cache, "v", v))
    for _ in range(2):
        cache = {"k": joined(cache, "k", k), "v": joined(cache, "v", v)}
    return y, cache


@mistake("kv_overwrite_slot", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("The newest old key and value are overwritten by the new ones.")
@hint("Which slot of the cache is the first free one?")
def kv_overwrite_slot(x_new, cache, w_q, w_k, w_v):
    cache = {name: kept[..., :-1, :] for name, kept in cache.items()}
    return causal(*extended(cache, x_new, w_q, w_k, w_v)), cache


@mistake("kv_k_v_swapped", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("Keys are stored as values and values as keys.")
@hint("Name what you store, and compare with the names you load.")
def kv_k_v_swapped(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    if cache:
        k = np.concatenate([cache["v"], k], axis=-2)
        v = np.concatenate([cache["k"], v], axis=-2)
    return causal(q, k, v), {"k": k, "v": v}


@mistake("kv_keys_only", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("Old values are not kept and count as zero.")
@hint("The weights on the old keys mix something: what, and where is it stored?")
def kv_keys_only(x_new, cache, w_q, w_k, w_v):
    q, k, v = extended(cache, x_new, w_q, w_k, w_v)
    old = v.shape[-2] - x_new.shape[-2]
    v = np.concatenate([np.zeros_like(v[..., :old, :]), v[..., old:, :]], axis=-2)
    return causal(q, k, v), cache


@mistake("kv_prepend", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("New keys are put in front of the old ones, where the mask does not expect them.")
@hint("Which keys does the mask take for the newest ones?")
def kv_prepend(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    if cache:
        k = np.concatenate([k, cache["k"]], axis=-2)
        v = np.concatenate([v, cache["v"]], axis=-2)
    return causal(q, k, v), {"k": k, "v": v}


@mistake("kv_static_overflow", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("The cache has room for four tokens, and the oldest ones are dropped.")
@hint("What happens to your cache when the text gets long?")
def kv_static_overflow(x_new, cache, w_q, w_k, w_v):
    y = causal(*extended(cache, x_new, w_q, w_k, w_v))
    return y, {name: kept[..., -4:, :] for name, kept in cache.items()}


@mistake("kv_alias_view", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("The stored keys are views of a buffer that the next call fills again.")
@hint("Is what you store a copy, or a window onto something that will change?")
def kv_alias_view(x_new, cache, w_q, w_k, w_v):
    q, _, v = project_qkv(x_new, w_q, w_k, w_v)
    shape = (*x_new.shape[:-1], w_k.shape[-1])
    k = projection_buffers.setdefault((shape, x_new.dtype), np.empty(shape, x_new.dtype))
    k[...] = x_new @ w_k
    keys, values = [*cache.get("k", []), k], [*cache.get("v", []), v]
    y = causal(q, np.concatenate(keys, axis=-2), np.concatenate(values, axis=-2))
    return y, {"k": keys, "v": values}


@mistake("kv_downcast", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("Keys and values are stored in float32.")
@hint("In which dtype does your cache keep what it is given?")
def kv_downcast(x_new, cache, w_q, w_k, w_v):
    y = causal(*extended(cache, x_new, w_q, w_k, w_v))
    return y, {name: kept.astype(np.float32) for name, kept in cache.items()}


@mistake("kv_downcast", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("Keys and values of float32 inputs are stored in half precision.")
@hint("In which dtype does your cache keep what it is given?")
def kv_downcast_half(x_new, cache, w_q, w_k, w_v):
    y = causal(*extended(cache, x_new, w_q, w_k, w_v))
    if x_new.dtype == np.float32:
        cache = {name: kept.astype(np.float16) for name, kept in cache.items()}
    return y, cache


# which of the kept keys are seen


@mistake("kv_attends_past_only", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("A new token sees the old keys but not its own.")
@hint("May a new token look at itself?")
def kv_attends_past_only(x_new, cache, w_q, w_k, w_v):
    q, k, v = extended(cache, x_new, w_q, w_k, w_v)
    t_q, t_k = q.shape[-2], k.shape[-2]
    return attention(q, k, v, np.tri(t_q, t_k, t_k - t_q - 1, dtype=bool)), cache


@mistake("kv_attends_before_append", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("After the first chunk, queries meet the old keys only: the new ones are appended too late.")
@hint("When the scores are computed, is the new token's own key among the keys?")
def kv_attends_before_append(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    y = attention(q, cache["k"], cache["v"]) if cache else causal(q, k, v)
    return y, {"k": joined(cache, "k", k), "v": joined(cache, "v", v)}


@mistake("kv_attends_before_append", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("The mask is laid over the old keys alone: the new ones are appended after the attention.")
@hint("When the scores are computed, is the new token's own key among the keys?")
def kv_attends_before_append_masked(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    y = causal(q, cache.get("k", k), cache.get("v", v))
    return y, {"k": joined(cache, "k", k), "v": joined(cache, "v", v)}


@mistake("mask_allows_one_future", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("A token of a chunk also sees the next token of that chunk.")
@hint("How many keys may the first token of the first chunk see?")
def kv_allows_one_future(x_new, cache, w_q, w_k, w_v):
    q, k, v = extended(cache, x_new, w_q, w_k, w_v)
    t_q, t_k = q.shape[-2], k.shape[-2]
    return attention(q, k, v, np.tri(t_q, t_k, t_k - t_q + 1, dtype=bool)), cache


@mistake("kv_mask_top_left", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("The mask is lined up at the first key, so a single new token sees key 0 only.")
@hint("With one query and ten keys, what should the mask look like?")
def kv_mask_top_left(x_new, cache, w_q, w_k, w_v):
    q, k, v = extended(cache, x_new, w_q, w_k, w_v)
    return attention(q, k, v, np.tri(q.shape[-2], k.shape[-2], dtype=bool)), cache


@mistake("kv_prefill_unmasked", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("The first chunk is not masked.")
@hint("Does the prompt obey the rule when it comes in one piece?")
def kv_prefill_unmasked(x_new, cache, w_q, w_k, w_v):
    first = not cache
    q, k, v = extended(cache, x_new, w_q, w_k, w_v)
    return (attention(q, k, v) if first else causal(q, k, v)), cache


@mistake("kv_chunk_unmasked", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("The mask is applied only when there are as many queries as keys.")
@hint("Feed three new tokens at once after a prompt: what does the first of them see?")
def kv_chunk_unmasked(x_new, cache, w_q, w_k, w_v):
    q, k, v = extended(cache, x_new, w_q, w_k, w_v)
    square = q.shape[-2] == k.shape[-2]
    return attention(q, k, v, causal_mask(q.shape[-2]) if square else None), cache


@mistake("kv_chunk_unmasked", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("No mask is applied at all, which only single new tokens can do without.")
@hint("What does the first token of a chunk see, and what came after it?")
def kv_never_masked(x_new, cache, w_q, w_k, w_v):
    return attention(*extended(cache, x_new, w_q, w_k, w_v)), cache


@mistake("kv_chunk_mask_local_offset", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("The mask of the chunk is laid over the oldest keys instead of the newest.")
@hint("How many keys does the first token of the second chunk see, and which?")
def kv_chunk_mask_local_offset(x_new, cache, w_q, w_k, w_v):
    q, k, v = extended(cache, x_new, w_q, w_k, w_v)
    t_q, t_k = q.shape[-2], k.shape[-2]
    mask = np.ones((t_q, t_k), dtype=bool)
    mask[:, :t_q] = causal_mask(t_q)
    return attention(q, k, v, mask), cache


@mistake("kv_history_hidden_in_chunks", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("A chunk of several tokens sees itself only: its mask leaves out the history.")
@hint("How many keys does the first token of the second chunk see?")
def kv_history_hidden_in_chunks(x_new, cache, w_q, w_k, w_v):
    q, k, v = extended(cache, x_new, w_q, w_k, w_v)
    t_q, t_k = q.shape[-2], k.shape[-2]
    mask = np.tri(t_q, t_k, t_k - t_q, dtype=bool)
    if t_q > 1:
        mask &= ~np.tri(1, t_k, t_k - t_q - 1, dtype=bool)
    return attention(q, k, v, mask), cache


@mistake("kv_static_garbage", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("The cache is made of zeros in advance, and its empty slots are seen too.")
@hint("What is in the slots that you have not filled yet, and what weight do they get?")
def kv_static_garbage(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    if not cache:
        slots = (*x_new.shape[:-2], SLOTS)
        cache = {"k": np.zeros((*slots, k.shape[-1])), "v": np.zeros((*slots, v.shape[-1])), "n": 0}
    start, end = cache["n"], cache["n"] + k.shape[-2]
    cache["k"][..., start:end, :], cache["v"][..., start:end, :], cache["n"] = k, v, end
    mask = np.ones((end - start, SLOTS), dtype=bool)
    mask[:, :end] = causal_mask(end - start, end)
    return attention(q, cache["k"], cache["v"], mask), cache


@mistake("kv_length_not_summed", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("The stored length is that of the last call instead of all calls together.")
@hint("Print the length after each of three steps.")
def kv_length_not_summed(x_new, cache, w_q, w_k, w_v):
    old = cache.get("length", 0)
    q, k, v = extended(cache, x_new, w_q, w_k, w_v)
    cache["length"] = q.shape[-2]
    return attention(q, k, v, np.tri(q.shape[-2], k.shape[-2], old, dtype=bool)), cache


@mistake("kv_counts_calls", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("The stored length grows by one in each call, however many tokens come.")
@hint("By how much does the length grow when five tokens come at once?")
def kv_counts_calls(x_new, cache, w_q, w_k, w_v):
    old = cache.get("length", 0)
    q, k, v = extended(cache, x_new, w_q, w_k, w_v)
    cache["length"] = old + 1
    return attention(q, k, v, np.tri(q.shape[-2], k.shape[-2], old, dtype=bool)), cache


@mistake("kv_length_wrong_axis", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("The number of old keys is read from the first axis, which may be the batch.")
@hint("Which axis of the cache grows?")
def kv_length_wrong_axis(x_new, cache, w_q, w_k, w_v):
    old = len(cache.get("k", ()))
    q, k, v = extended(cache, x_new, w_q, w_k, w_v)
    return attention(q, k, v, np.tri(q.shape[-2], k.shape[-2], old, dtype=bool)), cache


@mistake("kv_joined_on_first_axis", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("New keys are joined to the old ones along the first axis, which may be the batch.")
@hint("Which axis of the cache grows?")
def kv_joined_on_first_axis(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    if cache:
        k = np.concatenate([cache["k"], k])
        v = np.concatenate([cache["v"], v])
    return causal(q, k, v), {"k": k, "v": v}


@mistake("kv_joined_on_second_axis", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("New keys are joined to the old ones along axis 1, which may be a batch axis too.")
@hint("With two batch axes, which axis of the cache grows?")
def kv_joined_on_second_axis(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    if cache:
        axis = min(1, k.ndim - 2)
        k = np.concatenate([cache["k"], k], axis=axis)
        v = np.concatenate([cache["v"], v], axis=axis)
    return causal(q, k, v), {"k": k, "v": v}


@mistake("kv_shared_across_batch", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("All texts of a batch remember the keys and values of the first one.")
@hint("Whose memory does the second text of a batch look into?")
def kv_shared_across_batch(x_new, cache, w_q, w_k, w_v):
    y = causal(*extended(cache, x_new, w_q, w_k, w_v))
    if x_new.ndim > 2:
        cache = {name: np.broadcast_to(kept[:1], kept.shape) for name, kept in cache.items()}
    return y, cache


@mistake("kv_rows_joined", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("The old keys of all texts of a batch form one list that every text looks into.")
@hint("May a token look at another text of the batch?")
def kv_rows_joined(x_new, cache, w_q, w_k, w_v):
    old = dict(cache)
    q, k, v = extended(cache, x_new, w_q, w_k, w_v)
    if not old or x_new.ndim == 2:
        return causal(q, k, v), cache
    every = {}
    for name, kept in old.items():
        flat = kept.reshape(-1, kept.shape[-1])
        every[name] = np.broadcast_to(flat, (*kept.shape[:-2], *flat.shape))
    _, k, v = project_qkv(x_new, w_q, w_k, w_v)
    return causal(q, joined(every, "k", k), joined(every, "v", v)), cache


@mistake("kv_returns_all_rows", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("The outputs of all tokens so far are returned, not those of the new ones.")
@hint("How many rows should come back for one new token?")
def kv_returns_all_rows(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    q, k, v = joined(cache, "q", q), joined(cache, "k", k), joined(cache, "v", v)
    return causal(q, k, v), {"q": q, "k": k, "v": v}


@mistake("kv_returns_last_row", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("Only the output of the last new token is returned.")
@hint("How many rows should come back for three new tokens?")
def kv_returns_last_row(x_new, cache, w_q, w_k, w_v):
    return causal(*extended(cache, x_new, w_q, w_k, w_v))[..., -1:, :], cache


@mistake("np_squeeze_kills_axis", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("Axes of size one disappear from the output, such as that of a single token.")
@hint("What is the shape of your output for one new token?")
def np_squeeze_kills_axis_cache(x_new, cache, w_q, w_k, w_v):
    return np.squeeze(causal(*extended(cache, x_new, w_q, w_k, w_v))), cache


# what is projected again


@mistake("kv_no_speedup", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("All inputs are kept, and all of them are projected again in every call.")
@hint("How much does step 100 compute, compared with step 10?")
def kv_no_speedup(x_new, cache, w_q, w_k, w_v):
    x = joined(cache, "x", x_new)
    y = masked_self_attention(x, w_q, w_k, w_v)
    return y[..., -x_new.shape[-2] :, :], {"x": x}


@mistake("kv_values_projected_again", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("Keys are kept, but the values of old tokens are computed from their inputs again.")
@hint("What does your cache hold: results of the projections, or what goes into them?")
def kv_values_projected_again(x_new, cache, w_q, w_k, w_v):
    x, k = joined(cache, "x", x_new), joined(cache, "k", x_new @ w_k)
    return causal(x_new @ w_q, k, x @ w_v), {"x": x, "k": k}


@mistake("kv_queries_projected_again", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("Keys and values are kept, but the queries of old tokens are computed again, too.")
@hint("For which tokens does this call need an output, and so a query?")
def kv_queries_projected_again(x_new, cache, w_q, w_k, w_v):
    x, k, v = (
        joined(cache, "x", x_new),
        joined(cache, "k", x_new @ w_k),
        joined(cache, "v", x_new @ w_v),
    )
    y = causal(x @ w_q, k, v)
    return y[..., -x_new.shape[-2] :, :], {"x": x, "k": k, "v": v}


# who shares it


@mistake("kv_global_state", "attend_with_cache", also={"new_cache": "same_dict_cache"})
@says("Every new cache is the same dict, with what is already in it.")
@hint("Make two caches and write into one: what is in the other?")
def kv_global_state(x_new, cache, w_q, w_k, w_v):
    return causal(*extended(cache, x_new, w_q, w_k, w_v)), cache


@mistake("kv_global_state", "attend_with_cache", also={"new_cache": "default_argument_cache"})
@says("All new caches share the same lists.")
@hint("How often does Python evaluate a default argument, or the body of a class?")
def kv_global_state_default(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    cache["keys"].append(k)
    cache["values"].append(v)
    k, v = np.concatenate(cache["keys"], axis=-2), np.concatenate(cache["values"], axis=-2)
    return causal(q, k, v), cache


@mistake("kv_global_state", "attend_with_cache", also={"new_cache": "class_list_cache"})
@says("All new caches share the same lists.")
@hint("How often does Python evaluate a default argument, or the body of a class?")
def kv_global_state_class(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    cache.keys.append(k)
    cache.values.append(v)
    k, v = np.concatenate(cache.keys, axis=-2), np.concatenate(cache.values, axis=-2)
    return causal(q, k, v), cache


@mistake("kv_global_state", "attend_with_cache", also={"new_cache": "newest_cache_only"})
@says("Keys and values live in the module, where a new cache clears them for everyone.")
@hint("Make two caches and use them in turn: does each remember its own text?")
def kv_global_state_newest(x_new, cache, w_q, w_k, w_v):
    return causal(*extended(newest_cache, x_new, w_q, w_k, w_v)), cache


@mistake("np_returns_alias", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("Every result of one shape is written into the same array.")
@hint("Keep the output of one call, make another call, and look at the first one again.")
def kv_output_buffer(x_new, cache, w_q, w_k, w_v):
    y = causal(*extended(cache, x_new, w_q, w_k, w_v))
    buffer = projection_buffers.setdefault((y.shape, y.dtype), np.empty_like(y))
    buffer[...] = y
    return buffer, cache


# mistakes of earlier steps that show up here


@mistake("proj_kv_swapped", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("Keys and values are exchanged, out of the projection or on the way into attention.")
@hint("In which order does step 1 return the three arrays?")
def proj_kv_swapped_cache(x_new, cache, w_q, w_k, w_v):
    q, v, k = project_qkv(x_new, w_q, w_k, w_v)
    k, v = joined(cache, "k", k), joined(cache, "v", v)
    return causal(q, k, v), {"k": k, "v": v}


@mistake("score_scale_seq_len", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("The scores are scaled by the number of keys so far.")
@hint("Should the scale of a score change while the text grows?")
def score_scale_seq_len_cache(x_new, cache, w_q, w_k, w_v):
    q, k, v = extended(cache, x_new, w_q, w_k, w_v)
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(k.shape[-2])
    return softmax(apply_mask(scores, causal_mask(q.shape[-2], k.shape[-2]))) @ v, cache


@mistake("mask_fill_too_weak", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("Blocked scores become −100, which beats allowed scores that are lower still.")
@hint("Is there a score so low that your fill value still wins against it?")
def mask_fill_too_weak_cache(x_new, cache, w_q, w_k, w_v):
    q, k, v = extended(cache, x_new, w_q, w_k, w_v)
    mask = causal_mask(q.shape[-2], k.shape[-2])
    return softmax(np.where(mask, attention_scores(q, k), -100.0)) @ v, cache


@mistake("mask_fill_too_weak", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("Blocked scores are lowered by 100, which a larger score survives.")
@hint("Is there a score so high that it is still seen after what you take from it?")
def mask_lowers_too_little_cache(x_new, cache, w_q, w_k, w_v):
    q, k, v = extended(cache, x_new, w_q, w_k, w_v)
    mask = causal_mask(q.shape[-2], k.shape[-2])
    return softmax(attention_scores(q, k) - 100.0 * ~mask) @ v, cache


@mistake("softmax_no_max", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("The exponential of a large score overflows.")
@hint("Try scores of a thousand, and ask what you may subtract from a whole row.")
def softmax_no_max_cache(x_new, cache, w_q, w_k, w_v):
    q, k, v = extended(cache, x_new, w_q, w_k, w_v)
    mask = causal_mask(q.shape[-2], k.shape[-2])
    weights = np.exp(apply_mask(attention_scores(q, k), mask))
    return weights / weights.sum(axis=-1, keepdims=True) @ v, cache


@mistake("np_input_mutated", "attend_with_cache", also={"new_cache": "dict_cache"})
@says("The scale is divided into the caller's weight matrix, once more in every call.")
@hint("Look for an assignment that changes an array which your function was only lent.")
def np_input_mutated_cache(x_new, cache, w_q, w_k, w_v):
    w_q /= np.sqrt(w_q.shape[-1])
    q, k, v = extended(cache, x_new, w_q, w_k, w_v)
    scores = q @ np.swapaxes(k, -1, -2)
    return softmax(apply_mask(scores, causal_mask(q.shape[-2], k.shape[-2]))) @ v, cache


@mistake("kv_joined_on_features", "attend_with_cache")
@says("New keys and values are joined to the old ones along the axis of features.")
@hint("Which axis of the keys becomes longer with every token?")
def kv_joined_on_features(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    if cache:
        k = np.concatenate([cache["k"], k], axis=-1)
        v = np.concatenate([cache["v"], v], axis=-1)
    return attention(q, k, v, causal_mask(q.shape[-2], k.shape[-2])), {"k": k, "v": v}


@mistake("kv_values_get_new_keys", "attend_with_cache")
@says("The stored values are extended by the new keys.")
@hint("Compare the two lines that join old and new: what does each join?")
def kv_values_get_new_keys(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    if cache:
        v = np.concatenate([cache["v"], k], axis=-2)
        k = np.concatenate([cache["k"], k], axis=-2)
    return attention(q, k, v, causal_mask(q.shape[-2], k.shape[-2])), {"k": k, "v": v}
