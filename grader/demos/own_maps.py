"""Maps of a step's own functions: which output position moves when one input position changes.

Nothing is judged here. The functions run on the submission's own earlier steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grader.checks.compare import Broken
from grader.checks.laws.influence import Change, Map, Moves, past
from grader.checks.student import Student
from grader.demos.loaded import NotReady, sources, worker_with
from grader.engine.influence_maps import maps_of
from grader.intake.submission import Submission
from grader.isolation import Host
from grader.isolation.client import Program
from grader.report.influences import findings
from grader.report.records import Influence
from grader.steps.inputs import Arguments, Draw
from grader.steps.registry import Registry, Step

FIRST = 5  # the first step whose functions see several positions and must not see all of them
FINE = "No position sees what it must not, and each sees what it should."


@dataclass(frozen=True)
class OwnMap:
    """The map of one function; without one, `why` there is none."""

    function: str
    map: Influence | None
    why: str = ""

    @property
    def told(self) -> list[str]:
        """Return what the map shows, in sentences."""
        if self.map is None:
            return [self.why]
        return findings(self.map) or [FINE]


def list_mapped(registry: Registry) -> list[Step]:
    """Return the steps that have functions to be drawn."""
    return [step for step in registry.steps if step.number >= FIRST and _maps(step)]


def measure_own(host: Host, registry: Registry, submission: Submission, step: Step) -> list[OwnMap]:
    """Return a map of each function of the step; NotReady if the step cannot be loaded."""
    program = Program(step.id, sources(registry, submission, [step]))
    return [_draw(host, program, step, name, maps) for name, maps in _maps(step).items()]


def _draw(host: Host, program: Program, step: Step, name: str, maps: Sequence[Map]) -> OwnMap:
    """Return the function's most telling map: one with a finding, else one that hides something."""
    drawn: list[Influence] = []
    why = ""
    try:
        with worker_with(host, program, name) as worker:
            student = Student(step, worker.call, worker.fetch)
            calls = maps_of(step)[1]
            function = calls[name](student) if name in calls else getattr(student, name)
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


def _maps(step: Step) -> dict[str, Sequence[Map]]:
    """Return what is drawn of each function of a step."""
    maps = {name: maps for name, maps in maps_of(step)[0].items() if maps}
    names = {function.name for function in step.functions}
    if "llama_logits" in names and "llama_logits" not in maps:
        maps["llama_logits"] = [_llama()]
    return maps


def _llama() -> Moves:
    """Return a small Llama that reads six tokens."""
    draw, width, wide, vocabulary = Draw("maps", "llama"), 8, 12, 9

    def weight(rows: int, columns: int) -> object:
        return draw.normal(rows, columns) / np.sqrt(rows)

    def block() -> Arguments:
        square = {f"w_{name}": weight(width, width) for name in "qo"}
        narrow = {f"w_{name}": weight(width, width // 2) for name in "kv"}
        rising = {f"w_{name}": weight(width, wide) for name in ("gate", "up")}
        return {
            "norm_1": 1 + draw.normal(width) / 4,
            "attention": square | narrow,
            "norm_2": 1 + draw.normal(width) / 4,
            "feed_forward": {**rising, "w_down": weight(wide, width)},
        }

    params = {
        "embedding": draw.normal(vocabulary, width),
        "blocks": [block(), block()],
        "norm_f": 1 + draw.normal(width) / 4,
        "w_out": weight(width, vocabulary),
    }
    tokens, others = np.asarray([2, 5, 0, 4, 1, 7]), np.asarray([6, 3, 8, 3, 6, 8])
    arguments = {"tokens": tokens, "params": params, "n_heads": 4, "n_kv_heads": 2}
    return Moves(Change(arguments, {"tokens": others}, {"tokens": -1}), past(len(tokens)))
