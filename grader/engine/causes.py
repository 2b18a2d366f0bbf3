"""Say why a step's functions fail: a known mistake, a failing function, or a pattern."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from grader.diagnosis.calls import Failure, Log
from grader.diagnosis.library import Cause, Library
from grader.diagnosis.lookup import look_up
from grader.diagnosis.properties.case_outcomes import Tried
from grader.diagnosis.properties.experiments import Subject, find_idle, find_kept, find_state
from grader.diagnosis.properties.facts import describe_wrong
from grader.diagnosis.properties.survey import CaseSurvey, survey
from grader.diagnosis.replay_client import Replay
from grader.diagnosis.search import diagnose, is_guess
from grader.engine.bench import Attempt, Bench
from grader.isolation import survey as sources
from grader.report.records import PROPERTY, CheckVerdict, Diagnosis, Status
from grader.steps.registry import Check, Function, Step

# What a description of results may raise: they can be anything, and no verdict depends on it.
ODD_RESULTS = (ArithmeticError, LookupError, MemoryError, TypeError, ValueError)


def with_causes(
    verdicts: Sequence[CheckVerdict], bench: Bench, library: Library, attempt: Attempt, log: Log
) -> list[CheckVerdict]:
    """Return the verdicts with a known mistake or a pattern at each function's failures."""
    causes: dict[str, Diagnosis | None] = {}
    named: list[Cause] = []
    for verdict in verdicts:
        if _wrong(verdict) and verdict.function not in causes:
            failure = _collect_failure(attempt.step, verdict.function, verdicts, log)
            search = _Search(bench, library, attempt, failure)
            causes[verdict.function] = search.find(causes, named)
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
    failure: Failure

    def find(self, failing: Collection[str], named: list[Cause]) -> Diagnosis | None:
        """Return why the function fails, or what its wrong results have in common.

        failing: the step's functions that have failed before. named: the causes found in the step
        so far; this one is added.
        """
        before, function = len(named), self.failure.function
        with Replay(self.library, self.attempt.step, self.failure.log.calls) as replay:
            known = self._find_known(replay, named)
            places = {place for cause in named[before:] for place in cause.places}
            shared = bool(places & set(failing))
            earlier = bool(places) and function not in places  # in an earlier step
            if known is not None and (shared or not (earlier or is_guess(known, self.failure))):
                return known
            blamed = _blame_called(self.attempt.source, function, failing)
            if blamed is not None:
                del named[before:]
            return blamed or known or self._describe()

    def _find_known(self, replay: Replay, named: list[Cause]) -> Diagnosis | None:
        """Return the known mistake: replayed, or looked up if the kit has no correct code."""
        if replay.step.id in self.library.right:
            try:
                return diagnose(replay, self.failure, named, self._list_later)
            except ODD_RESULTS:
                return None
        if self.bench.suite == "visible":
            return look_up(replay.step, self.failure)
        return None

    @cached_property
    def _surveyed(self) -> CaseSurvey | None:
        """Return the results in all cases of its checks, or None if a check breaks down."""
        try:
            return self._survey(self.attempt.step.function(self.failure.function).checks)
        except Exception:  # results can be anything; a failed check must not be hidden by that
            return None

    def _survey(self, checks: Sequence[Check], *, apart: bool = False) -> CaseSurvey:
        """Put the code through the cases of these checks, or each cache in its own process."""
        bench, step = self.bench, self.attempt.step
        function, given = step.function(self.failure.function), bench.inputs_for(step)
        run = [bench.checks[one.id] for one in checks]
        return survey(bench.host, self.attempt.program, step, function, run, given, apart=apart)

    def _subject(self, function: Function) -> Subject:
        """Return the function for further calls, beside right code if the kit has it."""
        program, right = self.attempt.program, self.library.right.get(self.attempt.step.id)
        kit = right and replace(program, sources={**program.sources, program.module: right})
        return Subject(self.bench.host, function, program, kit)

    def _list_later(self) -> Log:
        """Return the calls in all cases of the failing checks."""
        if self._surveyed is None:
            return Log()
        log = self._surveyed.log
        spans = {check: log.spans[check] for check in self.failure.checks if check in log.spans}
        return replace(log, spans=spans)

    def _describe(self) -> Diagnosis | None:
        """Return patterns in the function's wrong results."""
        if self._surveyed is None:
            return None
        tried, function = self._surveyed.tried, self.attempt.step.function(self.failure.function)

        def alone(check: str) -> list[Tried]:
            only = [one for one in function.checks if one.id == check]
            return self._survey(only, apart=True).tried

        try:
            subject = self._subject(function)
            fact = find_kept(tried, alone) or find_state(subject, tried)
            return describe_wrong(tried, function.takes, fact or find_idle(subject, tried))
        except Exception:  # results can be anything; a failed check must not be hidden by that
            return None


def _blame_called(source: str, function: str, failing: Collection[str]) -> Diagnosis | None:
    """Return that a function calls others of its step that fail checks of their own."""
    used = sources.survey(source).uses(function) if failing else set()
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


def _collect_failure(
    step: Step, function: str, verdicts: Sequence[CheckVerdict], log: Log
) -> Failure:
    """Return the function's failing checks, and all calls; those of its other checks passed."""
    failing = [
        verdict.check for verdict in verdicts if verdict.function == function and _wrong(verdict)
    ]
    passed = [check.id for check in step.function(function).checks if check.id not in failing]
    return Failure(function, failing, log.with_passed(passed))


def _wrong(verdict: CheckVerdict) -> bool:
    """Return whether a cause can be searched for."""
    return verdict.status in (Status.FAILED, Status.ERROR)
