"""Known wrong versions of step 22, each with one mistake."""

import numpy as np

from exercises.step03_mask import causal_mask
from grader.answer_key.variants import hint, mistake, says


def refuse(t_q, window, t_k):
    """Raise the errors that the contract demands; t_k where there is none."""
    t_k = t_q if t_k is None else t_k
    if window < 1 or t_k < t_q:
        raise ValueError("window or t_k")
    return t_k


def distances(t_q, t_k):
    """Return how far each key is behind each query."""
    return np.arange(t_k - t_q, t_k)[:, None] - np.arange(t_k)


def runs(documents):
    """Return the run of each position."""
    run = np.zeros(documents.shape, dtype=int)
    run[..., 1:] = np.cumsum(documents[..., 1:] != documents[..., :-1], axis=-1)
    return run


def same_run(documents):
    """Return True where two positions belong to one run."""
    run = runs(documents)
    return run[..., :, None] == run[..., None, :]


def beginnings(documents):
    """Return True where a document begins."""
    first = np.ones(documents.shape, dtype=bool)
    first[..., 1:] = documents[..., 1:] != documents[..., :-1]
    return first


kept_masks = {}


def in_one_buffer(mask):
    """Return the mask in the same memory as every other mask."""
    room = kept_masks.setdefault("all", np.empty(2**16, dtype=bool))[: mask.size]
    room[:] = mask.ravel()
    return room.reshape(mask.shape)


@mistake("window_counts_before_only", "sliding_window_mask")
@says("The window counts the keys before the query, not the query's own.")
@hint("How many keys does a full row allow?")
def window_one_more(t_q, window, t_k=None):
    t_k = refuse(t_q, window, t_k)
    far = distances(t_q, t_k)
    return (far >= 0) & (far <= window)


@mistake("window_excludes_self", "sliding_window_mask")
@says("The query's own position is not in the window.")
@hint("May a token look at itself?")
def window_without_self(t_q, window, t_k=None):
    t_k = refuse(t_q, window, t_k)
    far = distances(t_q, t_k)
    return (far > 0) & (far <= window)


@mistake("window_not_causal", "sliding_window_mask")
@says("The window reaches into the future as well as into the past.")
@hint("Which keys does row 0 allow?")
def window_both_sides(t_q, window, t_k=None):
    t_k = refuse(t_q, window, t_k)
    return np.abs(distances(t_q, t_k)) < window


@mistake("window_forgotten", "sliding_window_mask")
@says("The mask is plainly causal: the window is not used.")
@hint("How many keys does the last row allow?")
def window_ignored(t_q, window, t_k=None):
    t_k = refuse(t_q, window, t_k)
    return causal_mask(t_q, t_k)


@mistake("window_future_only", "sliding_window_mask")
@says("The window lies after the query: the sign of the distance is turned.")
@hint("Which key does a window of 2 allow besides the own one?")
def window_ahead(t_q, window, t_k=None):
    t_k = refuse(t_q, window, t_k)
    far = -distances(t_q, t_k)
    return (far >= 0) & (far < window)


@mistake("window_complement", "sliding_window_mask")
@says("Everything but the window is allowed, of the past.")
@hint("What does True mean in your mask?")
def window_outside(t_q, window, t_k=None):
    t_k = refuse(t_q, window, t_k)
    far = distances(t_q, t_k)
    return (far >= window) | (far == 0)


@mistake("window_in_blocks", "sliding_window_mask")
@says("Time is cut into blocks of the window's size, and a query sees its own block.")
@hint("Which keys does the first query of the second block see?")
def window_blocks(t_q, window, t_k=None):
    t_k = refuse(t_q, window, t_k)
    block = np.arange(t_k) // window
    return causal_mask(t_q, t_k) & (block[t_k - t_q :, None] == block)


@mistake("window_dilated", "sliding_window_mask")
@says("Every window-th key is allowed, not the last `window` ones.")
@hint("Which keys does a window of 2 allow to the query at position 4?")
def window_strided(t_q, window, t_k=None):
    t_k = refuse(t_q, window, t_k)
    far = distances(t_q, t_k)
    return (far >= 0) & (far % window == 0)


@mistake("window_first_keys", "sliding_window_mask")
@says("The first keys are allowed to all, not the last ones before each query.")
@hint("Which keys does the last row allow?")
def window_first_columns(t_q, window, t_k=None):
    t_k = refuse(t_q, window, t_k)
    return causal_mask(t_q, t_k) & (np.arange(t_k) < window)


