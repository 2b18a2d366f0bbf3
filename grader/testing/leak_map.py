"""Show which output of a model depends on which input: as text, in a notebook, and as a file."""

from dataclasses import dataclass
from pathlib import Path

from grader.report.html.page import UNIT, template
from grader.report.influences import findings, of_kind
from grader.report.records import Influence
from grader.report.text.influence_map import draw_map
from grader.report.text.sheet import Sheet


@dataclass(frozen=True)
class LeakMap:
    """A map of influence. It prints itself, and notebooks show it as a picture.

    influence.moved[i][j]: how far output i moved when only input j was replaced, 0.0 if not at all.
    """

    influence: Influence

    @property
    def leaks(self) -> list[tuple[int, int]]:
        """Return each pair (output, input) in which the output depends on a later input."""
        return of_kind(self.influence, "leak")

    def __str__(self) -> str:
        sheet = Sheet()
        draw_map(sheet, self.influence)
        rows = [text.removeprefix(" " * 5) for text, _ in sheet.rows]
        return "\n".join([*rows[1:], *([] if self.leaks else [self._tell()])])

    def _tell(self) -> str:
        if of_kind(self.influence, "unknown"):
            return "Some results are not numbers, so this map leaves open whether it is causal."
        return "No output moved when only a later input was replaced."

    def _repr_html_(self) -> str:
        return template("leak_map.html", Path(__file__).parent).render(
            influence=self.influence, told=findings(self.influence) or [self._tell()]
        )

    def save(self, path: str | Path) -> Path:
        """Write the map as an SVG file, and return its path."""
        svg = template("leak_map.svg", Path(__file__).parent).render(
            influence=self.influence, size=UNIT
        )
        path = Path(path)
        path.write_text(svg.strip() + "\n", encoding="utf-8")
        return path


def usual_cause(influence: Influence, *, scaled: bool = False) -> str:
    """Return what usually makes such a map, which shows a leak.

    scaled: whether the output of the first leak was multiplied by a number, and no more.
    """
    leaks, length = of_kind(influence, "leak"), len(influence.moved)
    far, rows = max(j - i for i, j in leaks), {i for i, _ in leaks}
    if scaled:
        return (
            "The output was only multiplied by a number, so the weights' sum depends on the "
            "future: the mask comes after the softmax, which has divided by all scores."
        )
    if len(rows) < length - 1:
        places = ", ".join(map(str, sorted(rows)))
        return (
            f"Only some outputs see later inputs ({places}): a mask that is cut from another "
            "length or aligned at the other corner, or a row whose scores are all masked."
        )
    if not any(influence.moved[i][j] for i in range(length) for j in range(i)):
        return (
            "Outputs see later inputs and no earlier ones: the mask blocks what it should let "
            "through, or queries and keys have changed places."
        )
    if len(leaks) == sum(min(far, length - 1 - i) for i in range(length)):
        if far == length - 1:
            return (
                "Every position sees every later one: there is no mask in one of the layers, or a "
                "mean, a norm or a softmax runs over time."
            )
        return (
            f"Every position sees just {far} further: a mask that is off by {far} "
            f"(`tril(..., {far})`), or queries and keys that are shifted against each other."
        )
    return (
        "Outputs see some later inputs and not others: a mask broadcast along the wrong axis or "
        "reshaped, heads or chunks that are mixed up, or a convolution that is not causal."
    )
