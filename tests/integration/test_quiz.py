"""The key of every question is what the reference says; a known mistake gives its distractor."""

import contextlib
import importlib
import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from grader.answer_key import reference, variants
from grader.authoring.bundle.writing import contents
from grader.cli import quiz as quizzing
from grader.cli.main import cli
from grader.steps import quiz
from grader.steps.inputs import Draw, block_params, decoder_params
from grader.steps.registry import read_toml
from tests.conftest import ROOT
from tests.conftest import STEPS as ALL_STEPS

MISTAKES = ROOT / "grader" / "answer_key" / "mistakes"
R = reference  # which finds the functions of later parts, too
STEPS = [quiz.PREFACE, *ALL_STEPS]
QUESTIONS = {one.id: one for step in STEPS for one in quiz.questions(step)}
INF = np.inf
BLOCK = block_params(Draw(7), 8, 32)
DECODER = decoder_params(Draw(7), 50, 8, [BLOCK])


def array(*rows):
    return np.array(rows, dtype=np.float64)


def normal(*shape):
    return np.random.RandomState(7).standard_normal(shape)


def differ(one, other):
    """The rows in which two results differ, NaN from a number too."""
    return np.flatnonzero(~np.isclose(one, other, atol=1e-9).all(axis=-1))


def agree(one, other):
    """The rows that two results share."""
    return np.setdiff1d(np.arange(len(one)), differ(one, other))


def moved(call, x, row):
    """The rows of a result that change when one row of the input does."""
    other = x.copy()
    other[row] += np.arange(1, x.shape[-1] + 1)  # no norm takes this out
    return differ(call(x), call(other))


def reached(*grads):
    """The rows with a gradient."""
    return np.flatnonzero(sum(np.abs(one).sum(axis=-1) for one in grads) > 1e-12)


def divisor(f, d_k):
    """Return the divisor of a dot product."""
    return d_k / f.attention_scores(np.ones((1, d_k)), np.ones((1, d_k))).item()


def attended(f, x, mask, keys=None):
    """Attention of the rows of x to those of x, or to other keys."""
    keys = x if keys is None else keys
    return f.attention(x, keys[..., ::-1], keys, mask)


def leaking_ways(f):
    """Return the ways of masking in which a change of the last token moves the first output."""
    mask = f.causal_mask(3)
    ways = [
        lambda s: f.softmax(np.where(mask, s, -INF)),
        lambda s: f.softmax(np.where(mask, s, 0.0)),
        lambda s: f.softmax(s) * mask,
        lambda s: (w := f.softmax(s) * mask) / w.sum(axis=-1, keepdims=True),
    ]

    def attend(way):
        return lambda x: f.attention_output(way(f.attention_scores(x, x)), x)

    x = array([1.0, 0.5], [0.2, 1.0], [1.0, 1.0])
    return [number for number, way in enumerate(ways) if 0 in moved(attend(way), x, 2)]


def alike_rows(f):
    """Return the rows of the logits that two orders of the same tokens share without positions."""
    params = {"embedding": normal(3, 4), "position": np.zeros((3, 4)), "w_out": normal(4, 3)}
    params |= dict(zip(("w_q", "w_k", "w_v"), normal(3, 4, 4)))
    return agree(*(f.next_token_logits(np.array(one), params) for one in ([0, 1, 2], [1, 0, 2])))


def wrong_rows_with_new_keys_first(f):
    """Return the new rows that come out otherwise if their keys stand before three old ones."""
    x, mask = normal(5, 4), f.causal_mask(2, 5)
    return differ(*(attended(f, x[3:], mask, keys) for keys in (x, np.roll(x, 2, axis=0))))


def stack(f, *masks):
    def run(x):
        for mask in masks:
            x = f.decoder_block(x, BLOCK, 2, mask)
        return x

    return moved(run, normal(4, 8), 3)


