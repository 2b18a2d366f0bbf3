"""The torch reference against the definitions, written out as loops over plain Python numbers."""

import math
import warnings
from functools import partial
from itertools import combinations

import numpy as np
import pytest

from grader.answer_key import reference

BATCHES = pytest.mark.parametrize("batch", [(), (1,), (2,), (3, 2)], ids=str)
INF = math.inf


def normal(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def text(*shape):
    return np.random.default_rng([4, *shape]).integers(7, size=shape)


def weights(d_model=5, d_k=4, d_v=3, seed=0):
    return tuple(normal(d_model, size, seed=seed + i) for i, size in enumerate((d_k, d_k, d_v)))


def model(t_max=9):
    params = dict(zip(("w_q", "w_k", "w_v"), weights(), strict=True))
    tables = {"embedding": normal(7, 5), "position": normal(t_max, 5, seed=1)}
    return params | tables | {"w_out": normal(3, 7, seed=2)}


def per_item(function, batch, *arrays):
    """Apply a loop over single items to every item of the batch axes."""
    items = [function(*(array[index] for array in arrays)) for index in np.ndindex(*batch)]
    return np.array(items).reshape(batch + np.shape(items[0]))


def expect(got, expected):
    """Equal in shape, dtype and value: neither a broadcast nor a float32 result passes."""
    expected = np.asarray(expected)
    assert type(got) is np.ndarray
    assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-12)


# The definitions, one item at a time.


def loop_matmul(a, b):
    return np.array([[math.fsum(row * column) for column in b.T] for row in a])


def loop_scores(q, k):
    return loop_matmul(q, k.T) / math.sqrt(q.shape[1])


def loop_softmax(row):
    if all(score == -INF for score in row):
        return [0.0 for _ in row]
    powers = [math.exp(score - max(row)) for score in row]
    return [power / math.fsum(powers) for power in powers]


def loop_attention(q, k, v, mask):
    """Only the positions that a query may see take part in its row."""
    output = np.zeros((len(q), v.shape[1]))
    for i, scores in enumerate(loop_scores(q, k)):
        seen = [j for j in range(len(k)) if mask[i, j]]
        for j, weight in zip(seen, loop_softmax([scores[j] for j in seen]), strict=True):
            output[i] += weight * v[j]
    return output


def loop_self_attention(x, real, w_q, w_k, w_v):
    mask = np.array([[j <= i and real[j] for j in range(len(x))] for i in range(len(x))])
    return loop_attention(loop_matmul(x, w_q), loop_matmul(x, w_k), loop_matmul(x, w_v), mask)


def loop_log_softmax(logits):
    rows = [[z - max(row) for z in row] for row in logits]
    return [[z - math.log(math.fsum(map(math.exp, row))) for z in row] for row in rows]


def loop_log_probs(logits, targets):
    return [row[target] for row, target in zip(loop_log_softmax(logits), targets, strict=True)]


def loop_next_token_logits(tokens, params):
    embedded = [params["embedding"][token] for token in tokens]
    x = np.array([e + p for e, p in zip(embedded, params["position"], strict=False)])
    y = loop_self_attention(x, np.ones(len(x)), params["w_q"], params["w_k"], params["w_v"])
    return loop_matmul(y, params["w_out"])


def loop_sample(logits, u, temperature, top_k):
    kept = sorted(range(len(logits)), key=lambda i: (-logits[i], i))[:top_k]
    if temperature == 0:
        return kept[0]
    kept.sort()
    probabilities = loop_softmax([logits[i] / temperature for i in kept])
    total = 0.0
    for i, probability in zip(kept, probabilities, strict=True):
        total += probability
        if total > u:
            return i
    return kept[-1]


# Steps 1 to 3


@BATCHES
@pytest.mark.parametrize("bias", [np.zeros(4), normal(4)], ids=["no_bias", "bias"])
def test_linear_multiplies_from_the_right(batch, bias):
    x, weight = normal(*batch, 3, 2), normal(2, 4)
    expected = per_item(lambda x: loop_matmul(x, weight) + bias, batch, x)
    expect(reference.linear(x, weight, bias if bias.any() else None), expected)


def test_linear_takes_a_single_vector():
    expect(reference.linear(normal(3), normal(3, 2)), loop_matmul(normal(3)[None], normal(3, 2))[0])


@BATCHES
def test_project_qkv_gives_each_its_own_weight(batch):
    x = normal(*batch, 6, 5)
    for got, weight in zip(reference.project_qkv(x, *weights()), weights(), strict=True):
        expect(got, per_item(partial(loop_matmul, b=weight), batch, x))


