"""Right versions of step 8 in unusual style."""

import functools
import heapq
import itertools
import math
import sys
import warnings

import numpy as np

from exercises.step07_kv_cache import attend_with_cache, new_cache
from grader.answer_key.variants import fair


def check_sampling(temperature, top_k):
    if temperature < 0:
        raise ValueError(f"temperature = {temperature} is negative")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k = {top_k} keeps nothing")


def check_generation(prompt, n_new, params, temperature, u):
    if temperature > 0 and u is None:
        raise ValueError("u: sampling needs uniform numbers")
    if prompt.shape[-1] + n_new > len(params["position"]):
        raise ValueError("n_new: the text becomes longer than T_max")


def kept_ids(logits, top_k):
    """True for the top_k largest logits, the lowest ids on a tie."""
    rank = np.argsort(np.argsort(-logits, axis=-1, kind="stable"), axis=-1)
    return rank < (logits.shape[-1] if top_k is None else top_k)


def last_true(kept):
    return kept.shape[-1] - 1 - np.argmax(kept[..., ::-1], axis=-1)


def kept_exponentials(logits, temperature, kept):
    """Proportional to the probabilities, 0 where an id is not kept."""
    return np.where(kept, np.exp((logits - logits.max(axis=-1, keepdims=True)) / temperature), 0)


def sample_list(logits, u, temperature, top_k):
    """One id from a list of Python floats."""
    ids = range(len(logits))
    if temperature == 0:
        return max(ids, key=lambda i: (logits[i], -i))
    kept = sorted(heapq.nsmallest(top_k or len(logits), ids, key=lambda i: (-logits[i], i)))
    top = max(logits)
    e = [math.exp((logits[i] - top) / temperature) for i in kept]
    total = math.fsum(e)
    for i, cumulative in zip(kept, itertools.accumulate(e), strict=True):
        if cumulative / total > u:
            return i
    return kept[-1]


def forward_tokens(tokens, start, cache, params):
    """Logits after the last of the new tokens, and the cache with all of them."""
    stop = start + tokens.shape[-1]
    x = params["embedding"][tokens] + params["position"][start:stop]
    y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
    return y[..., -1, :] @ params["w_out"], cache


class Sampler:
    """A callable object in place of the function."""

    def __call__(self, logits, u, temperature=1.0, top_k=None):
        check_sampling(temperature, top_k)
        if temperature == 0:
            return logits.argmax(axis=-1)
        kept = kept_ids(logits, top_k)
        e = kept_exponentials(logits, temperature, kept)
        cumulative = np.cumsum(e / e.sum(axis=-1, keepdims=True), axis=-1)
        found = (cumulative > np.asarray(u)[..., None]) & kept
        return np.where(found.any(axis=-1), found.argmax(axis=-1), last_true(kept))


sampler = Sampler()


def sample_and_convert(convert, logits, u, temperature=1.0, top_k=None):
    return convert(sampler(logits, u, temperature, top_k))


partial_sampler = functools.partial(sample_and_convert, np.uint32)


class Writer:
    """A text that grows by one token whenever the next one is asked for."""

    def __init__(self, prompt, params):
        self.params, self.cache, self.length = params, new_cache(), 0
        self.read(prompt)

    def read(self, tokens):
        self.logits, self.cache = forward_tokens(tokens, self.length, self.cache, self.params)
        self.length += tokens.shape[-1]

    def write(self, u, temperature, top_k):
        token = sample_token(self.logits, u, temperature=temperature, top_k=top_k)
        return np.asarray(token)[..., None]


def continuation(prompt, params, temperature, top_k, numbers):
    """A generator of new tokens; each is read only when another one is wanted."""
    writer = Writer(prompt, params)
    token = None
    for u in numbers:
        if token is not None:
            writer.read(token)
        token = writer.write(u, temperature, top_k)
        yield token


def uniform_columns(u, n_new):
    return [None] * n_new if u is None else list(np.moveaxis(np.asarray(u), -1, 0))


@fair("python_loops", "sample_token")
def sample_python_loops(logits, u, temperature=1.0, top_k=None):
    """Lists, math.exp and a running sum, row by row."""
    check_sampling(temperature, top_k)
    ids = np.zeros(logits.shape[:-1], dtype=np.int64)
    for row in np.ndindex(*ids.shape):
        number = None if temperature == 0 else float(np.asarray(u)[row])
        ids[row] = sample_list(logits[row].tolist(), number, temperature, top_k)
    return ids


@fair("recursion_python_int", "sample_token")
def sample_recursion_python_int(logits, u, temperature=1.0, top_k=None):
    """A Python int where there is no batch axis."""
    check_sampling(temperature, top_k)
    if logits.ndim == 1:
        return sample_list([float(x) for x in logits], u, temperature, top_k)
    numbers = itertools.repeat(None) if temperature == 0 else u
    pairs = zip(logits, numbers, strict=False)
    return np.array([sample_recursion_python_int(x, w, temperature, top_k) for x, w in pairs])


