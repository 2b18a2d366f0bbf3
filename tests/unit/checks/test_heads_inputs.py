"""The inputs of steps 9 and 10: heads that differ, biases that count, masks that can be seen."""

import numpy as np
import pytest

from grader.answer_key import reference
from grader.checks.suites import Live, Recording
from tests.conftest import SEED
from tests.visible import test_step09_heads as step9
from tests.visible import test_step10_cross_attention as step10

GIVEN = pytest.mark.parametrize("given", [Recording(), Live(SEED)], ids=["visible", "hidden"])


def cases(given, build, sizes):
    return [case.arguments for case in given.cases(build, sizes)]


def weights(asking, answering, params, n_heads):
    """The weights of every head, without a mask."""
    q, k = (
        reference.split_heads(x @ params[f"w_{name}"] + params[f"b_{name}"], n_heads)
        for name, x in (("q", asking), ("k", answering))
    )
    return reference.softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]))


def all_weights(given):
    """Of every case in which there is something to choose from."""
    for arguments in cases(given, step9.text, step9.PLAIN + step9.MASKS + step9.BATCH):
        x = arguments["x"]
        yield weights(x, x, arguments["params"], arguments["n_heads"])
    for arguments in cases(given, step10.two_texts, step10.PLAIN + step10.MASKS + step10.BATCH):
        x, memory = arguments["x"], arguments["memory"]
        yield weights(x, memory, arguments["params"], arguments["n_heads"])


@GIVEN
def test_weights_are_neither_uniform_nor_one_hot(given):
    for found in all_weights(given):
        assert found.max() - found.min() > 0.1
        assert np.median(found.max(axis=-1)) < 0.99


@GIVEN
def test_weights_of_heads_differ(given):
    for found in all_weights(given):
        if found.shape[-3] > 1:
            assert np.abs(np.diff(found, axis=-3)).max() > 0.1


@GIVEN
def test_biases_are_not_zero(given):
    for arguments in cases(given, step9.text, step9.PLAIN + step9.SHAPES):
        biases = [arguments["params"][f"b_{name}"] for name in "qkvo"]
        assert min(np.abs(bias).max() for bias in biases) > 0.01


@GIVEN
def test_masks_of_texts_differ(given):
    """A mask of another text, also where the batch is as large as the number of heads."""
    sizes = [size for size in step9.MASKS if size["mask"] == "full" and size["batch"]]
    assert any(size["batch"] == (size["n_heads"],) for size in sizes)
    for arguments in cases(given, step9.text, sizes):
        mask = arguments["mask"]
        assert any((mask[0] != other).any() for other in mask[1:])


@GIVEN
def test_blocked_queries_are_there_and_others_too(given):
    sizes = [size for size in step9.BLOCKED if size["mask"] != "nothing"]
    for arguments in cases(given, step9.text, sizes):
        sees = arguments["mask"].any(axis=-1)
        assert set(sees.ravel().tolist()) == {True, False}


@GIVEN
def test_padding_of_a_memory_is_not_at_its_end_alone(given):
    starts, *_ = step10.MASKS
    (arguments,) = cases(given, step10.two_texts, [starts])
    assert arguments["memory_mask"][0, [0, -1]].all()
    assert not arguments["memory_mask"].all()


@GIVEN
def test_large_scores_are_large_in_every_head_and_no_larger_than_promised(given):
    for arguments in cases(given, step9.large_text, step9.LARGE):
        x, params, n_heads = (arguments[name] for name in ("x", "params", "n_heads"))
        q, k = (
            reference.split_heads(x @ params[f"w_{n}"] + params[f"b_{n}"], n_heads) for n in "qk"
        )
        scores = np.abs(q @ np.swapaxes(k, -1, -2)) / np.sqrt(q.shape[-1])
        assert (scores.max(axis=(-1, -2)) > 900).all()
        assert scores.max() <= 1e6