def corrupted_kinds(f):
    """Count the chosen, hidden, replaced and kept among 1,000 tokens, for evenly spread numbers."""
    select, replace = np.meshgrid(*[(np.arange(100) + 0.5) / 100] * 2)
    tokens = np.zeros(select.shape, dtype=int)
    corrupted, targets = f.mask_tokens(tokens, select, replace, tokens + 1, 9)
    chosen = targets != -100
    counts = [(chosen & (corrupted == kind)).sum() for kind in (9, 1, 0)]
    return np.array([[chosen.sum(), *counts]]) / 10


def targets_of_14b(f):
    ids = np.array([5, 3, 8]), array(0.02, 0.60, 0.10), array(0.95, 0.25, 0.31)
    return f.mask_tokens(*ids, np.array([1, 1, 1]), 9)[1][None]


def reached_rows(f, position, mask):
    """The rows of k and v that a loss on one output reaches, its own q aside."""
    x, d_out = normal(5, 4), np.zeros((5, 4))
    d_out[position] = 1.0
    return reached(*f.attention_backward(d_out, x, x[..., ::-1], x * 2, mask))


def cross(f, x, memory):
    return f.cross_attention(x, memory, BLOCK["attention"], 1)


def rows_behind_a_block(f, row, block=BLOCK):
    d_out = np.zeros((4, 8))
    d_out[row] = normal(1, 8)
    return reached(f.decoder_block_backward(d_out, normal(4, 8), block, 2, f.causal_mask(4))[0])


SILENT = {**BLOCK, "attention": {**BLOCK["attention"], "w_o": np.zeros((8, 8))}}


def can_take(f, length):
    with contextlib.suppress(ValueError):
        return f.decoder_loss(np.zeros(length, dtype=int), DECODER, 2) > 0
    return False


def rows_with_gradient(f):
    params = {**DECODER, "position": normal(6, 8)}
    return reached(f.decoder_loss_and_gradients(np.array([[1, 2, 3, 4]]), params, 2)[1]["position"])


def first_step_of_adam(f):
    params = {"p": array(1.0)}
    state = f.new_adamw(params)
    moved, _ = f.adamw_step(params, {"p": array(0.002)}, state, 0.1, eps=0.0, weight_decay=0.0)
    return 1.0 - moved["p"].item()


def rotated_scores(f, at, keys_at):
    """The scores of the first rows at these positions, for keys at those."""
    q, k = (f.rotate(normal(len(one), 4), f.rotary_angles(one, 4)) for one in (at, keys_at))
    return q @ k.T


def place_as_far(f):
    """The position whose key a query at 12 meets as one at 7 meets a key at 4."""
    wanted = rotated_scores(f, np.array([7]), np.array([4]))
    scores = [rotated_scores(f, np.array([12]), np.array([j])) for j in range(13)]
    return next(j for j, one in enumerate(scores) if abs(one - wanted) < 1e-9)


def weight_of_hidden(f):
    eye = np.eye(2)
    params = {"w_q": eye, "w_k": eye, "w_v": eye, "w_o": eye}
    mask, bias = np.array([[True, False], [True, True]]), np.zeros((1, 2, 2))
    bias[0, 0, 1] = 1000.0
    return f.grouped_query_attention(eye, params, 1, 1, mask, bias=bias)[0, 1]


def merged(f, lse_b):
    return f.merge_attention(array([10]), array(0), array([20]), array(lse_b))[0].item()


def fits(f, shape):
    """Whether w_down may have that shape."""
    params = {"w_gate": normal(8, 20), "w_up": normal(8, 20), "w_down": normal(*shape)}
    with contextlib.suppress(ValueError, RuntimeError):
        return f.swiglu(normal(3, 8), params).shape == (3, 8)
    return False


def head_by_hand(f):
    """Row 1 of head 1 in lesson 9's example."""
    q = f.split_heads(array([1, 1, 0, 0], [0, 0, 1, 1], [1, 1, 1, 1]), 2)[1]
    k = f.split_heads(array([2, 0, 0, 0], [0, 4, 0, 2], [2, 4, 0, 2]), 2)[1]
    return f.attention(q, k, array([10], [20], [30]), f.causal_mask(3))[1, 0]


def averaged(f, x, mask):
    """Each row the mean of those that it may see."""
    return f.attention(np.zeros((len(x), 1)), np.zeros((len(x), 1)), x, mask)