@mistake("window_integers", "sliding_window_mask")
@says("The mask holds ones and zeros, not booleans.")
@hint("Which dtype has your mask?")
def window_as_integers(t_q, window, t_k=None):
    t_k = refuse(t_q, window, t_k)
    far = distances(t_q, t_k)
    return ((far >= 0) & (far < window)).astype(int)


@mistake("window_top_left", "sliding_window_mask")
@says("The queries are taken for the first positions.")
@hint("With 2 queries and 5 keys, at which position is the first query?")
def window_upper_left(t_q, window, t_k=None):
    t_k = refuse(t_q, window, t_k)
    far = np.arange(t_q)[:, None] - np.arange(t_k)
    return (far >= 0) & (far < window)


@mistake("window_square_only", "sliding_window_mask")
@says("The mask has as many columns as rows, however many keys there are.")
@hint("Where does your function read t_k?")
def window_square(t_q, window, t_k=None):
    t_k = refuse(t_q, window, t_k)
    far = distances(t_q, t_q)
    return (far >= 0) & (far < window)


@mistake("window_transposed", "sliding_window_mask")
@says("Rows and columns are swapped.")
@hint("Which axis is that of the queries?")
def window_rows_are_keys(t_q, window, t_k=None):
    t_k = refuse(t_q, window, t_k)
    far = distances(t_q, t_k)
    return np.ascontiguousarray(((far >= 0) & (far < window)).T)


@mistake("window_zero_accepted", "sliding_window_mask")
@says("A window of 0 is accepted, and every row is empty.")
@hint("What does a query see through a window of 0?")
def window_none(t_q, window, t_k=None):
    t_k = refuse(t_q, 1, t_k)
    far = distances(t_q, t_k)
    return (far >= 0) & (far < window)


@mistake("window_few_keys", "sliding_window_mask")
@says("Fewer keys than queries are accepted.")
@hint("At which positions would 3 queries be among 2 keys?")
def window_few_keys(t_q, window, t_k=None):
    t_k = t_q if t_k is None else t_k
    if window < 1:
        raise ValueError("window")
    far = distances(t_q, t_k)
    return (far >= 0) & (far < window)


@mistake("window_memoised", "sliding_window_mask")
@says("Masks are remembered by their shape alone, so another window gets the old mask.")
@hint("What does the mask depend on besides its shape?")
def window_remembered(t_q, window, t_k=None):
    t_k = refuse(t_q, window, t_k)
    far = distances(t_q, t_k)
    return kept_masks.setdefault((t_q, t_k), (far >= 0) & (far < window)).copy()


@mistake("out_returns_view", "sliding_window_mask")
@says("The mask lies in a buffer that the next call overwrites, whatever its size.")
@hint("Keep an answer, ask for another one, and look at the first again.")
def window_same_buffer(t_q, window, t_k=None):
    t_k = refuse(t_q, window, t_k)
    far = distances(t_q, t_k)
    return in_one_buffer((far >= 0) & (far < window))


@mistake("prefix_and", "prefix_mask")
@says("Causal *and* in the prefix: keys beyond the prefix are hidden from all.")
@hint("Does a key need both permissions, or one of them?")
def prefix_joined_with_and(t, n_prefix):
    if not 0 <= n_prefix <= t:
        raise ValueError("n_prefix")
    return causal_mask(t) & (np.arange(t) < n_prefix)


@mistake("prefix_rows", "prefix_mask")
@says("The first queries see everything, where the first keys should be seen by all.")
@hint("Is the prefix a set of rows or of columns?")
def prefix_of_rows(t, n_prefix):
    if not 0 <= n_prefix <= t:
        raise ValueError("n_prefix")
    return causal_mask(t) | (np.arange(t) < n_prefix)[:, None]


@mistake("prefix_ignored", "prefix_mask")
@says("The mask is plainly causal.")
@hint("What does the first query of the prefix see?")
def prefix_causal(t, n_prefix):
    if not 0 <= n_prefix <= t:
        raise ValueError("n_prefix")
    return causal_mask(t)


