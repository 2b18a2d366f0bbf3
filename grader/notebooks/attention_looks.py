"""Draw pictures for the lessons on one layer: scores, masks, weights, outputs, loss, cache.

Each picture uses the learner's functions as they are in the kernel.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.checks.laws.influence import Moves, Nudge, everything, own, past
from grader.notebooks import peeking as models
from grader.notebooks.display import Shown
from grader.notebooks.drawing import (
    Function,
    array,
    chart,
    drawn_in,
    heat,
    heats,
    influences,
    show_pictures,
)
from grader.notebooks.sentence import KEYS, LOGITS, NEXT, QUERIES, SCORES, TOKENS

T = len(TOKENS)
WIDTHS = (1, 4, 16, 36, 64, 100, 144, 196, 256)
MANY = 2000  # tokens that are drawn


@drawn_in(1)
def projections(project_qkv: Function) -> Shown:
    """Draw which query, key and value moves when one token of the sentence changes."""
    random = np.random.RandomState(1)
    texts = random.standard_normal((2, T, 4))
    weights = {name: random.standard_normal((4, 3)) for name in ("w_q", "w_k", "w_v")}
    change = Nudge({"x": texts[0], **weights}, {"x": texts[1]}, {"x": -2})
    found = {}
    for part, name in enumerate(("query", "key", "value")):
        moves = Moves(change, own(T), part=part, output=name)
        found[f"{name}: row moves, if column changes"] = moves.draw(project_qkv)
    return influences(found, own(T))


@drawn_in(2)
def scores(attention_scores: Function) -> Shown:
    """Draw the scores of made-up vectors: how strongly each word looks for each other word."""
    values = array(attention_scores(QUERIES, KEYS), (T, T), "attention_scores")
    return show_pictures([heat("row asks, column is asked", values)])


@drawn_in(2)
def spread(attention_scores: Function) -> Shown:
    """Draw how far the scores of random vectors spread as the vectors get longer."""
    random = np.random.RandomState(2)
    plain, mine = [], []
    for width in WIDTHS:
        q, k = random.standard_normal((2, 60, width))
        mine.append(float(array(attention_scores(q, k), (60, 60), "attention_scores").std()))
        plain.append(float(np.einsum("id,jd->ij", q, k).std()))
    found = {"your scores": mine, "dot products, not divided": plain}
    title = "standard deviation of 3600 scores"
    picture = chart(title, ("d_k", WIDTHS), "standard deviation", found)
    ends = f"At d_k = {WIDTHS[-1]}: {mine[-1]:.2f}; not divided, {plain[-1]:.2f}."
    return show_pictures([picture], ends)


@drawn_in(3)
def masking(apply_mask: Function, causal_mask: Function) -> Shown:
    """Draw the scores of the sentence before the mask and after it."""
    masked = array(apply_mask(SCORES.copy(), causal_mask(T)), (T, T), "apply_mask")
    return heats({"before": SCORES, "after": masked})


@drawn_in(4)
def weights(softmax: Function) -> Shown:
    """Draw the weights of the sentence under the causal mask."""
    masked = np.where(past(T), SCORES, -np.inf)
    found = array(softmax(masked), (T, T), "softmax")
    return show_pictures([heat("row attends to column", found)])


@drawn_in(4)
def sharpness(softmax: Function) -> Shown:
    """Draw the weights of one row of scores, made larger and smaller."""
    times = (0.125, 0.5, 1.0, 2.0, 8.0)
    row = SCORES[TOKENS.index("great")]
    found = array(softmax(np.outer(times, row)), (len(times), T), "softmax")
    names = [f"scores × {factor:g}" for factor in times]
    title = "the weights of “great”, not masked"
    return show_pictures([heat(title, found, names, axes="row: scores · column: word")])


@drawn_in(5)
def attention_weights(attention: Function, causal_mask: Function) -> Shown:
    """Draw the weights inside `attention`, by passing the identity as values."""
    found = [
        array(attention(QUERIES, KEYS, np.eye(T), mask), (T, T), "attention")
        for mask in (None, causal_mask(T))
    ]
    return heats({"without a mask": found[0], "with the causal mask": found[1]})


@drawn_in(5)
def leaks(attention: Function, causal_mask: Function) -> Shown:
    """Draw which output moves when one token's key and value change, before masking and after."""
    random = np.random.RandomState(5)
    vectors, others = (dict(zip("qkv", random.standard_normal((3, T, 3)))) for _ in range(2))
    found = {}
    for title, mask in (("without a mask", None), ("with the causal mask", causal_mask(T))):
        sees = everything(T, T) if mask is None else past(T)
        change = Nudge({**vectors, "mask": mask}, others, {"k": -2, "v": -2})
        found[title] = Moves(change, sees).draw(attention)
    legend = "● the row's output moved when the column's word changed; ✗ a leak."
    return influences(found, past(T), legend)


@drawn_in(6)
def peeking(attention: Function, log_softmax: Function, cross_entropy: Function) -> Shown:
    """Draw the training losses of a model that may look ahead and one that may not."""
    random = np.random.RandomState(1)
    seen, fresh = models.texts(random), models.texts(random)
    mask = past(models.LENGTH - 1)
    functions = (attention, log_softmax, cross_entropy)
    lines, said, data = {}, [], {}
    for name, own_mask in (("with the mask", mask), ("without it, peeking", None)):
        model = models.PeekingModel(*functions, own_mask)
        losses = models.train(model, seen)
        lines[name] = losses
        writing = model.loss(fresh, model.where, mask)
        data[name] = (losses[-1], writing)
        said.append(f"{name[:1].upper()}{name[1:]}: {losses[-1]:.2f} at the end of training, ")
        said[-1] += f"{writing:.2f} on new texts whose next token is not there yet."
    levels = [("no guess can do better", models.FLOOR), ("knowing nothing", _nothing())]
    steps = "step of training", range(1, models.STEPS + 1)
    picture = chart("training loss", steps, "loss in nats", lines, levels)
    return show_pictures([picture], *said, losses=data)


def _nothing() -> float:
    """Return the loss of a uniform guess."""
    return float(np.log(models.V))


@drawn_in(8)
def temperatures(sample_token: Function) -> Shown:
    """Draw how often each word is drawn, at several temperatures."""
    u = (np.arange(MANY) + 0.5) / MANY
    logits = np.tile(LOGITS, (MANY, 1))
    ways: dict[str, dict[str, Any]] = {
        "τ = 0": {"temperature": 0},
        "τ = 1/2": {"temperature": 0.5},
        "τ = 1": {"temperature": 1.0},
        "τ = 2": {"temperature": 2.0},
        "τ = 2, top 3": {"temperature": 2.0, "top_k": 3},
    }
    shares = []
    for options in ways.values():
        ids = array(sample_token(logits, u, **options), (MANY,), "sample_token")
        shares.append([float(np.mean(ids == i)) for i in range(len(NEXT))])
    title = f"“{' '.join(TOKENS[:5])} …”: how often each word comes"
    return show_pictures(
        [heat(title, np.array(shares), list(ways), NEXT, "row: way · column: word")]
    )
