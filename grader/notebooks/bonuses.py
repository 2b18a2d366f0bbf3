"""Bonus exercises: functions beyond the steps, in `exercises/bonus.py`, and what each must do.

They earn no points. Each judge returns a sentence on what is wrong, "" if nothing is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Judge = Callable[[Callable[..., Any], Mapping[str, Callable[..., Any]]], str]
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


def _judge_previous(make: Callable[..., Any], own: Mapping[str, Callable[..., Any]]) -> str:
    for t in (2, 5, 12):
        q, k = (np.asarray(one, dtype=float) for one in make(t))
        if q.ndim != 2 or q.shape != k.shape or len(q) != t:
            return f"For t = {t}, q and k must both be ({t}, d_k); they are {q.shape}, {k.shape}."
        weights = own["attention"](q, k, np.eye(t), own["causal_mask"](t))
        for row in range(1, t):
            if weights[row, row - 1] < 0.99:
                found = f"{weights[row, row - 1]:.2f}"
                return f"For t = {t}, row {row} gives the token before it {found}, not 0.99."
    return ""


def _judge_top_p(sample: Callable[..., Any], own: Mapping[str, Callable[..., Any]]) -> str:
    cases = np.random.RandomState(3)
    for p in (0.05, 0.3, 0.5, 0.9, 1.0):
        for _ in range(40):
            logits, u = cases.standard_normal(6) * 2, cases.random_sample()
            got, want = int(sample(logits, u, p)), _sample_top_p(logits, u, p)
            if got != want:
                shown = np.round(own["softmax"](logits), 3).tolist()
                return f"With p = {p} and u = {u:.3f}, {shown} gives id {want}; yours is {got}."
    return ""


def _sample_top_p(logits: Any, u: float, p: float) -> int:
    """Return what is drawn from the fewest most probable tokens that reach p together."""
    shares = np.exp(logits - logits.max())
    shares /= shares.sum()
    order = np.argsort(-shares, kind="stable")
    count = int(np.argmax(np.cumsum(shares[order]) >= p - 1e-12)) + 1
    kept = np.zeros_like(shares)
    kept[order[:count]] = shares[order[:count]]
    above = np.cumsum(kept / kept.sum()) > u
    return int(np.argmax(above)) if above.any() else int(np.flatnonzero(kept)[-1])


def _judge_average(make: Callable[..., Any], own: Mapping[str, Callable[..., Any]]) -> str:
    x = np.random.RandomState(4).standard_normal((6, 8))
    want = np.cumsum(x, axis=0) / np.arange(1, 7)[:, None]
    got = own["multi_head_attention"](x, make(8), 2, own["causal_mask"](6))
    row = int(np.argmax(np.abs(got - want).max(axis=-1) > CLOSE))
    if np.abs(got - want).max() > CLOSE:
        return f"Row {row} is not the mean of rows 0 to {row}."
    return ""


def _judge_room(make: Callable[..., Any], own: Mapping[str, Callable[..., Any]]) -> str:
    x = np.random.RandomState(5).standard_normal((2, 7, 4))
    w = np.random.RandomState(6).standard_normal((3, 4, 4))
    want = own["masked_self_attention"](x, *w)
    attend, buffers = make(2, 7, 4)
    first = [id(one) for one in buffers()]
    for start, end in ((0, 3), (3, 4), (4, 7)):
        got = attend(x[:, start:end], *w)
        if np.abs(got - want[:, start:end]).max() > CLOSE:
            return f"The rows of tokens {start} to {end - 1} differ from one pass over the text."
        if [id(one) for one in buffers()] != first:
            return "A buffer was replaced by another array: write into it instead."
    return ""


BONUSES = (
    Bonus(
        "previous_token_head",
        1,
        "def previous_token_head(t):",
        "Return q and k, each (t, d_k), made by hand. Under the causal mask every token but the "
        "first gives at least 0.99 of its weight to the token before it.",
        ("attention", "causal_mask"),
        _judge_previous,
    ),
    Bonus(
        "sample_top_p",
        1,
        "def sample_top_p(logits, u, p):",
        "logits (V,): keep the fewest most probable tokens whose probabilities reach p together, "
        "and draw among them as `sample_token` does.",
        ("softmax",),
        _judge_top_p,
    ),
    Bonus(
        "averaging_params",
        2,
        "def averaging_params(d_model):",
        "Return params with which `multi_head_attention` of any x gives each token the mean of "
        "all tokens up to it.",
        ("multi_head_attention", "causal_mask"),
        _judge_average,
    ),
    Bonus(
        "cache_with_room",
        2,
        "def cache_with_room(batch, t_max, d_k):",
        "Return two functions: attend(x_new, w_q, w_k, w_v), which gives the new rows, and "
        "buffers(), a list of the arrays of t_max rows that it writes keys and values into.",
        ("masked_self_attention",),
        _judge_room,
    ),
)


def judge_bonus(bonus: Bonus, function: Any, own: Mapping[str, Callable[..., Any]]) -> str:
    """Return what is wrong with a bonus function, "" if nothing is."""
    try:
        with np.errstate(all="ignore"):
            return bonus.judge(function, own)
    except NotImplementedError:
        return "A function of the steps that it needs is still to be written."
    except Exception as error:
        return f"It raised {type(error).__name__}: {error}"
