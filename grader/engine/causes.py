"""Say why a step's functions fail: a known mistake, a failing function, or a pattern.

Also draw the map of influence of each of them, if it shows something. It is drawn in a worker of
its own, so it cannot change a verdict or a cause.
"""

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from grader.checks.laws.influence import Moves
from grader.diagnosis.calls import Log, Symptoms
from grader.diagnosis.library import Library, Suspect
from grader.diagnosis.lookup import look_up
from grader.diagnosis.properties.case_outcomes import Tried
from grader.diagnosis.properties.experiments import (
    CaseNotes,
    Subject,
    find_idle,
    find_kept,
    find_state,
    try_all_cases,
)
from grader.diagnosis.properties.facts import describe_wrong
from grader.diagnosis.search import Replay, diagnose
from grader.engine.bench import Attempt, Bench, Trial
from grader.isolation.client import CallFailed
from grader.isolation.survey import survey
from grader.report.influences import findings, of_kind
from grader.report.records import PROPERTY, CheckVerdict, Diagnosis, Influence, Status
from grader.steps.registry import Check, Function

SECONDS = 5.0  # seconds for all maps of a step, which are not worth a wait
TRIED = "Another call, with small inputs."


def with_causes(
    trial: Trial, library: Library, verdicts: Sequence[CheckVerdict]
) -> list[CheckVerdict]:
    """Return a trial's verdicts, with a known mistake or a pattern at each function's failures."""
    causes: dict[str, Diagnosis | None] = {}
    named: list[Suspect] = []
    for name in dict.fromkeys(verdict.function for verdict in verdicts if _wrong(verdict)):
        failing = [one.check for one in verdicts if one.function == name and _wrong(one)]
        checks = trial.attempt.step.function(name).checks
        passed = [check.id for check in checks if check.id not in failing]
        symptoms = Symptoms(name, failing, trial.log.with_passed(passed))
        search = _Search(trial.bench, library, trial.attempt, symptoms)
        causes[name] = search.find(causes, named)
    return [
        replace(verdict, diagnosis=causes.get(verdict.function)) if _wrong(verdict) else verdict
        for verdict in verdicts
    ]


@dataclass(frozen=True)
class _Search:
    """The search for the cause of one function's failing checks.

    library: known mistakes and right code.
    """

    bench: Bench
    library: Library
    attempt: Attempt
    symptoms: Symptoms

    def find(self, failing: Collection[str], named: list[Suspect]) -> Diagnosis | None:
        """Return why the function fails, or what its wrong results have in common.

        failing: the step's functions that have failed before. named: the causes found in the step
        so far; this one is added.
        """
        before, function, symptoms = len(named), self.symptoms.function, self.symptoms
        blamed, known = _blame_called(self.attempt.source, function, failing), None
        # Results can be anything; a failed check must not be hidden by that.
        with suppress(Exception):
            known = self._find_known(named, pairs=blamed is None and symptoms.gave_numbers())
        replaced = {name for one in named[before:] for name in one.replacements}
        earlier = bool(replaced) and function not in replaced  # in an earlier step
        guess = earlier or symptoms.gave_nothing_finite()
        if blamed is not None and (known is None or (guess and not replaced & set(failing))):
            del named[before:]
            return blamed
        with suppress(Exception):
            return known or self._describe()
        return None

    def _find_known(self, named: list[Suspect], *, pairs: bool) -> Diagnosis | None:
        """Return the known mistake: replayed, or looked up if the kit has no correct code."""
        step = self.attempt.step
        if step.id not in self.library.right:
            return look_up(step, self.symptoms) if self.bench.suite == "visible" else None
        with Replay(self.library, step, self.symptoms.log.calls) as replay:
            return diagnose(replay, self.symptoms, named, self._list_later, pairs=pairs)

    @cached_property
    def _function(self) -> Function:
        return self.attempt.step.function(self.symptoms.function)

    @cached_property
    def _notes(self) -> CaseNotes:
        """Return what came in all cases of its checks."""
        return self._try_cases(self._function.checks)

    def _try_cases(self, checks: Sequence[Check], *, apart: bool = False) -> CaseNotes:
        """Put the code through the cases of these checks, or each cache in its own process."""
        bench, attempt = self.bench, self.attempt
        run, given = [bench.checks[one.id] for one in checks], bench.inputs_for(attempt.step)
        return try_all_cases(
            bench.host, attempt.program, attempt.step, self._function, run, given, apart=apart
        )

    def _list_later(self) -> Log:
        """Return the calls in all cases of the failing checks."""
        log = self._notes.log
        spans = {check: log.spans[check] for check in self.symptoms.checks if check in log.spans}
        return replace(log, spans=spans)

    def _describe(self) -> Diagnosis | None:
        """Return patterns in the function's wrong results."""
        tried, function, program = self._notes.tried, self._function, self.attempt.program
        right = self.library.right.get(self.attempt.step.id)  # the kit may have none
        kit = right and replace(program, sources={**program.sources, program.module: right})
        subject = Subject(self.bench.host, function, program, kit)

        def alone(check: str) -> list[Tried]:
            only = [one for one in function.checks if one.id == check]
            return self._try_cases(only, apart=True).tried

        fact = find_kept(tried, alone) or find_state(subject, tried) or find_idle(subject, tried)
        return describe_wrong(tried, function.takes, fact)