@fair("searchsorted", "sample_token")
def sample_searchsorted(logits, u, temperature=1.0, top_k=None):
    """Binary search in the cumulative probabilities of the kept ids; int32."""
    check_sampling(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1).astype(np.int32)
    ids = np.empty(logits.shape[:-1], dtype=np.int32)
    for row in np.ndindex(*ids.shape):
        kept = np.sort(np.argsort(-logits[row], kind="stable")[:top_k])
        e = np.exp((logits[row][kept] - logits[row].max()) / temperature)
        place = np.searchsorted(np.cumsum(e / e.sum()), np.asarray(u)[row], side="right")
        ids[row] = kept[min(place, len(kept) - 1)]
    return ids


@fair("counting", "sample_token")
def sample_counting(logits, u, temperature=1.0, top_k=None):
    """The id is the number of cumulative probabilities that do not exceed u."""
    check_sampling(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, -1)
    kept = kept_ids(logits, top_k)
    e = kept_exponentials(logits, temperature, kept)
    cumulative = np.cumsum(e / e.sum(-1, keepdims=True), axis=-1)
    below = np.count_nonzero(cumulative <= np.expand_dims(u, -1), axis=-1)
    return np.minimum(below, last_true(kept))


@fair("unnormalised", "sample_token")
def sample_unnormalised(logits, u, temperature=1.0, top_k=None):
    """Multiplies u by the total and divides nothing."""
    check_sampling(temperature, top_k)
    if temperature == 0:
        return np.asarray(logits.argmax(-1))
    kept = kept_ids(logits, top_k)
    cumulative = np.cumsum(kept_exponentials(logits, temperature, kept), axis=-1)
    found = kept & (cumulative > np.multiply(u, cumulative[..., -1])[..., None])
    return np.where(np.any(found, -1), np.argmax(found, -1), last_true(kept))


@fair("threshold_and_ties", "sample_token")
def sample_threshold_and_ties(logits, u, temperature=1.0, top_k=None):
    """Everything above the k-th largest logit, then its ties in order."""
    check_sampling(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits == logits.max(axis=-1, keepdims=True), axis=-1)
    k = min(top_k or logits.shape[-1], logits.shape[-1])
    threshold = np.sort(logits, axis=-1)[..., -k, None]
    above, tied = logits > threshold, logits == threshold
    kept = above | tied & (np.cumsum(tied, axis=-1) <= k - above.sum(axis=-1, keepdims=True))
    e = kept_exponentials(logits, temperature, kept)
    found = np.cumsum(e / e.sum(-1, keepdims=True), axis=-1) > np.asarray(u)[..., None]
    return np.where(found[..., -1], found.argmax(axis=-1), last_true(kept))


@fair("greedy_is_top_1", "sample_token")
def sample_greedy_is_top_1(logits, u, temperature=1.0, top_k=None):
    """Temperature 0 is sampling from the single largest logit; ids in the smallest dtype."""
    check_sampling(temperature, top_k)
    if temperature == 0:
        u, temperature, top_k = np.zeros(logits.shape[:-1]), 1.0, 1
    ids = sampler(logits, u, temperature, top_k)
    return ids.astype(np.min_scalar_type(logits.shape[-1]))


@fair("hidden_logits", "sample_token")
def sample_hidden_logits(logits, u, temperature=1.0, top_k=None):
    """Logits that are not kept become -∞ in a copy; ids in vocabulary order throughout."""
    check_sampling(temperature, top_k)
    if temperature == 0:
        return logits.argmax(-1)
    kept = kept_ids(logits, top_k)
    hidden = np.array(logits, dtype=float)
    hidden[~kept] = -np.inf
    hidden = (hidden - hidden.max(axis=-1, keepdims=True)) / temperature
    weights = np.exp(hidden) / np.exp(hidden).sum(axis=-1, keepdims=True)
    ids, total = last_true(kept), np.zeros(logits.shape[:-1])
    done = np.zeros(logits.shape[:-1], dtype=bool)
    for i in range(logits.shape[-1]):
        total = total + weights[..., i]
        now = (total > u) & ~done
        ids, done = np.where(now, i, ids), done | now
    return ids


