"""What no check asks of the torch reference. Fair variants in plain loops prove its values."""

import math
import warnings
from itertools import combinations

import numpy as np
import pytest

from grader.answer_key import reference

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


def expect(got, expected):
    """Equal in shape, dtype and value: neither a broadcast nor a float32 result passes."""
    expected = np.asarray(expected)
    assert type(got) is np.ndarray
    assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-12)


def test_cross_entropy_ignores_nothing_unless_told():
    with pytest.raises(IndexError, match="-100 is out of bounds"):
        reference.cross_entropy(normal(4, 7), np.array([1, 2, -100, 3]))


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


def test_generate_of_nothing_is_a_copy_of_the_prompt():
    prompt = text(2, 9)
    got = reference.generate(prompt, 0, model())
    expect(got, prompt)
    assert not np.shares_memory(got, prompt)


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
