"""Draw maps of a step's own functions: which output moves when one input position changes.

Nothing is judged here. The functions run on the submission's own earlier steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.checks.compare import Broken
from grader.checks.influence_inputs import mapped, maps_of
from grader.checks.laws.influence import Moves
from grader.checks.student import Student
from grader.demos.submission_worker import NotReady, sources, worker_with
from grader.intake.submission import Submission
from grader.isolation import Host
from grader.isolation.client import Program
from grader.report.influences import findings
from grader.report.records import Influence
from grader.report.text.influence_map import draw_map
from grader.report.text.sheet import Sheet, clean
from grader.steps.registry import Registry, Step

FIRST = 5  # the first step whose functions see several positions and must not see all of them
FINE = "No position sees what it must not, and each sees what it should."


@dataclass(frozen=True)
class OwnMap:
    """The map of one function, or `why` there is none."""

    function: str
    map: Influence | None
    why: str = ""

    @property
    def told(self) -> list[str]:
        """Describe the map in sentences."""
        if self.map is None:
            return [self.why]
        return findings(self.map) or [FINE]


def draw_own(sheet: Sheet, one: OwnMap) -> None:
    """Draw the map of one function, if there is one, and what it shows."""
    if one.map is not None:
        draw_map(sheet, one.map)
    for sentence in one.told if one.map is None or one.told == [FINE] else ():
        sheet.line(clean(sentence), indent=5)


def list_mapped(registry: Registry) -> list[Step]:
    """Return the steps that have functions to be drawn."""
    return [step for step in registry.steps if step.number >= FIRST and maps_of(step)]


def measure_own(host: Host, registry: Registry, submission: Submission, step: Step) -> list[OwnMap]:
    """Return a map of each function of the step. Raise NotReady if the step cannot be loaded."""
    program = Program(step.id, sources(registry, submission, [step]))
    return [_draw(host, program, step, name, maps) for name, maps in maps_of(step).items()]


def _draw(host: Host, program: Program, step: Step, name: str, maps: Sequence[Moves]) -> OwnMap:
    """Return the function's most telling map: one with a finding, else one that hides something."""
    drawn: list[Influence] = []
    why = ""
    try:
        with worker_with(host, program, name) as worker:
            function = mapped(Student(step, worker.call, worker.fetch), name)
            for one in maps:
                drawn.append(one.draw(function))
    except NotReady as error:
        why = str(error)
    except Broken as broken:
        why = f"It cannot be drawn. {broken.told}"
    if not drawn:
        return OwnMap(name, None, why)
    found = [one for one in drawn if findings(one)]
    masked = [one for one in drawn if not all(map(all, one.allowed))]
    return OwnMap(name, (found + masked + drawn)[0])
