"""Show the first fault of a step on one screen: what and why, then the case, then the rest.

The whole screen is composed before anything is printed. The layouts show less and less, and the
first that fits is used.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from grader.report.grids import exhibits, is_nested, list_inputs
from grader.report.influences import count_words, worth_drawing
from grader.report.records import (
    SIGNS,
    Array,
    CheckVerdict,
    Evidence,
    Influence,
    Status,
    StepVerdict,
)
from grader.report.text.influence_map import draw_map
from grader.report.text.matrices import Block, block, size_of_blocks, titles
from grader.report.text.sheet import Sheet, clean

EASY = 26  # rows that are easy to read; in larger cases the inputs only get in the way
MOST = 40  # rows, however many there are


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
    elif not failed:
        sheet.line(f"{named}: {_show_unwritten(step)}", "bold")
    elif len({check.message for check in failed}) == 1 and step.message == failed[0].message:
        sheet.line(f"{named}: this file cannot be judged.", "bold")
        sheet.line()
        sheet.line(clean(step.message), indent=4)
    else:
        sheet.line(f"{named}: {_summary(step, failed)}", "bold")
        _first(sheet, failed[0], layout)
        _others(sheet, failed, layout)
        if step.message:
            sheet.gap()
            sheet.line(clean(step.message), indent=1)


def _summary(step: StepVerdict, failed: Sequence[CheckVerdict]) -> str:
    waiting = sum(check.status is Status.NOT_ATTEMPTED for check in step.checks)
    word = "waits" if waiting == 1 else "wait"
    text = f"{len(failed)} of {len(step.checks)} checks failed"
    return text + (f", {waiting} {word} for code not written yet." if waiting else ".")


def _show_unwritten(step: StepVerdict) -> str:
    """Show which functions are missing from a step whose written functions all pass."""
    waiting = [check for check in step.checks if check.status is not Status.PASSED]
    names = ", ".join(dict.fromkeys(check.function for check in waiting))
    return f"what is written so far is right. Still to write: {names}."


def _first(sheet: Sheet, check: CheckVerdict, layout: ScreenLayout) -> None:
    """Show the first failed check: the fault, the cause, then the case."""
    sheet.gap()
    _title(sheet, check)
    sheet.line(clean(check.message), indent=3)
    diagnosis(sheet, check)
    if check.evidence:
        found = _telling_map(check)
        sheet.gap()
        _case(sheet, check.evidence, layout, results=layout.results or found is None)
        if found is not None:
            draw_map(sheet, found, drawn=layout.map)
    if check.printed and layout.printed:
        _show_printed(sheet, check.printed, layout.printed)


def _telling_map(check: CheckVerdict) -> Influence | None:
    """Return the map if it shows something and no cause was named."""
    found = check.evidence.influence if check.evidence else None
    named = check.diagnosis is not None and check.diagnosis.known
    return found if found is not None and not named and worth_drawing(found) else None


def _title(sheet: Sheet, check: CheckVerdict) -> None:
    _, word, sign, style = SIGNS[check.status]
    word = "" if check.status is Status.FAILED else f"({word}) "
    sheet.line(f"{sign} {word}{check.title}", style, indent=1)


def diagnosis(sheet: Sheet, check: CheckVerdict) -> None:
    """Show the known mistake or a pattern in the results, and where to look."""
    if check.diagnosis is not None:
        sheet.gap()
        label = "looks like" if check.diagnosis.known else "pattern"
        sheet.line(f"{label}: {clean(check.diagnosis.says)}", "cause", indent=1)
        sheet.line(f"help: {clean(check.diagnosis.hint)}", "help", indent=1)


def _case(sheet: Sheet, evidence: Evidence, layout: ScreenLayout, *, results: bool) -> None:
    """Show the failing call and its small matrices, with wrong cells marked."""
    sheet.line(evidence.call, indent=5)
    _inputs(sheet, evidence, layout)
    if results:
        _results(sheet, evidence, layout)


def _results(sheet: Sheet, evidence: Evidence, layout: ScreenLayout) -> None:
    """Show the expected results beside the actual ones."""
    _blocks(sheet, replace(evidence, inputs=()), layout)
    if any(array.wrong for array in evidence.got):
        sheet.line("* marks what is wrong", "dim", indent=5)


def _inputs(sheet: Sheet, evidence: Evidence, layout: ScreenLayout) -> None:
    """Show the inputs. If nothing was returned, show only shapes, tokens and masks.

    The same holds beside nested parameters, which have too many numbers to work through.
    """
    arrays = list_inputs(evidence)
    whole = bool(evidence.expected or evidence.got) and not any(map(is_nested, arrays))
    shown = [array for array in arrays if layout.inputs and (whole or _countable(array))]
    _blocks(sheet, Evidence(evidence.call, tuple(shown)), layout)
    if rest := titles([array for array in arrays if array not in shown]):
        sheet.line(rest, indent=5)


def _countable(array: Array) -> bool:
    """Return whether the array holds tokens or a mask, which are few enough to read one by one."""
    cells = array.cells
    while isinstance(cells, list) and cells:
        cells = cells[0]
    return isinstance(cells, int) and 0 < len(array.shape) < 3 and not is_nested(array)


def _blocks(sheet: Sheet, evidence: Evidence, layout: ScreenLayout) -> None:
    """Put matrices beside each other as long as they fit."""
    row: list[Block] = []
    found = exhibits(evidence, size_of_blocks(layout.rows))
    for one in (block(grid) for exhibit in found for grid in exhibit.grids):
        width = sum(len(other[0]) + 3 for other in row) + len(one[0])
        if row and width > sheet.width - 8:
            _beside(sheet, row)
            row = []
        row.append(one)
    if row:
        _beside(sheet, row)


def _beside(sheet: Sheet, row: Sequence[Block]) -> None:
    for i in range(max(map(len, row))):
        cells = [one[i] if i < len(one) else " " * len(one[0]) for one in row]
        sheet.row(" " * 5 + "   ".join(cells), "cells")


def _show_printed(sheet: Sheet, text: str, most: int) -> None:
    """Show what the student's code printed in the failing call, warnings included."""
    lines = text.rstrip().split("\n")
    sheet.line("output and warnings of your code:", "dim", indent=5)
    for line in lines[:most]:
        sheet.line(clean(line), indent=7, most=2)
    if len(lines) > most:
        left = count_words(len(lines) - most, "more line")
        sheet.line(f"… and {left}", "dim", indent=7)