@BATCHES
def test_attention_scores_are_scaled_products(batch):
    q, k = normal(*batch, 2, 4), normal(*batch, 7, 4)
    expect(reference.attention_scores(q, k), per_item(loop_scores, batch, q, k))


@pytest.mark.parametrize(("t_q", "t_k"), [(1, 1), (3, 3), (2, 7), (1, 4), (4, None)])
def test_causal_mask_aligns_last_query_with_last_key(t_q, t_k):
    keys = t_k or t_q
    expected = [[j <= i + keys - t_q for j in range(keys)] for i in range(t_q)]
    expect(reference.causal_mask(t_q, t_k), expected)


@pytest.mark.parametrize("t_k", [0, 2])
def test_causal_mask_refuses_fewer_keys_than_queries(t_k):
    with pytest.raises(ValueError, match=f"t_k is {t_k}, less than t_q, which is 3"):
        reference.causal_mask(3, t_k)


@BATCHES
def test_padding_mask_hides_padding_anywhere_and_not_token_zero(batch):
    tokens = np.broadcast_to([5, 0, 6, 5, 1], (*batch, 5))
    expected = np.broadcast_to([False, True, True, False, True], (*batch, 1, 5))
    expect(reference.padding_mask(tokens, 5), expected)


@BATCHES
def test_additive_mask_is_zero_or_minus_infinity(batch):
    mask = normal(*batch, 2, 3) > 0
    expected = np.array([0.0 if allowed else -INF for allowed in mask.flat]).reshape(mask.shape)
    expect(reference.additive_mask(mask), expected)


@pytest.mark.parametrize("shape", [(3, 2, 5), (2, 5), (3, 1, 5), (1, 2, 1), (5,), ()], ids=str)
def test_apply_mask_broadcasts_and_keeps_what_is_true(shape):
    scores, mask = normal(3, 2, 5), normal(*shape) > 0
    pairs = zip(scores.flat, np.broadcast_to(mask, scores.shape).flat, strict=True)
    expected = [score if allowed else -INF for score, allowed in pairs]
    expect(reference.apply_mask(scores, mask), np.array(expected).reshape(scores.shape))


# Steps 4 and 5


@pytest.mark.parametrize("axis", [-1, 0, 1, 2])
def test_softmax_normalises_the_axis_and_zeroes_blocked_slices(axis):
    scores = np.moveaxis(normal(2, 3, 5), -1, axis)
    slices = np.moveaxis(scores, axis, -1)
    slices[0, 1], slices[1, 2, :2] = -INF, -INF
    expected = np.moveaxis(per_item(loop_softmax, (2, 3), slices), -1, axis)
    expect(reference.softmax(scores, axis), expected)


@pytest.mark.parametrize("row", [[1e6, -1e6, 1e6], [-1e6, -1e6 - 1], [-INF, 1e6], [7.0]], ids=str)
def test_softmax_stays_finite(row):
    expect(reference.softmax(np.array(row)), loop_softmax(row))


@BATCHES
def test_attention_output_weighs_the_values(batch):
    rows, v = normal(*batch, 2, 7), normal(*batch, 7, 3)
    expect(reference.attention_output(rows, v), per_item(loop_matmul, batch, rows, v))


@BATCHES
@pytest.mark.parametrize("size", [1, 30, 1e3], ids=str)
@pytest.mark.parametrize("kind", ["none", "full", "shared", "keys", "all_blocked"])
def test_attention_follows_the_definition(batch, size, kind):
    q, k, v = normal(*batch, 4, 4) * size, normal(*batch, 7, 4), normal(*batch, 7, 3)
    masks = {"none": None, "full": normal(*batch, 4, 7) > 0, "shared": normal(4, 7) > 0,
             "keys": normal(*batch, 1, 7) > 0, "all_blocked": np.zeros((1, 1), bool)}  # fmt: skip
    mask = masks[kind]
    if kind in ("full", "shared"):
        mask[..., 1, :] = False  # one query that may attend to nothing
    wide = np.broadcast_to(True if mask is None else mask, (*batch, 4, 7))
    got = reference.attention(q, k, v, mask)
    expected = per_item(loop_attention, batch, q, k, v, wide)
    # The rounding error of a weight grows with the scores, here up to 1e6.
    tolerance = 1e-12 + 1e-14 * size**2
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)
    assert not got[~wide.any(axis=-1)].any()


