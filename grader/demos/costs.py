"""Count and time the cost of a decoder's next token, without a cache and with one.

The decoder is a submission's, and runs in a worker beside the program that counts.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from grader.demos.submission_worker import NotReady, sources, step_of, worker_with
from grader.intake.submission import Submission
from grader.isolation import Host
from grader.isolation.client import Program, TimedOut, Worker
from grader.report.text.sheet import Sheet, clean
from grader.steps.decoder_params import block_params, decoder_params
from grader.steps.inputs import Draw
from grader.steps.registry import Registry

COUNTING = Path(__file__).with_name("counting.py")
FUNCTIONS = ("decoder_logits", "decoder_step", "new_decoder_cache")
# Narrow layers, so that attention is most of the work in texts that take no time.
D_MODEL, D_FF, N_HEADS, N_LAYERS, VOCABULARY = 8, 16, 2, 2, 16
MODEL = f"{N_LAYERS} layers, {N_HEADS} heads, d_model {D_MODEL}"
SHORTEST = 3  # the power of two that the shortest sequence has tokens
REPEATS = 3
LEAST = 3  # rows without which there is nothing to compare
FITTED = 3  # of the longest texts: shorter ones say more of the layers' widths than of the length
APART = 1e-6
HEADER = ("tokens", "multiplications", "ms", "multiplications", "ms", "times more")
WIDTHS = (8, 16, 9, 16, 9, 12)
NAMES = ("without a cache", "with the cache")


@dataclass(frozen=True)
class Price:
    """The cost of one token: multiplications, counted, and seconds, measured."""

    products: int
    seconds: float


@dataclass(frozen=True)
class GrowthRow:
    """The same token both ways, at the end of a sequence of that length.

    apart: how far the two ways' logits differ, which should be only by rounding.
    """

    length: int
    whole: Price
    cached: Price
    apart: float


def rows(
    host: Host, registry: Registry, submission: Submission, longest: int
) -> Iterator[GrowthRow]:
    """Yield the costs at growing lengths. Raise NotReady if the decoder cannot be run.

    It ends before a length that takes too long, if there are enough lengths to compare.
    """
    steps = {name: step_of(registry, name) for name in FUNCTIONS}
    modules = sources(registry, submission, list(dict.fromkeys(steps.values())))
    own = {"counting": (COUNTING.read_text("utf-8"), "counting.py")}
    with worker_with(host, Program("counting", {**modules, **own}), "The decoder") as worker:
        worker.call("begin", [{name: step.id for name, step in steps.items()}], {})
        tokens, params = model(longest)
        for power in range(SHORTEST, longest.bit_length()):
            try:
                row = _row(worker, tokens[: 2**power], params)
            except TimedOut:
                if power < SHORTEST + LEAST:
                    raise
                return
            yield row


def model(longest: int) -> tuple[Any, dict[str, Any]]:
    """Return a sequence of that length, and a decoder with as many positions."""
    draw = Draw("costs")
    blocks = [
        block_params(Draw("costs", "layer", number), D_MODEL, D_FF) for number in range(N_LAYERS)
    ]
    params = decoder_params(draw, VOCABULARY, longest, blocks)
    return draw.tokens(VOCABULARY, longest), params


def _row(worker: Worker, tokens: Any, params: dict[str, Any]) -> GrowthRow:
    (whole, logits), (cached, others) = (
        _price(worker, way, tokens, params) for way in ("whole", "cached")
    )
    apart = np.max(np.abs(logits - others)) if logits.shape == others.shape else np.inf
    return GrowthRow(len(tokens), whole, cached, float(apart))


def _price(worker: Worker, way: str, tokens: Any, params: dict[str, Any]) -> tuple[Price, Any]:
    """Return the cost of computing the logits that way, and the logits."""
    match worker.call("cost", [way, tokens, params, N_HEADS, REPEATS], {}).value:
        case [int(products), float(seconds), np.ndarray() as logits]:
            return Price(products, seconds), logits
    raise NotReady("The decoder's logits are not an array of numbers.")


def slope(lengths: Sequence[float], prices: Sequence[float]) -> float:
    """Return the slope of the line nearest to the logarithms, or 0 without any cost."""
    if len(lengths) < 2 or min(prices) <= 0:
        return 0.0
    logarithms = [list(map(math.log, values)) for values in (lengths, prices)]
    return statistics.linear_regression(*logarithms).slope


def find_powers(rows: Sequence[GrowthRow]) -> tuple[float, float]:
    """Return the k of T^k that fits the multiplications best: without a cache and with one.

    It fits the longest sequences.
    """
    longest = [row.length for row in rows[-FITTED:]]
    return (
        slope(longest, [row.whole.products for row in rows[-FITTED:]]),
        slope(longest, [row.cached.products for row in rows[-FITTED:]]),
    )


def describe_growth(rows: Sequence[GrowthRow]) -> list[str]:
    """Describe the figures, which are in order of length, in words."""
    whole, cached = find_powers(rows)
    sentences = [
        f"From {rows[-FITTED:][0].length} to {rows[-1].length} tokens the multiplications for one "
        f"token {_say_power(whole)} without a cache and {_say_power(cached)} with it.",
        _compare_times(rows),
        "Without a cache all T tokens meet each other once more: T². With it one query meets T "
        "keys: T. In short texts most of the work is in the layers' own matrices, whose cost for "
        "each token read does not depend on T; so the powers come near 2 and 1 only in long texts. "
        "Time has a fixed part besides: what Python takes to start each operation.",
    ]
    if all(row.whole.products == row.length * row.cached.products for row in rows):
        sentences.insert(
            1,
            "At every length the pass without a cache makes exactly T times as many: it does for "
            "all T rows what the cache leaves to be done for one.",
        )
    wrong = [row.length for row in rows if not row.apart <= APART]
    if wrong:
        sentences.insert(
            0,
            f"The two ways give different logits (first at {wrong[0]} tokens), so their work "
            "cannot be compared: fix that first.",
        )
    return sentences


def _say_power(power: float) -> str:
    """Describe growth by its power; a power that rounds to 0 is not growth."""
    return f"grow like T^{power:.1f}" if power >= 0.05 else "do not grow"


def _compare_times(rows: Sequence[GrowthRow]) -> str:
    """Say how much longer the last sequence took. Times vary too much for a power."""
    first, last = rows[-FITTED:][0], rows[-1]
    if first is last or min(first.whole.seconds, first.cached.seconds) <= 0:
        return "There are too few lengths to compare times."
    slow = last.whole.seconds / first.whole.seconds
    quick = last.cached.seconds / first.cached.seconds
    return (
        f"Of a text {last.length / first.length:g} times as long, the next token took "
        f"{slow:.1f} times the time without a cache and {quick:.1f} times with it."
    )


def heading(sheet: Sheet, code: str) -> None:
    """Print the subject of the measurement, and the columns of the table."""
    sheet.line(f"What the next token costs, with the decoder in {clean(code)}", "bold")
    sheet.line(f"({MODEL}; the products that NumPy makes, counted, and its time, measured)")
    sheet.gap()
    sheet.row(f"{'':8}{NAMES[0]:>25}{NAMES[1]:>25}")
    sheet.row(_columns(*HEADER))


def table_row(sheet: Sheet, row: GrowthRow) -> None:
    """Print the row of one length."""
    cells = [f"{row.length}"]
    for price in (row.whole, row.cached):
        cells += [f"{price.products:,}", f"{price.seconds * 1e3:.2f}"]
    more = f"{row.whole.products / row.cached.products:.1f}" if row.cached.products else ""
    sheet.row(_columns(*cells, more))


def _columns(*cells: str) -> str:
    return "".join(cell.rjust(width) for cell, width in zip(cells, WIDTHS, strict=True))
