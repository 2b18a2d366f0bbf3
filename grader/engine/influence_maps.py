"""Draw the map of influence of every function that failed, if it shows something.

It is drawn in a worker of its own, so it cannot change a verdict or a diagnosis.
"""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from grader.checks.laws.influence import Moves
from grader.engine.bench import Trial
from grader.isolation.client import CallFailed
from grader.report.influences import findings, of_kind
from grader.report.records import CheckVerdict, Influence, Status

SECONDS = 5.0  # seconds for all maps of a step, which are not worth a wait
TRIED = "Another call, with small inputs."


def telling(function: Callable[..., Any], maps: Sequence[Moves]) -> Influence | None:
    """Return the first of the maps in which something leaks or is missing."""
    for one in maps:
        found = one.draw(function)
        if findings(found):
            return found
    return None


def with_maps(trial: Trial) -> list[CheckVerdict]:
    """Return a trial's verdicts, with a map at each function's first failure if it shows something.

    In a visible suite the map is part of the evidence. Elsewhere the message describes it in words,
    with positions only.
    """
    from grader.checks.influence_inputs import mapped, maps_of  # only if something failed

    bench, visible = trial.bench, trial.bench.shows
    shown, failures = list(trial.verdicts), _first_failures(trial.verdicts, visible)
    maps = maps_of(trial.attempt.step)
    if maps.keys().isdisjoint(failures):
        return shown
    with contextlib.suppress(CallFailed), Trial(bench, trial.attempt, SECONDS) as again:
        for name, number in failures.items():
            with contextlib.suppress(Exception):  # a map must not cost a verdict
                found = telling(mapped(again.student, name), maps.get(name, ()))
                if found is not None:
                    found = replace(found, how=f"{TRIED} {found.how}".strip())
                    shown[number] = _with_map(shown[number], found, visible)
    return shown


def _first_failures(verdicts: Sequence[CheckVerdict], visible: bool) -> dict[str, int]:
    """Return, for each function, the index of the first failure that can have a map."""
    found: dict[str, int] = {}
    for number, verdict in enumerate(verdicts):
        if verdict.status is Status.FAILED and (verdict.evidence or not visible):
            found.setdefault(verdict.function, number)
    return found


def _with_map(verdict: CheckVerdict, influence: Influence, visible: bool) -> CheckVerdict:
    """Return the verdict with the map, or with its words in a suite that shows no evidence."""
    if not visible:
        words = [verdict.message, influence.how, *findings(influence, amounts=False)]
        return replace(verdict, message=" ".join(words))
    evidence = verdict.evidence
    if evidence is None or (evidence.influence and not of_kind(influence, "leak")):
        return verdict  # the law has drawn the leak that it found, and this map shows none
    return replace(verdict, evidence=replace(evidence, influence=influence))
