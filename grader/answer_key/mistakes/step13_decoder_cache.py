"""Known wrong versions of step 13, each with one mistake."""

import numpy as np

from exercises.step01_projections import linear
from exercises.step02_scores import attention_scores
from exercises.step03_mask import apply_mask, causal_mask
from exercises.step04_softmax import softmax
from exercises.step05_output import attention
from exercises.step08_generation import sample_token
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import feed_forward, layer_norm
from exercises.step12_decoder import decoder_logits
from grader.answer_key.variants import hint, mistake, says

SLOTS = 64  # of the caches that are made once, longer than any text here

shared_memory = {"layers": {}, "length": 0}
newest_memory = {"layers": {}, "length": 0}
kept_results = {}


class Memory:
    """Keep the keys and values so far of every layer, and the number of tokens."""

    def __init__(self, n_layers):
        self.layers, self.length = [None] * n_layers, 0


def shared_dict_memory(n_layers):
    """Return the module's only dict to every caller."""
    return shared_memory


def default_argument_memory(n_layers, layers={}, lengths=[]):
    """Return a dict and a list that are made once, when the function is defined."""
    return {"layers": layers, "lengths": lengths}


def newest_memory_only(n_layers):
    """Empty the module's dict, and return an object that nobody reads."""
    newest_memory.update(layers={}, length=0)
    return object()


def one_dict_for_all(n_layers):
    """Return a list that holds the same dict n_layers times."""
    return [{}] * n_layers


def two_slots(n_layers):
    """Return room for two layers, however many the decoder has."""
    return [None, None]


def refuse_too_long(total, params):
    if total > len(params["position"]):
        raise ValueError("more tokens than the model has positions")


def refuse_bad_lengths(prompt, n_new, params, temperature, u):
    refuse_too_long(prompt.shape[-1] + n_new, params)
    if temperature > 0 and u is None:
        raise ValueError("sampling needs u")


def placed(tokens, start, params):
    """Return the embeddings of tokens that begin at position `start`."""
    return params["embedding"][tokens] + params["position"][start : start + tokens.shape[-1]]


def normed(x, params):
    return layer_norm(x, params["gain"], params["bias"])


def projected(x, weights, n_heads, names="qkv"):
    """Return queries, keys and values, or some of them, each (..., n_heads, T, d_head)."""
    return [split_heads(linear(x, weights[f"w_{n}"], weights[f"b_{n}"]), n_heads) for n in names]


def joined(kept, k, v):
    """Return the old keys and values, each followed by the new ones."""
    if kept is None:
        return k, v
    return np.concatenate([kept[0], k], axis=-2), np.concatenate([kept[1], v], axis=-2)


def causal(q, k):
    """Return the mask of queries at the last positions of the keys."""
    return causal_mask(q.shape[-2], k.shape[-2])


def mixed(heads, weights):
    """Return the heads' outputs side by side, through w_o."""
    return linear(merge_heads(heads), weights["w_o"], weights["b_o"])


def looked_up(q, k, v, weights, mask):
    return mixed(attention(q, k, v, mask), weights)


def attended(x, weights, n_heads, kept, mask_of=causal):
    """Return one layer's attention over all tokens so far, and the layer's cache."""
    q, k, v = projected(x, weights, n_heads)
    k, v = joined(kept, k, v)
    return looked_up(q, k, v, weights, mask_of(q, k)), (k, v)


def half_block(x, block):
    """Apply the second half of a block."""
    return x + feed_forward(normed(x, block["ln_2"]), block["feed_forward"])


def through(x, memory, params, n_heads, attend=attended):
    """Apply the blocks one after another; the memory then has the new tokens."""
    for number, block in enumerate(params["blocks"]):
        kept = memory.layers[number]
        y, kept = attend(normed(x, block["ln_1"]), block["attention"], n_heads, kept)
        x, memory.layers[number] = half_block(x + y, block), kept
    return x


def head(x, params):
    return linear(normed(x, params["ln_f"]), params["embedding"].T)


def stepped(tokens, memory, params, n_heads, attend=attended, start=None):
    """Run `decoder_step` with another attention or another first position."""
    refuse_too_long(memory.length + tokens.shape[-1], params)
    x = placed(tokens, memory.length if start is None else start, params)
    memory.length += tokens.shape[-1]
    return head(through(x, memory, params, n_heads, attend), params), memory


def under_one_mask(tokens, length):
    """Run `attended` with the mask of these tokens after so many others, ignoring any other mask.

    Code that makes one mask before the first layer computes it from these counts.
    """
    mask = causal_mask(tokens.shape[-1], length + tokens.shape[-1])

    def attend(x, weights, n_heads, kept):
        return attended(x, weights, n_heads, kept, lambda q, k: mask)

    return attend


def stepped_on(x, memory, params, n_heads):
    """Do the same for tokens that have become vectors."""
    refuse_too_long(memory.length + x.shape[-2], params)
    memory.length += x.shape[-2]
    return head(through(x, memory, params, n_heads), params), memory


def by_layer(tokens, memory, params, n_heads, attend):
    """Run `decoder_step` with an attention that gets the layer's number and the whole memory."""
    refuse_too_long(memory.length + tokens.shape[-1], params)
    x = placed(tokens, memory.length, params)
    memory.length += tokens.shape[-1]
    for number, block in enumerate(params["blocks"]):
        y = attend(normed(x, block["ln_1"]), block["attention"], number)
        x = half_block(x + y, block)
    return head(x, params), memory


def in_dict(tokens, memory, params, n_heads):
    """Run `decoder_step` on a dict that holds layers by number, and the length."""
    start = memory["length"]
    refuse_too_long(start + tokens.shape[-1], params)
    x = placed(tokens, start, params)
    memory["length"] = start + tokens.shape[-1]
    for number, block in enumerate(params["blocks"]):
        kept = memory["layers"].get(number)
        y, kept = attended(normed(x, block["ln_1"]), block["attention"], n_heads, kept)
        x, memory["layers"][number] = half_block(x + y, block), kept
    return head(x, params)


def fed(tokens, start, cache, params, n_heads):
    """Return logits of the last of these tokens, and the cache."""
    logits, cache = decoder_step(tokens, cache, params, n_heads)
    return logits[..., -1, :], cache


def chooser(temperature, top_k, u):
    """Pick token i by sample_token, with its own numbers."""
    return lambda logits, i: sample_token(
        logits, None if u is None else u[..., i], temperature, top_k
    )


def continued(prompt, n_new, choose, params, n_heads, feed=fed):
    """Run `decoder_generate`'s loop: `choose(logits, i)` picks token i, `feed` asks the model."""
    tokens = np.array(prompt, dtype=np.int64)
    new, start = tokens, 0
    cache = new_decoder_cache(len(params["blocks"]))
    for i in range(n_new):
        logits, cache = feed(new, start, cache, params, n_heads)
        start += new.shape[-1]
        new = np.asarray(choose(logits, i))[..., None]
        tokens = np.concatenate([tokens, new], axis=-1)
    return tokens


# decoder_step: what is kept


