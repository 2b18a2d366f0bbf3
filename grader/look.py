"""Things to look at in a lesson: pictures of what the learner's own functions do.

Each takes the functions as they are in the kernel. While one is a stub, or cannot be drawn, a
sentence says so in place of the picture.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.compare import Broken
from grader.laws.influence import Change, Moves, everything, own, past
from grader.records import Influence
from grader.selfstudy import peeking as models
from grader.selfstudy.pictures import Curve, curves, heat_map, influence_map, number, side_by_side
from grader.selfstudy.sentence import KEYS, LOGITS, NEXT, QUERIES, SCORES, TOKENS
from grader.selfstudy.shown import Shown

Function = Callable[..., Any]
Floats = NDArray[np.float64]
T = len(TOKENS)
WIDTHS = (1, 4, 16, 36, 64, 100, 144, 196, 256)
TIMED = (1, 32, 64, 128, 192, 256)
FEW = 5  # calls, of which the shortest time counts
MANY = 2000  # tokens that are drawn


def _drawn(draw: Callable[..., Shown]) -> Callable[..., Shown]:
    """With a sentence in place of the picture where a function raises or returns something else."""

    @functools.wraps(draw)
    def wrapped(*functions: Function) -> Shown:
        try:
            with np.errstate(all="ignore"):
                return draw(*functions)
        except NotImplementedError as error:
            return _words(f"Nothing to see yet: {_raiser(error)} is still to be written.")
        except Broken as broken:
            return _words(f"There is no picture of that yet. {broken}")
        except Exception as error:
            what = f"{_raiser(error)} raised {type(error).__name__}"
            return _words(f"There is no picture of that yet: {what}. The checks say more.")

    return wrapped


def _raiser(error: BaseException) -> str:
    """The function in which it was raised; and where that is, if it is not in this notebook."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "a function"
    code, module = trace.tb_frame.f_code, str(trace.tb_frame.f_globals.get("__name__"))
    where = f" in {module.replace('.', '/')}.py" if module.startswith("exercises.") else ""
    return code.co_name + where


def _words(text: str) -> Shown:
    return Shown(f"<p>{escape(text)}</p>", text)


def _shown(pictures: Sequence[tuple[str, str]], *words: str, text: str = "", **data: Any) -> Shown:
    plain = "\n".join(part for part in (*(title for title, _ in pictures), text, *words) if part)
    return Shown(side_by_side(pictures, words), plain, **data)


def _array(value: Any, shape: tuple[int, ...], name: str) -> Floats:
    """The result as an array of floats; Broken, in a sentence, if it has another shape."""
    array = np.asarray(value, dtype=np.float64)
    if array.shape != shape:
        raise Broken(f"{name} returned the shape {array.shape}, and {shape} is drawn here.")
    return array


def _table(rows: Sequence[str], values: Floats) -> str:
    """A matrix as text."""
    wide = max(map(len, rows))
    return "\n".join(
        f"{row:>{wide}}  " + " ".join(f"{number(float(value)):>6}" for value in line)
        for row, line in zip(rows, values, strict=True)
    )


def _heat(title: str, values: Floats) -> tuple[str, str]:
    return title, heat_map(title, TOKENS, TOKENS, values.tolist())


def _moved(found: Influence) -> list[list[bool]]:
    return [[bool(value) for value in row] for row in found.moved]


def _signs(moved: Sequence[Sequence[bool]], allowed: Sequence[Sequence[bool]]) -> str:
    """A map of influence as text."""
    signs = [
        " ".join("!" if m and not a else "#" if m else "." for m, a in zip(row, may, strict=True))
        for row, may in zip(moved, allowed, strict=True)
    ]
    wide = max(map(len, TOKENS))
    return "\n".join(f"{token:>{wide}}  {row}" for token, row in zip(TOKENS, signs, strict=True))


def _influence(title: str, found: Influence, may: NDArray[np.bool_]) -> tuple[str, str, str]:
    moved, allowed = _moved(found), may.tolist()
    return title, influence_map(title, TOKENS, moved, allowed), _signs(moved, allowed)