@fair("sorted_best_first", "sample_token")
def sample_sorted_best_first(scores, numbers, temperature=1.0, top_k=None):
    """np.lexsort by logit and id, then back into vocabulary order; other parameter names."""
    check_sampling(temperature, top_k)
    every = np.broadcast_to(np.arange(scores.shape[-1]), scores.shape)
    best = np.lexsort((every, -scores), axis=-1)
    if temperature == 0:
        return best[..., 0]
    ids = np.sort(best[..., :top_k], axis=-1)
    some = np.take_along_axis(scores, ids, -1)
    e = np.exp((some - some.max(-1, keepdims=True)) / temperature)
    reached = np.cumsum(e / e.sum(-1, keepdims=True), -1) > np.asarray(numbers)[..., None]
    place = np.where(reached.any(-1), reached.argmax(-1), ids.shape[-1] - 1)
    return np.take_along_axis(ids, place[..., None], -1)[..., 0]


@fair("noisy_readonly", "sample_token")
def sample_noisy_readonly(logits, u, temperature=1.0, top_k=None, verbose=True):
    """Prints on both streams, warns, divides by a temperature of 0 and drops the result."""
    check_sampling(temperature, top_k)
    print("temperature", temperature)
    print("u" if verbose else "", u, file=sys.stderr)
    warnings.warn("sampling", stacklevel=2)
    np.divide(logits, temperature)
    ids = np.array(sampler(logits, u, temperature, top_k), dtype=np.int16, order="F")
    ids.setflags(write=False)
    return ids


@fair("folded_batch", "sample_token")
def sample_folded_batch(logits, u, temperature=1.0, top_k=None):
    """All batch axes in one; a read of u only where it is needed."""
    check_sampling(temperature, top_k)
    flat = logits.reshape(-1, logits.shape[-1])
    if temperature == 0:
        return np.argmax(flat, axis=1).reshape(logits.shape[:-1])
    numbers = np.reshape(u, -1)
    pairs = zip(flat, numbers, strict=True)
    ids = [sample_list(row.tolist(), number, temperature, top_k) for row, number in pairs]
    return np.array(ids, dtype=np.uint16).reshape(logits.shape[:-1])


