"""Right versions of step 13 in unusual style."""

import functools
import itertools
import math
import sys
import warnings
from collections import deque, namedtuple

import numpy as np

from exercises.step03_mask import causal_mask
from exercises.step05_output import attention
from exercises.step08_generation import sample_token
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import feed_forward, layer_norm
from grader.answer_key.variants import fair

StepResult = namedtuple("StepResult", "logits cache")
Past = namedtuple("Past", "layers length")


def check_room(total, params):
    if total > params["position"].shape[0]:
        raise ValueError(f"{total} tokens and {params['position'].shape[0]} positions")


def check_generation(prompt, n_new, params, temperature, u):
    if temperature > 0 and u is None:
        raise ValueError("u: sampling needs uniform numbers")
    check_room(prompt.shape[-1] + n_new, params)


def norm(x, p):
    """The same as layer_norm, with NumPy's own mean and variance."""
    return (x - np.mean(x, -1, keepdims=True)) * p["gain"] / np.sqrt(
        np.var(x, -1, keepdims=True) + 1e-5
    ) + p["bias"]


def network(x, p):
    hidden = x @ p["w_in"] + p["b_in"]
    hidden = hidden / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (hidden + 0.044715 * hidden**3)))
    return hidden @ p["w_out"] + p["b_out"]


def to_logits(x, params):
    return norm(x, params["ln_f"]) @ params["embedding"].T


