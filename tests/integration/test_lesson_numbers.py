"""The losses of the two small models in lesson 6 are those that they really have."""

import math
import re

import numpy as np
import pytest

from grader.notebooks import peeking
from tests.conftest import SOLUTIONS

pytestmark = pytest.mark.filterwarnings("error")
LESSON = SOLUTIONS["step06_loss"]
PAST = np.tril(np.ones((peeking.LENGTH - 1, peeking.LENGTH - 1), dtype=bool))
LONG_ENOUGH = 600.0


def softmax_attention(q, k, v, mask):
    scores = q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])
    scores = scores if mask is None else np.where(mask, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v


def log_probs(logits):
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def mean_loss(logits, targets):
    return -np.take_along_axis(log_probs(logits), targets[..., None], axis=-1).mean()


@pytest.fixture(scope="module")
def trained():
    """What each model costs: while it is trained, on new texts as trained, and on them in use."""
    random = np.random.RandomState(1)
    seen, fresh = peeking.texts(random), peeking.texts(random)
    found = {}
    for name, mask in (("with a mask", PAST), ("no mask", None)):
        model = peeking.PeekingModel(softmax_attention, log_probs, mean_loss, mask)
        losses = peeking.train(model, seen, LONG_ENOUGH)
        found[name] = losses, [model.loss(fresh, model.where, one) for one in (mask, PAST)]
    logits = model.mix_tokens(seen[:, :-1], model.where, None) @ model.out
    places = slice(-1, None), slice(-1)
    found["by position"] = [mean_loss(logits[:, at], seen[:, 1:][:, at]) for at in places]
    return found


def row(name, after):
    """The numbers of that row, in the first table below the words `after`."""
    lines = LESSON[LESSON.index(after) :].splitlines()
    line = next(line for line in lines if line.startswith(f"#     {name} "))
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", line)]


@pytest.mark.parametrize("name", ["with a mask", "no mask"])
def test_lesson_tells_the_losses_of_training_and_in_use(trained, name):
    losses, later = trained[name]
    steps = [int(step) for step in row("training step", "## With and without a mask")]
    told = row(name, "training step   ") + row(name, "end of        new texts")
    found = [*(losses[step - 1] for step in steps), losses[-1], *later]
    assert told == pytest.approx(found, abs=0.006)


def test_lesson_tells_what_nobody_can_beat():
    assert f"guess better than {peeking.FLOOR:.2f}." in LESSON
    assert f"ln {peeking.V} = {math.log(peeking.V):.2f}" in LESSON


def test_lesson_tells_where_the_peeking_model_loses(trained):
    """The last position has no answer beside it; the loss of all is the mean of twelve."""
    told = re.search(r"there it loses (\S+), and elsewhere (\S+)\. In", " ".join(LESSON.split()))
    last, elsewhere = map(float, told.groups())
    (at_last, at_others), whole = trained["by position"], row("no mask", "training step   ")[-1]
    assert (last, elsewhere) == pytest.approx((at_last, at_others), abs=0.006)
    mean = (last + (peeking.LENGTH - 2) * elsewhere) / (peeking.LENGTH - 1)
    assert mean == pytest.approx(whole, abs=0.006)
