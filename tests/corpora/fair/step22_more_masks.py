"""Right versions of step 22 in unusual style."""

import itertools

import numpy as np

from exercises.step03_mask import causal_mask
from grader.answer_key.variants import fair


@fair("two_triangles", "sliding_window_mask")
def window_two_triangles(t_q, window, t_k=None):
    """One triangle without another, by np.tri; t_k named last."""
    t_k = t_q if t_k is None else t_k
    if t_k < t_q or window <= 0:
        raise ValueError("sizes")
    below = np.tri(t_q, t_k, t_k - t_q, dtype=bool)
    return below & ~np.tri(t_q, t_k, t_k - t_q - window, dtype=bool)


@fair("row_by_row", "sliding_window_mask")
def window_rows(t_q, window, t_k=None):
    """Slices of an empty mask are filled."""
    if window < 1:
        raise ValueError("window")
    t_k = t_q if t_k is None else t_k
    if t_k - t_q < 0:
        raise ValueError("t_k")
    mask = np.zeros((t_q, t_k), dtype=bool)
    for row, position in enumerate(range(t_k - t_q, t_k)):
        mask[row, max(0, position + 1 - window) : position + 1] = True
    return mask


@fair("comprehension", "sliding_window_mask")
def window_comprehension(t_q, window, t_k=None):
    """Chained comparisons in a list, in Fortran order."""
    t_k = t_k or (t_q if t_k is None else 0)
    if window < 1 or t_k < t_q:
        raise ValueError
    rows = [[p - window < j <= p for j in range(t_k)] for p in range(t_k - t_q, t_k)]
    return np.asfortranarray(np.array(rows, dtype=bool).reshape(t_q, t_k))


@fair("filled_columns", "prefix_mask")
def prefix_filled(t, n_prefix):
    """A triangle whose first columns are set."""
    if n_prefix > t or n_prefix < 0:
        raise ValueError(n_prefix)
    mask = causal_mask(t).copy()
    mask[:, :n_prefix] = True
    return mask


@fair("maximum", "prefix_mask")
def prefix_maximum(t, n_prefix):
    """Each query sees up to the later of itself and the end of the prefix."""
    if n_prefix not in range(t + 1):
        raise ValueError(n_prefix)
    last = np.maximum(np.arange(t), n_prefix - 1)
    return np.less_equal.outer(np.arange(t), last).T


@fair("groupby", "document_mask")
def documents_groupby(documents):
    """itertools.groupby for each row; blocks of triangles are written in."""
    documents = np.asarray(documents)
    t = documents.shape[-1]
    mask = np.zeros((*documents.shape, t), dtype=bool)
    for row in np.ndindex(*documents.shape[:-1]):
        start = 0
        for _, run in itertools.groupby(documents[row].tolist()):
            n = len(list(run))
            mask[row][start : start + n, start : start + n] = np.tri(n)
            start += n
    return mask


@fair("recurrence", "document_mask")
def documents_recurrence(documents):
    """A query sees itself, and what the one before sees if the number is the same."""
    t = documents.shape[-1]
    mask = np.zeros((*documents.shape, t), dtype=bool)
    for i in range(t):
        mask[..., i, i] = True
        if i:
            same = documents[..., i] == documents[..., i - 1]
            mask[..., i, :i] = mask[..., i - 1, :i] & same[..., None]
    return mask


@fair("by_beginnings", "document_mask")
def documents_by_beginnings(documents):
    """Keys from the beginning of the query's document on, up to the query."""
    t = documents.shape[-1]
    position = np.arange(t)
    changes = np.diff(documents, axis=-1, prepend=documents[..., :1]) != 0
    start = np.maximum.accumulate(np.where(changes, position, 0), axis=-1)
    return (position >= start[..., None]) & (position <= position[:, None])


@fair("no_change_between", "document_mask")
def documents_no_change_between(documents):
    """Sums of changes differ by 0; the triangle by np.tril."""
    flips = np.concatenate(
        [np.zeros_like(documents[..., :1]), np.not_equal(documents[..., 1:], documents[..., :-1])],
        axis=-1,
    )
    count = flips.astype(np.int64).cumsum(-1)
    return np.tril(np.subtract(count[..., :, None], count[..., None, :]) == 0)


@fair("counting", "document_positions")
def places_counting(documents):
    """A counter for every row, with int32 results."""
    documents = np.asarray(documents)
    places = np.zeros(documents.shape, dtype=np.int32)
    for i in range(1, documents.shape[-1]):
        same = documents[..., i] == documents[..., i - 1]
        places[..., i] = np.where(same, places[..., i - 1] + 1, 0)
    return places


@fair("floats", "document_positions")
def places_as_floats(documents):
    """np.zeros without a type, filled from the left."""
    places = np.zeros(np.shape(documents))
    for i in range(1, places.shape[-1]):
        same = documents[..., i] == documents[..., i - 1]
        places[..., i] = np.where(same, places[..., i - 1] + 1, 0)
    return places


@fair("row_sums", "document_positions")
def places_row_sums(documents):
    """How many keys a query sees, itself not counted."""
    return document_mask(documents).sum(axis=-1) - 1


@fair("groupby", "document_positions")
def places_groupby(documents):
    """itertools.groupby; rows by np.apply_along_axis."""

    def of_row(row):
        runs = (range(len(list(run))) for _, run in itertools.groupby(row.tolist()))
        return np.fromiter(itertools.chain.from_iterable(runs), dtype=int, count=len(row))

    return np.apply_along_axis(of_row, -1, documents)
