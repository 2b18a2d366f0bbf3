"""What no check asks of the torch reference. Fair variants in plain loops prove its values."""

import math

import numpy as np
import pytest

from grader.answer_key import reference
from grader.steps.inputs import Draw
from tests.visible.test_step08_generation import model

INF = math.inf


def expect(got, expected):
    """Equal in shape, dtype and value: neither a broadcast nor a float32 result passes."""
    expected = np.asarray(expected)
    assert type(got) is np.ndarray
    assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-12)


def test_cross_entropy_ignores_nothing_unless_told():
    with pytest.raises(IndexError, match="-100 is out of bounds"):
        reference.cross_entropy(np.zeros((4, 7)), np.array([1, 2, -100, 3]))


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
    asked = model(Draw("nothing"), (2,), 9, 0, vocabulary=7, d_model=5, d_k=4, d_v=3)
    got = reference.generate(**asked)
    expect(got, asked["prompt"])
    assert not np.shares_memory(got, asked["prompt"])


def test_torch_runs_on_one_thread():
    assert reference.torch.get_num_threads() == 1