@mistake("kv_not_used", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("The past is missing: tokens are counted, but no keys and values are read back.")
@hint("Does any earlier token have an influence on the new logits?")
def kv_not_used_decoder(tokens_new, cache, params, n_heads):
    def attend(x, weights, n_heads, kept):
        return attended(x, weights, n_heads, None)

    return stepped(tokens_new, cache, params, n_heads, attend)


@mistake("kv_prefills_again", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("A chunk of several tokens sends all tokens before it through the layers once more.")
@hint("What is in the cache when the second chunk comes, and what do you do with it?")
def step_prefills_again(tokens_new, cache, params, n_heads):
    t, before = tokens_new.shape[-1], getattr(cache, "tokens", None)
    tokens = tokens_new if before is None else np.concatenate([before, tokens_new], axis=-1)
    if t > 1:
        cache = Memory(len(params["blocks"]))
        logits, cache = stepped(tokens, cache, params, n_heads)
    else:
        logits, cache = stepped(tokens_new, cache, params, n_heads)
    cache.tokens = tokens
    return logits[..., -t:, :], cache


@mistake("kv_starts_anew", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("Every call begins a new text, as if its cache were empty.")
@hint("What is in the cache that your function returns, and what does it read from it later?")
def kv_starts_anew_decoder(tokens_new, cache, params, n_heads):
    return stepped(tokens_new, Memory(len(params["blocks"])), params, n_heads)


@mistake("kv_not_updated", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("Only the first call stores anything, so later tokens are forgotten at once.")
@hint("Run three steps and count the keys of each layer after each.")
def kv_not_updated_decoder(tokens_new, cache, params, n_heads):
    def attend(x, weights, n_heads, kept):
        y, new = attended(x, weights, n_heads, kept)
        return y, new if kept is None else kept

    return stepped(tokens_new, cache, params, n_heads, attend)


@mistake("kv_keeps_last_chunk", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("Each call replaces what it finds by its own keys, so only one step is remembered.")
@hint("Run three steps and count the keys of each layer after each.")
def kv_keeps_last_chunk_decoder(tokens_new, cache, params, n_heads):
    def attend(x, weights, n_heads, kept):
        y, kept = attended(x, weights, n_heads, kept)
        return y, [each[..., -x.shape[-2] :, :] for each in kept]

    return stepped(tokens_new, cache, params, n_heads, attend)


@mistake("kv_double_append", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("The new keys and values are stored twice.")
@hint("After n tokens, how many keys does one layer have?")
def kv_double_append_decoder(tokens_new, cache, params, n_heads):
    def attend(x, weights, n_heads, kept):
        y, kept = attended(x, weights, n_heads, kept)
        return y, joined(kept, *(each[..., -x.shape[-2] :, :] for each in kept))

    return stepped(tokens_new, cache, params, n_heads, attend)


@mistake("kv_overwrite_slot", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("The newest old key and value are overwritten by the new ones.")
@hint("Which slot of a layer's cache is the first free one?")
def kv_overwrite_slot_decoder(tokens_new, cache, params, n_heads):
    def attend(x, weights, n_heads, kept):
        kept = None if kept is None else [part[..., :-1, :] for part in kept]
        return attended(x, weights, n_heads, kept)

    return stepped(tokens_new, cache, params, n_heads, attend)


@mistake("kv_attends_past_only", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("A new token does not see its own key and value.")
@hint("May a token look at itself?")
def kv_attends_past_only_decoder(tokens_new, cache, params, n_heads):
    def before(q, k):
        return np.tri(q.shape[-2], k.shape[-2], k.shape[-2] - q.shape[-2] - 1, dtype=bool)

    def attend(x, weights, n_heads, kept):
        return attended(x, weights, n_heads, kept, before)

    return stepped(tokens_new, cache, params, n_heads, attend)


@mistake("kv_k_v_swapped", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("Keys are stored as values and values as keys.")
@hint("Name what you store, and compare with the names you load.")
def kv_k_v_swapped_decoder(tokens_new, cache, params, n_heads):
    def attend(x, weights, n_heads, kept):
        return attended(x, weights, n_heads, None if kept is None else kept[::-1])

    return stepped(tokens_new, cache, params, n_heads, attend)


@mistake("kv_prepend", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("New keys are put in front of the old ones, where the mask does not expect them.")
@hint("Which keys does the mask take for the newest ones?")
def kv_prepend_decoder(tokens_new, cache, params, n_heads):
    def attend(x, weights, n_heads, kept):
        q, k, v = projected(x, weights, n_heads)
        k, v = (k, v) if kept is None else joined((k, v), *kept)
        return looked_up(q, k, v, weights, causal(q, k)), (k, v)

    return stepped(tokens_new, cache, params, n_heads, attend)


@mistake("kv_static_garbage", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("The caches are made of zeros in advance, and their empty slots are seen too.")
@hint("What is in the slots that you have not filled yet, and what weight do they get?")
def kv_static_garbage_decoder(tokens_new, cache, params, n_heads):
    def attend(x, weights, n_heads, kept):
        q, k, v = projected(x, weights, n_heads)
        k, v = joined(kept, k, v)
        empty = np.zeros((*k.shape[:-2], SLOTS, k.shape[-1]))
        mask = np.hstack([causal(q, k), np.full((q.shape[-2], SLOTS), True)])
        return looked_up(q, *joined((k, v), empty, empty), weights, mask), (k, v)

    return stepped(tokens_new, cache, params, n_heads, attend)


@mistake("kv_static_overflow", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("Each layer has room for five tokens, and the oldest ones are dropped.")
@hint("What happens to your cache when the text gets long?")
def kv_static_overflow_decoder(tokens_new, cache, params, n_heads):
    def attend(x, weights, n_heads, kept):
        y, kept = attended(x, weights, n_heads, kept)
        return y, [part[..., -5:, :] for part in kept]

    return stepped(tokens_new, cache, params, n_heads, attend)


@mistake("kv_downcast", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("Keys and values are stored in half precision, as float16.")
@hint("Which dtype do the stored keys have, and which had they before?")
def kv_downcast_decoder(tokens_new, cache, params, n_heads):
    def attend(x, weights, n_heads, kept):
        y, kept = attended(x, weights, n_heads, kept)
        return y, [part.astype(np.float16) for part in kept]

    return stepped(tokens_new, cache, params, n_heads, attend)


@mistake("kv_order_of_heads_lost", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("Keys and values are stored with the heads merged, and cut apart wrongly when loaded.")
@hint("Load what you have just stored: is every head as it was?")
def kv_order_of_heads_lost_decoder(tokens_new, cache, params, n_heads):
    def attend(x, weights, n_heads, kept):
        if kept is not None:
            merged = [merge_heads(part) for part in kept]
            kept = [merge.reshape(part.shape) for merge, part in zip(merged, kept, strict=True)]
        return attended(x, weights, n_heads, kept)

    return stepped(tokens_new, cache, params, n_heads, attend)


@mistake("kv_order_of_heads_lost", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("The stored heads come back in the opposite order.")
@hint("Load what you have just stored: is every head as it was?")
def kv_heads_reversed_decoder(tokens_new, cache, params, n_heads):
    def attend(x, weights, n_heads, kept):
        kept = None if kept is None else [part[..., ::-1, :, :] for part in kept]
        return attended(x, weights, n_heads, kept)

    return stepped(tokens_new, cache, params, n_heads, attend)


@mistake("head_only_one_stream_wrong", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("Old keys and values are cut into heads in turns, the new ones in blocks.")
@hint("Which features make up head 0 of an old key, and which those of a new one?")
def head_kept_ones_interleaved_decoder(tokens_new, cache, params, n_heads):
    def interleaved(part):
        merged = merge_heads(part)
        cut = merged.reshape(*merged.shape[:-1], part.shape[-1], n_heads)
        return np.moveaxis(cut, -1, -3)

    def attend(x, weights, n_heads, kept):
        kept = None if kept is None else [interleaved(part) for part in kept]
        return attended(x, weights, n_heads, kept)

    return stepped(tokens_new, cache, params, n_heads, attend)


@mistake("kv_caches_unnormed", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("Keys and values are made of a layer's input as it is, before ln_1.")
@hint("From what does a block compute its keys, and from what do you?")
def kv_caches_unnormed_decoder(tokens_new, cache, params, n_heads):
    refuse_too_long(cache.length + tokens_new.shape[-1], params)
    x = placed(tokens_new, cache.length, params)
    cache.length += tokens_new.shape[-1]
    for number, block in enumerate(params["blocks"]):
        weights = block["attention"]
        (q,) = projected(normed(x, block["ln_1"]), weights, n_heads, "q")
        k, v = joined(cache.layers[number], *projected(x, weights, n_heads, "kv"))
        cache.layers[number] = k, v
        x = half_block(x + looked_up(q, k, v, weights, causal(q, k)), block)
    return head(x, params), cache


@mistake("kv_caches_unnormed", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("What is stored is made of a layer's input before ln_1; new tokens use the normed one.")
@hint("Compare a key when it is new with the same key when it is old.")
def kv_stores_unnormed_decoder(tokens_new, cache, params, n_heads):
    refuse_too_long(cache.length + tokens_new.shape[-1], params)
    x = placed(tokens_new, cache.length, params)
    cache.length += tokens_new.shape[-1]
    for number, block in enumerate(params["blocks"]):
        weights, kept = block["attention"], cache.layers[number]
        y, _ = attended(normed(x, block["ln_1"]), weights, n_heads, kept)
        cache.layers[number] = joined(kept, *projected(x, weights, n_heads, "kv"))
        x = half_block(x + y, block)
    return head(x, params), cache


@mistake("kv_stores_after_attention", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("What is stored is made of the layer's output, not of its input.")
@hint("Compare a key when it is new with the same key when it is old.")
def kv_stores_after_attention_decoder(tokens_new, cache, params, n_heads):
    refuse_too_long(cache.length + tokens_new.shape[-1], params)
    x = placed(tokens_new, cache.length, params)
    cache.length += tokens_new.shape[-1]
    for number, block in enumerate(params["blocks"]):
        weights, kept = block["attention"], cache.layers[number]
        y, _ = attended(normed(x, block["ln_1"]), weights, n_heads, kept)
        x = half_block(x + y, block)
        new = projected(normed(x, block["ln_1"]), weights, n_heads, "kv")
        cache.layers[number] = joined(kept, *new)
    return head(x, params), cache


# decoder_step: which layer


@mistake("kv_shared_across_layers", "decoder_step", also={"new_decoder_cache": "one_dict_for_all"})
@says("All layers append to one cache, so each sees the keys of the others as well.")
@hint("Write into the cache of layer 0: what is then in that of layer 1?")
def kv_shared_across_layers_decoder(tokens_new, cache, params, n_heads):
    first = cache[0]
    start = first.get("length", 0)
    refuse_too_long(start + tokens_new.shape[-1], params)
    first["length"] = start + tokens_new.shape[-1]
    x = placed(tokens_new, start, params)
    for kept, block in zip(cache, params["blocks"], strict=True):
        normal = normed(x, block["ln_1"])
        y, kept["kv"] = attended(normal, block["attention"], n_heads, kept.get("kv"))
        x = half_block(x + y, block)
    return head(x, params), cache


@mistake("kv_shared_across_layers", "decoder_step", also={"new_decoder_cache": "one_dict_for_all"})
@says("All layers append to one cache, and the length of the text is counted on it.")
@hint("Write into the cache of layer 0: what is then in that of layer 1?")
def kv_shared_and_counted_decoder(tokens_new, cache, params, n_heads):
    kept = cache[0]
    start = kept["kv"][0].shape[-2] if kept else 0
    refuse_too_long(start + tokens_new.shape[-1], params)
    x = placed(tokens_new, start, params)
    for block in params["blocks"]:
        normal = normed(x, block["ln_1"])
        y, kept["kv"] = attended(normal, block["attention"], n_heads, kept.get("kv"))
        x = half_block(x + y, block)
    return head(x, params), cache


@mistake("kv_shared_across_layers", "decoder_step", also={"new_decoder_cache": "one_dict_for_all"})
@says(
    "All layers append to one cache, as those of `[{}] * n_layers` are one dict: the second finds"
    " more keys than the mask allows for."
)
@hint("Write into the cache of layer 0: what is then in that of layer 1?")
def kv_shared_counted_and_under_one_mask_decoder(tokens_new, cache, params, n_heads):
    kept = cache[0]
    start = kept["kv"][0].shape[-2] if kept else 0
    refuse_too_long(start + tokens_new.shape[-1], params)
    x, attend = placed(tokens_new, start, params), under_one_mask(tokens_new, start)
    for block in params["blocks"]:
        normal = normed(x, block["ln_1"])
        y, kept["kv"] = attend(normal, block["attention"], n_heads, kept.get("kv"))
        x = half_block(x + y, block)
    return head(x, params), cache


@mistake("kv_shared_across_layers", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("All layers append to one place, which then has more keys than the mask allows for.")
@hint("After one call, how many keys are kept for each token, if there are two layers?")
def kv_shared_under_one_mask_decoder(tokens_new, cache, params, n_heads):
    attend, shared = under_one_mask(tokens_new, cache.length), cache.layers

    def append(x, weights, number):
        y, shared[0] = attend(x, weights, n_heads, shared[0])
        return y

    return by_layer(tokens_new, cache, params, n_heads, append)


@mistake("kv_shared_across_layers", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("All layers look at the old keys and values of the first one.")
@hint("Whose keys does the second layer read?")
def kv_first_layer_for_all_decoder(tokens_new, cache, params, n_heads):
    kept, before = cache.layers, cache.layers[0]

    def attend(x, weights, number):
        y, new = attended(x, weights, n_heads, before)
        kept[number] = new
        return y

    return by_layer(tokens_new, cache, params, n_heads, attend)


@mistake("kv_shared_across_layers", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("Every layer stores into the same place, so all find what the last one left.")
@hint("After one call, whose keys are in the cache of layer 0?")
def kv_last_layer_for_all_decoder(tokens_new, cache, params, n_heads):
    before, slot = cache.layers[0], cache.layers

    def attend(x, weights, number):
        y, slot[0] = attended(x, weights, n_heads, before)
        return y

    return by_layer(tokens_new, cache, params, n_heads, attend)


@mistake("kv_wrong_layer", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("A layer's new keys are appended to the cache of the next layer.")
@hint("Follow the keys of layer 0: from which place are they read in the next call?")
def kv_wrong_layer_decoder(tokens_new, cache, params, n_heads):
    old, cache.layers = cache.layers, list(cache.layers)

    def attend(x, weights, number):
        y, new = attended(x, weights, n_heads, old[number])
        cache.layers[(number + 1) % len(old)] = new
        return y

    return by_layer(tokens_new, cache, params, n_heads, attend)


@mistake("kv_layers_reversed", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("The layers find the caches in the opposite order to that in which they were stored.")
@hint("Follow the keys of layer 0: from which place are they read in the next call?")
def kv_layers_reversed_decoder(tokens_new, cache, params, n_heads):
    old, cache.layers = cache.layers, list(cache.layers)

    def attend(x, weights, number):
        y, cache.layers[len(old) - 1 - number] = attended(x, weights, n_heads, old[number])
        return y

    return by_layer(tokens_new, cache, params, n_heads, attend)


@mistake("kv_wrong_layer", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("A layer mixes its own old keys with the old values of the layer below it.")
@hint("For each layer, say which keys and which values it reads.")
def kv_values_of_layer_below_decoder(tokens_new, cache, params, n_heads):
    old, cache.layers = cache.layers, list(cache.layers)

    def attend(x, weights, number):
        q, k, v = projected(x, weights, n_heads)
        below = old[max(number - 1, 0)]
        mixture = None if below is None else (old[number][0], below[1])
        cache.layers[number] = joined(old[number], k, v)
        k, v = joined(mixture, k, v)
        return looked_up(q, k, v, weights, causal(q, k))

    return by_layer(tokens_new, cache, params, n_heads, attend)


@mistake("kv_only_first_layer", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("Only the first layer has a memory; the others see the new tokens alone.")
@hint("How many keys are there in each layer after five tokens?")
def kv_only_first_layer_decoder(tokens_new, cache, params, n_heads):
    def attend(x, weights, number):
        y, cache.layers[number] = attended(x, weights, n_heads, cache.layers[number])
        if number > 0:
            cache.layers[number] = None
        return y

    return by_layer(tokens_new, cache, params, n_heads, attend)


@mistake("kv_only_last_layer", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("Only the last layer has a memory; the others see the new tokens alone.")
@hint("How many keys are there in each layer after five tokens?")
def kv_only_last_layer_decoder(tokens_new, cache, params, n_heads):
    def attend(x, weights, number):
        y, cache.layers[number] = attended(x, weights, n_heads, cache.layers[number])
        if number + 1 < len(params["blocks"]):
            cache.layers[number] = None
        return y

    return by_layer(tokens_new, cache, params, n_heads, attend)


@mistake("np_hardcoded_size", "decoder_step", also={"new_decoder_cache": "two_slots"})
@says("There is room for the keys of two layers, and all above the second share its place.")
@hint("What does your cache look like for a decoder of four layers?")
def kv_room_for_two_layers_decoder(tokens_new, cache, params, n_heads):
    memory = Memory(0)
    memory.length = 0 if cache[0] is None else cache[0][0].shape[-2]
    slots = list(cache)

    def attend(x, weights, number):
        y, slots[min(number, 1)] = attended(x, weights, n_heads, cache[min(number, 1)])
        return y

    return by_layer(tokens_new, memory, params, n_heads, attend)[0], slots


@mistake("stack_shared_weights", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("The first block's parameters are used in every layer.")
@hint('Which entry of `params["blocks"]` does the second layer read?')
def stack_shared_weights_decoder(tokens_new, cache, params, n_heads):
    blocks = [params["blocks"][0]] * len(params["blocks"])
    return stepped(tokens_new, cache, {**params, "blocks": blocks}, n_heads)


@mistake("stack_reversed_or_short", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("The blocks are run in the opposite order.")
@hint("Which block reads the embeddings?")
def stack_reversed_cached(tokens_new, cache, params, n_heads):
    return stepped(tokens_new, cache, {**params, "blocks": params["blocks"][::-1]}, n_heads)


@mistake("stack_reversed_or_short", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("The last block is left out.")
@hint("How many blocks does a token go through?")
def stack_short_decoder(tokens_new, cache, params, n_heads):
    return stepped(tokens_new, cache, {**params, "blocks": params["blocks"][:-1]}, n_heads)


@mistake("stack_not_chained", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("Keys and values of all layers are made from the embeddings.")
@hint("What does the second layer read?")
def stack_keys_of_embeddings_decoder(tokens_new, cache, params, n_heads):
    refuse_too_long(cache.length + tokens_new.shape[-1], params)
    first = x = placed(tokens_new, cache.length, params)
    cache.length += tokens_new.shape[-1]
    for number, block in enumerate(params["blocks"]):
        weights = block["attention"]
        (q,) = projected(normed(x, block["ln_1"]), weights, n_heads, "q")
        new = projected(normed(first, block["ln_1"]), weights, n_heads, "kv")
        k, v = cache.layers[number] = joined(cache.layers[number], *new)
        x = half_block(x + looked_up(q, k, v, weights, causal(q, k)), block)
    return head(x, params), cache


@mistake("stack_no_final_norm", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("The last norm, ln_f, is left out.")
@hint("Which parameters of the decoder does your function never read?")
def stack_no_final_norm_cached(tokens_new, cache, params, n_heads):
    refuse_too_long(cache.length + tokens_new.shape[-1], params)
    x = placed(tokens_new, cache.length, params)
    cache.length += tokens_new.shape[-1]
    return linear(through(x, cache, params, n_heads), params["embedding"].T), cache


@mistake("block_norm_shared_or_skipped", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("ln_1 is used before the feed-forward network too, where ln_2 belongs.")
@hint("Which parameters of a block does your function never read?")
def block_norm_shared_decoder(tokens_new, cache, params, n_heads):
    blocks = [{**block, "ln_2": block["ln_1"]} for block in params["blocks"]]
    return stepped(tokens_new, cache, {**params, "blocks": blocks}, n_heads)


@mistake("block_norm_shared_or_skipped", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("Attention reads the stream as it is: ln_1 is left out, for queries, keys and values.")
@hint("Which parameters of a block does your function never read?")
def block_norm_1_skipped_decoder(tokens_new, cache, params, n_heads):
    refuse_too_long(cache.length + tokens_new.shape[-1], params)
    x = placed(tokens_new, cache.length, params)
    cache.length += tokens_new.shape[-1]
    for number, block in enumerate(params["blocks"]):
        y, cache.layers[number] = attended(x, block["attention"], n_heads, cache.layers[number])
        x = half_block(x + y, block)
    return head(x, params), cache


@mistake("block_norm_shared_or_skipped", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("The feed-forward network reads the stream as it is: ln_2 is left out.")
@hint("Which parameters of a block does your function never read?")
def block_norm_2_skipped_decoder(tokens_new, cache, params, n_heads):
    refuse_too_long(cache.length + tokens_new.shape[-1], params)
    x = placed(tokens_new, cache.length, params)
    cache.length += tokens_new.shape[-1]
    for number, block in enumerate(params["blocks"]):
        kept = cache.layers[number]
        y, kept = attended(normed(x, block["ln_1"]), block["attention"], n_heads, kept)
        x, cache.layers[number] = x + y, kept
        x = x + feed_forward(x, block["feed_forward"])
    return head(x, params), cache


@mistake("block_no_residual", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("The attention's output replaces the stream instead of being added to it.")
@hint("What is left of a token's own embedding after one layer?")
def block_no_residual_decoder(tokens_new, cache, params, n_heads):
    refuse_too_long(cache.length + tokens_new.shape[-1], params)
    x = placed(tokens_new, cache.length, params)
    cache.length += tokens_new.shape[-1]
    for number, block in enumerate(params["blocks"]):
        normal, kept = normed(x, block["ln_1"]), cache.layers[number]
        x, cache.layers[number] = attended(normal, block["attention"], n_heads, kept)
        x = half_block(x, block)
    return head(x, params), cache


@mistake("block_residual_from_norm", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("Attention is added to what ln_1 made of the stream, and not to the stream itself.")
@hint("Which array is normalised, and which one is added to?")
def block_residual_from_norm_decoder(tokens_new, cache, params, n_heads):
    refuse_too_long(cache.length + tokens_new.shape[-1], params)
    x = placed(tokens_new, cache.length, params)
    cache.length += tokens_new.shape[-1]
    for number, block in enumerate(params["blocks"]):
        normal, kept = normed(x, block["ln_1"]), cache.layers[number]
        y, cache.layers[number] = attended(normal, block["attention"], n_heads, kept)
        x = half_block(normal + y, block)
    return head(x, params), cache


@mistake("block_second_residual_from_input", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("The second sum of a block starts from its input again, so what attention added is lost.")
@hint("To what is the feed-forward network's result added?")
def block_second_residual_decoder(tokens_new, cache, params, n_heads):
    refuse_too_long(cache.length + tokens_new.shape[-1], params)
    x = placed(tokens_new, cache.length, params)
    cache.length += tokens_new.shape[-1]
    for number, block in enumerate(params["blocks"]):
        normal, kept = normed(x, block["ln_1"]), cache.layers[number]
        y, cache.layers[number] = attended(normal, block["attention"], n_heads, kept)
        x = x + feed_forward(normed(x + y, block["ln_2"]), block["feed_forward"])
    return head(x, params), cache


@mistake("block_no_residual", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("The feed-forward network's output replaces the stream instead of being added to it.")
@hint("What is left of a token's own embedding after one layer?")
def block_no_second_residual_decoder(tokens_new, cache, params, n_heads):
    refuse_too_long(cache.length + tokens_new.shape[-1], params)
    x = placed(tokens_new, cache.length, params)
    cache.length += tokens_new.shape[-1]
    for number, block in enumerate(params["blocks"]):
        normal, kept = normed(x, block["ln_1"]), cache.layers[number]
        y, cache.layers[number] = attended(normal, block["attention"], n_heads, kept)
        x = feed_forward(normed(x + y, block["ln_2"]), block["feed_forward"])
    return head(x, params), cache


@mistake("wo_missing", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("The heads are merged, but w_o and b_o are not applied.")
@hint("Which parameters of attention does your function never read?")
def wo_missing_decoder(tokens_new, cache, params, n_heads):
    def attend(x, weights, n_heads, kept):
        q, k, v = projected(x, weights, n_heads)
        k, v = joined(kept, k, v)
        return merge_heads(attention(q, k, v, causal(q, k))), (k, v)

    return stepped(tokens_new, cache, params, n_heads, attend)


@mistake("proj_bias_dropped", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("The biases of queries, keys and values are left out.")
@hint("Which parameters of attention does your function never read?")
def proj_bias_dropped_decoder(tokens_new, cache, params, n_heads):
    def attend(x, weights, n_heads, kept):
        bare = {**weights, "b_q": None, "b_k": None, "b_v": None}
        return attended(x, bare, n_heads, kept)

    return stepped(tokens_new, cache, params, n_heads, attend)


# decoder_step: who is seen


@mistake("kv_mask_top_left", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("The mask is lower-left from the first key on, as if the new tokens were the first.")
@hint("With 1 query and 10 keys, what should the mask look like?")
def kv_mask_top_left_decoder(tokens_new, cache, params, n_heads):
    def attend(x, weights, n_heads, kept):
        top_left = lambda q, k: np.tri(q.shape[-2], k.shape[-2], dtype=bool)
        return attended(x, weights, n_heads, kept, top_left)

    return stepped(tokens_new, cache, params, n_heads, attend)


@mistake("kv_prefill_unmasked", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("There is no mask in any layer.")
@hint("Which tokens may the first token of the prompt see, and in which layers?")
def kv_never_masked_decoder(tokens_new, cache, params, n_heads):
    def attend(x, weights, n_heads, kept):
        return attended(x, weights, n_heads, kept, lambda q, k: None)

    return stepped(tokens_new, cache, params, n_heads, attend)


@mistake("kv_chunk_unmasked", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("Only the first chunk is masked: with something in the cache, all of a chunk is seen.")
@hint("Feed three new tokens at once after a prompt: what may the first of them see?")
def kv_chunk_unmasked_decoder(tokens_new, cache, params, n_heads):
    def attend(x, weights, n_heads, kept):
        mask_of = causal if kept is None else lambda q, k: None
        return attended(x, weights, n_heads, kept, mask_of)

    return stepped(tokens_new, cache, params, n_heads, attend)


@mistake("kv_prefill_unmasked", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("The first chunk is not masked, later ones are.")
@hint("Does the prompt obey the rule when it goes through in one piece?")
def kv_prefill_unmasked_decoder(tokens_new, cache, params, n_heads):
    def attend(x, weights, n_heads, kept):
        mask_of = (lambda q, k: None) if kept is None else causal
        return attended(x, weights, n_heads, kept, mask_of)

    return stepped(tokens_new, cache, params, n_heads, attend)


@mistake("mask_only_first_layer", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("Only the first layer is masked.")
@hint("What may the second layer of the first token look at?")
def mask_only_first_layer_decoder(tokens_new, cache, params, n_heads):
    def attend(x, weights, number):
        mask_of = causal if number == 0 else lambda q, k: None
        y, cache.layers[number] = attended(x, weights, n_heads, cache.layers[number], mask_of)
        return y

    return by_layer(tokens_new, cache, params, n_heads, attend)


@mistake("mask_only_last_layer", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("Only the last layer is masked.")
@hint("What has the layer below read when the last one reads its output?")
def mask_only_last_layer_decoder(tokens_new, cache, params, n_heads):
    last = len(params["blocks"]) - 1

    def attend(x, weights, number):
        mask_of = causal if number == last else lambda q, k: None
        y, cache.layers[number] = attended(x, weights, n_heads, cache.layers[number], mask_of)
        return y

    return by_layer(tokens_new, cache, params, n_heads, attend)


@mistake("mask_not_in_last_layer", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("All layers but the last are masked.")
@hint("What may the last layer of the first token look at?")
def mask_not_in_last_layer_decoder(tokens_new, cache, params, n_heads):
    last = len(params["blocks"]) - 1

    def attend(x, weights, number):
        mask_of = causal if number < last else lambda q, k: None
        y, cache.layers[number] = attended(x, weights, n_heads, cache.layers[number], mask_of)
        return y

    return by_layer(tokens_new, cache, params, n_heads, attend)


@mistake("kv_chunk_mask_local_offset", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("The triangle of the chunk lies over the oldest keys instead of the newest.")
@hint("How many keys does the first token of the second chunk see, and which?")
def kv_chunk_mask_local_offset_decoder(tokens_new, cache, params, n_heads):
    def attend(x, weights, n_heads, kept):
        turned = lambda q, k: np.roll(causal(q, k), q.shape[-2], axis=-1)
        return attended(x, weights, n_heads, kept, turned)

    return stepped(tokens_new, cache, params, n_heads, attend)


@mistake("kv_history_hidden_in_chunks", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("A chunk of several tokens sees itself only: its mask leaves out the history.")
@hint("How many keys does the first token of the second chunk see?")
def kv_history_hidden_in_chunks_decoder(tokens_new, cache, params, n_heads):
    def itself(q, k):
        t_q, t_k = q.shape[-2], k.shape[-2]
        return causal(q, k) & ((np.arange(t_k) >= t_k - t_q) | (t_q == 1))

    def attend(x, weights, n_heads, kept):
        return attended(x, weights, n_heads, kept, itself)

    return stepped(tokens_new, cache, params, n_heads, attend)


@mistake("mask_allows_one_future", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("Each token also sees the one after it in its chunk.")
@hint("Read the first row of your mask aloud: token 0 may look at ...")
def mask_allows_one_future_cached(tokens_new, cache, params, n_heads):
    def one_more(q, k):
        return np.tri(q.shape[-2], k.shape[-2], k.shape[-2] - q.shape[-2] + 1, dtype=bool)

    def attend(x, weights, n_heads, kept):
        return attended(x, weights, n_heads, kept, one_more)

    return stepped(tokens_new, cache, params, n_heads, attend)


@mistake("ln_over_time", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("The last norm takes its mean and variance over the tokens of the chunk.")
@hint("Along which axis does the norm compute its mean?")
def ln_over_time_decoder(tokens_new, cache, params, n_heads):
    refuse_too_long(cache.length + tokens_new.shape[-1], params)
    x = placed(tokens_new, cache.length, params)
    cache.length += tokens_new.shape[-1]
    x = through(x, cache, params, n_heads)
    centred = x - x.mean(axis=-2, keepdims=True)
    x = centred / np.sqrt((centred**2).mean(axis=-2, keepdims=True) + 1e-5)
    x = x * params["ln_f"]["gain"] + params["ln_f"]["bias"]
    return linear(x, params["embedding"].T), cache


@mistake("np_hardcoded_size", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("A token sees the last eight tokens at most.")
@hint("Which numbers in your code come from the example?")
def mask_window_of_eight_decoder(tokens_new, cache, params, n_heads):
    def window(q, k):
        t_q, t_k = q.shape[-2], k.shape[-2]
        return causal(q, k) & ~np.tri(t_q, t_k, t_k - t_q - 8, dtype=bool)

    def attend(x, weights, n_heads, kept):
        return attended(x, weights, n_heads, kept, window)

    return stepped(tokens_new, cache, params, n_heads, attend)


# decoder_step: positions


@mistake("kv_pos_zero", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("Positions start at 0 again in every call.")
@hint("Which row of the position table does the fifth token get, if it comes alone?")
def kv_pos_zero_decoder(tokens_new, cache, params, n_heads):
    return stepped(tokens_new, cache, params, n_heads, start=0)


@mistake("pos_missing", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("The positions are never added to the embeddings.")
@hint("What tells the model which of two equal tokens came first?")
def pos_missing_cached(tokens_new, cache, params, n_heads):
    return stepped_on(params["embedding"][tokens_new], cache, params, n_heads)


@mistake("kv_pos_skipped_for_len1", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("A token that is fed alone gets no position.")
@hint("Does a single token still have a place in the text?")
def kv_pos_skipped_for_len1_decoder(tokens_new, cache, params, n_heads):
    refuse_too_long(cache.length + tokens_new.shape[-1], params)
    x = params["embedding"][tokens_new]
    x = placed(tokens_new, cache.length, params) if tokens_new.shape[-1] > 1 else x
    return stepped_on(x, cache, params, n_heads)


@mistake("kv_pos_off_by_one", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("After the first call, tokens get a position that is one too high.")
@hint("When does the count of tokens change, before or after it is used?")
def kv_pos_one_too_high_decoder(tokens_new, cache, params, n_heads):
    refuse_too_long(cache.length + tokens_new.shape[-1], params)
    table = {**params, "position": np.roll(params["position"], -1 if cache.length else 0, axis=0)}
    return stepped_on(placed(tokens_new, cache.length, table), cache, params, n_heads)


@mistake("kv_pos_off_by_one", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("After the first call, tokens get a position that is one too low.")
@hint("Which position does the first token of the second call get?")
def kv_pos_one_too_low_decoder(tokens_new, cache, params, n_heads):
    return stepped(tokens_new, cache, params, n_heads, start=max(cache.length - 1, 0))


@mistake("kv_pos_off_by_one", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("The count of tokens grows once in every layer instead of once in every call.")
@hint("After one call with three tokens, what is the count, and does it depend on the layers?")
def kv_pos_counted_per_layer_decoder(tokens_new, cache, params, n_heads):
    refuse_too_long(cache.length + tokens_new.shape[-1], params)
    start = cache.length * len(params["blocks"])
    rows = (start + np.arange(tokens_new.shape[-1])) % len(params["position"])
    x = params["embedding"][tokens_new] + params["position"][rows]
    return stepped_on(x, cache, params, n_heads)


@mistake("kv_pos_off_by_one", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("The count of tokens grows once in every layer: positions jump, and T_max comes too soon.")
@hint("After one call with three tokens, what is the count, and does it depend on the layers?")
def kv_count_grows_in_layers_decoder(tokens_new, cache, params, n_heads):
    grown = cache.length + len(params["blocks"]) * tokens_new.shape[-1]
    logits, cache = stepped(tokens_new, cache, params, n_heads)
    cache.length = grown
    return logits, cache


@mistake("kv_pos_off_by_one", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("The count of tokens grows once in every layer, so the mask has more keys than there are.")
@hint("After one call with three tokens, what is the count, and does it depend on the layers?")
def kv_count_grows_under_one_mask_decoder(tokens_new, cache, params, n_heads):
    grown = cache.length + len(params["blocks"]) * tokens_new.shape[-1]
    attend = under_one_mask(tokens_new, cache.length)
    logits, cache = stepped(tokens_new, cache, params, n_heads, attend)
    cache.length = grown
    return logits, cache


@mistake("kv_pos_jump", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("The position grows by the length of the first chunk in every call.")
@hint("By how much does the count grow when one token comes after a prompt of five?")
def kv_pos_jump_decoder(tokens_new, cache, params, n_heads):
    refuse_too_long(cache.length + tokens_new.shape[-1], params)
    cache.first = getattr(cache, "first", tokens_new.shape[-1])
    cache.calls = getattr(cache, "calls", -1) + 1
    start = cache.calls * cache.first
    rows = (start + np.arange(tokens_new.shape[-1])) % len(params["position"])
    x = params["embedding"][tokens_new] + params["position"][rows]
    return stepped_on(x, cache, params, n_heads)


@mistake("kv_counts_calls", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("The position grows by one in each call, however many tokens come.")
@hint("By how much does the count grow when five tokens come at once?")
def kv_counts_calls_decoder(tokens_new, cache, params, n_heads):
    cache.calls = getattr(cache, "calls", -1) + 1
    return stepped(tokens_new, cache, params, n_heads, start=cache.calls)


@mistake("kv_counts_calls", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("Calls are counted, not tokens: after a chunk of several the mask is too narrow.")
@hint("By how much does the number of tokens so far grow with a chunk of three?")
def kv_counts_calls_under_one_mask_decoder(tokens_new, cache, params, n_heads):
    length = cache.length
    attend = under_one_mask(tokens_new, length)
    logits, cache = stepped(tokens_new, cache, params, n_heads, attend)
    cache.length = length + 1
    return logits, cache


@mistake("kv_length_not_summed", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("Positions go on from the length of the last chunk instead of all chunks together.")
@hint("Print the count of tokens after each of three steps.")
def kv_length_not_summed_decoder(tokens_new, cache, params, n_heads):
    start = getattr(cache, "last", 0)
    cache.last = tokens_new.shape[-1]
    return stepped(tokens_new, cache, params, n_heads, start=start)


@mistake("kv_length_wrong_axis", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("The number of old tokens is read from the axis of the heads.")
@hint("Which axis of a stored key grows from call to call?")
def kv_length_is_heads_decoder(tokens_new, cache, params, n_heads):
    start = 0 if cache.layers[0] is None else cache.layers[0][0].shape[-3]
    return stepped(tokens_new, cache, params, n_heads, start=start)


@mistake("lm_position_from_end", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("A chunk gets the last rows of the position table.")
@hint("Which row of the table belongs to the first token of a text?")
def lm_position_from_end_decoder(tokens_new, cache, params, n_heads):
    start = len(params["position"]) - tokens_new.shape[-1]
    return stepped(tokens_new, cache, params, n_heads, start=start)


# decoder_step: who shares a cache


@mistake("kv_global_state", "decoder_step", also={"new_decoder_cache": "shared_dict_memory"})
@says("Every new cache is the same dict, with what is already in it.")
@hint("Make two caches and write into one: what is in the other?")
def kv_global_state_decoder(tokens_new, cache, params, n_heads):
    return in_dict(tokens_new, cache, params, n_heads), cache


@mistake("kv_global_state", "decoder_step", also={"new_decoder_cache": "default_argument_memory"})
@says("What a new cache holds is made only once, so all caches share it.")
@hint("How often does Python run a line outside of all functions, or a default argument?")
def kv_global_state_default_decoder(tokens_new, cache, params, n_heads):
    memory = {"layers": cache["layers"], "length": sum(cache["lengths"])}
    logits = in_dict(tokens_new, memory, params, n_heads)
    cache["lengths"].append(tokens_new.shape[-1])
    return logits, cache


@mistake("kv_global_state", "decoder_step", also={"new_decoder_cache": "newest_memory_only"})
@says("Keys and values live in the module, where a new cache clears them for everyone.")
@hint("Make two caches and use them in turn: does each remember its own text?")
def kv_global_state_newest_decoder(tokens_new, cache, params, n_heads):
    return in_dict(tokens_new, newest_memory, params, n_heads), cache


@mistake("np_returns_alias", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("Every result of one shape is written into the same array.")
@hint("Keep the logits of one call, make another call, and look at the first ones again.")
def np_returns_alias_decoder(tokens_new, cache, params, n_heads):
    logits, cache = stepped(tokens_new, cache, params, n_heads)
    buffer = kept_results.setdefault((logits.shape, logits.dtype), np.empty_like(logits))
    buffer[...] = logits
    return buffer, cache


@mistake("kv_alias_view", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("What is stored are views of arrays that the next call for another text overwrites.")
@hint("Is what you have stored a copy, or a window onto an array that is used again?")
def kv_alias_view_decoder(tokens_new, cache, params, n_heads):
    def attend(x, weights, number):
        y, kept = attended(x, weights, n_heads, cache.layers[number])
        names = [("kv", number, part, kept[0].shape, kept[0].dtype) for part in (0, 1)]
        rooms = [kept_results.setdefault(name, np.empty_like(kept[0])) for name in names]
        for room, part in zip(rooms, kept, strict=True):
            room[...] = part
        cache.layers[number] = rooms
        return y

    return by_layer(tokens_new, cache, params, n_heads, attend)


@mistake("kv_shared_across_batch", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("All texts of a batch remember the keys and values of the first one.")
@hint("Whose memory does the second text of a batch look into?")
def kv_shared_across_batch_decoder(tokens_new, cache, params, n_heads):
    def attend(x, weights, n_heads, kept):
        y, kept = attended(x, weights, n_heads, kept)
        if x.ndim > 2:
            kept = [np.broadcast_to(part[:1], part.shape) for part in kept]
        return y, kept

    return stepped(tokens_new, cache, params, n_heads, attend)


# decoder_step: shapes and numbers


@mistake("kv_joined_on_second_axis", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("New keys are joined to the old ones on an axis counted from the front.")
@hint("With two batch axes, which axis of a layer's cache grows?")
def kv_joined_on_counted_axis_decoder(tokens_new, cache, params, n_heads):
    def attend(x, weights, n_heads, kept):
        q, k, v = projected(x, weights, n_heads)
        if kept is not None:
            axis = min(2, k.ndim - 2)
            k, v = np.concatenate([kept[0], k], axis), np.concatenate([kept[1], v], axis)
        return looked_up(q, k, v, weights, causal(q, k)), (k, v)

    return stepped(tokens_new, cache, params, n_heads, attend)


@mistake("kv_batch_required", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("There must be exactly one batch axis.")
@hint("How many batch axes may tokens_new have?")
def kv_batch_required_decoder(tokens_new, cache, params, n_heads):
    batch, t_new = tokens_new.shape
    logits, cache = stepped(tokens_new, cache, params, n_heads)
    return logits.reshape(batch, t_new, -1), cache


@mistake("np_squeeze_kills_axis", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("Axes of size one disappear from the logits, such as that of a single token.")
@hint("What is the shape of your logits for one new token?")
def np_squeeze_kills_axis_cached(tokens_new, cache, params, n_heads):
    logits, cache = stepped(tokens_new, cache, params, n_heads)
    return np.squeeze(logits), cache


@mistake("kv_returns_last_row", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("Only the logits of the last new token are returned.")
@hint("How many rows should come back for three new tokens?")
def kv_returns_last_row_decoder(tokens_new, cache, params, n_heads):
    logits, cache = stepped(tokens_new, cache, params, n_heads)
    return logits[..., -1:, :], cache


@mistake("logits_softmaxed", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("Probabilities are returned instead of logits.")
@hint("Where does the softmax over the vocabulary belong, and who computes it?")
def logits_softmaxed_decoder(tokens_new, cache, params, n_heads):
    logits, cache = stepped(tokens_new, cache, params, n_heads)
    return softmax(logits), cache


@mistake("mask_fill_too_weak", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("Blocked scores become −100, which beats allowed scores that are lower still.")
@hint("Is there a score so low that your fill value still wins against it?")
def mask_fill_too_weak_decoder(tokens_new, cache, params, n_heads):
    def attend(x, weights, n_heads, kept):
        q, k, v = projected(x, weights, n_heads)
        k, v = joined(kept, k, v)
        scores = np.where(causal(q, k), attention_scores(q, k), -100.0)
        return mixed(softmax(scores) @ v, weights), (k, v)

    return stepped(tokens_new, cache, params, n_heads, attend)


@mistake("softmax_no_max", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("The exponential of a large score overflows.")
@hint("Try scores of a thousand, and ask what you may subtract from a whole row.")
def softmax_no_max_cached(tokens_new, cache, params, n_heads):
    def attend(x, weights, n_heads, kept):
        q, k, v = projected(x, weights, n_heads)
        k, v = joined(kept, k, v)
        e = np.exp(apply_mask(attention_scores(q, k), causal(q, k)))
        return mixed(e / e.sum(axis=-1, keepdims=True) @ v, weights), (k, v)

    return stepped(tokens_new, cache, params, n_heads, attend)


@mistake("softmax_fixed_shift", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("200 is taken from every score instead of the largest score of its row.")
@hint("What is left of exp(-200) in float32, and which number suits every row?")
def softmax_fixed_shift_decoder(tokens_new, cache, params, n_heads):
    def attend(x, weights, n_heads, kept):
        q, k, v = projected(x, weights, n_heads)
        k, v = joined(kept, k, v)
        e = np.exp(apply_mask(attention_scores(q, k), causal(q, k)) - 200)
        return mixed(e / e.sum(axis=-1, keepdims=True) @ v, weights), (k, v)

    return stepped(tokens_new, cache, params, n_heads, attend)


@mistake("np_input_mutated", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("Each block is taken out of the caller's list when it has been used.")
@hint("What is left in `params` after your function has returned?")
def np_blocks_popped_decoder(tokens_new, cache, params, n_heads):
    blocks = params["blocks"]
    logits, cache = stepped(tokens_new, cache, {**params, "blocks": list(blocks)}, n_heads)
    blocks.clear()
    return logits, cache


@mistake("np_input_mutated", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("The scale is divided into the caller's query weights, once more in every call.")
@hint("Look for an assignment that changes an array which your function was only lent.")
def np_scale_in_weights_decoder(tokens_new, cache, params, n_heads):
    def attend(x, weights, n_heads, kept):
        q, k, v = projected(x, weights, n_heads)
        k, v = joined(kept, k, v)
        y = looked_up(q, k, v, weights, causal(q, k))
        weights["w_q"] /= np.sqrt(q.shape[-1])
        return y, (k, v)

    return stepped(tokens_new, cache, params, n_heads, attend)


# decoder_step: limits


@mistake("lm_full_table_refused", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("A text that just fits into the position table is refused.")
@hint("Is a text allowed that uses every row of the table of positions?")
def lm_full_table_refused_decoder(tokens_new, cache, params, n_heads):
    refuse_too_long(cache.length + tokens_new.shape[-1] + 1, params)
    return stepped(tokens_new, cache, params, n_heads)


@mistake("kv_limit_forgets_the_past", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("Only the new tokens are counted against T_max, and later ones share the last position.")
@hint("Does the position table care in how many calls a text came?")
def kv_limit_forgets_the_past_decoder(tokens_new, cache, params, n_heads):
    refuse_too_long(tokens_new.shape[-1], params)
    rows = cache.length + np.arange(tokens_new.shape[-1])
    rows = np.minimum(rows, len(params["position"]) - 1)
    cache.length += tokens_new.shape[-1]
    x = params["embedding"][tokens_new] + params["position"][rows]
    return head(through(x, cache, params, n_heads), params), cache


@mistake("kv_limit_forgets_the_past", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("Only the new tokens are counted against T_max: a long text runs out of positions.")
@hint("How many rows does a slice have that begins at the end of the table?")
def kv_limit_left_to_slices_decoder(tokens_new, cache, params, n_heads):
    refuse_too_long(tokens_new.shape[-1], params)
    x = placed(tokens_new, cache.length, params)
    cache.length += tokens_new.shape[-1]
    return head(through(x, cache, params, n_heads), params), cache


@mistake("kv_limit_forgets_the_past", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("Only the new tokens are counted against T_max: a long text runs out of positions.")
@hint("How many rows does a slice have that begins at the end of the table?")
def kv_limit_left_to_slices_under_one_mask_decoder(tokens_new, cache, params, n_heads):
    refuse_too_long(tokens_new.shape[-1], params)
    attend = under_one_mask(tokens_new, cache.length)
    x = placed(tokens_new, cache.length, params)
    cache.length += tokens_new.shape[-1]
    return head(through(x, cache, params, n_heads, attend), params), cache


@mistake("pos_not_checked", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("The length is not checked, and a single position left is stretched over a whole chunk.")
@hint("What does NumPy do with 1 row plus 3 rows, and what with 2 rows plus 3?")
def pos_not_checked_cached(tokens_new, cache, params, n_heads):
    x = placed(tokens_new, cache.length, params)
    cache.length += tokens_new.shape[-1]
    return head(through(x, cache, params, n_heads), params), cache


@mistake("pos_not_checked", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("The length is not checked, and a single position left is stretched over a whole chunk.")
@hint("What does NumPy do with 1 row plus 3 rows, and what with 2 rows plus 3?")
def pos_not_checked_under_one_mask(tokens_new, cache, params, n_heads):
    attend = under_one_mask(tokens_new, cache.length)
    x = placed(tokens_new, cache.length, params)
    cache.length += tokens_new.shape[-1]
    return head(through(x, cache, params, n_heads, attend), params), cache


@mistake("gen_position_overflow", "decoder_step", also={"new_decoder_cache": "Memory"})
@says("A text that is too long ends in an IndexError instead of a ValueError.")
@hint("Which kind of error does the docstring name for a text that is too long?")
def kv_position_index_error_decoder(tokens_new, cache, params, n_heads):
    rows = cache.length + np.arange(tokens_new.shape[-1])
    x = params["embedding"][tokens_new] + params["position"][rows]
    cache.length += tokens_new.shape[-1]
    return head(through(x, cache, params, n_heads), params), cache


# decoder_step: what is computed again. These use the cache of the solution.


@mistake("kv_no_speedup", "decoder_step")
@says("Only the tokens are kept, and the whole text goes through the decoder every time.")
@hint("How much does the hundredth token cost, compared with the tenth?")
def kv_keeps_tokens_decoder(tokens_new, cache, params, n_heads):
    kept = cache.get("tokens")
    tokens = tokens_new if kept is None else np.concatenate([kept, tokens_new], axis=-1)
    logits = decoder_logits(tokens, params, n_heads)
    return logits[..., -tokens_new.shape[-1] :, :], {"tokens": tokens}


@mistake("kv_no_speedup", "decoder_step")
@says("The inputs of every layer are kept, and their keys and values are computed again.")
@hint("What does your cache hold: results of the projections, or what goes into them?")
def kv_keeps_inputs_decoder(tokens_new, cache, params, n_heads):
    refuse_too_long(cache["length"] + tokens_new.shape[-1], params)
    x = placed(tokens_new, cache["length"], params)
    layers = []
    for kept, block in zip(cache["layers"], params["blocks"], strict=True):
        new, weights = normed(x, block["ln_1"]), block["attention"]
        layers.append(new if kept is None else np.concatenate([kept, new], axis=-2))
        q, _, _ = projected(new, weights, n_heads)
        _, k, v = projected(layers[-1], weights, n_heads)
        x = half_block(x + looked_up(q, k, v, weights, causal(q, k)), block)
    cache = {"length": cache["length"] + tokens_new.shape[-1], "layers": layers}
    return head(x, params), cache


# decoder_generate: the loop


@mistake("gen_wrong_position_logits", "decoder_generate")
@says("The next token is read from the first position of what was fed.")
@hint("Which position knows the whole prompt?")
def gen_wrong_position_logits_writing(
    prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None
):
    def feed(tokens, start, cache, params, n_heads):
        logits, cache = decoder_step(tokens, cache, params, n_heads)
        return logits[..., 0, :], cache

    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    return continued(prompt, n_new, chooser(temperature, top_k, u), params, n_heads, feed)


@mistake("gen_top_k_default", "decoder_generate")
@says("top_k is 50 unless it is given.")
@hint("Which tokens may be drawn if the caller says nothing of top_k?")
def gen_top_k_fifty(prompt, n_new, params, n_heads, temperature=0.0, top_k=50, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    return continued(prompt, n_new, chooser(temperature, top_k, u), params, n_heads, feed)


@mistake("gen_wrong_position_logits", "decoder_generate")
@says("The last entry of the first axis is read, which is the batch when there is one.")
@hint("Which axis of the logits is time when there is a batch?")
def gen_last_of_batch_writing(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    def feed(tokens, start, cache, params, n_heads):
        logits, cache = decoder_step(tokens, cache, params, n_heads)
        return logits[-1], cache

    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    return continued(prompt, n_new, chooser(temperature, top_k, u), params, n_heads, feed)


@mistake("gen_token_not_appended", "decoder_generate")
@says("Every token is chosen from the logits of the prompt alone.")
@hint("What has changed between two rounds of your loop?")
def gen_token_not_appended_writing(
    prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None
):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    logits, _ = fed(prompt, 0, new_decoder_cache(len(params["blocks"])), params, n_heads)
    choose = chooser(temperature, top_k, u)
    return continued(prompt, n_new, lambda _, i: choose(logits, i), params, n_heads)


@mistake("gen_only_last_token_without_cache", "decoder_generate")
@says("Each new token is fed with an empty cache, so the text before it is forgotten.")
@hint("Where is the context kept while only one token is fed?")
def gen_only_last_token_without_cache_writing(
    prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None
):
    def feed(tokens, start, cache, params, n_heads):
        return fed(tokens, start, new_decoder_cache(len(params["blocks"])), params, n_heads)

    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    return continued(prompt, n_new, chooser(temperature, top_k, u), params, n_heads, feed)


@mistake("gen_full_sequence_with_cache", "decoder_generate")
@says("The whole text is fed again in every step, into a cache that has it already.")
@hint("How many keys should a layer have after n tokens, and how many are there?")
def gen_full_sequence_with_cache_writing(
    prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None
):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    tokens, choose = np.array(prompt, dtype=np.int64), chooser(temperature, top_k, u)
    cache = new_decoder_cache(len(params["blocks"]))
    for i in range(n_new):
        logits, cache = fed(tokens, 0, cache, params, n_heads)
        tokens = np.concatenate([tokens, np.asarray(choose(logits, i))[..., None]], axis=-1)
    return tokens


@mistake("gen_last_prompt_token_twice", "decoder_generate")
@says("The last token of the prompt is fed once with the prompt and once more alone.")
@hint("Write down which tokens are in the cache before the first one is chosen.")
def gen_last_prompt_token_twice_writing(
    prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None
):
    def feed(tokens, start, cache, params, n_heads):
        if start == 0:
            _, cache = decoder_step(tokens, cache, params, n_heads)
        return fed(tokens[..., -1:], start, cache, params, n_heads)

    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    return continued(prompt, n_new, chooser(temperature, top_k, u), params, n_heads, feed)


@mistake("gen_prompt_last_token_only", "decoder_generate")
@says("Only the last token of the prompt is fed, so the others are never read.")
@hint("Which tokens are in the cache when the first new one is chosen?")
def gen_prompt_last_token_only_writing(
    prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None
):
    def feed(tokens, start, cache, params, n_heads):
        return fed(tokens[..., -1:], start, cache, params, n_heads)

    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    return continued(prompt, n_new, chooser(temperature, top_k, u), params, n_heads, feed)


@mistake("kv_no_speedup", "decoder_generate")
@says("The whole text goes through the decoder again for every new token.")
@hint("How much does the hundredth token cost, compared with the tenth?")
def gen_recomputes_everything_writing(
    prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None
):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    tokens, choose = np.array(prompt, dtype=np.int64), chooser(temperature, top_k, u)
    for i in range(n_new):
        logits = decoder_logits(tokens, params, n_heads)[..., -1, :]
        tokens = np.concatenate([tokens, np.asarray(choose(logits, i))[..., None]], axis=-1)
    return tokens


@mistake("kv_no_speedup", "decoder_generate")
@says("A new cache is filled with the whole text for every new token.")
@hint("How many tokens are fed in the hundredth step?")
def gen_new_cache_every_step_writing(
    prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None
):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    tokens, choose = np.array(prompt, dtype=np.int64), chooser(temperature, top_k, u)
    for i in range(n_new):
        cache = new_decoder_cache(len(params["blocks"]))
        logits, _ = fed(tokens, 0, cache, params, n_heads)
        tokens = np.concatenate([tokens, np.asarray(choose(logits, i))[..., None]], axis=-1)
    return tokens


@mistake("gen_cache_for_heads", "decoder_generate")
@says("The cache is made for as many layers as there are heads.")
@hint("Which part of the decoder has a cache of its own, and how many of them are there?")
def gen_cache_for_heads_writing(
    prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None
):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    small = new_decoder_cache(n_heads)

    def feed(tokens, start, cache, params, n_heads):
        return fed(tokens, start, cache if start else small, params, n_heads)

    return continued(prompt, n_new, chooser(temperature, top_k, u), params, n_heads, feed)


@mistake("np_module_state", "decoder_generate")
@says("The cache is made once, so the next text is written after the last one.")
@hint("Where in your code is the cache made, and how often does that line run?")
def np_module_state_writing(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    def feed(tokens, start, cache, params, n_heads):
        cache = kept_results.setdefault("cache", cache)
        logits, kept_results["cache"] = fed(tokens, start, cache, params, n_heads)
        return logits, None

    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    return continued(prompt, n_new, chooser(temperature, top_k, u), params, n_heads, feed)


@mistake("np_input_mutated", "decoder_generate")
@says("The position table is taken out of the caller's dict.")
@hint("What is left in `params` after your function has returned?")
def np_params_popped_writing(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    own = {**params, "position": params.pop("position")}
    return continued(prompt, n_new, chooser(temperature, top_k, u), own, n_heads)


@mistake("gen_temperature_fades", "decoder_generate")
@says("The temperature falls towards the end, so it depends on how many tokens come.")
@hint("Should an early token change because more tokens were asked for?")
def gen_temperature_fades_writing(
    prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None
):
    def choose(logits, i):
        return chooser(temperature * (1 - i / n_new), top_k, u)(logits, i)

    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    return continued(prompt, n_new, choose, params, n_heads)


@mistake("gen_u_reversed", "decoder_generate")
@says("The numbers in u are used from the last to the first.")
@hint("Which number of u belongs to the first new token?")
def gen_u_reversed_writing(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    turned = None if u is None else u[..., ::-1]
    return continued(prompt, n_new, chooser(temperature, top_k, turned), params, n_heads)


@mistake("gen_one_u_for_all", "decoder_generate")
@says("The first number in u is used for every new token.")
@hint("How many numbers does u hold for one text, and how many of them are used?")
def gen_one_u_for_all_steps_writing(
    prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None
):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    choose = chooser(temperature, top_k, u)
    return continued(prompt, n_new, lambda logits, _: choose(logits, 0), params, n_heads)


@mistake("gen_always_greedy", "decoder_generate")
@says("temperature and u are not passed on, so every choice is greedy.")
@hint("Follow the arguments `temperature` and `u`: where do they end up?")
def gen_always_greedy_writing(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    return continued(prompt, n_new, chooser(0.0, top_k, None), params, n_heads)


@mistake("gen_topk_ignored", "decoder_generate")
@says("top_k is not passed on to the sampling.")
@hint("Follow the argument `top_k`: where does it end up?")
def gen_topk_ignored_writing(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    return continued(prompt, n_new, chooser(temperature, None, u), params, n_heads)


@mistake("gen_topk_needs_batch", "decoder_generate")
@says("top_k is used for a batch only, not for a prompt without a batch axis.")
@hint("Which shapes of prompt have you sampled from with top_k?")
def gen_topk_needs_batch_writing(
    prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None
):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    used = top_k if prompt.ndim > 1 else None
    return continued(prompt, n_new, chooser(temperature, used, u), params, n_heads)


@mistake("gen_topk_above_vocabulary", "decoder_generate")
@says("A top_k above the size of the vocabulary is refused.")
@hint("How many tokens are left if more are to be kept than there are?")
def gen_topk_above_refused_writing(
    prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None
):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    if top_k is not None and top_k > len(params["embedding"]):
        raise ValueError("top_k is more than the vocabulary holds")
    return continued(prompt, n_new, chooser(temperature, top_k, u), params, n_heads)


@mistake("gen_topk_above_vocabulary", "decoder_generate")
@says("With a top_k above the size of the vocabulary only the largest logit is kept.")
@hint("How many tokens are left if more are to be kept than there are?")
def gen_topk_above_keeps_one_writing(
    prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None
):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    used = 1 if top_k is not None and top_k > len(params["embedding"]) else top_k
    return continued(prompt, n_new, chooser(temperature, used, u), params, n_heads)


@mistake("gen_u_second_axis", "decoder_generate")
@says("The numbers for a token are read along u's second axis, which is not always the last.")
@hint("Which axis of u counts the new tokens if there are two batch axes?")
def gen_u_second_axis_writing(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)

    def choose(logits, i):
        if u is None or u.ndim < 2:
            return chooser(temperature, top_k, u)(logits, i)
        return sample_token(logits, u[:, i], temperature, top_k)

    return continued(prompt, n_new, choose, params, n_heads)


@mistake("gen_temperature_ignored", "decoder_generate")
@says("Every temperature above zero is treated as one.")
@hint("Follow the argument `temperature`: what does it change?")
def gen_temperature_ignored_writing(
    prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None
):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    used = 1.0 if temperature > 0 else temperature
    return continued(prompt, n_new, chooser(used, top_k, u), params, n_heads)


@mistake("gen_temperature_misapplied", "decoder_generate")
@says("A temperature below one is treated as one.")
@hint("Which temperatures does the table treat in a way of their own?")
def gen_temperature_below_one_ignored_writing(
    prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None
):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    used = max(temperature, 1.0) if temperature > 0 else 0.0
    return continued(prompt, n_new, chooser(used, top_k, u), params, n_heads)


@mistake("gen_temperature_misapplied", "decoder_generate")
@says("A temperature above one is treated as one.")
@hint("Which temperatures does the table treat in a way of their own?")
def gen_temperature_above_one_ignored_writing(
    prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None
):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    used = min(temperature, 1.0)
    return continued(prompt, n_new, chooser(used, top_k, u), params, n_heads)


@mistake("gen_global_rng", "decoder_generate")
@says("NumPy's global random numbers are used instead of u.")
@hint("Which random numbers were you given, and which do you use?")
def gen_global_rng_writing(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    own = np.random.rand(*prompt.shape[:-1], n_new)
    return continued(prompt, n_new, chooser(temperature, top_k, own), params, n_heads)


@mistake("gen_zero_ends_text", "decoder_generate")
@says("After token 0 a text is filled up with zeros, as if 0 meant its end.")
@hint("Does the docstring give any token a special meaning?")
def gen_zero_ends_text_writing(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    choose = chooser(temperature, top_k, u)
    ended = np.zeros(prompt.shape[:-1], dtype=bool)

    def choose_until_zero(logits, i):
        ids = np.where(ended, 0, choose(logits, i))
        ended[...] = ids == 0
        return ids

    return continued(prompt, n_new, choose_until_zero, params, n_heads)


@mistake("gen_length_off_by_one", "decoder_generate")
@says("One token too few is generated.")
@hint("Count the new tokens.")
def gen_one_token_too_few_writing(
    prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None
):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    return continued(prompt, max(n_new - 1, 0), chooser(temperature, top_k, u), params, n_heads)


@mistake("gen_length_off_by_one", "decoder_generate")
@says("At least one token is generated, even when none is asked for.")
@hint("What should come back when n_new is zero?")
def gen_at_least_one_writing(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    return continued(prompt, max(n_new, 1), chooser(temperature, top_k, u), params, n_heads)


@mistake("gen_length_off_by_one", "decoder_generate")
@says("n_new is taken for the length of the whole text.")
@hint("Does n_new count the tokens of the prompt as well?")
def gen_n_new_is_total_writing(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    missing = max(n_new - prompt.shape[-1], 0)
    return continued(prompt, missing, chooser(temperature, top_k, u), params, n_heads)


@mistake("gen_prompt_dropped", "decoder_generate")
@says("The continuation is returned without the prompt.")
@hint("How long should the result be?")
def gen_prompt_dropped_writing(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    tokens = continued(prompt, n_new, chooser(temperature, top_k, u), params, n_heads)
    return tokens[..., prompt.shape[-1] :]


@mistake("gen_nothing_to_join", "decoder_generate")
@says("The list of new tokens is joined even when it is empty, which fails.")
@hint("What should come back when n_new is zero?")
def gen_nothing_to_join_writing(
    prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None
):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    tokens = continued(prompt, n_new, chooser(temperature, top_k, u), params, n_heads)
    new = np.stack([tokens[..., prompt.shape[-1] + i] for i in range(n_new)], axis=-1)
    return np.concatenate([prompt, new], axis=-1)


@mistake("gen_batch_required", "decoder_generate")
@says("The prompt must have exactly one batch axis.")
@hint("How many batch axes may a prompt have?")
def gen_batch_required_writing(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    batch, length = prompt.shape
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    tokens = np.zeros((batch, length + n_new), dtype=int)
    tokens[...] = continued(prompt, n_new, chooser(temperature, top_k, u), params, n_heads)
    return tokens


@mistake("np_squeeze_kills_axis", "decoder_generate")
@says("Axes of size one disappear from the result.")
@hint("Try a batch of one: are all its axes still there?")
def np_squeeze_kills_axis_writing(
    prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None
):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    return np.squeeze(continued(prompt, n_new, chooser(temperature, top_k, u), params, n_heads))


@mistake("gen_first_row_for_all", "decoder_generate")
@says("All texts of a batch are continued with the token of the first one.")
@hint("Does each text of the batch choose its own token?")
def gen_first_row_for_all_writing(
    prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None
):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    choose = chooser(temperature, top_k, u)

    def choose_first(logits, i):
        ids = np.asarray(choose(logits, i))
        return np.full(ids.shape, ids.flat[0])

    return continued(prompt, n_new, choose_first, params, n_heads)


@mistake("gen_first_text_for_all", "decoder_generate")
@says("All texts of a batch get the new tokens of the first one.")
@hint("Which text of the batch does each new token continue?")
def gen_first_text_for_all_writing(
    prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None
):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    tokens = continued(prompt, n_new, chooser(temperature, top_k, u), params, n_heads)
    first = tokens.reshape(-1, tokens.shape[-1])[0, prompt.shape[-1] :]
    new = np.broadcast_to(first, (*prompt.shape[:-1], n_new))
    return np.concatenate([prompt, new], axis=-1)


@mistake("np_returns_alias", "decoder_generate")
@says("Texts of one shape are all written into the same array.")
@hint("Keep the text of one call, make another call, and look at the first one again.")
def np_returns_alias_writing(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    shape = (*prompt.shape[:-1], prompt.shape[-1] + n_new)
    tokens = kept_results.setdefault(shape, np.zeros(shape, dtype=int))
    tokens[...] = continued(prompt, n_new, chooser(temperature, top_k, u), params, n_heads)
    return tokens


@mistake("gen_full_table_refused", "decoder_generate")
@says("A text that just fits into the position table is refused.")
@hint("Is a text allowed that uses every row of the table of positions?")
def gen_full_table_refused_writing(
    prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None
):
    refuse_bad_lengths(prompt, n_new + 1, params, temperature, u)
    return continued(prompt, n_new, chooser(temperature, top_k, u), params, n_heads)


@mistake("gen_limit_one_too_late", "decoder_generate")
@says("T_max + 1 tokens are allowed, since the last token is never fed.")
@hint("Which length does the table limit: that of the text, or that of what is fed?")
def gen_limit_one_too_late_writing(
    prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None
):
    refuse_bad_lengths(prompt, n_new - 1, params, temperature, u)
    return continued(prompt, n_new, chooser(temperature, top_k, u), params, n_heads)


@mistake("gen_crop_wrong_end", "decoder_generate")
@says("A text that is too long is cut off without a word.")
@hint("Should the caller learn that fewer tokens came than were asked for?")
def gen_stops_at_the_limit_writing(
    prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None
):
    refuse_bad_lengths(prompt[..., :0], 0, params, temperature, u)
    room = len(params["position"]) - prompt.shape[-1]
    return continued(prompt, min(n_new, room), chooser(temperature, top_k, u), params, n_heads)


@mistake("np_broad_except", "decoder_generate")
@says("Every exception is caught, and the prompt is returned in its place.")
@hint("What does your function do after an exception, and does anyone notice?")
def np_broad_except_writing(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    try:
        refuse_bad_lengths(prompt, n_new, params, temperature, u)
        return continued(prompt, n_new, chooser(temperature, top_k, u), params, n_heads)
    except Exception:
        return prompt.copy()


@mistake("gen_u_made_up", "decoder_generate")
@says("Without u, random numbers are made up.")
@hint("What does the docstring say about sampling without u?")
def gen_u_made_up_writing(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    u = np.random.rand(*prompt.shape[:-1], n_new) if u is None else u
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    return continued(prompt, n_new, chooser(temperature, top_k, u), params, n_heads)


@mistake("gen_temperature_rounded", "decoder_generate")
@says("A temperature below 1 is rounded down to 0.")
@hint("What does int(0.7) return?")
def gen_temperature_rounded_writing(
    prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None
):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    whole = int(temperature) if temperature >= 0 else temperature
    return continued(prompt, n_new, chooser(whole, top_k, u), params, n_heads)


@mistake("gen_topk_needs_temperature", "decoder_generate")
@says("A top_k at temperature zero ends the text: no token is generated.")
@hint("Is there still a largest logit if only the top_k largest are kept?")
def gen_topk_ends_greedy_writing(
    prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None
):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    count = n_new if temperature > 0 or top_k is None else 0
    return continued(prompt, count, chooser(temperature, top_k, u), params, n_heads)


@mistake("gen_topk_needs_temperature", "decoder_generate")
@says("A top_k at temperature zero is refused.")
@hint("Is there still a largest logit if only the top_k largest are kept?")
def gen_topk_refused_in_greedy_writing(
    prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None
):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    if temperature == 0 and top_k is not None:
        raise ValueError("top_k needs a temperature above 0")
    return continued(prompt, n_new, chooser(temperature, top_k, u), params, n_heads)


@mistake("gen_u_always_required", "decoder_generate")
@says("u is demanded at temperature zero too.")
@hint("At which temperatures does a random number make a difference?")
def gen_u_always_required_writing(
    prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None
):
    refuse_bad_lengths(prompt, n_new, params, 1.0, u)
    return continued(prompt, n_new, chooser(temperature, top_k, u), params, n_heads)


@mistake("gen_u_always_required", "decoder_generate")
@says("u is demanded at temperature zero too, if any token is asked for.")
@hint("At which temperatures does a random number make a difference?")
def gen_u_required_for_tokens_writing(
    prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None
):
    refuse_bad_lengths(prompt, n_new, params, float(n_new), u)
    return continued(prompt, n_new, chooser(temperature, top_k, u), params, n_heads)


@mistake("gen_mutates_prompt", "decoder_generate")
@says("New tokens are written over the last token of the caller's prompt.")
@hint("Is a slice of the prompt a copy of it, or a window onto it?")
def gen_mutates_prompt_writing(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    choose, last = chooser(temperature, top_k, u), prompt[..., -1:]

    def choose_into_prompt(logits, i):
        last[..., 0] = choose(logits, i)
        return last[..., 0].copy()

    return continued(prompt, n_new, choose_into_prompt, params, n_heads)


@mistake("kv_values_before_norm", "decoder_step")
@says("The values are projected from the stream itself, not from what ln_1 made of it.")
@hint("What do queries, keys and values read in a block?")
def kv_values_before_norm(tokens_new, cache, params, n_heads):
    t_old = cache["length"]
    t = t_old + tokens_new.shape[-1]
    if t > len(params["position"]):
        raise ValueError("tokens_new makes too many tokens")
    x, layers = params["embedding"][tokens_new] + params["position"][t_old:t], []
    for block, kept in zip(params["blocks"], cache["layers"]):
        weights, normed = block["attention"], layer_norm(x, **block["ln_1"])
        q, k, v = (
            split_heads(linear(read, weights[f"w_{name}"], weights[f"b_{name}"]), n_heads)
            for name, read in (("q", normed), ("k", normed), ("v", x))
        )
        if kept is not None:
            k = np.concatenate([kept[0], k], axis=-2)
            v = np.concatenate([kept[1], v], axis=-2)
        layers.append((k, v))
        heads = merge_heads(attention(q, k, v, causal_mask(t - t_old, t)))
        x = x + linear(heads, weights["w_o"], weights["b_o"])
        x = x + feed_forward(layer_norm(x, **block["ln_2"]), block["feed_forward"])
    logits = linear(layer_norm(x, **params["ln_f"]), params["embedding"].T)
    return logits, {"length": t, "layers": layers}


@mistake("kv_keys_before_norm", "decoder_step")
@says("The keys are projected from the stream itself, not from what ln_1 made of it.")
@hint("What do queries, keys and values read in a block?")
def kv_keys_before_norm(tokens_new, cache, params, n_heads):
    t_old = cache["length"]
    t = t_old + tokens_new.shape[-1]
    if t > len(params["position"]):
        raise ValueError("tokens_new makes too many tokens")
    x, layers = params["embedding"][tokens_new] + params["position"][t_old:t], []
    for block, kept in zip(params["blocks"], cache["layers"]):
        weights, normed = block["attention"], layer_norm(x, **block["ln_1"])
        q, k, v = (
            split_heads(linear(read, weights[f"w_{name}"], weights[f"b_{name}"]), n_heads)
            for name, read in (("q", normed), ("k", x), ("v", normed))
        )
        if kept is not None:
            k = np.concatenate([kept[0], k], axis=-2)
            v = np.concatenate([kept[1], v], axis=-2)
        layers.append((k, v))
        heads = merge_heads(attention(q, k, v, causal_mask(t - t_old, t)))
        x = x + linear(heads, weights["w_o"], weights["b_o"])
        x = x + feed_forward(layer_norm(x, **block["ln_2"]), block["feed_forward"])
    logits = linear(layer_norm(x, **params["ln_f"]), params["embedding"].T)
    return logits, {"length": t, "layers": layers}