def stream_by_hand(f):
    """The last row of lesson 13's example after two layers that add the mean of the past."""
    x = array([1, 0], [1, 0], [1, 0], [0, 1], [0, 1])
    for _ in range(2):
        x = x + averaged(f, f.layer_norm(x, np.ones(2), np.zeros(2)), f.causal_mask(5))
    return x[-1]


# Predictions: what a change of the learner's own function or of its inputs does.


def softmax_with_one_maximum(f):
    scores = array([0, 0], [-1000, -1000], [3, 1])
    with np.errstate(invalid="ignore"):
        weights = np.exp(scores - scores.max())
        return differ(f.softmax(scores), weights / weights.sum(axis=-1, keepdims=True))


def rows_without_scale(f):
    x, w_q, w_k, w_v = normal(4, 4), *normal(3, 4, 4)
    return agree(*(f.masked_self_attention(x, w_q * scale, w_k, w_v) for scale in (1, 2)))


def rows_with_positions_from_0(f):
    shifted = np.concatenate([DECODER["position"][:3], DECODER["position"]])
    tables = DECODER, {**DECODER, "position": shifted}
    return differ(*(f.decoder_logits(np.array([1, 2, 3, 4, 5]), one, 2) for one in tables))


def table_added_at_once(f):
    d_table = np.zeros((3, 1))
    d_table[np.array([1, 0, 1])] += array([1], [2], [4])
    return d_table


def weight_of_the_last_key(f):
    """Blocks of 4, 4 and 2 keys, averaged two by two; only the last key has a value."""
    values = np.zeros((4, 1)), np.zeros((4, 1)), array([0], [1])
    means = [f.partial_attention(np.zeros((1, 2)), np.zeros((len(v), 2)), v)[0] for v in values]
    return (((means[0] + means[1]) / 2 + means[2]) / 2).item()