@BATCHES
@pytest.mark.parametrize("padded", [(), (2, 3), (0, 1, 4)], ids=["none", "middle", "start"])
def test_masked_self_attention_hides_future_and_padding(batch, padded):
    x = normal(*batch, 6, 5)
    real = np.broadcast_to([t not in padded for t in range(6)], (*batch, 6))
    got = reference.masked_self_attention(x, *weights(), real[..., None, :] if padded else None)
    expect(got, per_item(lambda x, real: loop_self_attention(x, real, *weights()), batch, x, real))


@BATCHES
def test_masked_self_attention_of_a_prefix_is_the_prefix(batch):
    x = normal(*batch, 11, 5)
    whole = reference.masked_self_attention(x, *weights())
    for t in range(1, 12):
        expect(reference.masked_self_attention(x[..., :t, :], *weights()), whole[..., :t, :])


# Step 6


@BATCHES
def test_shift_tokens_pairs_every_token_with_the_next(batch):
    tokens = text(*batch, 5)
    inputs, targets = reference.shift_tokens(tokens)
    expect(inputs, per_item(lambda row: [row[t] for t in range(4)], batch, tokens))
    expect(targets, per_item(lambda row: [row[t + 1] for t in range(4)], batch, tokens))


@pytest.mark.parametrize("length", [0, 1])
def test_shift_tokens_refuses_a_text_without_a_next_token(length):
    with pytest.raises(ValueError, match=f"tokens must hold at least 2 positions, not {length}"):
        reference.shift_tokens(text(2, length))
    with pytest.raises(ValueError, match=f"tokens must hold at least 2 positions, not {length}"):
        reference.teacher_forced_loss(text(2, length), model())


@BATCHES
@pytest.mark.parametrize("size", [1, 1e6], ids=str)
def test_log_softmax_is_stable(batch, size):
    logits = normal(*batch, 3, 7) * size
    expect(reference.log_softmax(logits), per_item(loop_log_softmax, batch, logits))


@BATCHES
@pytest.mark.parametrize("ignore_id", [None, 0, -100, 99])
def test_cross_entropy_is_the_mean_over_what_is_not_ignored(batch, ignore_id):
    logits, targets = normal(*batch, 6, 7), text(*batch, 6)
    targets[..., ::3] = 0 if ignore_id is None else ignore_id
    pairs = zip(logits.reshape(-1, 7), targets.flat, strict=True)
    losses = [-loop_log_softmax([row])[0][target] for row, target in pairs if target != ignore_id]
    got = reference.cross_entropy(logits, targets, ignore_id)
    assert type(got) is float
    assert got == pytest.approx(math.fsum(losses) / len(losses), rel=1e-11)


@pytest.mark.parametrize("ignore_id", [3, -100])
def test_cross_entropy_refuses_to_ignore_everything(ignore_id):
    with pytest.raises(ValueError, match="targets must hold at least one position"):
        reference.cross_entropy(normal(2, 4, 7), np.full((2, 4), ignore_id), ignore_id)


def test_cross_entropy_ignores_nothing_unless_told():
    with pytest.raises(IndexError, match="-100 is out of bounds"):
        reference.cross_entropy(normal(4, 7), np.array([1, 2, -100, 3]))


@BATCHES
def test_sequence_log_prob_sums_over_time(batch):
    logits, targets = normal(*batch, 6, 7), text(*batch, 6)
    log_probs = per_item(loop_log_probs, batch, logits, targets)
    expect(reference.sequence_log_prob(logits, targets), log_probs.sum(axis=-1))


@BATCHES
@pytest.mark.parametrize("length", [1, 4, 9])
def test_next_token_logits_follow_the_definition(batch, length):
    tokens = text(*batch, length)
    expected = per_item(partial(loop_next_token_logits, params=model()), batch, tokens)
    expect(reference.next_token_logits(tokens, model()), expected)


@BATCHES
def test_teacher_forced_loss_scores_one_token_more_than_t_max(batch):
    tokens = text(*batch, 10)
    logits = per_item(partial(loop_next_token_logits, params=model()), batch, tokens[..., :-1])
    expected = -per_item(loop_log_probs, batch, logits, tokens[..., 1:]).mean()
    got = reference.teacher_forced_loss(tokens, model())
    assert type(got) is float
    assert got == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize(("call", "length"), [(reference.next_token_logits, 10),
                                              (reference.teacher_forced_loss, 11)])  # fmt: skip
def test_text_longer_than_t_max_is_refused(call, length):
    with pytest.raises(ValueError, match="tokens has 10 positions, more than T_max, which is 9"):
        call(text(2, length), model())


# Steps 7 and 8