@fair("concatenation", "generate")
def generate_concatenation(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    """The text grows by concatenation, the new token is the next input."""
    check_generation(prompt, n_new, params, temperature, u)
    text, cache, fresh = prompt.copy(), new_cache(), prompt
    for step in range(n_new):
        start = text.shape[-1] - fresh.shape[-1]
        logits, cache = forward_tokens(fresh, start, cache, params)
        number = None if u is None else u[..., step]
        fresh = np.asarray(sample_token(logits, number, temperature, top_k))[..., None]
        text = np.concatenate([text, fresh], axis=-1)
    return text


@fair("argmax_at_zero", "generate")
def generate_argmax_at_zero(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    """At temperature 0 the largest logit is taken without sample_token, whatever top_k is."""
    check_generation(prompt, n_new, params, temperature, u)
    text, cache, fresh = prompt.copy(), new_cache(), prompt
    for step in range(n_new):
        start = text.shape[-1] - fresh.shape[-1]
        logits, cache = forward_tokens(fresh, start, cache, params)
        if temperature > 0:
            token = sample_token(logits, u[..., step], temperature, top_k)
        else:
            token = np.argmax(logits, axis=-1)
        fresh = np.asarray(token)[..., None]
        text = np.concatenate([text, fresh], axis=-1)
    return text


@fair("preallocated", "generate", also={"sample_token": "sampler"})
def generate_preallocated(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    """Writes into an int32 array with time first; sample_token is a callable object."""
    check_generation(prompt, n_new, params, temperature, u)
    length = prompt.shape[-1]
    text = np.zeros((length + n_new, *prompt.shape[:-1]), dtype=np.int32)
    text[:length] = np.moveaxis(prompt, -1, 0)
    cache, done = new_cache(), 0
    for end in range(length, length + n_new):
        fresh = np.moveaxis(text[done:end], 0, -1)
        logits, cache = forward_tokens(fresh, done, cache, params)
        number = None if u is None else u[..., end - length]
        text[end] = sample_token(logits, number, temperature=temperature, top_k=top_k)
        done = end
    return np.moveaxis(text, 0, -1)


@fair("products_in_one", "generate")
def generate_products_in_one(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    """One einsum projects the newest query and multiplies it with all keys."""
    check_generation(prompt, n_new, params, temperature, u)
    text, fresh, keys, values = np.array(prompt), prompt, [], []
    for step in range(n_new):
        start = text.shape[-1] - fresh.shape[-1]
        x = params["embedding"][fresh] + params["position"][start : text.shape[-1]]
        keys.append(x @ params["w_k"])
        values.append(x @ params["w_v"])
        k, v = np.concatenate(keys, axis=-2), np.concatenate(values, axis=-2)
        scores = np.einsum("...d,dk,...sk->...s", x[..., -1, :], params["w_q"], k)
        e = np.exp((scores - scores.max(axis=-1, keepdims=True)) / np.sqrt(k.shape[-1]))
        y = np.einsum("...s,...sv->...v", e / e.sum(axis=-1, keepdims=True), v)
        number = None if u is None else u[..., step]
        token = sample_token(y @ params["w_out"], number, temperature, top_k)
        fresh = np.asarray(token)[..., None]
        text = np.concatenate([text, fresh], axis=-1)
    return text


@fair("token_by_token", "generate", also={"sample_token": "partial_sampler"})
def generate_token_by_token(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    """The prompt too goes through the cache token by token; sample_token is a partial object."""
    check_generation(prompt, n_new, params, temperature, u)
    columns = list(np.moveaxis(prompt, -1, 0))
    cache = new_cache()
    for t in range(len(columns) + n_new - 1):
        logits, cache = forward_tokens(np.asarray(columns[t])[..., None], t, cache, params)
        if t + 1 == len(columns):
            number = u if u is None else u[..., t + 1 - prompt.shape[-1]]
            columns.append(sample_token(logits, number, temperature, top_k))
    return np.stack(columns, axis=-1)


@fair("recursion", "generate")
def generate_recursion(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    """Each call appends one token and hands the cache on."""
    check_generation(prompt, n_new, params, temperature, u)

    def extend(text, seen, cache, numbers):
        if not numbers:
            return text
        logits, cache = forward_tokens(text[..., seen:], seen, cache, params)
        token = np.asarray(sample_token(logits, numbers[0], temperature, top_k))
        longer = np.append(text, token[..., None], axis=-1)
        return extend(longer, text.shape[-1], cache, numbers[1:])

    return extend(np.array(prompt), 0, new_cache(), uniform_columns(u, n_new))


@fair("generator", "generate")
def generate_generator(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    """New tokens come from a generator; a read-only result in the smallest dtype."""
    check_generation(prompt, n_new, params, temperature, u)
    numbers = uniform_columns(u, n_new)
    tokens = [prompt, *continuation(prompt, params, temperature, top_k, numbers)]
    text = np.concatenate(tokens, axis=-1).astype(np.min_scalar_type(len(params["embedding"])))
    text.flags.writeable = False
    return text


@fair("text_by_text", "generate")
def generate_text_by_text(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    """Recursion over the batch axes, a cache for every text, Python lists inside."""
    check_generation(prompt, n_new, params, temperature, u)
    if prompt.ndim > 1:
        numbers = [None] * len(prompt) if u is None else u
        return np.stack(
            [
                generate_text_by_text(text, n_new, params, temperature, top_k, w)
                for text, w in zip(prompt, numbers, strict=True)
            ]
        )
    ids, cache, seen = prompt.tolist(), new_cache(), 0
    for number in uniform_columns(u, n_new):
        logits, cache = forward_tokens(np.array(ids[seen:]), seen, cache, params)
        seen = len(ids)
        ids.append(int(sample_token(logits, number, temperature, top_k)))
    return np.array(ids)


@fair("prompt_in_chunks", "generate")
def generate_prompt_in_chunks(start, how_many, model, temperature=0.0, top_k=None, u=None):
    """Reads the prompt in chunks of three tokens; other parameter names; prints."""
    check_generation(start, how_many, model, temperature, u)
    print("continuing", start.shape, "by", how_many)
    length = start.shape[-1]
    text = np.concatenate([start, np.zeros((*start.shape[:-1], how_many), int)], axis=-1)
    cache = new_cache()
    for t in range(0, length if how_many else 0, 3):
        logits, cache = forward_tokens(start[..., t : t + 3], t, cache, model)
    for i in range(how_many):
        number = None if u is None else np.asarray(u)[..., i]
        text[..., length + i] = sample_token(logits, number, temperature, top_k)
        if i + 1 < how_many:
            logits, cache = forward_tokens(text[..., [length + i]], length + i, cache, model)
    return text


@fair("own_cache", "generate")
def generate_own_cache(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    """Lists of keys and values of its own, one projection per token."""
    check_generation(prompt, n_new, params, temperature, u)
    columns = [prompt[..., t] for t in range(prompt.shape[-1])]
    keys, values = [], []
    for t, number in enumerate([None] * (len(columns) - 1) + uniform_columns(u, n_new)):
        x = params["embedding"][columns[t]] + params["position"][t]
        keys.append(x @ params["w_k"])
        values.append(x @ params["w_v"])
        if t + 1 < prompt.shape[-1]:
            continue
        q = (x @ params["w_q"])[..., None, :]
        scores = (np.stack(keys, -2) * q).sum(-1, keepdims=True) / math.sqrt(q.shape[-1])
        e = np.exp(scores - scores.max(axis=-2, keepdims=True))
        y = (e / e.sum(axis=-2, keepdims=True) * np.stack(values, -2)).sum(axis=-2)
        columns.append(np.asarray(sample_token(y @ params["w_out"], number, temperature, top_k)))
    return np.stack(columns, axis=-1)