P8 = np.log(array(4, 2, 1, 1))
KEYS = {
    "0a": lambda f: np.flatnonzero(f.causal_mask(4)[2]),
    "0c": lambda f: f.shift_tokens(np.arange(1000))[1].size,
    "0e": lambda f: int(f.causal_mask(4).sum()),
    "0g": lambda f: (np.ones((2, 5, 3)) @ np.ones((3, 4))).shape,
    "0h": lambda f: np.swapaxes(np.ones((2, 5, 3)), -1, -2).shape,
    "0i": lambda f: np.ones((8, 5))[..., None, :].shape,
    "0j": lambda f: (x := array([1, 3], [2, 2])) / x.sum(axis=-1, keepdims=True),
    "1a": lambda f: f.linear(np.ones((5, 3, 6)), np.ones((6, 4))).shape,
    "1b": lambda f: moved(lambda x: f.linear(x, normal(6, 4)), normal(4, 6), 2),
    "1c": lambda f: f.linear(array([1, 2]), array([1, 0, 2], [0, 1, 3]), array(10, 20, 30)),
    "1e": lambda f: sum(np.ones(shape).size for shape in ((6, 4), (6, 4), (6, 3))),
    "2a": lambda f: f.attention_scores(np.ones((2, 9)), np.ones((7, 9))).shape,
    "2b": lambda f: divisor(f, 9),
    "2c": lambda f: f.attention_scores(array([2]), array([2])).item() * divisor(f, 1),
    "2d": lambda f: f.attention_scores(
        array([2, 0, 0, 0], [0, 0, 0, 4]), array([1, 0, 0, 3], [3, 0, 0, 1])
    ),
    "2e": lambda f: divisor(f, 64),
    "2g": lambda f: divisor(f, 64),
    "3a": lambda f: f.causal_mask(2, 4).astype(int),
    "3b": lambda f: int(f.causal_mask(1024).sum()),
    "3c": leaking_ways,
    "3e": lambda f: np.flatnonzero(
        (f.causal_mask(4) & f.padding_mask(np.array([9, 4, 9, 7]), 9))[2]
    ),
    "3f": lambda f: f.softmax(np.where(f.causal_mask(3), array(1, 2, 3), 0.0))[0, 0],
    "3h": lambda f: np.flatnonzero(~np.tril(f.causal_mask(4), -1).any(axis=-1)),
    "4a": lambda f: f.softmax(array([2, 2, -INF])),
    "4d": lambda f: f.softmax(array(3, 4))[1],
    "4e": lambda f: f.softmax(array([-INF, -INF])),
    "4g": softmax_with_one_maximum,
    "5a": lambda f: f.attention_output(array([1, 0], [0.25, 0.75]), array([4], [8])),
    "5b": lambda f: moved(lambda x: f.masked_self_attention(x, *normal(3, 4, 4)), normal(3, 4), 1),
    "5c": lambda f: moved(
        lambda x: attended(f, attended(f, x, None), f.causal_mask(3)), normal(3, 4), 2
    ),
    "5g": rows_without_scale,
    "6a": lambda f: f.shift_tokens(np.arange(4))[1].size,
    "6b": lambda f: math.exp(0.924),
    "6c": lambda f: f.cross_entropy(np.log(array([1, 1], [1, 3], [1, 1])), np.array([0, 0, 0])),
    "6h": alike_rows,
    "7a": lambda f: 5 + 1 + 1 + 1,
    "7b": lambda f: sum(range(5, 9)),
    "7c": lambda f: f.causal_mask(3, 8).shape,
    "7d": lambda f: int((~f.causal_mask(3, 8)).sum()),
    "7f": lambda f: sum(f.linear(np.ones((4, 2)), np.ones((2, d))).size for d in (4, 1)),
    "7h": wrong_rows_with_new_keys_first,
    "8a": lambda f: int(f.sample_token(P8, 0.6)),
    "8b": lambda f: int(f.sample_token(P8, 0.5)),
    "8c": lambda f: f.softmax(np.where(np.sort(P8)[-2] <= P8, P8, -INF))[None],
    "8e": lambda f: 4 + 1 + 1,
    "8f": lambda f: f.softmax(np.where(np.arange(4) < 3, P8, -INF))[0],
    "8h": lambda f: int(np.argmax(np.cumsum([0.5, 0.25, 0.125, 0.125]) >= 0.5)),
    "9a": lambda f: divisor(f, f.split_heads(np.ones((1, 12)), 3).shape[-1]),
    "9b": lambda f: f.split_heads(np.ones((2, 5, 12)), 4).shape,
    "9c": lambda f: f.split_heads(array([1, 2, 3, 4], [5, 6, 7, 8]), 2)[1],
    "9e": lambda f: f.split_heads(np.ones((5, 16)), 8).shape[0],
    "9f": head_by_hand,
    "9h": lambda f: array([1, 2, 3, 4], [5, 6, 7, 8]).reshape(2, 2, 2)[1],
    "10a": lambda f: f.attention_scores(np.ones((2, 5, 8)), np.ones((2, 7, 8))).shape,
    "10b": lambda f: cross(f, normal(2, 5, 8), normal(2, 7, 8)).shape,
    "10c": lambda f: f.shift_right(np.array([[4, 7, 2, 9]]), 1),
    "10e": lambda f: moved(lambda memory: cross(f, normal(3, 8), memory), normal(4, 8), 2),
    "10f": lambda f: f.attention(
        array([0, 0, 1, 1]),
        array([2, 0, 0, 0], [0, 4, 0, 2], [9, 9, 9, 9], [2, 4, 0, 2]),
        array([10], [20], [30], [40]),
        np.array([True, True, False, True]),
    )[0, 0],
    "10h": lambda f: moved(
        lambda memory: attended(f, normal(3, 4), f.causal_mask(3, 4), memory), normal(4, 4), 2
    ),
    "11a": lambda f: f.layer_norm(array([1, 3]), np.ones(2), np.zeros(2)),
    "11b": lambda f: moved(lambda x: f.feed_forward(x, BLOCK["feed_forward"]), normal(4, 8), 1),
    "11d": lambda f: sum(one.size for one in BLOCK["feed_forward"].values()),
    "11f": lambda f: 1 + 10 * float(f.gelu(array(-1.0))[0]),
    "11h": lambda f: moved(lambda x: (x - x.mean()) / x.std(), normal(4, 8), 3),
    "12a": lambda f: stack(f, np.ones((4, 4), dtype=bool), f.causal_mask(4)),
    "12b": lambda f: stack(f, f.causal_mask(4), f.causal_mask(4)),
    "12d": lambda f: f.decoder_logits(np.zeros((2, 5), dtype=int), DECODER, 2).shape,
    "12e": lambda f: np.flatnonzero(np.linalg.matrix_power(np.tri(30, 30, 1), 12)[0]).max(),
    "12f": lambda f: averaged(f, averaged(f, array([10], [20], [60]), None), f.causal_mask(3))[
        0, 0
    ],
    "13a": lambda f: 2 * 24 * 2048 * 1024 * np.dtype(np.float16).itemsize / 2**20,
    "13b": lambda f: np.arange(8)[6:],
    "13d": lambda f: f.attention_scores(np.ones((2, 4, 1, 8)), np.ones((2, 4, 7, 8))).shape,
    "13e": lambda f: 3 + 1 + 1 + 1,
    "13f": lambda f: stream_by_hand(f)[None],
    "13h": rows_with_positions_from_0,
    "14a": corrupted_kinds,
    "14b": targets_of_14b,
    "14c": lambda f: [
        row for row in range(4) if 1 in moved(lambda x: attended(f, x, None), normal(4, 4), row)
    ],
    "14g": lambda f: 1000 - (kinds := corrupted_kinds(f)[0])[0] + kinds[3],
    "15a": lambda f: f.cross_entropy_backward(np.log(array([1, 1, 2])), np.array([0])),
    "15b": lambda f: f.softmax_backward(array(1, 0, 2), array(0.25, 0.25, 0.5))[2],
    "15c": lambda f: f.linear_backward(normal(8, 5, 4), normal(8, 5, 6), normal(6, 4))[1].shape,
    "15d": lambda f: f.embedding_backward(array([1], [2], [4]), np.array([1, 0, 1]), 3),
    "15h": table_added_at_once,
    "16a": lambda f: reached_rows(f, 2, f.causal_mask(5)),
    "16b": lambda f: reached_rows(f, 0, None),
    "16d": lambda f: f.attention(normal(2, 3, 4), normal(2, 7, 4), normal(2, 7, 5)).shape,
    "16e": lambda f: 1 / divisor(f, 16),
    "16f": lambda f: f.softmax_backward(array(10, 20, 30), f.softmax(array(1, 3, 4)))[2],
    "17a": lambda f: f.layer_norm_backward(array([3, 3, 3, 3]), normal(1, 4), np.ones(4))[0][0, 0],
    "17b": lambda f: f.gelu_backward(array([1]), array([0])).item(),
    "17d": lambda f: f.layer_norm_backward(normal(8, 5, 6), normal(8, 5, 6), np.ones(6))[1].shape,
    "17f": lambda f: rows_behind_a_block(f, 1),
    "17h": lambda f: rows_behind_a_block(f, 2, SILENT),
    "18a": lambda f: max(t for t in range(2, 12) if can_take(f, t)),
    "18c": rows_with_gradient,
    "18d": lambda f: 6 * 100_000 * 1000 / 1e6,
    "18h": lambda f: np.flatnonzero(
        f.embedding_backward(np.ones((3, 1)), f.shift_tokens(np.arange(1, 5))[0], 6)[:, 0] == 0
    ),
    "19a": lambda f: f.clip_gradients({"a": array(3, 4)}, 1.0)[0]["a"][1],
    "19b": first_step_of_adam,
    "19c": lambda f: f.learning_rate(1, 1.0, 4, 8),
    "19d": lambda f: f.sample_batch(np.array([5, 6, 7, 8, 9]), 2, np.array([0, 2])),
    "19f": lambda f: (0.999 * 0.001 + 0.001) / (1 - 0.999**2),
    "19h": lambda f: 0.1 * 0.1 * 0.002 / (0.001 * 0.002**2) ** 0.5,
    "20b": place_as_far,
    "20c": lambda f: f.rotate(array([1, 0]), np.full((1, 1), np.pi / 2)),
    "20d": lambda f: f.alibi_slopes(8)[0],
    "20e": lambda f: f.alibi_bias(4, 2, 6).shape,
    "20g": lambda f: differ(*(rotated_scores(f, at, at) for at in (np.arange(4), np.arange(1, 5)))),
    "21a": lambda f: f.repeat_heads(np.arange(2.0)[:, None, None], 4)[3].item(),
    "21b": lambda f: (12, 2 * 3),
    "21c": lambda f: 32 / 8,
    "21e": weight_of_hidden,
    "21g": lambda f: np.flatnonzero(
        f.repeat_heads(np.arange(2)[:, None, None], 2).ravel() != np.tile(np.arange(2), 2)
    ),
    "22a": lambda f: f.sliding_window_mask(3, 2).astype(int),
    "22b": lambda f: f.prefix_mask(3, 2).astype(int),
    "22c": lambda f: f.document_positions(np.array([[4, 4, 9, 4]])),
    "22d": lambda f: np.linalg.matrix_power(f.sliding_window_mask(30, 4), 3)[-1].sum() - 1,
    "22e": lambda f: np.flatnonzero(f.document_mask(np.array([1, 1, 2, 2]))[3]),
    "22g": lambda f: np.flatnonzero((d := np.array([4, 4, 9, 4])) == d[3]),
    "23a": lambda f: f.partial_attention(np.zeros((1, 1)), *np.zeros((2, 2, 1)))[1].item(),
    "23b": lambda f: merged(f, 0.0),
    "23c": lambda f: merged(f, math.log(3)),
    "23e": lambda f: math.ceil(10 / 4),
    "23g": weight_of_the_last_key,
    "24a": lambda f: int(f.sliding_window_mask(1, 5, 30).sum()) - 1,
    "24d": lambda f: f.sliding_window_mask(2, 3, 4).astype(int),
    "24e": lambda f: 10 % 4,
    "24g": lambda f: differ(
        *(attended(f, normal(4, 4), m) for m in (f.causal_mask(4), f.sliding_window_mask(4, 2)))
    ),
    "25a": lambda f: f.rms_norm(array([3, 4]), np.ones(2), 0.0),
    "25c": lambda f: np.divide(*f.rms_norm(array([30, 40], [3, 4]), np.ones(2), 0.0))[0],
    "25d": lambda f: next(shape for shape in ((8, 20), (20, 8)) if fits(f, shape)),
    "25e": lambda f: np.flatnonzero(~f.causal_mask(3, 8)[0])[0] - 1,
    "25g": lambda f: f.rms_norm(np.ones((1, 16)), np.ones(16), 0.0)[0, 0] * 16**0.5,
}


