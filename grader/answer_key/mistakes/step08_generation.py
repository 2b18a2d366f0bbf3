"""Known wrong versions of step 8, each with one mistake."""

import numpy as np

from exercises.step04_softmax import softmax
from exercises.step05_output import attention
from exercises.step06_loss import next_token_logits
from exercises.step07_kv_cache import attend_with_cache, new_cache
from grader.answer_key.variants import hint, mistake, says

kept_cache = {"cache": new_cache()}
kept_results = {}


def refuse_bad_settings(temperature, top_k):
    if temperature < 0:
        raise ValueError("temperature must not be negative")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k must be at least 1")


def refuse_bad_lengths(prompt, n_new, params, temperature, u):
    if prompt.shape[-1] + n_new > len(params["position"]):
        raise ValueError("prompt and n_new are longer than the model")
    if temperature > 0 and u is None:
        raise ValueError("sampling needs u")


def kept_ids(logits, top_k):
    """Return True for the top_k largest logits, the lowest ids on a tie."""
    order = np.argsort(-logits, axis=-1, kind="stable")
    keep = np.ones(logits.shape, dtype=bool)
    if top_k is not None:
        np.put_along_axis(keep, order[..., top_k:], False, axis=-1)
    return keep


def distribution(logits, temperature, top_k=None):
    """Return the probabilities from which a token is sampled."""
    logits = np.asarray(logits, dtype=float)
    return softmax(np.where(kept_ids(logits, top_k), logits / temperature, -np.inf))


def drawn(probs, u):
    """Return the smallest id whose cumulative probability exceeds u, or the last kept id."""
    passed = (np.cumsum(probs, axis=-1) <= np.asarray(u)[..., None]).sum(axis=-1)
    last = probs.shape[-1] - 1 - np.argmax((probs > 0)[..., ::-1], axis=-1)
    return np.minimum(passed, last)


def cached_logits(tokens, start, cache, params):
    """Return logits of the last of these tokens, which begin at position `start`, and the cache."""
    position = params["position"][start : start + tokens.shape[-1]]
    return logits_at(tokens, position, cache, params)


def logits_at(tokens, position, cache, params):
    """Return the same as cached_logits, with any rows as positions."""
    x = params["embedding"][tokens] + position
    y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
    return y[..., -1, :] @ params["w_out"], cache


def continued(prompt, n_new, choose, params, feed=cached_logits, cache=None):
    """Run the loop of `generate`: `choose(logits, i)` picks token i, `feed` asks the model."""
    tokens = prompt.copy()
    new, start = tokens, 0
    cache = new_cache() if cache is None else cache
    for i in range(n_new):
        logits, cache = feed(new, start, cache, params)
        start += new.shape[-1]
        new = np.asarray(choose(logits, i))[..., None]
        tokens = np.concatenate([tokens, new], axis=-1)
    return tokens


def chooser(temperature, top_k, u):
    """Pick token i by sample_token, with its own numbers."""
    return lambda logits, i: sample_token(
        logits, None if u is None else u[..., i], temperature, top_k
    )


# sample_token: the draw


