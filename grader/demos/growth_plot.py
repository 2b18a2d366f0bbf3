"""Show the cost of the next token in a terminal: a table, a plot, and a conclusion."""

from __future__ import annotations

from grader.demos.curves import SIGNS, in_letters, ticks
from grader.demos.growth import Growth, GrowthRow, Price, curves_of, describe_growth
from grader.report.text.sheet import Sheet, clean

WIDTH, HEIGHT = 55, 13
HEADER = ("tokens", "multiplications", "ms", "multiplications", "ms", "times more")


def heading(sheet: Sheet, code: str, model: str) -> None:
    """Print the subject of the measurement, and the columns of the table."""
    sheet.line(f"What the next token costs, with the decoder in {clean(code)}", "bold")
    sheet.line(f"({model}; the products that NumPy makes, counted, and its time, measured)")
    sheet.gap()
    sheet.row(f"{'':8}{'without a cache':>25}{'with the cache':>25}")
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


def plot_growth(sheet: Sheet, growth: Growth) -> None:
    """Print the plot of the multiplications, and a conclusion."""
    curves, _ = curves_of(growth)
    sheet.gap()
    sheet.line("multiplications for one token, both axes logarithmic", "dim")
    at = {round((1 - up) * (HEIGHT - 1)): text for up, text in ticks(curves)}
    margin = max(map(len, at.values())) + 1
    for number, line in enumerate(in_letters(curves, WIDTH, HEIGHT)):
        sheet.row(f"{at.get(number, ''):>{margin}} |{line}")
    sheet.row(" " * (margin + 1) + "+" + "-" * WIDTH)
    below = [" "] * (WIDTH + margin + 8)
    for length in curves.lengths:
        text = str(length)
        place = margin + 2 + round(curves.across(length) * (WIDTH - 1)) - len(text) // 2
        below[place : place + len(text)] = text
    sheet.row("".join(below))
    legend = f"{SIGNS[0]} without a cache   {SIGNS[1]} with the cache   across: tokens so far"
    sheet.line(legend, "dim", indent=margin + 1)
    for sentence in describe_growth(growth):
        sheet.gap()
        sheet.line(sentence)