def test_every_lesson_has_questions():
    assert [step.id for step in STEPS if not quiz.questions(step)] == []


def answers_with(name, question, step):
    """The answers by what that mistake says, of a function that it stands in for."""
    found = {}
    for one in (one for earlier in STEPS for one in variants.read(MISTAKES, earlier)):
        if name in (one.id, one.name) and one.step <= step.id:
            module = importlib.import_module(f"grader.answer_key.mistakes.{one.step}")
            changed = {place: getattr(module, how) for place, how in one.replacements.items()}
            with contextlib.suppress(quiz.AnswerError):  # of another shape
                answer = KEYS[question.id](SimpleNamespace(**{**vars(R), **changed}))
                found[one.says] = quiz.read(question, answer)
    return found


def test_every_answer_that_can_be_computed_has_a_key_here():
    kinds = {"number", "matrix", "shape", "positions"}
    assert set(KEYS) == {one.id for one in QUESTIONS.values() if one.kind in kinds}


@pytest.mark.parametrize("name", KEYS)
def test_key_is_what_the_reference_says(name):
    assert quiz.mark(QUESTIONS[name], KEYS[name](R))[0]


TRACED = {
    f"{entry['id']}-{one['answer']}": (step, entry["id"], one)
    for step in STEPS
    for entry in read_toml(quiz.FOLDER / f"{step.id}.toml")["question"]
    for one in entry.get("wrong", ())
    if "from" in one
}


