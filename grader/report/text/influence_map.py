"""Draw a map of influence in a terminal, in signs and in words."""

from grader.report.grids import influence_grid
from grader.report.influences import findings
from grader.report.records import Influence
from grader.report.text.sheet import Sheet, clean

MAX_MAP = 12
MAP_SIGNS = {"may": "#", "none": ".", "leak": "!", "missing": "?", "unknown": "~"}
MAP_WORDS = {
    "may": "moved",
    "none": "did not",
    "leak": "moved, and must not",
    "missing": "did not, and should",
    "unknown": "is not a number",
}


def draw_map(sheet: Sheet, influence: Influence, *, drawn: bool = True) -> None:
    """Draw which output depends on which input, and explain what is wrong.

    If it is about another call than the one that is shown, say so first. drawn: show the picture.
    """
    sheet.gap()
    if influence.how:
        sheet.line(clean(influence.how), indent=5)
    if drawn:
        grid = influence_grid(influence, MAX_MAP)
        width = len(str(max((*grid.down, *grid.across), default=0))) + 1
        axes = f"Column: {influence.input} that changed; row: {influence.output} that moved"
        sheet.line(f"Who listens to whom? {axes}", indent=5)
        sheet.row(" " * (5 + width) + "".join(str(j).rjust(width) for j in grid.across))
        for i, row in zip(grid.down, grid.cells):
            signs = "".join(MAP_SIGNS[cell.mark].rjust(width) for cell in row)
            sheet.row(" " * 5 + str(i).rjust(width) + signs)
        kinds = {cell.mark for row in grid.cells for cell in row}
        for some in ("may none leak missing", "unknown"):
            shown = (kind for kind in some.split() if kind in kinds)
            if legend := "   ".join(f"{MAP_SIGNS[kind]} {MAP_WORDS[kind]}" for kind in shown):
                sheet.line(legend, "dim", indent=5)
        if grid.note:
            sheet.line(grid.note, "dim", indent=5)
    for sentence in findings(influence):
        sheet.line(clean(sentence), indent=5)
