"""Show the first fault of a step on one screen: what and why, then the case, then the rest.

The whole screen is composed before anything is printed. The layouts show less and less, and the
first that fits is used. The arrays of a case are blocks of text: a name and a shape, then rows.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from grader.report.grids import (
    Grid,
    GridSize,
    exhibits,
    is_nested,
    list_inputs,
    nest_text,
    shape_text,
)
from grader.report.influences import count_words, worth_drawing
from grader.report.records import SIGNS, Array, CheckVerdict, Evidence, Status, StepVerdict
from grader.report.text.influence_map import draw_map
from grader.report.text.sheet import Sheet, clean

EASY = 26  # rows that are easy to read; in larger cases the inputs only get in the way
MOST = 40  # rows, however many there are
MAX_COLUMNS = 8  # of an array
LETTERS = {"True": "T", "False": "F"}


@dataclass(frozen=True)
class ScreenLayout:
    """Say how much is shown.

    inputs: the numbers of the inputs, not only their shapes. rows: the rows of a matrix. printed:
    the lines of printed output. more: a law that fails too. map: the picture, if there is one, and
    not only its meaning. results: the numbers beside it.
    """

    inputs: bool = True
    rows: int = 8
    printed: int = 3
    more: bool = True
    map: bool = True
    results: bool = True


LAYOUTS = (
    ScreenLayout(printed=6),
    ScreenLayout(inputs=False),
    ScreenLayout(inputs=False, more=False, printed=2, rows=4),
    ScreenLayout(inputs=False, more=False, printed=2, rows=4, results=False),
    ScreenLayout(inputs=False, more=False, printed=2, rows=4, map=False),
    ScreenLayout(inputs=False, more=False, printed=1, rows=2, map=False),
    ScreenLayout(inputs=False, more=False, printed=0, rows=1, map=False, results=False),
)


def block(grid: Grid) -> list[str]:
    """Return a grid as lines of equal length; rows have numbers unless they are the first ones."""
    texts = [
        [("*" if cell.mark == "wrong" else " ") + LETTERS.get(cell.text, cell.text) for cell in row]
        for row in grid.cells
    ]
    width = max((len(text) for row in texts for text in row), default=0)
    rows = [" ".join(text.rjust(width) for text in row) for row in texts]
    if grid.down != tuple(range(len(grid.down))):
        digits = len(str(grid.down[-1]))
        rows = [f"{number:>{digits}}: {row}" for number, row in zip(grid.down, rows)]
    lines = [f"{grid.name} {grid.shape}".strip(), *rows, *filter(None, [grid.note])]
    most = max(map(len, lines))
    return [line.ljust(most) for line in lines]


def _titles(arrays: Sequence[Array]) -> str:
    """Return names with shapes, or with the values of single numbers: `q (2, 4), window = 5`.

    Nested parameters are summarised.
    """
    named = ", ".join(_title(array) for array in arrays if not is_nested(array))
    return "; ".join(filter(None, (named, nest_text(arrays))))


def _title(array: Array) -> str:
    if array.shape or array.cells is None:
        return f"{array.name} {shape_text(array.shape)}".strip()
    value = f"{array.cells:.6g}" if isinstance(array.cells, float) else array.cells
    return f"{array.name} = {value}"


def compose(step: StepVerdict, room: int, width: int, *, plain: bool) -> Sheet:
    """Return the faults of a step, in at most `room` rows."""
    room = min(room, MOST)
    for layout in LAYOUTS:
        sheet = Sheet(width, plain)
        _step(sheet, step, layout)
        if len(sheet) <= (min(room, EASY) if layout.inputs else room):
            return sheet
    del sheet.rows[room - 1 :]
    sheet.line("…", indent=1)
    return sheet


def _step(sheet: Sheet, step: StepVerdict, layout: ScreenLayout) -> None:
    failed = [check for check in step.checks if check.failing]
    named = f"Step {step.number}, {step.title}"
    sheet.line()
    if step.message and not failed:
        sheet.line(f"{named}: {clean(step.message)}")
    elif not failed:  # and whatever is written passes
        waiting = [check for check in step.checks if check.status is not Status.PASSED]
        names = ", ".join(dict.fromkeys(check.function for check in waiting))
        told = f"{named}: what is written so far is right. Still to write: {names}."
        sheet.line(told, "bold")
    elif len({check.message for check in failed}) == 1 and step.message == failed[0].message:
        sheet.line(f"{named}: this file cannot be judged.", "bold")
        sheet.line()
        sheet.line(clean(step.message), indent=4)
    else:
        waits = sum(check.status is Status.NOT_ATTEMPTED for check in step.checks)
        more = f", {waits} wait{'s' * (waits == 1)} for code not written yet" if waits else ""
        sheet.line(f"{named}: {len(failed)} of {len(step.checks)} checks failed{more}.", "bold")
        _first(sheet, failed[0], layout)
        _others(sheet, failed, layout)
        if step.message:
            sheet.gap()
            sheet.line(clean(step.message), indent=1)


def _first(sheet: Sheet, check: CheckVerdict, layout: ScreenLayout) -> None:
    """Show the first failed check: the fault, the cause, then the case and what was printed."""
    _fault(sheet, check)
    if cause := check.diagnosis:
        sheet.gap()
        label = "looks like" if cause.known else "pattern"
        sheet.line(f"{label}: {clean(cause.says)}", "cause", indent=1)
        sheet.line(f"help: {clean(cause.hint)}", "help", indent=1)
    if check.evidence:
        _case(sheet, check.evidence, layout, is_explained=cause is not None and cause.known)
    if check.printed and layout.printed:
        lines = check.printed.rstrip().split("\n")
        sheet.line("output and warnings of your code:", "dim", indent=5)
        for line in lines[: layout.printed]:
            sheet.line(clean(line), indent=7, most=2)
        if (left := len(lines) - layout.printed) > 0:
            sheet.line(f"… and {count_words(left, 'more line')}", "dim", indent=7)


def _fault(sheet: Sheet, check: CheckVerdict, most: int = 0) -> None:
    """Show what a failed check says, in at most that many lines; 0 means no limit."""
    _, word, sign, style = SIGNS[check.status]
    word = "" if check.status is Status.FAILED else f"({word}) "
    sheet.gap()
    sheet.line(f"{sign} {word}{check.title}", style, indent=1)
    sheet.line(clean(check.message), indent=3, most=most)


def _case(sheet: Sheet, evidence: Evidence, layout: ScreenLayout, *, is_explained: bool) -> None:
    """Show the failing call, its small matrices with wrong cells marked, and a map that tells."""
    drawn = evidence.influence
    if is_explained or drawn is None or not worth_drawing(drawn):
        drawn = None
    sheet.gap()
    sheet.line(evidence.call, indent=5)
    _inputs(sheet, evidence, layout)
    if layout.results or drawn is None:
        _blocks(sheet, replace(evidence, inputs=()), layout)
        if any(array.wrong for array in evidence.got):
            sheet.line("* marks what is wrong", "dim", indent=5)
    if drawn is not None:
        draw_map(sheet, drawn, drawn=layout.map)


def _inputs(sheet: Sheet, evidence: Evidence, layout: ScreenLayout) -> None:
    """Show the inputs. If nothing was returned, show only shapes, tokens and masks.

    The same holds beside nested parameters, which have too many numbers to work through.
    """
    arrays = list_inputs(evidence)
    whole = bool(evidence.expected or evidence.got) and not any(map(is_nested, arrays))
    shown = [array for array in arrays if layout.inputs and (whole or _countable(array))]
    _blocks(sheet, Evidence(evidence.call, tuple(shown)), layout)
    if rest := _titles([array for array in arrays if array not in shown]):
        sheet.line(rest, indent=5)


def _countable(array: Array) -> bool:
    """Return whether the array holds tokens or a mask, which are few enough to read one by one."""
    cells = array.cells
    while isinstance(cells, list) and cells:
        cells = cells[0]
    return isinstance(cells, int) and 0 < len(array.shape) < 3 and not is_nested(array)


def _blocks(sheet: Sheet, evidence: Evidence, layout: ScreenLayout) -> None:
    """Put matrices beside each other as long as they fit."""
    found = exhibits(evidence, GridSize(layout.rows, MAX_COLUMNS, slices=1, decimals=2))
    beside: list[list[list[str]]] = []
    for one in (block(grid) for exhibit in found for grid in exhibit.grids):
        width = sum(len(other[0]) + 3 for other in beside[-1]) if beside else sheet.width
        if width + len(one[0]) > sheet.width - 8:
            beside.append([])
        beside[-1].append(one)
    for row in beside:
        for i in range(max(map(len, row))):
            cells = [one[i] if i < len(one) else " " * len(one[0]) for one in row]
            sheet.row(" " * 5 + "   ".join(cells), "cells")


def _others(sheet: Sheet, failed: Sequence[CheckVerdict], layout: ScreenLayout) -> None:
    """Show one law that fails too, unless a cause was named, and count the other failed checks."""
    first, *rest = failed
    cause = first.diagnosis.misconception if first.diagnosis and first.diagnosis.known else None
    same = [one for one in rest if one.diagnosis and one.diagnosis.misconception == cause]
    rest = [check for check in rest if check not in same]
    law = next((check for check in rest if _is_found_by_a_law(first, check)), None)
    if layout.more and law is not None and not same:
        _fault(sheet, law, most=5)
        _call(sheet, law.evidence, first.evidence)
        rest.remove(law)
    counts = [f"{count_words(len(same), 'more check')} for the same reason"] if same else []
    others = Counter(check.function for check in rest)
    counts += [f"{count_words(count, 'more check')} of {name}" for name, count in others.items()]
    if counts:
        sheet.gap()
        sheet.line(f"Also failing: {'; '.join(counts)}", indent=1)


def _is_found_by_a_law(first: CheckVerdict, check: CheckVerdict) -> bool:
    """Return whether a check of the same function found more than that values are not right."""
    if check.function != first.function or check.status is not Status.FAILED:
        return False
    evidence = check.evidence
    return evidence is None or not any(array.name == "expected" for array in evidence.expected)


def _call(sheet: Sheet, evidence: Evidence | None, first: Evidence | None) -> None:
    """Show a call without results in one row, with its numbers if they fit, else with all shapes.

    Do not repeat the call of the first check without new inputs.
    """
    if evidence is None or evidence.got:
        return
    shapes = _titles(list_inputs(evidence))
    text = f"{evidence.call} with {shapes}" if shapes else evidence.call
    if len(text) > sheet.width - 6:
        again = first is not None and first.call == evidence.call
        text = evidence.call if "=" in evidence.call and not again else ""
    if text:
        sheet.line(text, indent=5, most=1)