@mistake("prefix_isolated", "prefix_mask")
@says("The prefix is seen only from inside the prefix.")
@hint("Does the answer see the question?")
def prefix_only_inside(t, n_prefix):
    if not 0 <= n_prefix <= t:
        raise ValueError("n_prefix")
    inside = np.arange(t) < n_prefix
    return np.where(inside[:, None], inside, causal_mask(t) & ~inside)


@mistake("prefix_all", "prefix_mask")
@says("Everything is allowed as soon as there is a prefix.")
@hint("Is the part beyond the prefix still causal?")
def prefix_everything(t, n_prefix):
    if not 0 <= n_prefix <= t:
        raise ValueError("n_prefix")
    return causal_mask(t) | (n_prefix > 0)


@mistake("prefix_last_keys", "prefix_mask")
@says("The last keys are seen by all, not the first.")
@hint("Where is a prefix?")
def prefix_at_the_end(t, n_prefix):
    if not 0 <= n_prefix <= t:
        raise ValueError("n_prefix")
    return causal_mask(t) | (np.arange(t) >= t - n_prefix)


@mistake("prefix_inside_only_square", "prefix_mask")
@says("A prefix of the whole length is treated as none.")
@hint("What should a prefix of t allow?")
def prefix_full_is_none(t, n_prefix):
    if not 0 <= n_prefix <= t:
        raise ValueError("n_prefix")
    return causal_mask(t) | (np.arange(t) < n_prefix % t)


@mistake("prefix_one_more", "prefix_mask")
@says("The key after the prefix is seen by all as well.")
@hint("How many keys does row 0 allow?")
def prefix_inclusive(t, n_prefix):
    if not 0 <= n_prefix <= t:
        raise ValueError("n_prefix")
    return causal_mask(t) | (np.arange(t) <= n_prefix)


@mistake("prefix_too_long", "prefix_mask")
@says("A prefix longer than the text is accepted.")
@hint("What does n_prefix = t + 1 mean?")
def prefix_unbounded(t, n_prefix):
    if n_prefix < 0:
        raise ValueError("n_prefix")
    return causal_mask(t) | (np.arange(t) < n_prefix)


@mistake("prefix_negative", "prefix_mask")
@says("A negative prefix is accepted.")
@hint("How many keys are in a prefix of -1?")
def prefix_negative(t, n_prefix):
    if n_prefix > t:
        raise ValueError("n_prefix")
    return causal_mask(t) | (np.arange(t) < n_prefix)


@mistake("out_returns_view", "prefix_mask")
@says("The mask lies in a buffer that the next call overwrites, whatever its size.")
@hint("Keep an answer, ask for another one, and look at the first again.")
def prefix_same_buffer(t, n_prefix):
    if not 0 <= n_prefix <= t:
        raise ValueError("n_prefix")
    return in_one_buffer(causal_mask(t) | (np.arange(t) < n_prefix))


@mistake("documents_not_causal", "document_mask")
@says("Inside a document the future is seen.")
@hint("Which keys may the first position of a document see?")
def documents_both_ways(documents):
    return same_run(documents)


@mistake("documents_ignored", "document_mask")
@says("The mask is plainly causal: documents see those before them.")
@hint("What does the first position of the second document see?")
def documents_causal(documents):
    return np.broadcast_to(
        causal_mask(documents.shape[-1]), (*documents.shape, documents.shape[-1])
    ).copy()


@mistake("documents_sign_dropped", "document_mask")
@says("Documents whose numbers differ only in their sign are taken for one.")
@hint("What does your mask look like for the numbers 3, 3, -3, -3?")
def documents_sign_dropped(documents):
    return causal_mask(documents.shape[-1]) & same_run(np.abs(documents))


@mistake("documents_inverted", "document_mask")
@says("A position sees the other documents, and not its own.")
@hint("Which positions have the number of the query's own document?")
def documents_of_others(documents):
    return ~same_run(documents) & causal_mask(documents.shape[-1])


@mistake("documents_by_number", "document_mask")
@says("Numbers are compared, so a number that comes again counts as the same document.")
@hint("What is between the two runs of one number?")
def documents_by_number(documents):
    same = documents[..., :, None] == documents[..., None, :]
    return same & causal_mask(documents.shape[-1])


@mistake("documents_or_causal", "document_mask")
@says("Same document *or* causal: one rule is enough, where both must hold.")
@hint("Does a key need both permissions, or one of them?")
def documents_joined_with_or(documents):
    return same_run(documents) | causal_mask(documents.shape[-1])


