"""Right versions of step 7 in unusual style."""

import io
import itertools
import math
import sys
import warnings
from collections import deque, namedtuple

import numpy as np

from exercises.step01_projections import project_qkv
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention
from grader.answer_key.variants import fair

StepResult = namedtuple("StepResult", "output cache")


def attend_to_the_end(q, k, v):
    """The queries are the last of the positions of k and v."""
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    t_q, t_k = scores.shape[-2:]
    scores = np.where(np.tri(t_q, t_k, t_k - t_q, dtype=bool), scores, -np.inf)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True) @ v


def joined(old, new):
    return new if old is None else np.concatenate([old, new], axis=-2)


def no_cache_yet():
    return None


def empty_tuple():
    return ()


def keys_and_values_dict():
    return {"k": None, "v": None, "length": 0}


def empty_arena():
    return {"arena": np.zeros(2**24), "used": 0}


def two_lists():
    return [[], []]


def two_deques():
    return deque(), deque()


class DoublingBuffer:
    """Preallocated room for keys and values, doubled when it is full."""

    def __init__(self):
        self.length, self.rooms = 0, None

    def store(self, *news):
        end = self.length + news[0].shape[-2]
        if self.rooms is None:
            self.rooms = [np.empty((*n.shape[:-2], 1, n.shape[-1])) for n in news]
        while self.rooms[0].shape[-2] < end:
            self.rooms = [np.concatenate([r, np.empty_like(r)], axis=-2) for r in self.rooms]
        for room, new in zip(self.rooms, news, strict=True):
            room[..., self.length : end, :] = new
        self.length = end
        return [room[..., :end, :] for room in self.rooms]


def closure_cache():
    """A function that takes new keys and values and gives all of them back."""
    k = v = None

    def remember(new_k, new_v):
        nonlocal k, v
        k, v = joined(k, new_k), joined(v, new_v)
        return k, v

    return remember


def remembering():
    k = v = None
    while True:
        new_k, new_v = yield k, v
        k, v = joined(k, new_k), joined(v, new_v)


def primed_generator():
    cache = remembering()
    next(cache)
    return cache


memories = {}
numbers = itertools.count(1)


def numbered_cache():
    """A number; keys and values are kept under it."""
    return next(numbers)


def file_in_memory():
    return io.BytesIO()


class TokenChain:
    """The last token's key and value, and the chain before them."""

    def __init__(self, before, k, v):
        self.before, self.k, self.v = before, k, v

    def tokens(self):
        return [] if self.k is None else [*self.before.tokens(), (self.k, self.v)]


def empty_chain():
    return TokenChain(None, None, None)


class GrowingList(list):
    """A list that knows how to join its chunks."""

    def add(self, chunk):
        self.append(chunk)
        return np.concatenate(self, axis=-2)


class KeyValueCache:
    """The cache knows how to attend."""

    __slots__ = ("keys", "values")

    def __init__(self):
        self.keys, self.values = GrowingList(), GrowingList()

    def attend(self, q, k, v):
        return attend_to_the_end(q, self.keys.add(k), self.values.add(v))


class CachedAttention:
    """A callable object in place of the function."""

    def __call__(self, x_new, cache, w_q, w_k, w_v):
        return cache.attend(x_new @ w_q, x_new @ w_k, x_new @ w_v), cache


cached_attention = CachedAttention()


def store_and_attend(x_new, cache, w_q, w_k, w_v):
    keys, values = cache["keys"].add(x_new @ w_k), cache["values"].add(x_new @ w_v)
    return attend_to_the_end(x_new @ w_q, keys, values), cache


def attend_and_pair(q, k, v):
    return attend_to_the_end(q, k, v), [k, v]


attend_lambda = lambda x, cache, w_q, w_k, w_v: attend_and_pair(  # noqa: E731
    x @ w_q, joined(cache[0], x @ w_k), joined(cache[1], x @ w_v)
)


@fair("nothing_at_first", "attend_with_cache", also={"new_cache": "no_cache_yet"})
def cached_nothing_at_first(x_new, cache, w_q, w_k, w_v):
    """The empty cache is None, a full one a tuple; a new one every time."""
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    if cache is not None:
        k = np.concatenate((cache[0], k), axis=-2)
        v = np.concatenate((cache[1], v), axis=-2)
    mask = causal_mask(q.shape[-2], k.shape[-2])
    return attention(q, k, v, mask), (k, v)