def _others(sheet: Sheet, failed: Sequence[CheckVerdict], layout: ScreenLayout) -> None:
    """Show one law that fails too, unless a cause was named, and count the other failed checks."""
    first, *rest = failed
    same = [check for check in rest if _has_cause(first, check)]
    rest = [check for check in rest if check not in same]
    law = next((check for check in rest if _is_found_by_a_law(first, check)), None)
    if layout.more and law is not None and not same:
        sheet.gap()
        _title(sheet, law)
        sheet.line(clean(law.message), indent=3, most=5)
        _call(sheet, law.evidence, first.evidence)
        rest.remove(law)
    counts = [f"{count_words(len(same), 'more check')} for the same reason"] if same else []
    others = Counter(check.function for check in rest)
    counts += [f"{count_words(count, 'more check')} of {name}" for name, count in others.items()]
    if counts:
        sheet.gap()
        sheet.line(f"Also failing: {'; '.join(counts)}", indent=1)


def _has_cause(first: CheckVerdict, other: CheckVerdict) -> bool:
    """Return whether a known mistake explains both."""
    one, two = first.diagnosis, other.diagnosis
    if one is None or two is None or not one.known:
        return False
    return one.misconception == two.misconception


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
    shapes = titles(list_inputs(evidence))
    text = f"{evidence.call} with {shapes}" if shapes else evidence.call
    if len(text) > sheet.width - 6:
        again = first is not None and first.call == evidence.call
        text = evidence.call if "=" in evidence.call and not again else ""
    if text:
        sheet.line(text, indent=5, most=1)