@mistake("documents_sorted", "document_mask")
@says("A position sees every document with a smaller number.")
@hint("Does a number say anything but where a document ends?")
def documents_in_order(documents):
    earlier = documents[..., :, None] >= documents[..., None, :]
    return earlier & causal_mask(documents.shape[-1])


@mistake("documents_previous_too", "document_mask")
@says("A document also sees the one before it.")
@hint("How many runs may a query look into?")
def documents_with_previous(documents):
    run = runs(documents)
    close = run[..., :, None] - run[..., None, :] <= 1
    return close & causal_mask(documents.shape[-1])


@mistake("documents_first_row", "document_mask")
@says("All rows of a batch get the mask of the first.")
@hint("Are the rows of a batch packed alike?")
def documents_of_first_row(documents):
    rows = documents.reshape(-1, documents.shape[-1])
    mask = same_run(rows[0]) & causal_mask(documents.shape[-1])
    return np.broadcast_to(mask, (*documents.shape, documents.shape[-1])).copy()


@mistake("documents_runs_through_batch", "document_mask")
@says("Beginnings are counted along the first axis, which may be the batch.")
@hint("Which axis is time?")
def documents_wrong_axis(documents):
    run = np.zeros(documents.shape, dtype=int)
    run[1:] = np.cumsum(documents[1:] != documents[:-1], axis=0)
    return (run[..., :, None] == run[..., None, :]) & causal_mask(documents.shape[-1])


@mistake("documents_neighbours_only", "document_mask")
@says("Only neighbours with the same number see each other.")
@hint("How far back does a document of three positions reach?")
def documents_of_neighbours(documents):
    t = documents.shape[-1]
    far = np.arange(t)[:, None] - np.arange(t)
    return same_run(documents) & (far >= 0) & (far <= 1)


@mistake("documents_boundary_late", "document_mask")
@says("The first position of a document still counts to the one before.")
@hint("To which document does a beginning belong?")
def documents_late_boundary(documents):
    run = np.zeros(documents.shape, dtype=int)
    run[..., 2:] = np.cumsum(documents[..., 1:-1] != documents[..., :-2], axis=-1)
    return (run[..., :, None] == run[..., None, :]) & causal_mask(documents.shape[-1])


@mistake("documents_zero_is_padding", "document_mask")
@says("Documents with the number 0 are taken for padding and hidden.")
@hint("Is 0 a number like any other?")
def documents_zero_hidden(documents):
    real = (documents != 0)[..., None, :]
    return same_run(documents) & causal_mask(documents.shape[-1]) & real


@mistake("documents_sink", "document_mask")
@says("The first position of a row is seen from every document.")
@hint("To which document does position 0 belong?")
def documents_see_the_first(documents):
    mask = same_run(documents) & causal_mask(documents.shape[-1])
    mask[..., 0] = True
    return mask


@mistake("documents_last_is_padding", "document_mask")
@says("The last document of a row is taken for padding and hidden.")
@hint("What can a position know about the documents that come later?")
def documents_last_hidden(documents):
    run = runs(documents)
    real = (run != run[..., -1:]) | (run == 0)
    return same_run(documents) & causal_mask(documents.shape[-1]) & real[..., None, :]


@mistake("documents_boundaries_of_all_rows", "document_mask")
@says("A boundary in one row of a batch ends the documents of all rows.")
@hint("Are the rows of a batch packed alike?")
def documents_cut_by_all_rows(documents):
    first = beginnings(documents).reshape(-1, documents.shape[-1]).any(axis=0)
    run = np.cumsum(first)
    mask = (run[:, None] == run) & causal_mask(documents.shape[-1])
    return np.broadcast_to(mask, (*documents.shape, documents.shape[-1])).copy()


@mistake("np_memoised_on_shape", "document_mask")
@says("The mask of the first documents of a shape is kept for all later ones.")
@hint("Can two rows of the same length be packed differently?")
def documents_memoised(documents):
    mask = same_run(documents) & causal_mask(documents.shape[-1])
    return kept_masks.setdefault(documents.shape, mask).copy()


@mistake("np_input_mutated", "document_mask")
@says("The numbers of the runs are written over the caller's documents.")
@hint("Whose array is on the left of your assignment?")
def documents_renumbered(documents):
    documents[...] = runs(documents)
    same = documents[..., :, None] == documents[..., None, :]
    return same & causal_mask(documents.shape[-1])