@mistake("gen_uniform_id", "sample_token")
@says("u is stretched over the ids, so every token is equally likely.")
@hint("Where do the probabilities enter your choice?")
def gen_uniform_id(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    kept = kept_ids(logits, top_k)
    return drawn(kept / kept.sum(axis=-1, keepdims=True), u)


@mistake("gen_always_greedy", "sample_token")
@says("The largest logit is taken at every temperature, and u is never read.")
@hint("Two different values of u can ask for two different tokens: can yours answer?")
def gen_always_greedy(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    return np.argmax(logits, axis=-1)


@mistake("gen_global_rng", "sample_token")
@says("The draw uses NumPy's global random numbers instead of u.")
@hint("Which random number were you given, and which one do you use?")
def gen_global_rng(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    return drawn(distribution(logits, temperature, top_k), np.random.rand(*logits.shape[:-1]))


@mistake("gen_u_from_the_top", "sample_token")
@says("u is counted from the last token downwards.")
@hint("Which token should a u close to zero give?")
def gen_u_from_the_top(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    backwards = distribution(logits, temperature, top_k)[..., ::-1]
    return logits.shape[-1] - 1 - drawn(backwards, u)


@mistake("gen_sorted_order", "sample_token")
@says("Probabilities are added up from the largest to the smallest.")
@hint("In which order does the docstring line up the tokens?")
def gen_sorted_order(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    order = np.argsort(-logits, axis=-1, kind="stable")
    if temperature == 0:
        return order[..., 0]
    probs = np.take_along_axis(distribution(logits, temperature, top_k), order, axis=-1)
    rank = drawn(probs, u)
    return np.take_along_axis(order, rank[..., None], axis=-1)[..., 0]


@mistake("softmax_twice", "sample_token")
@says("The probabilities go through a second softmax, which makes them much flatter.")
@hint("How many times do you normalise?")
def softmax_twice_sample(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    return drawn(distribution(softmax(logits), temperature, top_k), u)


@mistake("gen_next_id", "sample_token")
@says("The id after the right one is returned.")
@hint("Work out by hand which id u = 0 should give, and which one it gives.")
def gen_next_id(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    return np.minimum(drawn(distribution(logits, temperature, top_k), u) + 1, logits.shape[-1] - 1)


# sample_token: temperature


@mistake("gen_temperature_misapplied", "sample_token")
@says("The temperature is multiplied with the logits.")
@hint("Does a high temperature make the choice more certain, or less?")
def gen_temperature_multiplied(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    return drawn(distribution(logits, 1.0 / temperature, top_k), u)


@mistake("gen_temperature_misapplied", "sample_token")
@says("The temperature divides the probabilities instead of the logits.")
@hint("Is temperature a change of the scores or of the probabilities?")
def gen_temperature_after_softmax(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    return drawn(distribution(logits, 1.0, top_k) / temperature, u)


@mistake("gen_temperature_misapplied", "sample_token")
@says("The logits are divided by the temperature twice.")
@hint("How many times does the temperature occur on the way to the draw?")
def gen_temperature_twice(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    return drawn(distribution(logits, temperature**2, top_k), u)


@mistake("gen_temperature_misapplied", "sample_token")
@says("The logits are divided by the root of the temperature.")
@hint("Which number does the table divide the logits by?")
def gen_temperature_root(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    return drawn(distribution(logits, temperature**0.5, top_k), u)


@mistake("gen_temperature_misapplied", "sample_token")
@says("A temperature below one is treated as one.")
@hint("Which temperatures does the table treat in a way of their own?")
def gen_temperature_below_one_ignored(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    return drawn(distribution(logits, max(temperature, 1.0), top_k), u)


@mistake("gen_temperature_misapplied", "sample_token")
@says("A temperature above one is treated as one.")
@hint("Which temperatures does the table treat in a way of their own?")
def gen_temperature_above_one_ignored(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    return drawn(distribution(logits, min(temperature, 1.0), top_k), u)


@mistake("gen_few_digits", "sample_token")
@says("The logits become float32 before the draw, so a u near a border falls on the wrong side.")
@hint("How many digits has a float32, and how many have your logits?")
def gen_logits_in_float32(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    kept = kept_ids(logits, top_k)
    short = np.where(kept, logits / temperature, -np.inf).astype(np.float32)
    return drawn(softmax(short), u)


@mistake("gen_few_digits", "sample_token")
@says("A small number is added to the temperature.")
@hint("Temperature 0 has a rule of its own. Can a division by 0 still happen?")
def gen_temperature_plus_small(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    return drawn(distribution(logits, temperature + 1e-6, top_k), u)


@mistake("gen_few_digits", "sample_token")
@says("A low temperature is treated as 0.")
@hint("Which temperatures does the table treat in a way of their own?")
def gen_cold_is_greedy(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature < 0.2:
        return np.argmax(logits, axis=-1)
    return drawn(distribution(logits, temperature, top_k), u)


@mistake("gen_few_digits", "sample_token")
@says("Logits that are nearly the largest count as the largest, so the first of them is taken.")
@hint("Is 10.0000001 as large as 10.0000002?")
def gen_greedy_among_close(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(np.isclose(logits, logits.max(axis=-1, keepdims=True)), axis=-1)
    return drawn(distribution(logits, temperature, top_k), u)


@mistake("gen_few_digits", "sample_token")
@says("The logits are rounded before the top_k are chosen.")
@hint("Is 10.0000001 as large as 10.0000002?")
def gen_top_k_of_rounded(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    kept = kept_ids(np.round(logits, 3), top_k)
    return drawn(softmax(np.where(kept, logits / temperature, -np.inf)), u)


@mistake("gen_temperature_ignored", "sample_token")
@says("Every temperature above zero is treated as one.")
@hint("Follow the argument `temperature`: what does it change?")
def gen_temperature_ignored(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    return drawn(distribution(logits, 1.0, top_k), u)


@mistake("gen_temperature_misapplied", "sample_token")
@says("The temperature is divided into the caller's logits.")
@hint("Look for an assignment that changes an array which your function was only lent.")
def gen_temperature_in_place(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    logits /= temperature
    return drawn(distribution(logits, 1.0, top_k), u)


@mistake("gen_zero_temperature_divides", "sample_token")
@says("Temperature zero has no case of its own, so the logits are divided by zero.")
@hint("What does a temperature of zero mean, and can a division express it?")
def gen_zero_temperature_divides(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    return drawn(distribution(logits, np.float64(temperature), top_k), u)


@mistake("gen_zero_temperature_refused", "sample_token")
@says("Temperature zero is refused.")
@hint("Which temperatures does the table refuse, and is zero one of them?")
def gen_zero_temperature_refused(logits, u, temperature=1.0, top_k=None):
    if temperature <= 0:
        raise ValueError("temperature must be positive")
    refuse_bad_settings(temperature, top_k)
    return drawn(distribution(logits, temperature, top_k), u)


@mistake("gen_greedy_last_of_tie", "sample_token")
@says("Among equal largest logits the highest id is taken.")
@hint("Which id wins when two logits are equally large?")
def gen_greedy_last_of_tie(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argsort(logits, axis=-1, kind="stable")[..., -1]
    return drawn(distribution(logits, temperature, top_k), u)


@mistake("gen_greedy_smallest", "sample_token")
@says("Temperature zero takes the smallest logit.")
@hint("Does a large logit stand for a likely token or an unlikely one?")
def gen_greedy_smallest(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmin(logits, axis=-1)
    return drawn(distribution(logits, temperature, top_k), u)


@mistake("gen_greedy_reads_u", "sample_token")
@says("u is converted to numbers even at temperature zero, where it may be None.")
@hint("At which temperatures do you need a random number?")
def gen_greedy_reads_u(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    u = np.broadcast_to(u, logits.shape[:-1]) + 0.0
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    return drawn(distribution(logits, temperature, top_k), u)


@mistake("gen_argmax_wrong_axis", "sample_token")
@says("The largest logit of the whole batch is looked for, not the one of each row.")
@hint("Over what are you choosing, and how many choices should there be?")
def gen_argmax_wrong_axis(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.full(logits.shape[:-1], np.argmax(logits) % logits.shape[-1])
    return drawn(distribution(logits, temperature, top_k), u)


# sample_token: top-k


@mistake("gen_topk_ignored", "sample_token")
@says("top_k is checked but never used.")
@hint("How many tokens can be drawn when top_k is 1?")
def gen_topk_ignored(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    return drawn(distribution(logits, temperature), u)


@mistake("gen_topk_wrong", "sample_token")
@says("The logits that are cut away become zero, which leaves them a probability.")
@hint("What does the exponential make of a zero?")
def gen_topk_zero_logits(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    return drawn(distribution(np.where(kept_ids(logits, top_k), logits, 0.0), temperature), u)


@mistake("gen_topk_wrong", "sample_token")
@says("One token too many is kept.")
@hint("How many tokens can be drawn when top_k is 1?")
def gen_topk_one_too_many(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    return drawn(distribution(logits, temperature, None if top_k is None else top_k + 1), u)


@mistake("gen_topk_wrong", "sample_token")
@says("If top_k is one less than the vocabulary, no token is dropped.")
@hint("With 5 tokens and a top_k of 4, how many can be drawn?")
def gen_topk_all_but_one_keeps_all(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    used = top_k if top_k is not None and top_k < logits.shape[-1] - 1 else None
    return drawn(distribution(logits, temperature, used), u)


@mistake("gen_topk_wrong", "sample_token")
@says("Dropped logits get the score 0 and still take part in the softmax.")
@hint("What is e to the 0?")
def gen_topk_dropped_to_zero(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    keep = kept_ids(logits, top_k)
    probs = softmax(np.where(keep, logits, 0.0) / temperature)
    passed = (np.cumsum(probs, axis=-1) > np.asarray(u)[..., None]) & keep
    last = keep.shape[-1] - 1 - np.argmax(keep[..., ::-1], axis=-1)
    return np.where(passed.any(axis=-1), np.argmax(passed, axis=-1), last)


@mistake("gen_topk_wrong", "sample_token")
@says("Dropped logits become 0 and can still be drawn: e to the 0 is 1.")
@hint("Which number must a logit become so that its probability is 0?")
def gen_topk_zero_can_be_drawn(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    return drawn(softmax(np.where(kept_ids(logits, top_k), logits, 0.0) / temperature), u)


@mistake("gen_topk_wrong", "sample_token")
@says("All logits as large as the k-th are kept, so a tie keeps more than k.")
@hint("How many tokens are left when all logits are equal?")
def gen_topk_keeps_ties(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    if top_k is None:
        return drawn(distribution(logits, temperature), u)
    k = min(top_k, logits.shape[-1])
    threshold = np.sort(logits, axis=-1)[..., -k, None]
    return drawn(softmax(np.where(logits >= threshold, logits / temperature, -np.inf)), u)


@mistake("gen_topk_wrong", "sample_token")
@says("Among equal logits the highest ids are kept.")
@hint("Which ids stay when more than k logits are equally large?")
def gen_topk_last_of_tie(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    backwards = distribution(logits[..., ::-1], temperature, top_k)
    return drawn(backwards[..., ::-1], u)


@mistake("gen_topk_smallest", "sample_token")
@says("The k smallest logits are kept.")
@hint("In which direction does your sort put the logits?")
def gen_topk_smallest(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    keep = kept_ids(-logits, top_k)
    return drawn(softmax(np.where(keep, logits / temperature, -np.inf)), u)


@mistake("gen_topk_not_renormalised", "sample_token")
@says("After the cut the kept probabilities no longer add up to one.")
@hint("What do the probabilities of the tokens that are left add up to?")
def gen_topk_not_renormalised(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    return drawn(np.where(kept_ids(logits, top_k), distribution(logits, temperature), 0.0), u)


@mistake("gen_topk_rank_returned", "sample_token")
@says("The place among the kept tokens is returned instead of the id.")
@hint("After the cut, what does an index into the kept tokens stand for?")
def gen_topk_rank_returned(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    ids = drawn(distribution(logits, temperature, top_k), u)
    before = np.arange(logits.shape[-1]) < ids[..., None]
    return (before & kept_ids(logits, top_k)).sum(axis=-1)


@mistake("gen_topk_beyond_vocabulary", "sample_token")
@says("A top_k larger than the vocabulary is refused.")
@hint("What does the docstring say about a k that exceeds V?")
def gen_topk_beyond_vocabulary(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if top_k is not None and top_k > logits.shape[-1]:
        raise ValueError("top_k is larger than the vocabulary")
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    return drawn(distribution(logits, temperature, top_k), u)


# sample_token: edges, shapes, errors


@mistake("gen_cdf_reached", "sample_token")
@says("A token is taken when the sum reaches u, though it must exceed u.")
@hint("What should u = 0 give if the first token has probability zero?")
def gen_cdf_reached(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    total = np.cumsum(distribution(logits, temperature, top_k), axis=-1)
    below = (total < np.asarray(u)[..., None]).sum(axis=-1)
    return np.minimum(below, logits.shape[-1] - 1)


@mistake("gen_cdf_reached", "sample_token")
@says("A token is taken when the sum reaches u, though it must exceed u.")
@hint("What should u = 0 give if the first token has probability zero?")
def gen_cdf_reached_by_kept(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    kept = kept_ids(logits, top_k)
    total = np.cumsum(distribution(logits, temperature, top_k), axis=-1)
    reached = (total >= np.asarray(u)[..., None]) & kept
    last = logits.shape[-1] - 1 - np.argmax(kept[..., ::-1], axis=-1)
    return np.where(reached.any(axis=-1), np.argmax(reached, axis=-1), last)


@mistake("gen_id_beyond_vocabulary", "sample_token")
@says("When rounding leaves the sum below u, the id after the last one is returned.")
@hint("Can a sum of probabilities be a little less than one, and which id comes out then?")
def gen_id_beyond_vocabulary(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    total = np.cumsum(distribution(logits, temperature, top_k), axis=-1)
    return (total <= np.asarray(u)[..., None]).sum(axis=-1)


@mistake("gen_rounding_gives_zero", "sample_token")
@says("When rounding leaves the sum below u, token 0 is returned.")
@hint("What does argmax return if no entry is True?")
def gen_rounding_gives_zero(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    total = np.cumsum(distribution(logits, temperature, top_k), axis=-1)
    return np.argmax(total > np.asarray(u)[..., None], axis=-1)


@mistake("gen_rounding_gives_last_id", "sample_token")
@says("When rounding leaves the sum below u, the last id is returned even if top_k cut it.")
@hint("Which ids may come out when top_k is small, whatever u is?")
def gen_rounding_gives_last_id(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    total = np.cumsum(distribution(logits, temperature, top_k), axis=-1)
    passed = (total <= np.asarray(u)[..., None]).sum(axis=-1)
    return np.minimum(passed, logits.shape[-1] - 1)


@mistake("gen_one_u_for_all", "sample_token")
@says("The first number of u is used for every row of the batch.")
@hint("Does each row of the batch bring its own number?")
def gen_one_u_for_all(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    first = np.full(logits.shape[:-1], np.asarray(u).flat[0])
    return drawn(distribution(logits, temperature, top_k), first)


@mistake("gen_one_row_only", "sample_token")
@says("np.searchsorted takes one row of probabilities, and a batch has several.")
@hint("Try two rows of logits at once: what does your search look through?")
def gen_one_row_only(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    total = np.cumsum(distribution(logits, temperature, top_k))
    return np.minimum(np.searchsorted(total, u, side="right"), logits.shape[-1] - 1)


@mistake("np_squeeze_kills_axis", "sample_token")
@says("Axes of size one disappear from the result.")
@hint("Try a batch of one: are all its axes still there?")
def np_squeeze_kills_axis_sample(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.squeeze(np.argmax(logits, axis=-1))
    return np.squeeze(drawn(distribution(logits, temperature, top_k), u))


@mistake("softmax_no_max", "sample_token")
@says("The exponential of a large logit overflows.")
@hint("Try logits of a thousand, and ask what you may subtract from all of them.")
def softmax_no_max_sample(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    likely = np.where(kept_ids(logits, top_k), np.exp(logits / temperature), 0.0)
    return drawn(likely / likely.sum(axis=-1, keepdims=True), u)


@mistake("softmax_no_max", "sample_token")
@says("The exponential of a large logit overflows.")
@hint("Try logits of a thousand, and ask what you may subtract from all of them.")
def softmax_no_max_sample_else_last(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    keep = kept_ids(logits, top_k)
    likely = np.where(keep, np.exp(logits / temperature), 0.0)
    sums = np.cumsum(likely / likely.sum(axis=-1, keepdims=True), axis=-1)
    passed = sums > np.asarray(u)[..., None]
    last = logits.shape[-1] - 1 - np.argmax(keep[..., ::-1], axis=-1)
    return np.where(passed.any(axis=-1), np.argmax(passed, axis=-1), last)


@mistake("softmax_fixed_shift", "sample_token")
@says("200 is taken from every logit instead of the largest logit.")
@hint("What is left of exp(-200) in float32, and which number suits every row?")
def softmax_fixed_shift_sample(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    likely = np.where(kept_ids(logits, top_k), np.exp(logits / temperature - 200), 0.0)
    return drawn(likely / likely.sum(axis=-1, keepdims=True), u)


@mistake("np_returns_alias", "sample_token")
@says("The ids of every batch of one shape are written into the same array.")
@hint("Keep the ids of one call, make another call, and look at the first ones again.")
def np_returns_alias_sample(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    shape = logits.shape[:-1]
    ids = kept_results.setdefault(shape, np.zeros(shape, dtype=int))
    ids[...] = drawn(distribution(logits, temperature, top_k), u)
    return ids


@mistake("gen_negative_temperature", "sample_token")
@says("A negative temperature is accepted, and turns the order of the tokens around.")
@hint("Which values of `temperature` make no sense, and where do you refuse them?")
def gen_negative_temperature(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(0, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    return drawn(distribution(logits, temperature, top_k), u)


@mistake("gen_negative_temperature", "sample_token")
@says("A negative temperature is treated as zero.")
@hint("Which values of `temperature` make no sense, and where do you refuse them?")
def gen_negative_temperature_greedy(logits, u, temperature=1.0, top_k=None):
    refuse_bad_settings(0, top_k)
    if temperature <= 0:
        return np.argmax(logits, axis=-1)
    return drawn(distribution(logits, temperature, top_k), u)


@mistake("gen_topk_zero_is_none", "sample_token")
@says("A top_k of 0 is taken for none at all.")
@hint("Which values does Python take for false in a condition?")
def gen_topk_zero_is_none(logits, u, temperature=1.0, top_k=None):
    top_k = top_k if top_k else None
    refuse_bad_settings(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    return drawn(distribution(logits, temperature, top_k), u)


@mistake("gen_topk_unchecked_when_greedy", "sample_token")
@says("At temperature zero a top_k below 1 is not refused.")
@hint("At which temperatures must a bad top_k be refused?")
def gen_topk_unchecked_when_greedy(logits, u, temperature=1.0, top_k=None):
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    refuse_bad_settings(temperature, top_k)
    return drawn(distribution(logits, temperature, top_k), u)


# generate: the loop


@mistake("gen_wrong_position_logits", "generate")
@says("The next token is read from the first position of what was fed.")
@hint("Which position knows the whole prompt?")
def gen_wrong_position_logits(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    def feed(tokens, start, cache, params):
        x = params["embedding"][tokens] + params["position"][start : start + tokens.shape[-1]]
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        return y[..., 0, :] @ params["w_out"], cache

    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    return continued(prompt, n_new, chooser(temperature, top_k, u), params, feed)


@mistake("gen_wrong_position_logits", "generate")
@says("The last entry of the first axis is read, which is the batch when there is one.")
@hint("Which axis of the logits is time when there is a batch?")
def gen_last_of_batch(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    def feed(tokens, start, cache, params):
        x = params["embedding"][tokens] + params["position"][start : start + tokens.shape[-1]]
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        return (y @ params["w_out"])[-1], cache

    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    return continued(prompt, n_new, chooser(temperature, top_k, u), params, feed)


@mistake("gen_token_not_appended", "generate")
@says("Every token is chosen from the logits of the prompt alone.")
@hint("What has changed between two rounds of your loop?")
def gen_token_not_appended(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    logits, _ = cached_logits(prompt, 0, new_cache(), params)
    choose = chooser(temperature, top_k, u)
    return continued(prompt, n_new, lambda _, i: choose(logits, i), params)


@mistake("gen_only_last_token_without_cache", "generate")
@says("Each new token is fed with an empty cache, so the text before it is forgotten.")
@hint("Where is the context kept while only one token is fed?")
def gen_only_last_token_without_cache(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    def feed(tokens, start, cache, params):
        return cached_logits(tokens, start, new_cache(), params)

    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    return continued(prompt, n_new, chooser(temperature, top_k, u), params, feed)


@mistake("gen_full_sequence_with_cache", "generate")
@says("The whole text is fed again in every step, into a cache that has it already.")
@hint("How many keys should there be after n tokens, and how many are there?")
def gen_full_sequence_with_cache(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    tokens, cache, choose = prompt.copy(), new_cache(), chooser(temperature, top_k, u)
    for i in range(n_new):
        logits, cache = cached_logits(tokens, 0, cache, params)
        tokens = np.concatenate([tokens, np.asarray(choose(logits, i))[..., None]], axis=-1)
    return tokens


@mistake("gen_last_prompt_token_twice", "generate")
@says("The last token of the prompt is fed once with the prompt and once more alone.")
@hint("Write down which tokens are in the cache before the first one is chosen.")
def gen_last_prompt_token_twice(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    if n_new == 0:
        return prompt.copy()
    _, cache = cached_logits(prompt, 0, new_cache(), params)

    def feed(tokens, start, cache, params):
        at = prompt.shape[-1] if start == 0 else start + 1
        return cached_logits(tokens[..., -1:], at, cache, params)

    return continued(prompt, n_new, chooser(temperature, top_k, u), params, feed, cache)


@mistake("kv_pos_zero", "generate")
@says("Positions start at 0 again for every token that is fed.")
@hint("Which position number does the fifth new token get?")
def kv_pos_zero(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    def feed(tokens, start, cache, params):
        return cached_logits(tokens, 0, cache, params)

    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    return continued(prompt, n_new, chooser(temperature, top_k, u), params, feed)


@mistake("pos_missing", "generate")
@says("The positions are never added to the embeddings.")
@hint("What tells the model which of two equal tokens came first?")
def pos_missing_generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    def feed(tokens, start, cache, params):
        return logits_at(tokens, 0.0, cache, params)

    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    return continued(prompt, n_new, chooser(temperature, top_k, u), params, feed)


@mistake("kv_pos_skipped_for_len1", "generate")
@says("A token that is fed alone gets no position.")
@hint("Does a single token still have a place in the text?")
def kv_pos_skipped_for_len1(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    def feed(tokens, start, cache, params):
        position = params["position"][start : start + tokens.shape[-1]]
        return logits_at(tokens, position * (tokens.shape[-1] > 1), cache, params)

    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    return continued(prompt, n_new, chooser(temperature, top_k, u), params, feed)


@mistake("kv_pos_off_by_one", "generate")
@says("New tokens get a position that is one too high.")
@hint("When in your loop does the length change, before or after it is used?")
def kv_pos_off_by_one(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    def feed(tokens, start, cache, params):
        shifted = np.roll(params["position"], -1 if start else 0, axis=0)
        return logits_at(tokens, shifted[start : start + tokens.shape[-1]], cache, params)

    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    return continued(prompt, n_new, chooser(temperature, top_k, u), params, feed)


@mistake("kv_pos_off_by_one", "generate")
@says("New tokens get a position that is one too low.")
@hint("Which position number does the first token after the prompt get?")
def kv_pos_one_too_low(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    def feed(tokens, start, cache, params):
        return cached_logits(tokens, max(start - 1, 0), cache, params)

    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    return continued(prompt, n_new, chooser(temperature, top_k, u), params, feed)


@mistake("kv_pos_jump", "generate")
@says("The position grows by the length of the prompt in every step.")
@hint("By how much does the position grow from one token to the next?")
def kv_pos_jump(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    length = prompt.shape[-1]

    def feed(tokens, start, cache, params):
        step = (start - length + 1) * length if start else 0
        rows = (step + np.arange(tokens.shape[-1])) % len(params["position"])
        return logits_at(tokens, params["position"][rows], cache, params)

    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    return continued(prompt, n_new, chooser(temperature, top_k, u), params, feed)


@mistake("kv_pos_stuck", "generate")
@says("All new tokens get the position of the first of them.")
@hint("Which position number does the fifth new token get?")
def kv_pos_stuck(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    def feed(tokens, start, cache, params):
        return cached_logits(tokens, min(start, prompt.shape[-1]), cache, params)

    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    return continued(prompt, n_new, chooser(temperature, top_k, u), params, feed)


@mistake("lm_position_from_end", "generate")
@says("Positions are counted from the end of the text that is still to be written.")
@hint("Should a token change its position because more tokens were asked for?")
def lm_position_from_end_generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    free = len(params["position"]) - prompt.shape[-1] - n_new

    def feed(tokens, start, cache, params):
        return cached_logits(tokens, start + free, cache, params)

    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    return continued(prompt, n_new, chooser(temperature, top_k, u), params, feed)


@mistake("gen_temperature_fades", "generate")
@says("The temperature falls towards the end, so it depends on how many tokens come.")
@hint("Should an early token change because more tokens were asked for?")
def gen_temperature_fades(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    def choose(logits, i):
        return chooser(temperature * (1 - i / n_new), top_k, u)(logits, i)

    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    return continued(prompt, n_new, choose, params)


@mistake("gen_u_reversed", "generate")
@says("The numbers in u are used from the last to the first.")
@hint("Which number of u belongs to the first new token?")
def gen_u_reversed(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    turned = None if u is None else u[..., ::-1]
    return continued(prompt, n_new, chooser(temperature, top_k, turned), params)


@mistake("gen_one_u_for_all", "generate")
@says("The first number in u is used for every new token.")
@hint("How many numbers does u hold for one text, and how many of them are used?")
def gen_one_u_for_all_steps(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    choose = chooser(temperature, top_k, u)
    return continued(prompt, n_new, lambda logits, _: choose(logits, 0), params)


@mistake("gen_always_greedy", "generate")
@says("temperature and u are not passed on, so every choice is greedy.")
@hint("Follow the arguments `temperature` and `u`: where do they end up?")
def gen_always_greedy_generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    return continued(prompt, n_new, chooser(0.0, top_k, None), params)


@mistake("gen_topk_ignored", "generate")
@says("top_k is not passed on to the sampling.")
@hint("Follow the argument `top_k`: where does it end up?")
def gen_topk_ignored_generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    refuse_bad_settings(temperature, top_k)
    return continued(prompt, n_new, chooser(temperature, None, u), params)


@mistake("gen_topk_needs_batch", "generate")
@says("top_k is used for a batch only, not for a prompt without a batch axis.")
@hint("Which shapes of prompt have you sampled from with top_k?")
def gen_topk_needs_batch(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    refuse_bad_settings(temperature, top_k)
    used = top_k if prompt.ndim > 1 else None
    return continued(prompt, n_new, chooser(temperature, used, u), params)


@mistake("gen_topk_above_vocabulary", "generate")
@says("A top_k above the size of the vocabulary is refused.")
@hint("How many tokens are left if more are to be kept than there are?")
def gen_topk_above_refused(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    if top_k is not None and top_k > len(params["embedding"]):
        raise ValueError("top_k is more than the vocabulary holds")
    return continued(prompt, n_new, chooser(temperature, top_k, u), params)


@mistake("gen_topk_above_vocabulary", "generate")
@says("With a top_k above the size of the vocabulary only the largest logit is kept.")
@hint("How many tokens are left if more are to be kept than there are?")
def gen_topk_above_keeps_one(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    above = top_k is not None and top_k > len(params["embedding"])
    return continued(prompt, n_new, chooser(temperature, 1 if above else top_k, u), params)


@mistake("gen_u_second_axis", "generate")
@says("The numbers for a token are read along u's second axis, which is not always the last.")
@hint("Which axis of u counts the new tokens if there are two batch axes?")
def gen_u_second_axis(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)

    def choose(logits, i):
        if u is None or u.ndim < 2:
            return chooser(temperature, top_k, u)(logits, i)
        return sample_token(logits, u[:, i], temperature, top_k)

    return continued(prompt, n_new, choose, params)


@mistake("gen_top_k_default", "generate")
@says("top_k is 5 unless it is given.")
@hint("Which tokens may be drawn if the caller says nothing of top_k?")
def gen_top_k_five(prompt, n_new, params, temperature=0.0, top_k=5, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    return continued(prompt, n_new, chooser(temperature, top_k, u), params)


@mistake("gen_temperature_ignored", "generate")
@says("Every temperature above zero is treated as one.")
@hint("Follow the argument `temperature`: what does it change?")
def gen_temperature_ignored_generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    used = 1.0 if temperature > 0 else temperature
    return continued(prompt, n_new, chooser(used, top_k, u), params)


@mistake("gen_temperature_misapplied", "generate")
@says("A temperature below one is treated as one.")
@hint("Which temperatures does the table treat in a way of their own?")
def gen_temperature_below_one_ignored_generate(
    prompt, n_new, params, temperature=0.0, top_k=None, u=None
):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    used = max(temperature, 1.0) if temperature > 0 else 0.0
    return continued(prompt, n_new, chooser(used, top_k, u), params)


@mistake("gen_temperature_misapplied", "generate")
@says("A temperature above one is treated as one.")
@hint("Which temperatures does the table treat in a way of their own?")
def gen_temperature_above_one_ignored_generate(
    prompt, n_new, params, temperature=0.0, top_k=None, u=None
):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    used = min(temperature, 1.0)
    return continued(prompt, n_new, chooser(used, top_k, u), params)


@mistake("gen_global_rng", "generate")
@says("NumPy's global random numbers are used instead of u.")
@hint("Which random numbers were you given, and which do you use?")
def gen_global_rng_generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    own = np.random.rand(*prompt.shape[:-1], n_new)
    return continued(prompt, n_new, chooser(temperature, top_k, own), params)


@mistake("gen_zero_ends_text", "generate")
@says("After token 0 a text is filled up with zeros, as if 0 meant its end.")
@hint("Does the docstring give any token a special meaning?")
def gen_zero_ends_text(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    choose = chooser(temperature, top_k, u)
    ended = np.zeros(prompt.shape[:-1], dtype=bool)

    def choose_until_zero(logits, i):
        ids = np.where(ended, 0, choose(logits, i))
        ended[...] = ids == 0
        return ids

    return continued(prompt, n_new, choose_until_zero, params)


@mistake("gen_length_off_by_one", "generate")
@says("One token too few is generated.")
@hint("Count the new tokens.")
def gen_one_token_too_few(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    return continued(prompt, max(n_new - 1, 0), chooser(temperature, top_k, u), params)


@mistake("gen_length_off_by_one", "generate")
@says("At least one token is generated, even when none is asked for.")
@hint("What should come back when n_new is zero?")
def gen_at_least_one(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    return continued(prompt, max(n_new, 1), chooser(temperature, top_k, u), params)


@mistake("gen_length_off_by_one", "generate")
@says("n_new is taken for the length of the whole text.")
@hint("Does n_new count the tokens of the prompt as well?")
def gen_n_new_is_total(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    missing = max(n_new - prompt.shape[-1], 0)
    return continued(prompt, missing, chooser(temperature, top_k, u), params)


@mistake("gen_prompt_dropped", "generate")
@says("The continuation is returned without the prompt.")
@hint("How long should the result be?")
def gen_prompt_dropped(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    tokens = continued(prompt, n_new, chooser(temperature, top_k, u), params)
    return tokens[..., prompt.shape[-1] :]


@mistake("gen_nothing_to_join", "generate")
@says("The list of new tokens is joined even when it is empty, which fails.")
@hint("What should come back when n_new is zero?")
def gen_nothing_to_join(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    tokens = continued(prompt, n_new, chooser(temperature, top_k, u), params)
    new = np.stack([tokens[..., prompt.shape[-1] + i] for i in range(n_new)], axis=-1)
    return np.concatenate([prompt, new], axis=-1)


@mistake("gen_batch_required", "generate")
@says("The prompt must have exactly one batch axis.")
@hint("How many batch axes may a prompt have?")
def gen_batch_required(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    batch, length = prompt.shape
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    tokens = np.zeros((batch, length + n_new), dtype=int)
    tokens[...] = continued(prompt, n_new, chooser(temperature, top_k, u), params)
    return tokens


@mistake("np_squeeze_kills_axis", "generate")
@says("Axes of size one disappear from the result.")
@hint("Try a batch of one: are all its axes still there?")
def np_squeeze_kills_axis_generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    return np.squeeze(continued(prompt, n_new, chooser(temperature, top_k, u), params))


@mistake("gen_first_row_for_all", "generate")
@says("All texts of a batch are continued with the token of the first one.")
@hint("Does each text of the batch choose its own token?")
def gen_first_row_for_all(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    choose = chooser(temperature, top_k, u)

    def choose_first(logits, i):
        ids = np.asarray(choose(logits, i))
        return np.full(ids.shape, ids.flat[0])

    return continued(prompt, n_new, choose_first, params)


@mistake("gen_first_text_for_all", "generate")
@says("All texts of a batch get the new tokens of the first one.")
@hint("Which text of the batch does each new token continue?")
def gen_first_text_for_all(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    tokens = continued(prompt, n_new, chooser(temperature, top_k, u), params)
    first = tokens.reshape(-1, tokens.shape[-1])[0, prompt.shape[-1] :]
    new = np.broadcast_to(first, (*prompt.shape[:-1], n_new))
    return np.concatenate([prompt, new], axis=-1)


@mistake("kv_no_speedup", "generate")
@says("The whole text goes through the model again for every new token.")
@hint("How much does the hundredth token cost, compared with the tenth?")
def gen_recomputes_everything(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    tokens, choose = prompt.copy(), chooser(temperature, top_k, u)
    for i in range(n_new):
        logits = next_token_logits(tokens, params)[..., -1, :]
        tokens = np.concatenate([tokens, np.asarray(choose(logits, i))[..., None]], axis=-1)
    return tokens


@mistake("kv_no_speedup", "generate")
@says("A new cache is filled with the whole text for every new token.")
@hint("How many tokens are fed in the hundredth step?")
def gen_new_cache_every_step(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    tokens, choose = prompt.copy(), chooser(temperature, top_k, u)
    for i in range(n_new):
        logits, _ = cached_logits(tokens, 0, new_cache(), params)
        tokens = np.concatenate([tokens, np.asarray(choose(logits, i))[..., None]], axis=-1)
    return tokens


@mistake("kv_no_speedup", "generate")
@says("All keys and values are computed again for every new token, with the method dot.")
@hint("How much does the hundredth token cost, compared with the tenth?")
def gen_recomputes_with_dot(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    tokens, choose = prompt.copy(), chooser(temperature, top_k, u)
    for i in range(n_new):
        x = params["embedding"][tokens] + params["position"][: tokens.shape[-1]]
        k, v = x.dot(params["w_k"]), x.dot(np.asarray(params["w_v"]))
        y = attention(x[..., -1:, :].dot(params["w_q"]), k, v)
        logits = (y @ params["w_out"])[..., -1, :]
        tokens = np.concatenate([tokens, np.asarray(choose(logits, i))[..., None]], axis=-1)
    return tokens


@mistake("np_module_state", "generate")
@says("The cache is made once, so the next text is written after the last one.")
@hint("Where in your code is the cache made, and how often does that line run?")
def np_module_state_generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    def feed(tokens, start, cache, params):
        logits, kept_cache["cache"] = cached_logits(tokens, start, kept_cache["cache"], params)
        return logits, None

    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    return continued(prompt, n_new, chooser(temperature, top_k, u), params, feed)


@mistake("np_returns_alias", "generate")
@says("Texts of one shape are all written into the same array.")
@hint("Keep the text of one call, make another call, and look at the first one again.")
def np_returns_alias_generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    shape = (*prompt.shape[:-1], prompt.shape[-1] + n_new)
    tokens = kept_results.setdefault(shape, np.zeros(shape, dtype=int))
    tokens[...] = continued(prompt, n_new, chooser(temperature, top_k, u), params)
    return tokens


# generate: limits and arguments


@mistake("gen_full_table_refused", "generate")
@says("A text that just fits into the position table is refused.")
@hint("Is a text allowed that uses every row of the table of positions?")
def gen_full_table_refused(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new + 1, params, temperature, u)
    return continued(prompt, n_new, chooser(temperature, top_k, u), params)


@mistake("gen_limit_one_too_late", "generate")
@says("T_max + 1 tokens are allowed, since the last token is never fed.")
@hint("Which length does the table limit: that of the text, or that of what is fed?")
def gen_limit_one_too_late(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new - 1, params, temperature, u)
    return continued(prompt, n_new, chooser(temperature, top_k, u), params)


@mistake("gen_position_overflow", "generate")
@says("A text that is too long goes on with the last position.")
@hint("What should happen when a text outgrows the table of positions?")
def gen_position_overflow(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    def feed(tokens, start, cache, params):
        rows = np.minimum(start + np.arange(tokens.shape[-1]), len(params["position"]) - 1)
        return logits_at(tokens, params["position"][rows], cache, params)

    refuse_bad_lengths(prompt[..., :0], 0, params, temperature, u)
    return continued(prompt, n_new, chooser(temperature, top_k, u), params, feed)


@mistake("gen_position_overflow", "generate")
@says("A text that is too long ends in an IndexError instead of a ValueError.")
@hint("Which kind of error does the table name for a text that is too long?")
def gen_position_index_error(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    def feed(tokens, start, cache, params):
        rows = start + np.arange(tokens.shape[-1])
        return logits_at(tokens, params["position"][rows], cache, params)

    refuse_bad_lengths(prompt[..., :0], 0, params, temperature, u)
    return continued(prompt, n_new, chooser(temperature, top_k, u), params, feed)


@mistake("gen_crop_wrong_end", "generate")
@says("A text that is too long is cut off without a word.")
@hint("Should the caller learn that fewer tokens came than were asked for?")
def gen_stops_at_the_limit(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt[..., :0], 0, params, temperature, u)
    room = len(params["position"]) - prompt.shape[-1]
    return continued(prompt, min(n_new, room), chooser(temperature, top_k, u), params)


@mistake("np_broad_except", "generate")
@says("Every exception is caught, and the prompt is returned in its place.")
@hint("What does your function do after an exception, and does anyone notice?")
def np_broad_except_generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    try:
        refuse_bad_lengths(prompt, n_new, params, temperature, u)
        return continued(prompt, n_new, chooser(temperature, top_k, u), params)
    except Exception:
        return prompt.copy()


@mistake("gen_u_made_up", "generate")
@says("Without u, random numbers are made up.")
@hint("What does the docstring say about sampling without u?")
def gen_u_made_up(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    u = np.random.rand(*prompt.shape[:-1], n_new) if u is None else u
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    return continued(prompt, n_new, chooser(temperature, top_k, u), params)


@mistake("gen_u_decides", "generate")
@says("Wherever u is given, the tokens are sampled, at temperature zero too.")
@hint("What decides whether a token is sampled: u, or another argument?")
def gen_u_decides(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    used = temperature if u is None else temperature or 1.0
    return continued(prompt, n_new, chooser(used, top_k, u), params)


@mistake("gen_topk_needs_temperature", "generate")
@says("A top_k at temperature zero ends the text: no token is generated.")
@hint("Is there still a largest logit if only the top_k largest are kept?")
def gen_topk_ends_greedy_text(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    refuse_bad_settings(temperature, top_k)
    count = n_new if temperature > 0 or top_k is None else 0
    return continued(prompt, count, chooser(temperature, top_k, u), params)


@mistake("gen_topk_needs_temperature", "generate")
@says("A top_k at temperature zero is refused.")
@hint("Is there still a largest logit if only the top_k largest are kept?")
def gen_topk_refused_when_greedy(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    if temperature == 0 and top_k is not None:
        raise ValueError("top_k needs a temperature above 0")
    return continued(prompt, n_new, chooser(temperature, top_k, u), params)


@mistake("gen_u_always_required", "generate")
@says("u is demanded at temperature zero too.")
@hint("At which temperatures does a random number make a difference?")
def gen_u_always_required(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, 1.0, u)
    return continued(prompt, n_new, chooser(temperature, top_k, u), params)


@mistake("gen_topk_one_refused", "generate")
@says("A top_k of 1 is refused.")
@hint("How many ids may be kept at least?")
def gen_topk_one_refused(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    if top_k is not None and top_k <= 1:
        raise ValueError("top_k")
    return continued(prompt, n_new, chooser(temperature, top_k, u), params)


@mistake("np_input_mutated", "generate")
@says("The output weights are taken out of the caller's dict.")
@hint("What is left in `params` after your function has returned?")
def np_params_popped(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    own = {**params, "w_out": params.pop("w_out")}
    return continued(prompt, n_new, chooser(temperature, top_k, u), own)


@mistake("gen_mutates_prompt", "generate")
@says("New tokens are written over the last token of the caller's prompt.")
@hint("Is a slice of the prompt a copy of it, or a window onto it?")
def gen_mutates_prompt(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    refuse_bad_lengths(prompt, n_new, params, temperature, u)
    choose, last = chooser(temperature, top_k, u), prompt[..., -1:]

    def choose_into_prompt(logits, i):
        last[..., 0] = choose(logits, i)
        return last[..., 0].copy()

    return continued(prompt, n_new, choose_into_prompt, params)


@mistake("gen_feeds_last_prompt_token", "generate")
@says("Only the last token of the prompt is fed, with position 0; the rest is not read.")
@hint("What has the model read when it chooses the first new token?")
def gen_feeds_last_prompt_token(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    t, t_max = prompt.shape[-1], len(params["position"])
    if t + n_new > t_max:
        raise ValueError("prompt and n_new make too many tokens")
    if temperature > 0 and u is None:
        raise ValueError("u is needed to sample at a temperature above 0")
    tokens = np.zeros((*prompt.shape[:-1], t + n_new), dtype=int)
    tokens[..., :t] = prompt
    cache, fed = new_cache(), t - 1
    for end in range(t, t + n_new):
        x = (
            params["embedding"][tokens[..., fed:end]]
            + params["position"][fed - t + 1 : end - t + 1]
        )
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        fed = end
        u_now = u[..., end - t] if temperature > 0 else None
        tokens[..., end] = sample_token(y[..., -1, :] @ params["w_out"], u_now, temperature, top_k)
    return tokens


@mistake("gen_feeds_last_prompt_token_in_place", "generate")
@says("Only the last token of the prompt is fed; the rest of the prompt is not read.")
@hint("What has the model read when it chooses the first new token?")
def gen_feeds_last_prompt_token_in_place(
    prompt, n_new, params, temperature=0.0, top_k=None, u=None
):
    t, t_max = prompt.shape[-1], len(params["position"])
    if t + n_new > t_max:
        raise ValueError("prompt and n_new make too many tokens")
    if temperature > 0 and u is None:
        raise ValueError("u is needed to sample at a temperature above 0")
    tokens = np.zeros((*prompt.shape[:-1], t + n_new), dtype=int)
    tokens[..., :t] = prompt
    cache, fed = new_cache(), t - 1
    for end in range(t, t + n_new):
        x = params["embedding"][tokens[..., fed:end]] + params["position"][fed:end]
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        fed = end
        u_now = u[..., end - t] if temperature > 0 else None
        tokens[..., end] = sample_token(y[..., -1, :] @ params["w_out"], u_now, temperature, top_k)
    return tokens


@mistake("gen_limit_of_the_prompt", "generate")
@says("The length is checked for the prompt alone, without the new tokens.")
@hint("How many tokens are there in the end?")
def gen_limit_of_the_prompt(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    t, t_max = prompt.shape[-1], len(params["position"])
    if t > t_max:
        raise ValueError("the prompt has too many tokens")
    if temperature > 0 and u is None:
        raise ValueError("u is needed to sample at a temperature above 0")
    tokens = np.zeros((*prompt.shape[:-1], t + n_new), dtype=int)
    tokens[..., :t] = prompt
    cache, fed = new_cache(), 0
    for end in range(t, t + n_new):
        places = np.minimum(np.arange(fed, end), t_max - 1)
        x = params["embedding"][tokens[..., fed:end]] + params["position"][places]
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        fed = end
        u_now = u[..., end - t] if temperature > 0 else None
        tokens[..., end] = sample_token(y[..., -1, :] @ params["w_out"], u_now, temperature, top_k)
    return tokens


@mistake("gen_highest_of_all_ties", "sample_token")
@says("On a tie the highest id wins, at temperature 0 and among the top_k.")
@hint("Which of two equal logits comes first in vocabulary order?")
def gen_highest_of_all_ties(logits, u, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature must not be negative")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k must be at least 1")
    logits = np.asarray(logits, dtype=np.float64)
    if temperature == 0:
        return logits.shape[-1] - 1 - np.argmax(logits[..., ::-1], axis=-1)
    keep = np.full(logits.shape, True)
    if top_k is not None:
        order = logits.shape[-1] - 1 - np.argsort(-logits[..., ::-1], axis=-1, kind="stable")
        np.put_along_axis(keep, order[..., top_k:], False, axis=-1)
    probs = softmax(np.where(keep, logits / temperature, -np.inf))
    passed = np.cumsum(probs, axis=-1) <= np.asarray(u)[..., np.newaxis]
    last_kept = logits.shape[-1] - 1 - np.argmax(keep[..., ::-1], axis=-1)
    return np.minimum(passed.sum(axis=-1), last_kept)
