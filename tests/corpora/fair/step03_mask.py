"""Right versions of step 3 in unusual style."""

import functools
import itertools
import sys
import warnings

import numpy as np

from grader.answer_key.variants import fair


def both_lengths(t_q, t_k):
    """The two lengths, checked."""
    t_k = t_q if t_k is None else t_k
    if t_k < t_q:
        raise ValueError(f"t_k = {t_k} is less than t_q = {t_q}")
    return t_q, t_k


def triangle_built_once(t_q, t_k):
    return np.arange(t_k) <= np.arange(t_k - t_q, t_k)[:, None]


remembered_triangle = functools.lru_cache(maxsize=None)(triangle_built_once)


class AdditiveMask:
    """A callable object in place of the function."""

    def __call__(self, mask):
        out = np.full(np.shape(mask), -np.inf)
        out[mask] = 0.0
        return out


additive_mask_object = AdditiveMask()

hide_keys = lambda tokens, pad_id: (tokens != pad_id)[..., np.newaxis, :]  # noqa: E731


def mask_by_filling(fill, scores, mask):
    out = np.array(scores, dtype=np.result_type(scores, np.float32))
    out[~np.broadcast_to(mask, out.shape)] = fill
    return out


partial_masking = functools.partial(mask_by_filling, -np.inf)


@fair("tri", "causal_mask")
def causal_tri(t_q, t_k=None):
    t_q, t_k = both_lengths(t_q, t_k)
    return np.tri(t_q, t_k, t_k - t_q, dtype=bool)


@fair("tril", "causal_mask")
def causal_tril(t_q, t_k=None):
    t_q, t_k = both_lengths(t_q, t_k)
    return np.tril(np.ones((t_q, t_k)), t_k - t_q) == 1


@fair("not_triu", "causal_mask")
def causal_not_triu(t_q, t_k=None):
    """Everything but the future."""
    t_q, t_k = both_lengths(t_q, t_k)
    return ~np.triu(np.full((t_q, t_k), True), k=t_k - t_q + 1)


@fair("indices", "causal_mask")
def causal_indices(t_q, t_k=None):
    t_q, t_k = both_lengths(t_q, t_k)
    rows, columns = np.indices((t_q, t_k))
    return columns - rows <= t_k - t_q


@fair("subtract_outer", "causal_mask")
def causal_subtract_outer(t_q, t_k=None):
    t_q, t_k = both_lengths(t_q, t_k)
    return np.subtract.outer(np.arange(t_k)[t_k - t_q :], np.arange(t_k)) >= 0


@fair("greater_equal_outer", "causal_mask")
def causal_greater_equal_outer(t_q, t_k=None, dtype=np.bool_):
    """Has an optional parameter of its own."""
    t_q, t_k = both_lengths(t_q, t_k)
    return np.greater_equal.outer(np.r_[t_k - t_q : t_k], np.r_[:t_k]).astype(dtype)


@fair("filled_rows", "causal_mask")
def causal_filled_rows(t_q, t_k=None):
    """Starts from nothing and opens one row after the other."""
    t_q, t_k = both_lengths(t_q, t_k)
    mask = np.zeros((t_q, t_k), dtype=bool)
    for i in range(t_q):
        mask[i, : t_k - t_q + i + 1] = True
    return mask


@fair("nested_lists", "causal_mask")
def causal_nested_lists(t_q, t_k=None):
    """An array made of np.bool_ scalars."""
    t_q, t_k = both_lengths(t_q, t_k)
    return np.array([[np.bool_(j <= t_k - t_q + i) for j in range(t_k)] for i in range(t_q)])


@fair("square_cut", "causal_mask")
def causal_square_cut(t_q, t_k=None):
    """The last rows of the square triangle, as a view."""
    t_q, t_k = both_lengths(t_q, t_k)
    return np.tri(t_k, dtype=bool)[-t_q:]


@fair("turned_around", "causal_mask")
def causal_turned_around(t_q, t_k=None):
    """An upper triangle seen from its last corner: negative strides."""
    t_q, t_k = both_lengths(t_q, t_k)
    return np.triu(np.ones((t_q, t_k), dtype=bool))[::-1, ::-1]


