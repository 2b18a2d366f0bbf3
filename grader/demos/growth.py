"""Measure the cost of the next token as the sequence grows, with a cache and without."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from grader.report.text.sheet import Sheet, clean

FITTED = 3  # of the longest texts: shorter ones say more of the layers' widths than of the length
APART = 1e-6
HEADER = ("tokens", "multiplications", "ms", "multiplications", "ms", "times more")
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


@dataclass(frozen=True)
class Growth:
    """The rows in order of length. code: the owner of the decoder; model: its sizes, in words."""

    code: str
    model: str
    rows: tuple[GrowthRow, ...]

    def exponent(self, price: Callable[[GrowthRow], float]) -> float:
        """Return the k of T^k that fits the longest sequences best."""
        rows = self.rows[-FITTED:]
        return slope([row.length for row in rows], [price(row) for row in rows])

    def products(self) -> tuple[float, float]:
        """Return the exponents of the multiplications, without a cache and with one."""
        return (
            self.exponent(lambda row: row.whole.products),
            self.exponent(lambda row: row.cached.products),
        )


def slope(lengths: Sequence[float], prices: Sequence[float]) -> float:
    """Return the slope of the line nearest to the logarithms, or 0 without any cost."""
    if len(lengths) < 2 or min(prices) <= 0:
        return 0.0
    logarithms = [list(map(math.log, values)) for values in (lengths, prices)]
    return statistics.linear_regression(*logarithms).slope


def describe_growth(growth: Growth) -> list[str]:
    """Describe the figures in words."""
    first, last = growth.rows[-FITTED:][0].length, growth.rows[-1].length
    whole, cached = growth.products()
    sentences = [
        f"From {first} to {last} tokens the multiplications for one token "
        f"{_say_power(whole)} without a cache and {_say_power(cached)} with it.",
        _compare_times(growth),
        "Without a cache all T tokens meet each other once more: T². With it one query meets T "
        "keys: T. In short texts most of the work is in the layers' own matrices, whose cost for "
        "each token read does not depend on T; so the powers come near 2 and 1 only in long texts. "
        "Time has a fixed part besides: what Python takes to start each operation.",
    ]
    if all(row.whole.products == row.length * row.cached.products for row in growth.rows):
        sentences.insert(
            1,
            "At every length the pass without a cache makes exactly T times as many: it does for "
            "all T rows what the cache leaves to be done for one.",
        )
    wrong = [row.length for row in growth.rows if not row.apart <= APART]
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


def _compare_times(growth: Growth) -> str:
    """Say how much longer the last sequence took. Times vary too much for a power."""
    first, last = growth.rows[-FITTED:][0], growth.rows[-1]
    if first is last or min(first.whole.seconds, first.cached.seconds) <= 0:
        return "There are too few lengths to compare times."
    slow = last.whole.seconds / first.whole.seconds
    quick = last.cached.seconds / first.cached.seconds
    return (
        f"Of a text {last.length / first.length:g} times as long, the next token took "
        f"{slow:.1f} times the time without a cache and {quick:.1f} times with it."
    )


def heading(sheet: Sheet, code: str, model: str) -> None:
    """Print the subject of the measurement, and the columns of the table."""
    sheet.line(f"What the next token costs, with the decoder in {clean(code)}", "bold")
    sheet.line(f"({model}; the products that NumPy makes, counted, and its time, measured)")
    sheet.gap()
    sheet.row(f"{'':8}{NAMES[0]:>25}{NAMES[1]:>25}")
    sheet.row(_cells(*HEADER))


def table_row(sheet: Sheet, row: GrowthRow) -> None:
    """Print the row of one length."""
    more = f"{row.whole.products / row.cached.products:.1f}" if row.cached.products else ""
    sheet.row(
        _cells(str(row.length), *_describe_price(row.whole), *_describe_price(row.cached), more)
    )


def _describe_price(price: Price) -> tuple[str, str]:
    return f"{price.products:,}", f"{price.seconds * 1e3:.2f}"


def _cells(length: str, whole: str, slow: str, cached: str, quick: str, more: str) -> str:
    return f"{length:>8}{whole:>16}{slow:>9}{cached:>16}{quick:>9}{more:>12}"