@BATCHES
@pytest.mark.parametrize("chunks", [(3, 3, 2), (1,) * 8, (5, 1, 1), (8,)], ids=str)
def test_cache_equals_the_full_pass_at_every_position(batch, chunks):
    x, cache = normal(*batch, sum(chunks), 5), reference.new_cache()
    whole, end = reference.masked_self_attention(x, *weights()), 0
    for size in chunks:
        start, end = end, end + size
        y, cache = reference.attend_with_cache(x[..., start:end, :], cache, *weights())
        expect(y, whole[..., start:end, :])


def test_cache_keeps_old_keys_and_values_when_weights_change():
    x, old, new = normal(2, 7, 5), weights(), weights(seed=9)
    _, cache = reference.attend_with_cache(x[:, :4], reference.new_cache(), *old)
    got, _ = reference.attend_with_cache(x[:, 4:], cache, *new)
    k, v = (np.concatenate([x[:, :4] @ old[i], x[:, 4:] @ new[i]], axis=1) for i in (1, 2))
    mask = np.broadcast_to([[j <= 4 + i for j in range(7)] for i in range(3)], (2, 3, 7))
    expect(got, per_item(loop_attention, (2,), x[:, 4:] @ new[0], k, v, mask))


def test_caches_share_no_state():
    x, y = normal(4, 5), normal(4, 5, seed=1)
    first, second = reference.new_cache(), reference.new_cache()
    for t in range(4):
        _, first = reference.attend_with_cache(x[t : t + 1], first, *weights())
        got, second = reference.attend_with_cache(y[t : t + 1], second, *weights())
        expect(got, reference.masked_self_attention(y[: t + 1], *weights())[-1:])


@BATCHES
@pytest.mark.parametrize("temperature", [0, 0.3, 1.0, 2.5])
@pytest.mark.parametrize("top_k", [None, 1, 3, 7, 99])
def test_sample_token_inverts_the_cumulative_distribution(batch, temperature, top_k):
    # Rounded, so that ties occur, inside and across the border of top_k.
    logits = normal(20, *batch, 7).round()
    u = np.random.default_rng(5).random(logits.shape[:-1])
    sample = partial(loop_sample, temperature=temperature, top_k=top_k)
    expected = per_item(sample, logits.shape[:-1], logits, u)
    expect(reference.sample_token(logits, u if temperature else None, temperature, top_k), expected)


@pytest.mark.parametrize(("logits", "u", "options", "expected"), [
    pytest.param([1.0, 3, 3, 2], None, {"temperature": 0}, 1, id="greedy_tie"),
    pytest.param([1.0, 3, 3, 3], 0.99, {"top_k": 2}, 2, id="top_k_tie"),
    pytest.param([0.0, 0, 0, 0], 0.25, {}, 1, id="u_on_the_border_belongs_to_the_next"),
    pytest.param([-INF, 0.0, 0], 0.0, {}, 1, id="u_zero_skips_the_impossible"),
    # Ten times 0.1 adds up to the largest u there is, which the total then does not exceed.
    pytest.param([0.0] * 10 + [-1], 1 - 2**-53, {"top_k": 10}, 9, id="rounding_last_kept"),
    pytest.param([1e6, 1e6 + 1, -1e6], 0.5, {"temperature": 1e-305}, 1, id="nearly_cold"),
])  # fmt: skip
def test_sample_token_at_the_edges(logits, u, options, expected):
    expect(reference.sample_token(np.array(logits), u, **options), expected)


@pytest.mark.parametrize(("u", "options", "message"), [
    pytest.param(0.5, {"temperature": -0.1}, "temperature must not be neg", id="negative"),
    pytest.param(None, {"temperature": -0.1}, "temperature must not be neg", id="no_u_either"),
    pytest.param(0.5, {"top_k": 0}, "top_k must be at least 1", id="top_k"),
    pytest.param(None, {"top_k": -1, "temperature": 0}, "top_k must be at", id="top_k_cold"),
    pytest.param(None, {}, "u is needed", id="no_u"),
])  # fmt: skip
def test_sample_token_refuses(u, options, message):
    with pytest.raises(ValueError, match=message):
        reference.sample_token(normal(7), u, **options)


@BATCHES
@pytest.mark.parametrize(("temperature", "top_k"), [(0, None), (0.8, None), (1.5, 3)])
def test_generate_samples_one_token_after_another(batch, temperature, top_k):
    prompt, u = text(*batch, 3), np.random.default_rng(6).random((*batch, 6))

    def continued(tokens, u):
        for draw in u:
            logits = loop_next_token_logits(tokens, model())[-1]
            tokens = [*tokens, loop_sample(logits, draw, temperature, top_k)]
        return tokens

    got = reference.generate(prompt, 6, model(), temperature, top_k, u if temperature else None)
    expect(got, per_item(continued, batch, prompt, u))