def _blame_called(source: str, function: str, failing: Collection[str]) -> Diagnosis | None:
    """Return that a function calls others of its step that fail checks of their own."""
    used = survey(source).uses(function) if failing else set()
    called = [name for name in failing if name in used]
    if not called:
        return None
    names = " and ".join(called)
    fail = "fail their own checks" if len(called) > 1 else "fails its own checks"
    return Diagnosis(
        f"{PROPERTY}calls_wrong",
        f"Fix {names} first, then check again: the failure here may come from there.",
        f"{function} calls {names}, which {fail}.",
    )


def _wrong(verdict: CheckVerdict) -> bool:
    """Return whether a cause can be searched for."""
    return verdict.status in (Status.FAILED, Status.ERROR)


def telling(function: Callable[..., Any], maps: Sequence[Moves]) -> Influence | None:
    """Return the first of the maps in which something leaks or is missing."""
    return next(filter(findings, (one.draw(function) for one in maps)), None)


def with_maps(trial: Trial) -> list[CheckVerdict]:
    """Return a trial's verdicts, with a map at each function's first failure if it shows something.

    In a visible suite the map is part of the evidence. Elsewhere the message describes it in words,
    with positions only.
    """
    from grader.checks.influence_inputs import mapped, maps_of  # only if something failed

    bench, visible = trial.bench, trial.bench.shows
    shown, maps, failures = list(trial.verdicts), maps_of(trial.attempt.step), dict[str, int]()
    for number, verdict in enumerate(shown):
        if verdict.status is Status.FAILED and (verdict.evidence or not visible):
            failures.setdefault(verdict.function, number)
    if maps.keys().isdisjoint(failures):
        return shown
    with suppress(CallFailed), Trial(bench, trial.attempt, SECONDS) as again:
        for name, number in failures.items():
            with suppress(Exception):  # a map must not cost a verdict
                found = telling(mapped(again.student, name), maps.get(name, ()))
                if found is not None:
                    found = replace(found, how=f"{TRIED} {found.how}".strip())
                    shown[number] = _with_map(shown[number], found, visible)
    return shown


def _with_map(verdict: CheckVerdict, influence: Influence, visible: bool) -> CheckVerdict:
    """Return the verdict with the map, or with its words in a suite that shows no evidence."""
    if not visible:
        words = [verdict.message, influence.how, *findings(influence, amounts=False)]
        return replace(verdict, message=" ".join(words))
    evidence = verdict.evidence
    if evidence is None or (evidence.influence and not of_kind(influence, "leak")):
        return verdict  # the law has drawn the leak that it found, and this map shows none
    return replace(verdict, evidence=replace(evidence, influence=influence))