def _maps(maps: Sequence[tuple[str, str, str]], *words: str) -> Shown:
    texts = "\n".join(f"{title}\n{signs}" for title, _, signs in maps)
    return Shown(side_by_side([(title, svg) for title, svg, _ in maps], words), texts)


def _random(*shape: int) -> Floats:
    return np.random.RandomState(len(shape) + sum(shape)).standard_normal(shape)


@_drawn
def projections(project_qkv: Function) -> Shown:
    """Which query, key and value moves when one token of the sentence changes."""
    random = np.random.RandomState(1)
    texts = random.standard_normal((2, T, 4))
    weights = {name: random.standard_normal((4, 3)) for name in ("w_q", "w_k", "w_v")}
    change = Change({"x": texts[0], **weights}, {"x": texts[1]}, {"x": -2})
    maps = [
        _influence(f"{name}: row moves, if column changes", found, own(T))
        for part, name in enumerate(("query", "key", "value"))
        for found in [Moves(change, own(T), part=part, output=name).draw(project_qkv)]
    ]
    return _maps(maps)


@_drawn
def scores(attention_scores: Function) -> Shown:
    """How much each word of the sentence wants each other: the scores of vectors made up for it."""
    values = _array(attention_scores(QUERIES, KEYS), (T, T), "attention_scores")
    return _shown([_heat("row asks, column is asked", values)], text=_table(TOKENS, values))


@_drawn
def spread(attention_scores: Function) -> Shown:
    """How far scores of random vectors spread, for longer and longer vectors."""
    random = np.random.RandomState(2)
    plain, mine = [], []
    for width in WIDTHS:
        q, k = random.standard_normal((2, 60, width))
        mine.append(float(_array(attention_scores(q, k), (60, 60), "attention_scores").std()))
        plain.append(float(np.einsum("id,jd->ij", q, k).std()))
    lines = [Curve("your scores", WIDTHS, mine), Curve("dot products, not divided", WIDTHS, plain)]
    picture = curves("Spread of the scores", "d_k", "standard deviation", lines, [])
    ends = f"At d_k = {WIDTHS[-1]}: {mine[-1]:.2f} and {plain[-1]:.2f}."
    return _shown([("Standard deviation of 3600 scores", picture)], ends)


@_drawn
def masking(apply_mask: Function, causal_mask: Function) -> Shown:
    """The scores of the sentence before the mask and after it."""
    masked = _array(apply_mask(SCORES.copy(), causal_mask(T)), (T, T), "apply_mask")
    pictures = [_heat("before", SCORES), _heat("after", masked)]
    return _shown(pictures, text=_table(TOKENS, masked))


@_drawn
def weights(softmax: Function) -> Shown:
    """The weights of the sentence under the causal mask."""
    masked = np.where(past(T), SCORES, -np.inf)
    found = _array(softmax(masked), (T, T), "softmax")
    return _shown([_heat("row attends to column", found)], text=_table(TOKENS, found))


@_drawn
def sharpness(softmax: Function) -> Shown:
    """The weights of one row of scores, made larger and smaller."""
    times = (0.125, 0.5, 1.0, 2.0, 8.0)
    row = SCORES[TOKENS.index("great")]
    found = _array(softmax(np.outer(times, row)), (len(times), T), "softmax")
    names = [f"scores × {factor:g}" for factor in times]
    picture = heat_map("Weights of “great”", names, TOKENS, found.tolist())
    return _shown([("the weights of “great”, not masked", picture)], text=_table(names, found))


@_drawn
def attention_weights(attention: Function, causal_mask: Function) -> Shown:
    """The weights inside `attention`, got out by giving it the identity for values."""
    found = [
        _array(attention(QUERIES, KEYS, np.eye(T), mask), (T, T), "attention")
        for mask in (None, causal_mask(T))
    ]
    pictures = [_heat("without a mask", found[0]), _heat("with the causal mask", found[1])]
    return _shown(pictures, text=_table(TOKENS, found[1]))