@fair("tuple_by_position", "attend_with_cache", also={"new_cache": "empty_tuple"})
def cached_tuple_by_position(x_new, cache, w_q, w_k, w_v):
    """Token by token: each attends to all that has been stored, itself included, without a mask."""
    rows = []
    for t in range(x_new.shape[-2]):
        x = x_new[..., t : t + 1, :]
        cache = (*cache, (x @ w_k, x @ w_v))
        k, v = (np.concatenate(part, axis=-2) for part in zip(*cache, strict=True))
        rows.append(attention(x @ w_q, k, v, mask=None))
    return np.concatenate(rows, axis=-2), cache


@fair("dict_in_place", "attend_with_cache", also={"new_cache": "keys_and_values_dict"})
def cached_dict_in_place(x_new, cache, w_q, w_k, w_v):
    """One dict, changed at every call and returned, in a list."""
    cache["k"] = joined(cache["k"], x_new @ w_k)
    cache["v"] = joined(cache["v"], x_new @ w_v)
    first = cache["length"]
    cache["length"] += x_new.shape[-2]
    seen = np.arange(cache["length"]) <= np.arange(first, cache["length"])[:, None]
    return [attention(x_new @ w_q, cache["k"], cache["v"], mask=seen), cache]


@fair("new_dict", "attend_with_cache", also={"new_cache": "keys_and_values_dict"})
def cached_new_dict(x_new, cache, w_q, w_k, w_v):
    """The old dict stays as it was; a namedtuple as result."""
    k, v = joined(cache["k"], x_new @ w_k), joined(cache["v"], x_new @ w_v)
    output = attend_to_the_end(x_new @ w_q, k, v)
    return StepResult(output=output, cache={"k": k, "v": v, "length": k.shape[-2]})


@fair("lists_of_tokens", "attend_with_cache", also={"new_cache": "two_lists"})
def cached_lists_of_tokens(x_new, cache, w_q, w_k, w_v):
    """One array per token."""
    keys, values = cache
    keys.extend(np.moveaxis(x_new @ w_k, -2, 0))
    values.extend(np.moveaxis(x_new @ w_v, -2, 0))
    k, v = np.stack(keys, axis=-2), np.stack(values, axis=-2)
    return attend_to_the_end(x_new @ w_q, k, v), cache


@fair("deques_python_loops", "attend_with_cache", also={"new_cache": "two_deques"})
def cached_deques_python_loops(x_new, cache, w_q, w_k, w_v):
    """Newest token on the left; scores and sums token by token."""
    keys, values = cache
    rows = []
    for t in range(x_new.shape[-2]):
        x = x_new[..., t, :]
        keys.appendleft(x @ w_k)
        values.appendleft(x @ w_v)
        q = x @ w_q / np.sqrt(w_q.shape[1])
        scores = [np.einsum("...d,...d->...", q, k)[..., None] for k in keys]
        top = np.max(scores, axis=0)
        e = [np.exp(s - top) for s in scores]
        rows.append(sum(a * v for a, v in zip(e, values, strict=True)) / sum(e))
    return np.stack(rows, axis=-2), cache


@fair("doubling_buffer", "attend_with_cache", also={"new_cache": "DoublingBuffer"})
def cached_doubling_buffer(x_new, cache, w_q, w_k, w_v):
    """new_cache is a class; its buffers are written in place."""
    k, v = cache.store(x_new @ w_k, x_new @ w_v)
    return attend_to_the_end(x_new @ w_q, k, v), cache


@fair("closure", "attend_with_cache", also={"new_cache": "closure_cache"})
def cached_closure(x_new, remember, w_q, w_k, w_v):
    """The cache is a function."""
    return attend_to_the_end(x_new @ w_q, *remember(x_new @ w_k, x_new @ w_v)), remember


@fair("generator", "attend_with_cache", also={"new_cache": "primed_generator"})
def cached_generator(x_new, cache, w_q, w_k, w_v):
    """The cache is a generator to which new keys and values are sent."""
    k, v = cache.send((x_new @ w_k, x_new @ w_v))
    return attend_to_the_end(x_new @ w_q, k, v), cache