@mistake("places_not_reset", "document_positions")
@says("Positions count on through all documents.")
@hint("What is the position of the first token of the second document?")
def places_through(documents):
    return np.broadcast_to(np.arange(documents.shape[-1]), documents.shape).copy()


@mistake("places_from_one", "document_positions")
@says("Each document begins at 1.")
@hint("Where do positions begin?")
def places_from_one(documents):
    position = np.arange(documents.shape[-1])
    start = np.maximum.accumulate(np.where(beginnings(documents), position, 0), axis=-1)
    return position - start + 1


@mistake("places_run_numbers", "document_positions")
@says("The number of the document is returned, not the position in it.")
@hint("Do your numbers grow inside a document?")
def places_of_runs(documents):
    return runs(documents)


@mistake("places_beginnings", "document_positions")
@says("Where the document begins is returned, not the position in it.")
@hint("What has to be subtracted from what?")
def places_of_beginnings(documents):
    position = np.arange(documents.shape[-1])
    return np.maximum.accumulate(np.where(beginnings(documents), position, 0), axis=-1)


@mistake("places_from_end", "document_positions")
@says("Positions are counted backwards, from the end of each document.")
@hint("Which position has the first token of a document?")
def places_backwards(documents):
    same = same_run(documents)
    return np.triu(same, 1).sum(axis=-1)


@mistake("places_by_number", "document_positions")
@says("A number that comes again goes on counting where it stopped.")
@hint("Is a second run of a number the same document?")
def places_continued(documents):
    same = documents[..., :, None] == documents[..., None, :]
    return np.tril(same, -1).sum(axis=-1)


@mistake("places_wrong_axis", "document_positions")
@says("The running maximum goes along the first axis, which may be the batch.")
@hint("Which axis is time?")
def places_along_batch(documents):
    position = np.arange(documents.shape[-1])
    marks = np.where(beginnings(documents), position, 0)
    return position - np.maximum.accumulate(marks, axis=0)


@mistake("places_first_row", "document_positions")
@says("All rows of a batch get the positions of the first.")
@hint("Are the rows of a batch packed alike?")
def places_of_first_row(documents):
    rows = documents.reshape(-1, documents.shape[-1])
    places = np.tril(same_run(rows[0]), -1).sum(axis=-1)
    return np.broadcast_to(places, documents.shape).copy()


@mistake("places_through_rows", "document_positions")
@says("Positions run on from one row of a batch into the next.")
@hint("Is the first token of a row ever anything but the first of its document?")
def places_flattened(documents):
    flat = documents.reshape(-1)
    return np.tril(same_run(flat), -1).sum(axis=-1).reshape(documents.shape)


@mistake("places_two_documents", "document_positions")
@says("Only the last beginning counts: documents before it are not reset.")
@hint("What happens at the second of three beginnings?")
def places_last_beginning(documents):
    position = np.arange(documents.shape[-1])
    start = np.max(np.where(beginnings(documents), position, 0), axis=-1, keepdims=True)
    return np.where(position >= start, position - start, position)


@mistake("places_row_start", "document_positions")
@says("Each document but the first of its row begins at 1.")
@hint("Is the first token of a later document a first token, too?")
def places_later_from_one(documents):
    return np.tril(same_run(documents), -1).sum(axis=-1) + (runs(documents) > 0)


@mistake("np_memoised_on_shape", "document_positions")
@says("The positions of the first documents of a shape are kept for all later ones.")
@hint("Can two rows of the same length be packed differently?")
def places_memoised(documents):
    places = np.tril(same_run(documents), -1).sum(axis=-1)
    return kept_masks.setdefault(documents.shape, places).copy()


@mistake("np_input_mutated", "document_positions")
@says("The positions are written over the caller's documents.")
@hint("Whose array is on the left of your assignment?")
def places_into_documents(documents):
    documents[...] = np.tril(same_run(documents), -1).sum(axis=-1)
    return documents


@mistake("prefix_whole_refused", "prefix_mask")
@says("A prefix as long as the text is refused.")
@hint("Is the limit itself allowed?")
def prefix_whole_refused(t, n_prefix):
    if not 0 <= n_prefix < t:
        raise ValueError("n_prefix must lie between 0 and t")
    return causal_mask(t) | (np.arange(t) < n_prefix)