@fair("memoised_copies", "causal_mask")
def causal_memoised_copies(t_q, t_k=None):
    """Remembers the masks, and gives copies away."""
    return remembered_triangle(*both_lengths(t_q, t_k)).copy()


@fair("readonly_transposed", "causal_mask")
def causal_readonly_transposed(t_q, t_k=None):
    """Built with the keys first; a read-only Fortran-ordered view."""
    t_q, t_k = both_lengths(t_q, t_k)
    keys_first = np.fromfunction(lambda j, i: j <= i + t_k - t_q, (t_k, t_q))
    keys_first.setflags(write=False)
    return keys_first.T


@fair("cumulative", "causal_mask", also={"padding_mask": "hide_keys"})
def causal_cumulative(t_q, t_k=None):
    """Nothing has begun before the diagonal; padding_mask is a lambda."""
    t_q, t_k = both_lengths(t_q, t_k)
    begun = np.logical_or.accumulate(np.eye(t_q, t_k, k=t_k - t_q, dtype=bool)[:, ::-1], axis=1)
    return begun[:, ::-1]


@fair("causal_recursion", "causal_mask")
def causal_recursion(t_q, t_k=None):
    """The last row sees everything; above it stands a smaller mask."""
    t_q, t_k = both_lengths(t_q, t_k)
    if t_q == 1:
        return np.ones((1, t_k), dtype=bool)
    above = np.pad(causal_recursion(t_q - 1, t_k - 1), ((0, 0), (0, 1)))
    return np.vstack([above, np.ones((1, t_k), dtype=bool)])


@fair("not_equal", "padding_mask")
def padding_not_equal(tokens, pad_id):
    return np.expand_dims(np.not_equal(tokens, pad_id), -2)


@fair("less_or_greater", "padding_mask")
def padding_less_or_greater(tokens, pad_id):
    row = tokens[..., None, :]
    return (row < pad_id) | (row > pad_id)


@fair("isin", "padding_mask")
def padding_isin(tokens, pad_id):
    kept = np.isin(tokens, [pad_id], invert=True)
    return kept.reshape(*tokens.shape[:-1], 1, tokens.shape[-1])


@fair("padding_masked_array", "padding_mask")
def padding_masked_array(ids, padding_id):
    """np.ma inside, an ordinary array outside, other parameter names."""
    hidden = np.ma.getmaskarray(np.ma.masked_where(ids == padding_id, ids))
    return np.invert(hidden)[..., None, :]


@fair("padding_python_loops", "padding_mask")
def padding_python_loops(tokens, pad_id):
    """Fills an array of its own, token by token."""
    mask = np.ones((*tokens.shape[:-1], 1, tokens.shape[-1]), dtype=np.bool_)
    for place in np.ndindex(*tokens.shape):
        if int(tokens[place]) == int(pad_id):
            mask[(*place[:-1], 0, place[-1])] = False
    return mask


@fair("nonzero_readonly", "padding_mask")
def padding_nonzero_readonly(tokens, pad_id):
    """The difference is not zero; the result is read-only."""
    mask = (tokens.astype(np.int64) - int(pad_id)).astype(bool)[..., None, :]
    mask.flags.writeable = False
    return mask


@fair("vectorize_noisy", "padding_mask")
def padding_vectorize_noisy(tokens, pad_id):
    """np.vectorize, with output on both streams."""
    print("padding is", pad_id)
    print(tokens.shape, file=sys.stderr)
    is_real = np.vectorize(lambda token: token != pad_id, otypes=[bool])
    return np.swapaxes(is_real(tokens)[..., None], -1, -2)


@fair("logarithm", "additive_mask")
def additive_logarithm(mask):
    """log 1 = 0 and log 0 = -∞."""
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(mask, dtype=float))


@fair("logarithm_warns", "additive_mask")
def additive_logarithm_warns(mask):
    """The same in float32, and NumPy warns about it."""
    return np.log(mask.astype(np.float32))