@fair("keys_transposed", "attend_with_cache", also={"new_cache": "no_cache_yet"})
def cached_keys_transposed(x_new, cache, w_q, w_k, w_v):
    """Keys are kept as (d_k, time), ready for the product."""
    k_t, v = np.swapaxes(x_new @ w_k, -1, -2), x_new @ w_v
    if cache:
        k_t = np.concatenate([cache["k_t"], k_t], axis=-1)
        v = np.concatenate([cache["v"], v], axis=-2)
    scores = (x_new @ w_q) @ k_t / w_q.shape[1] ** 0.5
    future = np.triu(np.ones(scores.shape[-2:], bool), k=k_t.shape[-1] - x_new.shape[-2] + 1)
    scores[..., future] = -np.inf
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e @ v / e.sum(-1, keepdims=True), {"k_t": k_t, "v": v}


@fair("one_array", "attend_with_cache", also={"new_cache": "no_cache_yet"})
def cached_one_array(x_new, cache, w_q, w_k, w_v):
    """Keys and values side by side in one array, which is the cache."""
    fused = x_new @ np.concatenate([w_k, w_v], axis=1)
    both = joined(cache, fused)
    k, v = both[..., : w_k.shape[1]], both[..., w_k.shape[1] :]
    y = attend_to_the_end(x_new @ w_q, k, v)
    return np.asfortranarray(y), both


@fair("newest_first", "attend_with_cache", also={"new_cache": "no_cache_yet"})
def cached_newest_first(x_new, cache, w_q, w_k, w_v):
    """The cache runs backwards in time; negative strides in the result."""
    x = x_new[..., ::-1, :]
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    if cache is not None:
        k = np.concatenate([k, cache[0]], axis=-2)
        v = np.concatenate([v, cache[1]], axis=-2)
    allowed = np.triu(np.ones((q.shape[-2], k.shape[-2]), dtype=bool))
    return attention(q, k, v, allowed)[..., ::-1, :], [k, v]


@fair("numbered", "attend_with_cache", also={"new_cache": "numbered_cache"})
def cached_numbered(x_new, cache, w_q, w_k, w_v):
    """The cache is a number, its contents stand in a dict of the module."""
    k, v = memories.get(cache, (None, None))
    memories[cache] = joined(k, x_new @ w_k), joined(v, x_new @ w_v)
    return attend_to_the_end(x_new @ w_q, *memories[cache]), cache


@fair("chain", "attend_with_cache", also={"new_cache": "empty_chain"})
def cached_chain(x_new, cache, w_q, w_k, w_v):
    """A linked list of tokens, read by recursion."""
    for t in range(x_new.shape[-2]):
        token = x_new[..., t, :]
        cache = TokenChain(cache, token @ w_k, token @ w_v)
    k, v = (np.stack(part, axis=-2) for part in zip(*cache.tokens(), strict=True))
    return attend_to_the_end(x_new @ w_q, k, v), cache


@fair("file_in_memory", "attend_with_cache", also={"new_cache": "file_in_memory"})
def cached_file_in_memory(x_new, cache, w_q, w_k, w_v):
    """Every chunk is appended to a file in memory."""
    cache.seek(0, io.SEEK_END)
    np.save(cache, x_new @ w_k)
    np.save(cache, x_new @ w_v)
    end = cache.tell()
    cache.seek(0)
    chunks = []
    while cache.tell() < end:
        chunks.append(np.load(cache))
    k, v = np.concatenate(chunks[::2], axis=-2), np.concatenate(chunks[1::2], axis=-2)
    return attend_to_the_end(x_new @ w_q, k, v), cache


@fair("batch_rows_apart", "attend_with_cache", also={"new_cache": "keys_and_values_dict"})
def cached_batch_rows_apart(x_new, cache, w_q, w_k, w_v):
    """One matrix of keys and one of values for every batch row."""
    batch = x_new.shape[:-2]
    y = np.empty(x_new.shape[:-1] + w_v.shape[1:])
    for row in np.ndindex(*batch):
        k, v = cache.get(row, (None, None))
        cache[row] = joined(k, x_new[row] @ w_k), joined(v, x_new[row] @ w_v)
        y[row] = attend_to_the_end(x_new[row] @ w_q, *cache[row])
    return y, cache


