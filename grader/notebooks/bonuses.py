"""Judge bonus exercises: functions beyond the steps, in `exercises/bonus.py`.

They earn no points. A judge yields sentences on what is wrong; the first one is shown.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.notebooks.modern_looks import measure_peak
from grader.steps.inputs import Draw, block_params, decoder_params
from grader.steps.tree import name_path, pairs

Function = Callable[..., Any]
Own = Mapping[str, Function]
Judge = Callable[[Function, Own], Iterator[str]]
CLOSE = 1e-9


@dataclass(frozen=True)
class Bonus:
    """A function to write: its first line, what it does, the steps' functions that it needs."""

    name: str
    part: int
    header: str
    task: str
    needs: tuple[str, ...]
    judge: Judge


BONUSES: list[Bonus] = []


def _bonus(part: int, header: str, *needs: str) -> Callable[[Judge], Judge]:
    """Decorate the judge of a bonus function. Its docstring is the task."""

    def decorate(judge: Judge) -> Judge:
        name = header.removeprefix("def ").partition("(")[0]
        task = " ".join((judge.__doc__ or "").split())
        BONUSES.append(Bonus(name, part, header, task, needs, judge))
        return judge

    return decorate


def _compare(case: str, found: Any, expected: Any) -> Iterator[str]:
    """Yield a sentence on each array of a tree that differs from the expected one."""
    for path, one, other in pairs(found, expected):
        name = name_path(path, case)
        got, want = np.asarray(one, dtype=float), np.asarray(other, dtype=float)
        if got.shape != want.shape:
            yield f"{name} has the shape {got.shape}; it should be {want.shape}."
            continue
        off = ~np.isclose(got, want, rtol=0, atol=CLOSE)
        if off.any():
            place = tuple(map(int, np.argwhere(off)[0]))
            at = f" at {place}" if place else ""
            yield f"{name} is {got[place]:.4g}{at}; it should be {want[place]:.4g}."


@_bonus(1, "def previous_token_head(t):", "attention", "causal_mask")
def _judge_previous(make: Function, own: Own) -> Iterator[str]:
    """Return q and k, each (t, d_k), made by hand.

    Under the causal mask every token but the first gives at least 0.99 of its weight to the token
    before it.
    """
    for t in (2, 5, 12):
        q, k = (np.asarray(one, dtype=float) for one in make(t))
        if q.ndim != 2 or q.shape != k.shape or len(q) != t:
            yield f"For t = {t}, q and k must both be ({t}, d_k); they are {q.shape}, {k.shape}."
        weights = own["attention"](q, k, np.eye(t), own["causal_mask"](t))
        for row in range(1, t):
            if weights[row, row - 1] < 0.99:
                found = f"{weights[row, row - 1]:.4f}; it should be at least 0.99."
                yield f"For t = {t}, row {row} gives the token before it {found}"


@_bonus(1, "def sample_top_p(logits, u, p):", "softmax")
def _judge_top_p(sample: Function, own: Own) -> Iterator[str]:
    """Return a draw among the fewest most probable tokens that reach p together.

    logits has the shape (V,). Draw as `sample_token` does.
    """
    cases = np.random.RandomState(3)
    for p in (0.05, 0.3, 0.5, 0.9, 1.0):
        for _ in range(40):
            logits, u = cases.standard_normal(6) * 2, cases.random_sample()
            shown = np.round(own["softmax"](logits), 3).tolist()
            case = f"With p = {p} and u = {u:.3f}, the id for {shown}"
            yield from _compare(case, sample(logits, u, p), _sample_top_p(logits, u, p))


def _sample_top_p(logits: Any, u: float, p: float) -> int:
    """Return a draw from the fewest most probable tokens that reach p together."""
    shares = np.exp(logits - logits.max())
    shares /= shares.sum()
    order = np.argsort(-shares, kind="stable")
    count = int(np.argmax(np.cumsum(shares[order]) >= p - 1e-12)) + 1
    kept = np.zeros_like(shares)
    kept[order[:count]] = shares[order[:count]]
    above = np.cumsum(kept / kept.sum()) > u
    return int(np.argmax(above)) if above.any() else int(np.flatnonzero(kept)[-1])


@_bonus(2, "def averaging_params(d_model):", "multi_head_attention", "causal_mask")
def _judge_average(make: Function, own: Own) -> Iterator[str]:
    """Return params for `multi_head_attention` that average.

    For any x, each token gets the mean of all tokens up to it.
    """
    x = np.random.RandomState(4).standard_normal((6, 8))
    means = np.cumsum(x, axis=0) / np.arange(1, 7)[:, None]
    yield from _compare(
        "The result", own["multi_head_attention"](x, make(8), 2, own["causal_mask"](6)), means
    )