@fair("reciprocal", "additive_mask")
def additive_reciprocal(allowed):
    """1 - 1/1 = 0 and 1 - 1/0 = -∞."""
    with np.errstate(divide="ignore"):
        return 1 - np.true_divide(1.0, allowed)


@fair("filled_copy", "additive_mask")
def additive_filled_copy(mask):
    """Zeros, then -∞ where nothing may be seen."""
    out = np.zeros_like(mask, dtype=np.float64)
    out[np.logical_not(mask)] = float("-inf")
    return out


@fair("additive_masked_array", "additive_mask")
def additive_masked_array(mask):
    return np.ma.array(np.zeros(mask.shape), mask=~mask).filled(-np.inf)


@fair("additive_python_loops", "additive_mask")
def additive_python_loops(mask):
    out = np.empty(mask.shape, order="F")
    for place in itertools.product(*map(range, mask.shape)):
        out[place] = 0.0 if mask[place] else -np.inf
    return out


@fair("lookup_table", "additive_mask", also={"apply_mask": "partial_masking"})
def additive_lookup_table(mask):
    """The mask is the index; apply_mask is a functools.partial object."""
    return np.array([-np.inf, 0.0])[mask.astype(np.intp)]


@fair("longdouble_readonly", "additive_mask")
def additive_longdouble_readonly(mask):
    out = np.where(mask, np.longdouble(0), np.longdouble("-inf"))
    out.flags.writeable = False
    return out


@fair("where", "apply_mask", also={"additive_mask": "additive_mask_object"})
def masking_where(scores, mask):
    """np.where the other way round; additive_mask is a callable object."""
    return np.where(np.invert(mask), -np.inf, scores)


@fair("copyto", "apply_mask")
def masking_copyto(scores, mask):
    """Overwrites a copy."""
    out = scores.copy()
    np.copyto(out, -np.inf, where=~mask)
    return out


@fair("additive", "apply_mask")
def masking_additive(scores, mask):
    """Adds 0 or -∞, from additive_mask."""
    return scores + additive_mask(mask)


@fair("minimum", "apply_mask")
def masking_minimum(scores, mask):
    """The smaller of the score and ±∞."""
    return np.minimum(scores, np.where(mask, np.inf, -np.inf))


@fair("masking_masked_array", "apply_mask")
def masking_masked_array(scores, mask):
    """np.ma inside, an ordinary array outside."""
    hidden = np.broadcast_to(~mask, scores.shape)
    return np.ma.masked_array(scores, mask=hidden).filled(-np.inf)


@fair("select", "apply_mask")
def masking_select(scores, mask):
    return np.select([np.broadcast_to(mask, scores.shape)], [scores], default=-np.inf)


@fair("choose_fortran", "apply_mask")
def masking_choose_fortran(scores, mask):
    chosen = np.choose(np.asarray(mask, dtype=int), [np.float64(-np.inf), scores])
    return np.asfortranarray(chosen)


@fair("masking_python_loops", "apply_mask")
def masking_python_loops(scores, mask):
    """Score by score, and reversed views of the result."""
    allowed = np.broadcast_to(mask, scores.shape)
    out = np.full(scores.shape, -np.inf)
    for place in np.ndindex(*scores.shape):
        if allowed[place]:
            out[place] = scores[place]
    return out[..., ::-1].copy()[..., ::-1]


@fair("putmask_float32", "apply_mask")
def masking_putmask_float32(scores, mask):
    """Keeps float32, and warns."""
    warnings.warn("hiding scores", UserWarning, stacklevel=2)
    out = np.array(scores, order="C")
    np.putmask(out, np.logical_not(np.broadcast_to(mask, out.shape)), -np.inf)
    return out


@fair("masking_recursion", "apply_mask")
def masking_recursion(scores, mask):
    """One row at a time, with an optional parameter of its own."""
    allowed = np.broadcast_to(mask, scores.shape)
    if scores.ndim == 1:
        return np.array([s if a else -np.inf for s, a in zip(scores, allowed, strict=True)])
    return np.stack([masking_recursion(s, a) for s, a in zip(scores, allowed, strict=True)])