@pytest.mark.parametrize(("step", "name", "wrong"), TRACED.values(), ids=TRACED)
def test_known_mistake_gives_its_wrong_answer(step, name, wrong):
    question = QUESTIONS[name]
    answers = answers_with(wrong["from"], question, step)
    assert quiz.read(question, wrong["answer"]) in answers.values()
    assert wrong["why"] in answers or any(said.startswith(wrong["why"][:30]) for said in answers)


ROW = next(one for one in QUESTIONS.values() if one.kind == "matrix" and one.shape[0] == 1)
FLAT = json.loads(ROW.key)[0]


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("3a", ["1 1 1 0; 1 1 1 1", "[[1, 1, 1, 0], [1, 1, 1, 1]]", reference.causal_mask(2, 4)]),
        ("12a", [{0, 1, 2, 3}, "3 2 1 0", [0, 1, 2, 3], np.arange(4)]),
        (ROW.id, [FLAT, np.array(FLAT, float), str(FLAT).replace("'", ""), " ".join(FLAT)]),
        ("5d", ["cbad"]),
        ("6c", ["2.773/3"]),
        ("3b", ["524,800", "1024*1025/2", "1024 · 1025 / 2", "512 × 1025"]),
    ],
)
def test_answer_may_be_written_in_several_ways(name, given):
    assert all(quiz.mark(QUESTIONS[name], one)[0] for one in given)