@_bonus(2, "def cache_with_room(batch, t_max, d_k):", "masked_self_attention")
def _judge_room(make: Function, own: Own) -> Iterator[str]:
    """Return two functions for a cache with room for t_max rows.

    attend(x_new, w_q, w_k, w_v) gives the new rows. buffers() is a list of the arrays of t_max rows
    that it writes keys and values into.
    """
    x = np.random.RandomState(5).standard_normal((2, 7, 4))
    w = np.random.RandomState(6).standard_normal((3, 4, 4))
    want = own["masked_self_attention"](x, *w)
    attend, buffers = make(2, 7, 4)
    first = [id(one) for one in buffers()]
    for start, end in ((0, 3), (3, 4), (4, 7)):
        case = f"The result for tokens {start} to {end - 1}"
        yield from _compare(case, attend(x[:, start:end], *w), want[:, start:end])
        if [id(one) for one in buffers()] != first:
            yield "A buffer was replaced by another array: write into it instead."


@_bonus(3, "def smoothed_backward(logits, targets, share):", "softmax")
def _judge_smoothed(backward: Function, own: Own) -> Iterator[str]:
    """Return the gradient of a mean loss whose targets are softened.

    Each position wants the true token with 1 - share, and share is spread over all V tokens alike.
    """
    cases = np.random.RandomState(7)
    for share in (0.0, 0.1, 0.5, 1.0):
        for shape in ((3, 5), (2, 4, 3)):
            logits = cases.standard_normal(shape) * 2
            targets = cases.randint(0, shape[-1], shape[:-1])
            wished = (1 - share) * np.eye(shape[-1])[targets] + share / shape[-1]
            want = (own["softmax"](logits) - wished) / targets.size
            case = f"With share = {share} and logits of shape {shape}, the gradient"
            yield from _compare(case, backward(logits, targets, share), want)


@_bonus(
    3,
    "def accumulate_gradients(batches, params, n_heads, ignore_id):",
    "decoder_loss_and_gradients",
)
def _judge_accumulate(gather: Function, own: Own) -> Iterator[str]:
    """Return the loss and the gradients of all batches as one batch.

    batches is a list of arrays of tokens that do not fit into memory together. The parts count
    different numbers of targets.
    """
    draw = Draw("bonus", "accumulate")
    params = decoder_params(draw, 9, 6, [block_params(draw, 4, 8)])
    tokens = 1 + np.arange(28).reshape(4, 7) * 5 % 8
    tokens[0, 3:] = tokens[2, 2:] = 0  # padding, so that the parts count differently
    for parts in ([4], [1, 3], [2, 1, 1]):
        ends = np.cumsum(parts)
        batches = [tokens[end - count : end] for end, count in zip(ends, parts, strict=True)]
        want = own["decoder_loss_and_gradients"](tokens, params, 2, 0)
        loss, grads = gather(batches, params, 2, 0)
        case = f"For parts of {parts} texts"
        yield from _compare(f"{case}, the loss", loss, want[0])
        yield from _compare(f"{case}, grads", grads, want[1])


@_bonus(4, "def sink_mask(t, n_first, window):", "causal_mask")
def _judge_sink(make: Function, own: Own) -> Iterator[str]:
    """Return a causal mask, bool (t, t), of a sliding window that also keeps the first keys.

    Every query sees the last window keys up to its own, and the first n_first of the past.
    """
    for t, n_first, window in ((6, 1, 2), (7, 2, 3), (5, 0, 2), (4, 4, 1), (1, 1, 1), (3, 9, 9)):
        i, j = np.indices((t, t))
        got, case = np.asarray(make(t, n_first, window)), f"sink_mask({t}, {n_first}, {window})"
        if got.shape == (t, t) and got.dtype != np.bool_:
            yield f"{case} must be bool; it is {got.dtype}."
        yield from _compare(case, got, (j <= i) & ((i - j < window) | (j < n_first)))


@_bonus(4, "def streaming_backward(d_out, q, k, v, block):", "attention_backward")
def _judge_streaming(backward: Function, own: Own) -> Iterator[str]:
    """Return (d_q, d_k, d_v) of `attention` without a mask.

    Work on at most block keys at a time: never hold all weights at once.
    """
    cases = np.random.RandomState(8)
    q, k, v, d_out = (cases.standard_normal(shape) for shape in ((3, 4), (7, 4), (7, 2), (3, 2)))
    want = own["attention_backward"](d_out, q * 40, k, v)
    for block in (1, 3, 7, 50):
        found = backward(d_out, q * 40, k, v, block)
        for name, *both in zip(("d_q", "d_k", "d_v"), found, want, strict=True):
            yield from _compare(f"With block = {block}, {name}", *both)
    q, k, v = (cases.standard_normal((t, 2)) for t in (64, 8000, 8000))
    _, most = measure_peak(backward, q, q, k, v, 50)
    if most > 64 * 8000 * 8 / 2:
        took = f"{most / 2**20:.1f} MiB"
        yield f"64 queries and 8000 keys took {took}: the weights are held at once."


def judge_bonus(bonus: Bonus, function: Any, own: Own) -> str:
    """Return what is wrong with a bonus function, or ""."""
    try:
        with np.errstate(all="ignore"):
            return next(bonus.judge(function, own), "")
    except NotImplementedError:
        return "A function of the steps that it needs is still to be written."
    except Exception as error:
        return f"It raised {type(error).__name__}: {error}"
