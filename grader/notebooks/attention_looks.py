"""Draw pictures for the lessons on one layer: scores, masks, weights, outputs, loss, words.

Each picture uses the learner's functions as they are in the kernel.
"""

from typing import Any

import numpy as np

from grader.checks.laws.influence import Moves, Nudge, own, past
from grader.notebooks import peeking as models
from grader.notebooks.pictures import (
    KEYS,
    LOGITS,
    NEXT,
    QUERIES,
    SCORES,
    TOKENS,
    Drawn,
    Function,
    array,
    chart,
    drawn_in,
    heat,
    influence,
)

T = len(TOKENS)
WIDTHS = (1, 4, 16, 36, 64, 100, 144, 196, 256)
MANY = 2000  # tokens that are drawn


@drawn_in(1)
def projections(project_qkv: Function) -> Drawn:
    """Draw which query, key and value moves when one token of the sentence changes."""
    random = np.random.RandomState(1)
    texts = random.standard_normal((2, T, 4))
    weights = {name: random.standard_normal((4, 3)) for name in ("w_q", "w_k", "w_v")}
    change = Nudge({"x": texts[0], **weights}, {"x": texts[1]}, {"x": -2})
    for part, name in enumerate(("query", "key", "value")):
        moves = Moves(change, own(T), part=part)
        yield influence(f"{name}: row moves, if column changes", moves.draw(project_qkv))


@drawn_in(2)
def scores(attention_scores: Function) -> Drawn:
    """Draw the scores of made-up vectors: how strongly each word looks for each other word."""
    yield heat("row asks, column is asked", attention_scores(QUERIES, KEYS))


@drawn_in(2)
def spread(attention_scores: Function) -> Drawn:
    """Draw how far the scores of random vectors spread as the vectors get longer."""
    random = np.random.RandomState(2)
    plain, mine = [], []
    for width in WIDTHS:
        q, k = random.standard_normal((2, 60, width))
        mine.append(float(array(attention_scores(q, k), (60, 60)).std()))
        plain.append(float((q @ k.T).std()))
    found = {"your scores": mine, "dot products, not divided": plain}
    yield chart("standard deviation of 3600 scores", ("d_k", WIDTHS), "standard deviation", found)
    yield f"At d_k = {WIDTHS[-1]}: {mine[-1]:.2f}; not divided, {plain[-1]:.2f}."


@drawn_in(3)
def masking(apply_mask: Function, causal_mask: Function) -> Drawn:
    """Draw the scores of the sentence before the mask and after it."""
    yield heat("before", SCORES)
    yield heat("after", apply_mask(SCORES.copy(), causal_mask(T)))


@drawn_in(4)
def weights(softmax: Function) -> Drawn:
    """Draw the weights of the sentence under the causal mask."""
    yield heat("row attends to column", softmax(np.where(past(T), SCORES, -np.inf)))


@drawn_in(4)
def sharpness(softmax: Function) -> Drawn:
    """Draw the weights of one row of scores, made larger and smaller."""
    times = (0.125, 0.5, 1.0, 2.0, 8.0)
    found = softmax(np.outer(times, SCORES[TOKENS.index("great")]))
    names = [f"scores × {factor:g}" for factor in times]
    title = "the weights of “great”, not masked"
    yield heat(title, found, names, axes="row: scores · column: word")


@drawn_in(5)
def attention_weights(attention: Function, causal_mask: Function) -> Drawn:
    """Draw the weights inside `attention`, by passing the identity as values."""
    for title, mask in {"without a mask": None, "with the causal mask": causal_mask(T)}.items():
        yield heat(title, attention(QUERIES, KEYS, np.eye(T), mask))


@drawn_in(5)
def leaks(attention: Function, causal_mask: Function) -> Drawn:
    """Draw which output moves when one token's key and value change, before masking and after."""
    random = np.random.RandomState(5)
    vectors, others = (dict(zip("qkv", random.standard_normal((3, T, 3)))) for _ in range(2))
    for title, mask in {"without a mask": None, "with the causal mask": causal_mask(T)}.items():
        change = Nudge({**vectors, "mask": mask}, others, {"k": -2, "v": -2})
        yield influence(title, Moves(change, past(T)).draw(attention))
    yield "● the row's output moved when the column's word changed; ✗ a leak."


@drawn_in(6)
def peeking(attention: Function, log_softmax: Function, cross_entropy: Function) -> Drawn:
    """Draw the training losses of a model that may look ahead and one that may not."""
    random = np.random.RandomState(1)
    seen, fresh = models.texts(random), models.texts(random)
    mask = past(models.LENGTH - 1)
    lines, said = {}, []
    for name, own_mask in {"with the mask": mask, "without it, peeking": None}.items():
        model = models.PeekingModel(attention, log_softmax, cross_entropy, own_mask)
        lines[name] = losses = models.train(model, seen)
        said.append(
            f"{name.capitalize()}: {losses[-1]:.2f} at the end of training, "
            f"{model.loss(fresh, model.where, mask):.2f} on new texts whose next token is not "
            "there yet."
        )
    levels = [("no guess can do better", models.FLOOR), ("knowing nothing", np.log(models.V))]
    steps = "step of training", range(1, models.STEPS + 1)
    yield chart("training loss", steps, "loss in nats", lines, levels)
    yield from said


@drawn_in(8)
def temperatures(sample_token: Function) -> Drawn:
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
    drawn = [array(sample_token(logits, u, **options), (MANY,)) for options in ways.values()]
    shares = [[np.mean(ids == i) for i in range(len(NEXT))] for ids in drawn]
    title = f"“{' '.join(TOKENS[:5])} …”: how often each word comes"
    yield heat(title, shares, list(ways), NEXT, "row: way · column: word")