@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        ("3b", "1/0", "one number"),
        ("3b", "1024*", "one number"),
        ("3b", "nan", "finite"),
        ("3a", "1 1; 0 1", "2 rows of 4 numbers, yours has 2 rows of 2"),
        ("3a", "a b c d; 1 1 1 1", "one number, and 'a'"),
        ("3a", np.ones((2, 4, 1)), "one number"),
        ("1a", "5 x 3", "a shape"),
        ("5b", 1.5, "set of numbers"),
        ("1d", "z", "one letter of a, b, c"),
        ("5d", "c b a", "each once"),
    ],
)
def test_answer_of_another_form_gets_a_sentence(name, given, says):
    with pytest.raises(quiz.AnswerError, match=says):
        quiz.mark(QUESTIONS[name], given)


def test_bundle_marks_as_the_kit_does(tmp_path, steps):
    step = STEPS[2]
    files = contents(steps, [step], {})
    for one in (quiz.PREFACE, step):
        path = f"grader/steps/questions/{one.id}.toml"
        (tmp_path / f"{one.id}.toml").write_bytes(files[path])
    assert [name for name in files if "/questions/" in name] == sorted(
        f"grader/steps/questions/{path.name}" for path in tmp_path.iterdir()
    )
    assert quiz.questions(step, tmp_path) == quiz.questions(step)


@pytest.fixture
def asked(tmp_path, monkeypatch):
    monkeypatch.setattr(quizzing, "EXERCISES", tmp_path)
    return lambda *words: CliRunner().invoke(cli, ["quiz", *words])


def test_command_gives_a_reason_and_keeps_progress(asked):
    wrong = asked("3b", "1048576")
    assert wrong.exit_code == 1
    assert wrong.output.startswith("Not yet. Your answer looks like this mistake: The mask")
    right = asked("3b", "524800")
    assert right.exit_code == 0
    assert right.output.startswith("Right. ")
    assert "3b" not in asked("3").output
    assert "Masks: 1 of 8 answered" in asked().output


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["3"], 0, 'To answer: make quiz STEP=3a ANSWER="..."\n'),
        (["3b", "-5"], 1, "Not yet.\n"),
        (["3z"], 2, "no question 3z"),
        (["99"], 2, "no step '99'"),
        (["3", "5"], 2, "name the question too"),
    ],
)
def test_command_says_what_it_asks_or_lacks(asked, words, status, says):
    told = asked(*words)
    assert (told.exit_code, says in told.output) == (status, True)