def test_generate_of_nothing_is_a_copy_of_the_prompt():
    prompt = text(2, 9)
    got = reference.generate(prompt, 0, model())
    expect(got, prompt)
    assert not np.shares_memory(got, prompt)


@pytest.mark.parametrize(("n_new", "options", "message"), [
    pytest.param(7, {}, "prompt and n_new make 10 tokens, more than T_max", id="too_long"),
    pytest.param(2, {"temperature": 1.0}, "u is needed", id="no_u"),
    pytest.param(2, {"temperature": -1.0}, "temperature must not be negative", id="negative"),
    pytest.param(2, {"top_k": 0}, "top_k must be at least 1", id="top_k"),
])  # fmt: skip
def test_generate_refuses(n_new, options, message):
    with pytest.raises(ValueError, match=message):
        reference.generate(text(2, 3), n_new, model(), **options)


# Every function that takes arrays, once, for what holds of all of them.

Q, K, V = normal(2, 6, 4), normal(2, 7, 4), normal(2, 7, 3)
SCORES, MASK = normal(2, 6, 7), normal(6, 7) > 0
CALLS = [
    ("linear", normal(2, 6, 5), normal(5, 4), normal(4)),
    ("project_qkv", normal(2, 6, 5), *weights()),
    ("attention_scores", Q, K),
    ("padding_mask", text(2, 6), 3),
    ("additive_mask", MASK),
    ("apply_mask", SCORES, MASK),
    ("softmax", SCORES),
    ("attention_output", SCORES, V),
    ("attention", Q, K, V, MASK),
    ("masked_self_attention", normal(2, 6, 5), *weights(), normal(2, 1, 6) > 0),
    ("shift_tokens", text(2, 6)),
    ("log_softmax", SCORES),
    ("cross_entropy", SCORES, text(2, 6), 3),
    ("sequence_log_prob", SCORES, text(2, 6)),
    ("next_token_logits", text(2, 6), model()),
    ("teacher_forced_loss", text(2, 6), model()),
    ("attend_with_cache", normal(2, 6, 5), reference.new_cache(), *weights()),
    ("sample_token", SCORES, normal(2, 6) % 1),
    ("generate", text(2, 6), 3, model()),
]
EVERY_FUNCTION = pytest.mark.parametrize("call", CALLS, ids=lambda call: call[0])


def changed(value, change):
    if isinstance(value, dict):
        return {name: change(array) for name, array in value.items()}
    return change(value) if isinstance(value, np.ndarray) else value


def awkward(array):
    """The same values, read-only and with negative strides."""
    view = np.flip(np.flip(array).copy())
    view.flags.writeable = False
    return view


def single(array):
    return array.astype(np.float32) if array.dtype == np.float64 else array.astype(array.dtype)


def double(array):
    return single(array).astype(np.float64 if array.dtype == np.float64 else array.dtype)


def results(name, *arguments):
    """The arrays and numbers that a call returns; a cache is nobody's to look at."""
    with warnings.catch_warnings(action="error"):
        got = getattr(reference, name)(*arguments)
    got = got if isinstance(got, tuple) else (got,)
    return [value for value in got if not isinstance(value, tuple)]


@EVERY_FUNCTION
def test_read_only_views_are_as_good_as_arrays(call):
    name, *arguments = call
    views = [changed(value, awkward) for value in arguments]
    np.testing.assert_equal(results(name, *views), results(name, *arguments))


@EVERY_FUNCTION
def test_float32_is_computed_in_float64(call):
    name, *arguments = call
    got = results(name, *(changed(value, single) for value in arguments))
    np.testing.assert_equal(got, results(name, *(changed(value, double) for value in arguments)))
    assert all(np.asarray(value).dtype != np.float32 for value in got)


@EVERY_FUNCTION
def test_results_are_arrays_of_their_own(call):
    name, *arguments = call
    got = results(name, *arguments)
    assert all(np.asarray(value).flags.writeable for value in got)
    arrays = [value for value in (*arguments, *got) if isinstance(value, np.ndarray)]
    assert not any(np.shares_memory(one, other) for one, other in combinations(arrays, 2))


def test_torch_runs_on_one_thread():
    assert reference.torch.get_num_threads() == 1