@_drawn
def leaks(attention: Function, causal_mask: Function) -> Shown:
    """Which output moves when one token's key and value change, before masking and after."""
    vectors = {"q": _random(T, 3), "k": _random(T, 4)[:, :3], "v": _random(T, 2)}
    others = {"k": _random(T, 5)[:, :3], "v": _random(T, 6)[:, :2]}
    maps = []
    for title, mask in (("without a mask", None), ("with the causal mask", causal_mask(T))):
        sees = everything(T, T) if mask is None else past(T)
        change = Change({**vectors, "mask": mask}, others, {"k": -2, "v": -2})
        maps.append(_influence(title, Moves(change, sees).draw(attention), past(T)))
    return _maps(maps, "● the row's output moved when the column's word changed; ! a leak.")


@_drawn
def peeking(attention: Function, log_softmax: Function, cross_entropy: Function) -> Shown:
    """The loss of a model that may look ahead against one that may not, while both are trained."""
    random = np.random.RandomState(1)
    seen, fresh = models.texts(random), models.texts(random)
    mask = past(models.LENGTH - 1)
    functions = (attention, log_softmax, cross_entropy)
    lines, said, data = [], [], {}
    for name, own_mask in (("with the mask", mask), ("without: it peeks", None)):
        model = models.Model(*functions, own_mask)
        losses = models.train(model, seen)
        lines.append(Curve(name, range(1, len(losses) + 1), losses))
        writing = model.loss(fresh, model.where, mask)
        data[name] = (losses[-1], writing)
        said.append(f"{name[:1].upper()}{name[1:]}: {losses[-1]:.2f} at the end of training, ")
        said[-1] += f"{writing:.2f} on new texts whose next token is not there yet."
    levels = [("nobody who guesses can do better", models.FLOOR), ("knowing nothing", _nothing())]
    picture = curves("Training loss", "step of training", "loss in nats", lines, levels)
    return _shown([("training loss", picture)], *said, losses=data)


def _nothing() -> float:
    """The loss of a uniform guess."""
    return float(np.log(models.V))


@_drawn
def times(
    masked_self_attention: Function, attend_with_cache: Function, new_cache: Function
) -> Shown:
    """What one more token takes after more and more tokens, with the cache and without."""
    x, w = _random(TIMED[-1] + FEW, 64), [_random(64, 65)[:, :64] / 8 for _ in range(3)]
    cached, whole = [], []
    for length in TIMED:
        _, cache = attend_with_cache(x[:length], new_cache(), *w)
        mine = []
        for t in range(length, length + FEW):
            start = time.perf_counter()
            _, cache = attend_with_cache(x[t : t + 1], cache, *w)
            mine.append(time.perf_counter() - start)
        cached.append(min(mine) * 1e3)
        whole.append(_milliseconds(masked_self_attention, x[: length + 1], *w))
    lines = [Curve("with the cache", TIMED, cached), Curve("all again", TIMED, whole)]
    picture = curves("Time", "tokens so far", "milliseconds", lines, [])
    ends = f"After {TIMED[-1]} tokens: {cached[-1]:.2f} ms with the cache, {whole[-1]:.2f} without."
    return _shown([("one more token takes", picture)], ends)


def _milliseconds(function: Function, *arguments: Any) -> float:
    """The shortest time of a few calls: what else the machine does makes some longer."""
    spent = []
    for _ in range(FEW):
        start = time.perf_counter()
        function(*arguments)
        spent.append(time.perf_counter() - start)
    return min(spent) * 1e3


@_drawn
def temperatures(sample_token: Function) -> Shown:
    """Which word is drawn how often, at several temperatures."""
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
        ids = _array(sample_token(logits, u, **options), (MANY,), "sample_token")
        shares.append([float(np.mean(ids == i)) for i in range(len(NEXT))])
    title = f"“{' '.join(TOKENS[:5])} …”: how often each word comes"
    picture = heat_map(title, list(ways), NEXT, shares)
    return _shown([(title, picture)], text=_table(list(ways), np.array(shares)))