def to_the_end(scores):
    """Scores whose queries are the last of the keys, as weights."""
    t_q, t_k = scores.shape[-2:]
    scores = scores + np.where(np.tri(t_q, t_k, t_k - t_q, dtype=bool), 0.0, -np.inf)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def three(x, p, n_heads):
    """Queries, keys and values as (..., T, n_heads, d_head): time stays in front."""
    cut = (*x.shape[:-1], n_heads, x.shape[-1] // n_heads)
    return [(x @ p["w_" + n] + p["b_" + n]).reshape(cut) for n in ("q", "k", "v")]


def look(q, k, v, p):
    """Attention of heads that stand behind time, through w_o."""
    scores = np.einsum("...qhd,...khd->...hqk", q, k) / math.sqrt(q.shape[-1])
    heads = np.einsum("...hqk,...khd->...qhd", to_the_end(scores), v)
    return heads.reshape(*heads.shape[:-2], -1) @ p["w_o"] + p["b_o"]


def later(old, new):
    return new if old is None else np.concatenate([old, new], axis=-3)


def nothing_yet(n_layers):
    return None


def empty_past(n_layers):
    return Past(((),) * n_layers, 0)


def dict_by_layer(n_layers):
    return (
        {"length": 0}
        | {("k", i): [] for i in range(n_layers)}
        | {("v", i): [] for i in range(n_layers)}
    )


class Buffers:
    """Room for every layer in one array, doubled along time when it is full."""

    def __init__(self, n_layers):
        self.n_layers, self.length, self.room = n_layers, 0, None

    def reserve(self, more, like):
        if self.room is None:
            self.room = np.empty((self.n_layers, 2, *like[:-3], 1, *like[-2:]))
        while self.room.shape[-3] < self.length + more:
            self.room = np.concatenate([self.room, np.full_like(self.room, np.nan)], axis=-3)

    def write(self, layer, k, v):
        end = self.length + k.shape[-3]
        self.room[layer, 0][..., self.length : end, :, :] = k
        self.room[layer, 1][..., self.length : end, :, :] = v
        return self.room[layer][..., :end, :, :]


def closures(n_layers):
    """A list of functions, each of which remembers what it is given."""

    def remembering():
        k = v = None

        def remember(new_k, new_v):
            nonlocal k, v
            k, v = later(k, new_k), later(v, new_v)
            return k, v

        return remember

    return [remembering() for _ in range(n_layers)]


def generators(n_layers):
    def remembering():
        k = v = None
        while True:
            new_k, new_v = yield k, v
            k, v = later(k, new_k), later(v, new_v)

    layers = [remembering() for _ in range(n_layers)]
    for layer in layers:
        next(layer)
    return 0, layers


memories = {}
numbers = itertools.count(1)


def numbered_cache(n_layers):
    """A number; keys and values are kept under it."""
    return next(numbers)


def deques(n_layers):
    """For every layer two queues of single tokens, newest on the left."""
    return [(deque(), deque()) for _ in range(n_layers)]


def length_of(k):
    return 0 if k is None else k.shape[-3]


class Layer:
    """One layer's memory knows how to attend."""

    __slots__ = ("k", "v")

    def __init__(self):
        self.k = self.v = None

    def __call__(self, x, p, n_heads):
        q, k, v = three(x, p, n_heads)
        self.k, self.v = later(self.k, k), later(self.v, v)
        return look(q, self.k, self.v, p)


class Model(list):
    """The cache is the list of layers that do the work."""

    length = 0

    def __call__(self, tokens, params, n_heads):
        check_room(self.length + tokens.shape[-1], params)
        self.length += tokens.shape[-1]
        x = params["embedding"][tokens]
        x = x + params["position"][self.length - tokens.shape[-1] : self.length]
        for layer, block in zip(self, params["blocks"], strict=True):
            x = x + layer(norm(x, block["ln_1"]), block["attention"], n_heads)
            x = x + network(norm(x, block["ln_2"]), block["feed_forward"])
        return to_logits(x, params)


class Stepper:
    """A callable object in place of the function."""

    def __call__(self, tokens, cache, params, n_heads):
        return cache(tokens, params, n_heads), cache


model_step = Stepper()


def with_attention(attend, tokens, start, params):
    """The decoder on tokens from `start` on; `attend(number, block, x)` looks at the past."""
    check_room(start + tokens.shape[-1], params)
    rows = np.arange(start, start + tokens.shape[-1])
    x = np.take(params["embedding"], tokens, axis=0) + params["position"][rows]
    for number, block in enumerate(params["blocks"]):
        x = x + attend(number, block["attention"], norm(x, block["ln_1"]))
        x = x + network(norm(x, block["ln_2"]), block["feed_forward"])
    return to_logits(x, params)


def step_in_buffers(tokens_new, cache, params, n_heads):
    def attend(number, p, x):
        q, k, v = three(x, p, n_heads)
        cache.reserve(k.shape[-3], k.shape)
        return look(q, *cache.write(number, k, v), p)

    logits = with_attention(attend, tokens_new, cache.length, params)
    cache.length += tokens_new.shape[-1]
    return logits, cache


def numbers_of(u, n_new):
    return [None] * n_new if u is None else list(np.moveaxis(np.asarray(u), -1, 0))


def sampled(logits, number, temperature, top_k):
    return np.asarray(sample_token(logits[..., -1, :], number, temperature, top_k))[..., None]


@fair("nothing_at_first", "decoder_step", also={"new_decoder_cache": "nothing_yet"})
def step_nothing_at_first(tokens_new, cache, params, n_heads):
    """The empty cache is None, a full one a list of dicts; a new one every time."""
    old = cache or [{"k": None, "v": None}] * len(params["blocks"])
    new = []

    def attend(number, p, x):
        q, k, v = three(x, p, n_heads)
        new.append({"k": later(old[number]["k"], k), "v": later(old[number]["v"], v)})
        return look(q, new[-1]["k"], new[-1]["v"], p)

    start = 0 if cache is None else cache[0]["k"].shape[-3]
    return with_attention(attend, tokens_new, start, params), new


@fair("tuples_and_a_count", "decoder_step", also={"new_decoder_cache": "empty_past"})
def step_tuples_and_a_count(tokens_new, cache, params, n_heads):
    """Immutable: nested tuples of chunks and a length, in a namedtuple."""
    length = cache.length + tokens_new.shape[-1]
    layers = list(cache.layers)

    def attend(number, p, x):
        q, k, v = three(x, p, n_heads)
        layers[number] = (*layers[number], (k, v))
        k, v = (np.concatenate(part, axis=-3) for part in zip(*layers[number], strict=True))
        return look(q, k, v, p)

    logits = with_attention(attend, tokens_new, cache.length, params)
    return StepResult(logits, Past(tuple(layers), length))


@fair("dict_in_place", "decoder_step", also={"new_decoder_cache": "dict_by_layer"})
def step_dict_in_place(tokens_new, cache, params, n_heads):
    """One dict with a key for each layer, head by head, changed in place; a list as result."""
    start, t = cache["length"], tokens_new.shape[-1]

    def attend(number, p, x):
        q, k, v = three(x, p, n_heads)
        cache["k", number].append(k)
        cache["v", number].append(v)
        k, v = (np.concatenate(cache[name, number], axis=-3) for name in "kv")
        seen = np.arange(start + t) <= np.arange(start, start + t)[:, None]
        heads = [attention(q[..., h, :], k[..., h, :], v[..., h, :], seen) for h in range(n_heads)]
        return np.concatenate(heads, axis=-1) @ p["w_o"] + p["b_o"]

    logits = with_attention(attend, tokens_new, start, params)
    cache["length"] += t
    return [logits, cache]


@fair("doubling_buffers", "decoder_step", also={"new_decoder_cache": "Buffers"})
def step_doubling_buffers(tokens_new, cache, params, n_heads):
    """new_decoder_cache is a class; all layers in one preallocated array, NaN where it is empty."""
    return step_in_buffers(tokens_new, cache, params, n_heads)


@fair("one_array", "decoder_step", also={"new_decoder_cache": "nothing_yet"})
def step_one_array(tokens_new, cache, params, n_heads):
    """The cache is one array: layer, key or value, batch, time, heads, features."""
    new = []

    def attend(number, p, x):
        q, *pair = three(x, p, n_heads)
        pair = np.stack(pair) if cache is None else np.concatenate([cache[number], pair], axis=-3)
        new.append(pair)
        return look(q, *pair, p)

    start = 0 if cache is None else cache.shape[-3]
    logits = with_attention(attend, tokens_new, start, params)
    return np.asfortranarray(logits), np.stack(new)


@fair("token_by_token", "decoder_step", also={"new_decoder_cache": "closures"})
def step_token_by_token(tokens_new, cache, params, n_heads):
    """Every token of a chunk alone, so that nothing has to be masked; caches are closures."""
    rows, start = [], getattr(cache[0], "count", 0)
    check_room(start + tokens_new.shape[-1], params)
    for t in range(tokens_new.shape[-1]):
        token = tokens_new[..., t : t + 1]

        def attend(number, p, x):
            q, k, v = three(x, p, n_heads)
            return look(q, *cache[number](k, v), p)

        rows.append(with_attention(attend, token, start + t, params))
    cache[0].count = start + tokens_new.shape[-1]
    return np.concatenate(rows, axis=-2), cache


@fair("generators", "decoder_step", also={"new_decoder_cache": "generators"})
def step_generators(fresh, memory, model, heads):
    """A generator for each layer, and a count; other parameter names."""
    start, layers = memory

    def attend(number, p, x):
        q, k, v = three(x, p, heads)
        return look(q, *layers[number].send((k, v)), p)

    return with_attention(attend, fresh, start, model), (start + fresh.shape[-1], layers)


@fair("numbered", "decoder_step", also={"new_decoder_cache": "numbered_cache"})
def step_numbered(tokens_new, cache, params, n_heads):
    """The cache is a number, its contents stand in a dict of the module."""

    def attend(number, p, x):
        q, k, v = three(x, p, n_heads)
        old_k, old_v = memories.get((cache, number), (None, None))
        k, v = memories[cache, number] = later(old_k, k), later(old_v, v)
        return look(q, k, v, p)

    start = length_of(memories.get((cache, 0), (None,))[0])
    return with_attention(attend, tokens_new, start, params), cache


@fair("deques_python_loops", "decoder_step", also={"new_decoder_cache": "deques"})
def step_deques_python_loops(tokens_new, cache, params, n_heads):
    """Newest token first; scores and sums token by token and head by head."""

    def attend(number, p, x):
        keys, values = cache[number]
        q, k, v = three(x, p, n_heads)
        rows = []
        for t in range(x.shape[-2]):
            keys.appendleft(k[..., t, :, :])
            values.appendleft(v[..., t, :, :])
            query = q[..., t, :, :] / math.sqrt(q.shape[-1])
            scores = [(query * key).sum(-1, keepdims=True) for key in keys]
            top = functools.reduce(np.maximum, scores)
            e = [np.exp(score - top) for score in scores]
            row = sum(a * value for a, value in zip(e, values, strict=True)) / sum(e)
            rows.append(row.reshape(*x.shape[:-2], -1))
        return np.tensordot(np.stack(rows, axis=-2), p["w_o"], axes=1) + p["b_o"]

    return with_attention(attend, tokens_new, len(cache[0][0]), params), cache


@fair("fused_projection", "decoder_step", also={"new_decoder_cache": "nothing_yet"})
def step_fused_projection(tokens_new, cache, params, n_heads):
    """One product for queries, keys and values; heads of keys transposed, ready for the product."""
    old, new = cache or (0, [(None, None)] * len(params["blocks"])), []

    def attend(number, p, x):
        w = np.concatenate([p["w_q"], p["w_k"], p["w_v"]], axis=1)
        fused = x @ w + np.concatenate([p["b_q"], p["b_k"], p["b_v"]])
        q, k, v = (split_heads(part, n_heads) for part in np.split(fused, 3, axis=-1))
        k = np.swapaxes(k, -1, -2)
        if cache:
            k = np.concatenate([old[1][number][0], k], axis=-1)
            v = np.concatenate([old[1][number][1], v], axis=-2)
        new.append((k, v))
        return merge_heads(to_the_end(q / q.shape[-1] ** 0.5 @ k) @ v) @ p["w_o"] + p["b_o"]

    logits = with_attention(attend, tokens_new, old[0], params)
    return logits, (old[0] + tokens_new.shape[-1], new)


@fair("recursion_over_layers", "decoder_step", also={"new_decoder_cache": "nothing_yet"})
def step_recursion_over_layers(tokens_new, cache, params, n_heads):
    """Layers by recursion, their caches in a chain that ends in nothing."""

    def up(x, blocks, chain):
        if not blocks:
            return x, None
        block, *above = blocks
        (old_k, old_v), rest = chain or ((None, None), None)
        q, k, v = three(norm(x, block["ln_1"]), block["attention"], n_heads)
        k, v = later(old_k, k), later(old_v, v)
        x = x + look(q, k, v, block["attention"])
        x, rest = up(x + network(norm(x, block["ln_2"]), block["feed_forward"]), above, rest)
        return x, ((k, v), rest)

    start = length_of(cache[0][0]) if cache else 0
    stop = start + tokens_new.shape[-1]
    check_room(stop, params)
    x = params["embedding"][tokens_new] + params["position"][start:stop]
    x, chain = up(x, params["blocks"], cache)
    return to_logits(x, params), chain


@fair("batch_rows_apart", "decoder_step", also={"new_decoder_cache": "dict_by_layer"})
def step_batch_rows_apart(tokens_new, cache, params, n_heads):
    """Every text of the batch by itself; the caches of all of them in one dict."""
    t, batch = tokens_new.shape[-1], tokens_new.shape[:-1]
    logits = np.empty((*tokens_new.shape, len(params["embedding"])))
    for row in np.ndindex(*batch):

        def attend(number, p, x, row=row):
            q, k, v = three(x, p, n_heads)
            old_k, old_v = cache.get((row, number), (None, None))
            k, v = cache[row, number] = later(old_k, k), later(old_v, v)
            return look(q, k, v, p)

        logits[row] = with_attention(attend, tokens_new[row], cache["length"], params)
    cache["length"] += t
    return logits, cache


@fair("two_parts", "decoder_step", also={"new_decoder_cache": "nothing_yet"})
def step_two_parts(tokens_new, cache, params, n_heads):
    """Old and new tokens apart, put together by their largest scores."""
    old = cache or {}
    new = {}

    def part(q, k, v, masked):
        scores = np.einsum("...qhd,...khd->...qhk", q, k)
        if masked:
            hidden = ~np.tri(q.shape[-3], dtype=bool)[:, None, :]
            scores = np.where(hidden, -np.inf, scores)
        top = scores.max(axis=-1, keepdims=True)
        e = np.exp(scores - top)
        return top, e.sum(axis=-1, keepdims=True), np.einsum("...qhk,...khd->...qhd", e, v)

    def attend(number, p, x):
        q, k, v = three(x, p, n_heads)
        q = q / math.sqrt(q.shape[-1])
        top, total, mixed = part(q, k, v, masked=True)
        if number in old:
            past_top, past_total, past_mixed = part(q, *old[number], masked=False)
            most = np.maximum(top, past_top)
            here, there = np.exp(top - most), np.exp(past_top - most)
            total, mixed = total * here + past_total * there, mixed * here + past_mixed * there
            k, v = later(old[number][0], k), later(old[number][1], v)
        new[number] = k, v
        heads = mixed / total
        return heads.reshape(*heads.shape[:-2], -1) @ p["w_o"] + p["b_o"]

    start = length_of(old[0][0]) if old else 0
    return with_attention(attend, tokens_new, start, params), new


@fair("noisy_longdouble", "decoder_step", also={"new_decoder_cache": "nothing_yet"})
def step_noisy_longdouble(tokens_new, cache, params, n_heads, verbose=True):
    """Prints and warns; extended precision; a read-only result; an optional parameter more."""
    if verbose:
        print("new tokens:", tokens_new.tolist())
        print("cache is", type(cache).__name__, file=sys.stderr)
        warnings.warn("the cache grows", ResourceWarning, stacklevel=2)
    start, layers = cache or (0, {})
    check_room(start + tokens_new.shape[-1], params)
    rows = slice(start, start + tokens_new.shape[-1])
    x = params["embedding"][tokens_new].astype(np.longdouble) + params["position"][rows]
    for number, block in enumerate(params["blocks"]):
        normal = layer_norm(x, block["ln_1"]["gain"], block["ln_1"]["bias"])
        q, k, v = three(normal, block["attention"], n_heads)
        k, v = (later(*pair) for pair in zip(layers.get(number, (None, None)), (k, v)))
        layers = {**layers, number: (k, v)}
        x = x + look(q, k, v, block["attention"])
        normal = layer_norm(x, block["ln_2"]["gain"], block["ln_2"]["bias"])
        x = x + feed_forward(normal, block["feed_forward"])
    logits = to_logits(x, params)
    logits.setflags(write=False)
    return logits, (rows.stop, layers)


@fair("model_in_the_cache", "new_decoder_cache", also={"decoder_step": "model_step"})
def cache_that_is_a_model(n_layers):
    """The cache does the work; decoder_step is a callable object."""
    return Model(Layer() for _ in range(n_layers))


@fair("concatenation", "decoder_generate")
def generate_concatenation(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    """The text grows by concatenation, the new token is the next input."""
    check_generation(prompt, n_new, params, temperature, u)
    text = fresh = prompt.astype(np.int64)
    cache = new_decoder_cache(len(params["blocks"]))
    for number in numbers_of(u, n_new):
        logits, cache = decoder_step(fresh, cache, params, n_heads)
        fresh = sampled(logits, number, temperature, top_k)
        text = np.concatenate([text, fresh], axis=-1)
    return text


@fair("argmax_at_zero", "decoder_generate")
def generate_argmax_at_zero(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    """At temperature 0 the largest logit is taken without sample_token, whatever top_k is."""
    check_generation(prompt, n_new, params, temperature, u)
    text = fresh = prompt.astype(np.int64)
    cache = new_decoder_cache(len(params["blocks"]))
    for number in numbers_of(u, n_new):
        logits, cache = decoder_step(fresh, cache, params, n_heads)
        if temperature > 0:
            fresh = sampled(logits, number, temperature, top_k)
        else:
            fresh = np.argmax(logits[..., -1:, :], axis=-1)
        text = np.concatenate([text, fresh], axis=-1)
    return text


@fair(
    "time_first",
    "decoder_generate",
    also={"new_decoder_cache": "Buffers", "decoder_step": "step_in_buffers"},
)
def generate_time_first(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    """Writes into an int32 array with time first, over a cache in preallocated room."""
    check_generation(prompt, n_new, params, temperature, u)
    length = prompt.shape[-1]
    text = np.zeros((length + n_new, *prompt.shape[:-1]), dtype=np.int32)
    text[:length] = np.moveaxis(prompt, -1, 0)
    cache, done = new_decoder_cache(len(params["blocks"])), 0
    for end in range(length, length + n_new):
        logits, cache = decoder_step(np.moveaxis(text[done:end], 0, -1), cache, params, n_heads)
        number = None if u is None else u[..., end - length]
        text[end] = sample_token(logits[..., -1, :], number, temperature, top_k)
        done = end
    return np.moveaxis(text, 0, -1)


@fair("prompt_token_by_token", "decoder_generate")
def generate_prompt_token_by_token(
    prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None
):
    """The prompt too goes through the cache token by token."""
    check_generation(prompt, n_new, params, temperature, u)
    columns = list(np.moveaxis(prompt, -1, 0))
    cache = new_decoder_cache(len(params["blocks"]))
    for t in range(len(columns) + n_new - 1):
        logits, cache = decoder_step(np.asarray(columns[t])[..., None], cache, params, n_heads)
        if t + 1 == len(columns):
            number = None if u is None else u[..., t + 1 - prompt.shape[-1]]
            columns.append(sampled(logits, number, temperature, top_k)[..., 0])
    return np.stack(columns, axis=-1)


@fair("recursion", "decoder_generate")
def generate_recursion(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    """Each call appends one token and hands the cache on; the smallest dtype that fits."""
    check_generation(prompt, n_new, params, temperature, u)

    def extend(text, fresh, cache, left):
        if not left:
            return text
        logits, cache = decoder_step(fresh, cache, params, n_heads)
        token = sampled(logits, left[0], temperature, top_k)
        return extend(np.append(text, token, axis=-1), token, cache, left[1:])

    fresh = np.array(prompt)
    text = extend(fresh, fresh, new_decoder_cache(len(params["blocks"])), numbers_of(u, n_new))
    return text.astype(np.min_scalar_type(len(params["embedding"])))


@fair("text_by_text", "decoder_generate")
def generate_text_by_text(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    """Recursion over the batch axes, a cache for every text, Python lists inside."""
    check_generation(prompt, n_new, params, temperature, u)
    if prompt.ndim > 1:
        some = [None] * len(prompt) if u is None else u
        options = {"temperature": temperature, "top_k": top_k}
        pairs = zip(prompt, some, strict=True)
        return np.stack(
            [
                generate_text_by_text(text, n_new, params, n_heads, **options, u=w)
                for text, w in pairs
            ]
        )
    ids, cache, seen = prompt.tolist(), new_decoder_cache(len(params["blocks"])), 0
    for number in numbers_of(u, n_new):
        logits, cache = decoder_step(np.array(ids[seen:]), cache, params, n_heads)
        seen = len(ids)
        ids.append(int(sampled(logits, number, temperature, top_k)[0]))
    return np.array(ids)


@fair("prompt_in_chunks", "decoder_generate")
def generate_prompt_in_chunks(start, how_many, model, heads, temperature=0.0, top_k=None, u=None):
    """Reads the prompt in chunks of three tokens; other parameter names; prints."""
    check_generation(start, how_many, model, temperature, u)
    print("continuing", start.shape, "by", how_many)
    length = start.shape[-1]
    text = np.concatenate([start, np.zeros((*start.shape[:-1], how_many), int)], axis=-1)
    cache = new_decoder_cache(len(model["blocks"]))
    for t in range(0, length if how_many else 0, 3):
        logits, cache = decoder_step(start[..., t : t + 3], cache, model, heads)
    for i in range(how_many):
        number = None if u is None else np.asarray(u)[..., i]
        text[..., length + i] = sampled(logits, number, temperature, top_k)[..., 0]
        if i + 1 < how_many:
            logits, cache = decoder_step(text[..., [length + i]], cache, model, heads)
    return text


@fair("own_cache", "decoder_generate")
def generate_own_cache(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    """A cache of its own that nobody else knows: a generator that is sent tokens, gives logits."""
    check_generation(prompt, n_new, params, temperature, u)

    def reader():
        kept, start, tokens = {}, 0, prompt

        def attend(number, p, x):
            q, k, v = three(x, p, n_heads)
            old_k, old_v = kept.get(number, (None, None))
            k, v = kept[number] = later(old_k, k), later(old_v, v)
            return look(q, k, v, p)

        while True:
            logits = with_attention(attend, tokens, start, params)
            start += tokens.shape[-1]
            tokens = yield logits

    text, model, token = [prompt], reader(), None
    for number in numbers_of(u, n_new):
        token = sampled(model.send(token), number, temperature, top_k)
        text.append(token)
    result = np.concatenate(text, axis=-1)
    result.flags.writeable = False
    return result


@fair("reads_the_last_too", "decoder_generate")
def generate_reads_the_last_too(
    prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None
):
    """The last new token is fed as well, though nobody asks what follows it."""
    check_generation(prompt, n_new, params, temperature, u)
    text = prompt.astype(np.int64)
    logits, cache = decoder_step(text, new_decoder_cache(len(params["blocks"])), params, n_heads)
    for i in range(n_new):
        number = None if u is None or temperature == 0 else u[..., i]
        token = sampled(logits, number, temperature, top_k)
        text = np.concatenate([text, token], axis=-1)
        logits, cache = decoder_step(token, cache, params, n_heads)
    return text
