"""Right versions of step 14 in unusual style."""

import bisect
import math
import sys
import warnings
from collections import namedtuple

import numpy as np

from exercises.step06_loss import cross_entropy, log_softmax
from grader.answer_key.variants import fair

Masked = namedtuple("Masked", "text answers")
NOTHING = ValueError("targets: no position is chosen")


def one_token(token, select, replace, random_id, mask_id, rate):
    """What a single token becomes, and its target."""
    if not select < rate:
        return token, -100
    return (mask_id if replace < 0.8 else random_id if replace < 0.9 else token), token


def log_sum_exp(scores):
    top = max(scores)
    return top + math.log(math.fsum(math.exp(s - top) for s in scores))


class Masker:
    """A callable object in place of the function."""

    limits = (0.8, 0.9)

    def __call__(self, tokens, select, replace, random_ids, mask_id, rate=0.15):
        fates = np.searchsorted(self.limits, replace.ravel(), side="right").reshape(replace.shape)
        ids = tokens.astype(int)
        becomes = np.stack([np.full(ids.shape, mask_id), random_ids, ids])
        became = np.take_along_axis(becomes, fates[None], axis=0)[0]
        chosen = np.less(select, rate)
        return Masked(np.where(chosen, became, ids), np.where(chosen, ids, -100))


masker = Masker()


@fair("python_loops", "mask_tokens")
def mask_python_loops(tokens, select, replace, random_ids, mask_id, rate=0.15):
    """Position by position; int32 arrays in a list."""
    corrupted = np.zeros(tokens.shape, dtype=np.int32)
    targets = np.full(tokens.shape, -100, dtype=np.int32)
    for place in np.ndindex(*tokens.shape):
        numbers = float(select[place]), float(replace[place])
        found = one_token(int(tokens[place]), *numbers, random_ids[place], mask_id, rate)
        corrupted[place], targets[place] = found
    return [corrupted, targets]


@fair("assignments", "mask_tokens")
def mask_assignments(tokens, select, replace, random_ids, mask_id, rate=0.15):
    """A copy that is written into by boolean indices; int16 targets."""
    chosen = select < rate
    targets = np.full(tokens.shape, -100, dtype=np.int16)
    targets[chosen] = tokens[chosen]
    corrupted = np.array(tokens, dtype=np.int64)
    hidden = chosen & (replace < 0.8)
    replaced = chosen & (replace >= 0.8) & (replace < 0.9)
    corrupted[hidden] = mask_id
    corrupted[replaced] = random_ids[replaced]
    return corrupted, targets


@fair("np_select", "mask_tokens")
def mask_np_select(tokens, select, replace, random_ids, mask_id, rate=0.15):
    """np.select takes the first condition that holds."""
    ids = tokens.astype(np.int64)
    rest = select >= rate
    conditions = [rest, replace >= 0.9, replace >= 0.8]
    corrupted = np.select(conditions, [ids, ids, random_ids], default=mask_id)
    return corrupted, np.select([rest], [-100], default=ids)


@fair("arithmetic", "mask_tokens")
def mask_arithmetic(tokens, select, replace, random_ids, mask_id, rate=0.15):
    """Zeros and ones times ids; no condition anywhere; other parameter names would do as well."""
    ids = tokens.astype(np.int64)
    chosen = (select < rate).astype(np.int64)
    hidden = chosen * (replace < 0.8)
    replaced = chosen * (replace < 0.9) - hidden
    corrupted = hidden * mask_id + replaced * random_ids + (1 - hidden - replaced) * ids
    return corrupted, chosen * (ids + 100) - 100


@fair("flat_indices", "mask_tokens")
def mask_flat_indices(tokens, select, replace, random_ids, mask_id, rate=0.15):
    """np.flatnonzero, np.put and np.take on flat arrays; results in Fortran order."""
    chosen = np.flatnonzero(select.ravel() < rate)
    fates = replace.ravel()[chosen]
    hidden, replaced = chosen[fates < 0.8], chosen[(0.8 <= fates) & (fates < 0.9)]
    corrupted, targets = tokens.astype(np.int64), np.full(tokens.shape, -100)
    np.put(targets, chosen, np.take(tokens, chosen))
    np.put(corrupted, hidden, mask_id)
    np.put(corrupted, replaced, np.take(random_ids, replaced))
    return np.asfortranarray(corrupted), np.asfortranarray(targets)


@fair("recursion", "mask_tokens")
def mask_recursion(tokens, select, replace, random_ids, mask_id, rate=0.15):
    """Batch axes by recursion, limits by bisection."""
    if tokens.ndim > 1:
        rows = zip(tokens, select, replace, random_ids, strict=True)
        found = [mask_recursion(*row, mask_id, rate) for row in rows]
        return tuple(np.stack(part) for part in zip(*found, strict=True))
    pairs = []
    for token, s, r, other in zip(*map(np.ndarray.tolist, (tokens, select, replace, random_ids))):
        fate = bisect.bisect_right([0.8, 0.9], r) if s < rate else 2
        pairs.append(((mask_id, other, token)[fate], token if s < rate else -100))
    return tuple(np.array(part) for part in zip(*pairs, strict=True))