@fair("longdouble", "attend_with_cache", also={"new_cache": "empty_tuple"})
def cached_longdouble(fresh, cache, to_query, to_key, to_value):
    """Extended precision in the cache and in the result; other parameter names."""
    fresh = fresh.astype(np.longdouble)
    old_k, old_v = cache or (None, None)
    k, v = joined(old_k, fresh @ to_key), joined(old_v, fresh @ to_value)
    return attend_to_the_end(fresh @ to_query, k, v), (k, v)


@fair("float32_readonly", "attend_with_cache", also={"new_cache": "two_lists"})
def cached_float32_readonly(x_new, cache, w_q, w_k, w_v):
    """float64 in the cache, the input's dtype in a read-only result, a new list every time."""
    x = x_new.astype(np.float64)
    chunks = [[*cache[0], x @ w_k], [*cache[1], x @ w_v]]
    k, v = (np.concatenate(part, axis=-2) for part in chunks)
    y = attend_to_the_end(x @ w_q, k, v).astype(np.result_type(x_new, np.float32))
    y.setflags(write=False)
    return y, chunks


@fair("two_parts", "attend_with_cache", also={"new_cache": "no_cache_yet"})
def cached_two_parts(x_new, cache, w_q, w_k, w_v):
    """Old and new tokens apart, put together by their largest scores."""
    q, k, v = x_new @ w_q / math.sqrt(w_q.shape[1]), x_new @ w_k, x_new @ w_v
    scores = q @ k.swapaxes(-1, -2)
    scores = np.where(np.tri(scores.shape[-1], dtype=bool), scores, -np.inf)
    top = scores.max(axis=-1, keepdims=True)
    if cache is None:
        e = np.exp(scores - top)
        return e @ v / e.sum(axis=-1, keepdims=True), (k, v)
    old = q @ cache[0].swapaxes(-1, -2)
    top = np.maximum(top, old.max(axis=-1, keepdims=True))
    e, e_old = np.exp(scores - top), np.exp(old - top)
    total = e.sum(axis=-1, keepdims=True) + e_old.sum(axis=-1, keepdims=True)
    y = (e @ v + e_old @ cache[1]) / total
    return y, tuple(map(joined, cache, (k, v)))


@fair("room_for_a_long_text", "attend_with_cache", also={"new_cache": "empty_arena"})
def cached_room_for_a_long_text(x_new, cache, w_q, w_k, w_v):
    """Keys and values are cut from 128 MiB that are taken at once."""
    for name, new in (("k", x_new @ w_k), ("v", x_new @ w_v)):
        joint = joined(cache.get(name), new)
        end = cache["used"] + joint.size
        cache[name] = cache["arena"][cache["used"] : end].reshape(joint.shape)
        cache[name][...] = joint
        cache["used"] = end
    return attend_to_the_end(x_new @ w_q, cache["k"], cache["v"]), cache


@fair("noisy", "attend_with_cache", also={"new_cache": "no_cache_yet"})
def cached_noisy(x_new, cache, w_q, w_k, w_v, verbose=True):
    """Prints on both streams and warns; has an optional parameter of its own."""
    if verbose:
        print("new tokens:", x_new.shape[-2])
        print("cache is", type(cache).__name__, file=sys.stderr)
        warnings.warn("the cache grows", ResourceWarning, stacklevel=2)
    pairs = zip(cache or (None, None), (w_k, w_v), strict=True)
    k, v = (joined(old, x_new @ w) for old, w in pairs)
    return attend_to_the_end(x_new @ w_q, k, v), (k, v)


@fair("cache_that_attends", "new_cache", also={"attend_with_cache": "cached_attention"})
def cache_that_attends():
    """An object with slots that does the work; attend_with_cache is a callable object."""
    return KeyValueCache()


@fair("dict_of_lists", "new_cache", also={"attend_with_cache": "store_and_attend"})
def cache_dict_of_lists():
    """A dict of two lists; prints."""
    print("an empty cache")
    return {name: GrowingList() for name in ("keys", "values")}


@fair("pair_of_nothing", "new_cache", also={"attend_with_cache": "attend_lambda"})
def cache_pair_of_nothing(length=0):
    """Two times nothing; attend_with_cache is a lambda."""
    return None, None