@fair("vectorize", "mask_tokens")
def mask_vectorize(tokens, select, replace, random_ids, mask_id, rate=0.15):
    """np.vectorize over a function of one token."""
    every = np.vectorize(one_token, otypes=[np.int64, np.int64])
    return every(tokens.astype(int), select, replace, random_ids.astype(int), mask_id, rate)


@fair("masked_arrays", "mask_tokens")
def mask_masked_arrays(words, chances, fates, others, hidden_id, rate=0.15, ignored=-100):
    """np.ma inside, other parameter names, an optional parameter more; read-only results."""
    targets = np.ma.array(words.astype(int), mask=chances >= rate)
    keep = targets.mask | (fates >= 0.9)
    corrupted = np.where(keep, words, np.where(fates < 0.8, hidden_id, others)).astype(int)
    results = corrupted, targets.filled(ignored)
    for array in results:
        array.setflags(write=False)
    return results


@fair("callable_object", "mask_tokens", also={"mask_tokens": "masker"})
def mask_callable_object(tokens, select, replace, random_ids, mask_id, rate=0.15):
    """searchsorted and take_along_axis in a callable object; a namedtuple as result."""
    return masker(tokens, select, replace, random_ids, mask_id, rate)


@fair("noisy", "mask_tokens")
def mask_noisy(tokens, select, replace, random_ids, mask_id, rate=0.15):
    """Prints on both streams and warns; masks by XOR of what differs."""
    print("hiding", int((select < rate).sum()), "of", tokens.size)
    print("mask is", mask_id, file=sys.stderr)
    warnings.warn("some words are hidden", stacklevel=2)
    ids = tokens.astype(np.int64)
    chosen, kept = select < rate, replace >= 0.9
    becomes = np.where(replace < 0.8, mask_id, random_ids)
    return ids ^ ((ids ^ becomes) * (chosen & ~kept)), -100 ^ ((-100 ^ ids) * chosen)


@fair("picked_rows", "masked_lm_loss")
def loss_picked_rows(logits, targets):
    """The chosen rows are picked out first; a NumPy scalar."""
    places = np.nonzero(targets != -100)
    if places[0].size == 0:
        raise NOTHING
    rows, ids = logits[places], targets[places]
    rows = rows - rows.max(axis=-1, keepdims=True)
    return np.mean(np.log(np.exp(rows).sum(axis=-1)) - rows[np.arange(len(ids)), ids])


@fair("one_hot", "masked_lm_loss")
def loss_one_hot(logits, targets):
    """A row of zeros where nothing is chosen, since no token is -100; einsum; a 0-d array."""
    hot = (targets[..., None] == np.arange(logits.shape[-1])).astype(float)
    if not hot.any():
        raise NOTHING
    return np.array(-np.einsum("v,v->", log_softmax(logits).ravel(), hot.ravel()) / hot.sum())


@fair("python_sums", "masked_lm_loss")
def loss_python_sums(logits, targets):
    """math.fsum over a generator; a Python float."""
    rows = logits.reshape(-1, logits.shape[-1]).tolist()
    pairs = [(row, id) for row, id in zip(rows, targets.ravel().tolist(), strict=True) if id >= 0]
    if not pairs:
        raise NOTHING
    return math.fsum(log_sum_exp(row) - row[id] for row, id in pairs) / len(pairs)


@fair("weighted_average", "masked_lm_loss")
def loss_weighted_average(logits, targets):
    """Targets made safe, and np.average with weights of 0 and 1."""
    chosen = targets != -100
    if not chosen.any():
        raise NOTHING
    logs = np.take_along_axis(log_softmax(logits), (targets * chosen)[..., None], axis=-1)
    return -np.average(logs[..., 0], weights=chosen)


@fair("compress", "masked_lm_loss")
def loss_compress(scores, answers):
    """np.compress, and cross_entropy with nothing to ignore; an error of a class of its own."""
    chosen = answers.ravel() >= 0
    if not chosen.any():

        class NothingToScore(ValueError):
            pass

        raise NothingToScore
    rows = np.compress(chosen, scores.reshape(-1, scores.shape[-1]), axis=0)
    return cross_entropy(rows, np.compress(chosen, answers))


@fair("other_ignored_id", "masked_lm_loss")
def loss_other_ignored_id(logits, targets):
    """-100 becomes one beyond the vocabulary; extended precision inside; prints."""
    beyond = logits.shape[-1]
    print("not scored:", np.count_nonzero(targets == -100))
    wide = logits.astype(np.longdouble)
    return cross_entropy(wide, np.where(targets == -100, beyond, targets), ignore_id=beyond)
