"""Run checks: functions of `student`, which talks to a worker, and `given`, the suite's inputs.

The check functions are imported once; then any number of attempts are tested with them. This module
decides from the raised exception how a check ended. The registry says what it is worth.
"""

from __future__ import annotations

import contextlib
import copy
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from grader.checks.compare import Broken, WrongValue, only_known
from grader.checks.functions import CheckFunction, load_checks
from grader.checks.student import Student
from grader.checks.suites import Given
from grader.diagnosis.calls import FETCH, Call, Keeper, Log, as_call, count_tokens_fed
from grader.diagnosis.exceptions import Explanation, arrays_of, explain, know_sizes, sizes_of
from grader.engine import messages
from grader.engine.call_evidence import show_call
from grader.engine.kept_scripts import KeptScripts
from grader.engine.own_code import find_code
from grader.engine.recording import record_scripts
from grader.engine.scripts import PATIENCE, Hope, Script
from grader.intake.submission import from_notebook
from grader.isolation import Host, SandboxError
from grader.isolation.client import (
    Answer,
    CallFailed,
    Died,
    Program,
    Raised,
    TimedOut,
    Worker,
)
from grader.isolation.margins import Margins
from grader.isolation.wire import Handle
from grader.report.records import CheckVerdict, Evidence, Status
from grader.steps.registry import Check, KitError, Step, load

# Seconds that each submission gets back for attempts with scripts that do not pass.
SPARE = 15.0
# Seconds that each submission gets for trials beyond a step's own checks: with other earlier
# steps, or of earlier steps that nobody has asked for.
TRIALS = 120.0
# What a worker reports of a stub: the type, its bases, no text and no lines.
UNWRITTEN = ("NotImplementedError", ("NotImplementedError", "RuntimeError", "Exception"), "", ())
# After these there is nothing more to learn from the function's other checks.
HOPELESS = (Status.NOT_ATTEMPTED, Status.TIMEOUT, Status.MEMORY)


Error = TypeVar("Error", bound=BaseException)


def without_frames(error: Error) -> Error:
    """Return an exception that can be kept: without the frames that it went through.

    Frames hold what the worker sent, up to 64 MiB each time. The frame that keeps the exception is
    among them. Such a cycle stays in memory until Python looks for it, which may be too late.
    """
    error.__context__ = None
    return error.with_traceback(None)


@dataclass(frozen=True)
class FirstFailure:
    """The first check that failed on an attempt, and the calls up to it.

    start: the number of the check's own first call. pending: the call that had no answer, if any.
    """

    verdict: CheckVerdict
    calls: Sequence[Call]
    start: int
    pending: Call | None = None


@dataclass(frozen=True)
class Attempt:
    """A step's code, and the modules that it builds on."""

    step: Step
    program: Program
    source: str
    untouched: bool = False
    """Whether the source is the kit's own stub, so that nothing has to be run."""


class Bench:
    """A bench for one attempt at a time: its worker, and the checks that test it.

    shows: whether failures are shown with their inputs and with what the submission says.
    """

    def __init__(self, host: Host, given: Callable[[Step], Given], suite: str) -> None:
        self.host = host
        self.make_given = given
        self.suite, self.shows = suite, suite == "visible"
        self.checks: dict[str, CheckFunction] = {}
        self.givens: dict[str, Given] = {}
        self.scripts: dict[str, Script] = {}
        self.kept_scripts: KeptScripts | None = None
        self.spare, self.trials = SPARE, TRIALS
        self.until, self.hasty = math.inf, False  # for a trial
        self.hopes: defaultdict[str, Hope] = defaultdict(Hope)
        self.too_slow = False  # whether `passes_all` has waited in vain
        self.news = False  # whether there are scripts or answers that are not kept yet
        self.worker: Worker | None = None
        self.first_failure: FirstFailure | None = None
        self.log = Log()
        self.raised: set[tuple[str, str, int]] = set()
        self.coded: set[str] = set()
        self.keeper = Keeper()

    def load(self, steps: Sequence[Step]) -> None:
        """Import the suite's checks of these steps. Raise KitError if they cannot be imported."""
        for step in steps:
            self.checks |= load_checks(self.suite, step)

    # For the checks.

    @property
    def student(self) -> Student:
        """Return the submission's functions of this step."""
        return Student(self.attempt.step, self._ask, self._fetch)

    def _ask(self, function: str, *args: Any, **options: Any) -> Answer:
        self.printed = ""
        self.asked = function
        self.asking = options.get("then") or args
        try:
            if function not in self.names:
                raise Missing(function)
            answer = self._working().call(function, *args, **options)
        except Raised as raised:
            self.printed = messages.clean_printed(raised.printed)
            self._note(function, args, options, raised)
            raise
        self.printed = messages.clean_printed(answer.printed)
        self._note(function, args, options, answer)
        return answer

    def _note(
        self,
        function: str,
        args: Sequence[Any],
        options: Mapping[str, Any],
        answer: Answer | Raised,
    ) -> None:
        """Keep a call for the diagnosis."""
        self.log.calls.append(as_call(function, args, options, answer, self.keeper.keep))

    def _fetch(self, handle: Any) -> Any:
        value = self._working().fetch(handle)
        self.log.calls.append(Call(FETCH, [handle], {}, False, self.keeper.keep(value)))
        return value

    def _working(self) -> Worker:
        """Return the worker, or a fresh one if it has ended and another may take its place."""
        if self.worker is None or not (self.worker.alive or self.worker.last):
            self.log = Log(whole=False)  # the calls in the process that ended are lost
            self.worker = Worker(self.host, self.deadline, watched=self.suite == "visible")
            self.worker.load(self.attempt.program)
        return self.worker

    # For grading.

    def change_inputs(self, make_given: Callable[[Step], Given]) -> None:
        """Use other inputs from now on."""
        self.make_given = make_given
        self.givens.clear()
        self.scripts.clear()

    def inputs_for(self, step: Step) -> Given:
        """Return the suite's inputs for a step, made once."""
        if step.id not in self.givens:
            self.givens[step.id] = self.make_given(step)
        return self.givens[step.id]

    def beside(self) -> Bench:
        """Return a bench for another attempt at the same time, with the same scripts and inputs."""
        other = copy.copy(self)
        other.log, other.raised, other.coded = Log(), set(), set()
        return other

    def begin_anew(self, host: Host) -> None:
        """Forget the last submission; the next one runs on that host."""
        self.host, self.spare, self.trials = host, SPARE, TRIALS
        host.margins = Margins()
        self.log = Log()
        self.first_failure = None
        messages.forget_sources()

    def _turn_to(self, attempt: Attempt) -> None:
        self.attempt = attempt
        self.log = Log()
        self.first_failure = None
        self.keeper = Keeper()
        self.raised.clear()
        self.coded.clear()
        self.deadline = min(time.monotonic() + self.host.limits.step_seconds, self.until)

    @contextlib.contextmanager
    def on(self, attempt: Attempt) -> Iterator[None]:
        """Load an attempt for the duration of the block.

        Raise CallFailed if it cannot be loaded.
        """
        self._turn_to(attempt)
        if attempt.untouched:
            self.worker, self.names = None, tuple(one.name for one in attempt.step.functions)
            yield
            return
        self.worker = Worker(self.host, self.deadline, watched=self.suite == "visible")
        try:
            self.names = self.worker.load(attempt.program)
            yield
        finally:
            with contextlib.suppress(OSError):
                self.worker.close()

    @contextlib.contextmanager
    def aside(self, seconds: float) -> Iterator[Student]:
        """Yield the student's functions, for unrecorded calls that belong to no check.

        seconds: the most time for all of them; the step's remaining time also limits it.
        """
        log, count = self.log, len(self.log.calls)
        self.deadline = min(self.deadline, self.host.deadline, time.monotonic() + seconds)
        if self.worker is not None:
            self.worker.deadline = self.deadline
        try:
            yield self.student
        finally:
            self.log = log
            del log.calls[count:]

    def run(self, checks: Sequence[Check]) -> list[CheckVerdict]:
        """Run these checks on the attempt, in order."""
        verdicts: dict[str, CheckVerdict] = {}
        for check in checks:
            needed = verdicts.get(check.needs or "")
            if needed and needed.status in HOPELESS:
                verdict = self.verdict(check, needed.status, needed.message)
            else:
                verdict = self._judge(check)
            if needed and needed.status is not Status.PASSED and verdict.status is Status.PASSED:
                message = messages.explain_not_counted(check.function)
                verdict = replace(verdict, status=Status.SKIPPED, points=0.0, message=message)
            verdicts[check.id] = verdict
            if self.hasty and verdict.status is Status.TIMEOUT:
                self.deadline = min(self.deadline, time.monotonic())
        return list(verdicts.values())

    def passes_all(self, attempt: Attempt) -> bool:
        """Return whether the attempt passes all checks of its step, asked with their scripts.

        If it returns False, only `run` can tell: scripts may be missing, or their answers late. The
        submission gets back the time of such an attempt, up to a limit.
        """
        checks, start = attempt.step.checks, time.monotonic()
        self.too_slow, passed = False, False
        if self.kept_scripts and not any(check.id in self.scripts for check in checks):
            self.scripts |= self.kept_scripts.read(attempt.step.id)
        if attempt.untouched or not self.has_scripts(attempt.step):
            return False
        if self.spare <= 0 or not self.hopes[attempt.step.id].is_worth_a_try():
            return False
        self._turn_to(attempt)
        self.worker = worker = Worker(self.host, start + min(PATIENCE, self.spare))
        worker.last = True
        try:
            self.names = worker.load(attempt.program)
            worker.deadline = min(start + self.spare, self.deadline, self.host.deadline)
            passed = all(one.name in self.names for one in attempt.step.functions) and all(
                self._passes(worker, check) for check in checks
            )
        except CallFailed as failure:
            self.too_slow = isinstance(failure, TimedOut)
        finally:
            with contextlib.suppress(OSError):
                worker.close()
            self.worker = None
        self.hopes[attempt.step.id].note(passed)
        if not passed:
            self.give_back(start)
        return passed

    def give_back(self, start: float) -> None:
        """Give the submission back the time since then, up to the limit for all attempts.

        A trial has a budget of its own, and takes no time from the submission anyway.
        """
        if self.until < math.inf:
            return
        spent = min(time.monotonic() - start, self.spare)
        self.spare -= spent
        self.host.deadline += spent

    @contextlib.contextmanager
    def on_trial(self, seconds: float, *, hasty: bool = False) -> Iterator[float]:
        """Limit the time of the block, and take it from no step. Yield when it ends.

        Trials have a budget of their own, from which the block gets at most so many seconds. A
        trial inside another shares its limit. hasty: end each attempt at its first call that takes
        too long; another attempt, on other earlier steps, may have no such call.
        """
        if self.until < math.inf:
            yield self.until
            return
        start, spare, seconds = time.monotonic(), self.spare, max(0.0, min(seconds, self.trials))
        self.until, self.hasty = start + seconds, hasty
        self.host.deadline += seconds
        try:
            yield self.until
        finally:
            used = min(time.monotonic() - start, seconds)
            self.host.deadline -= seconds - used
            self.trials -= used
            self.until, self.spare, self.hasty = math.inf, spare, False

    def _passes(self, worker: Worker, check: Check) -> bool:
        """Return whether the check passes on the answers to its script and to its other calls."""
        script, answers = self.scripts[check.id], b""
        if script.several.requests:
            answers = worker.send_ahead(script.several, PATIENCE)
            if script.knows(answers):
                worker.ahead.clear()
                return True
        failure = self._failure(self.check_function(check))
        if isinstance(failure, TimedOut):
            raise failure
        if failure is None and not worker.ahead:
            self.news |= script.remember(answers)
            return True
        return False

    def has_scripts(self, step: Step) -> bool:
        """Return whether the calls of all checks of a step are known."""
        return all(check.id in self.scripts for check in step.checks)

    def write_scripts(self, attempt: Attempt, host: Host) -> None:
        """Write the scripts of a step's checks by running an attempt that passes, on that host."""
        given = self.inputs_for(attempt.step)
        found = record_scripts(attempt.step, self.checks, given, attempt.program, host)
        if not found:
            return
        self.scripts |= found
        own, self.host = self.host, host
        try:
            self.passes_all(attempt)  # whose answers are known from now on
        finally:
            self.host = own
        self.news = True

    def keep(self, step: Step) -> None:
        """Keep what is new in the scripts of a step's checks, if there is a place for it."""
        if self.kept_scripts and self.news:
            ids = (check.id for check in step.checks)
            self.kept_scripts.write(
                step.id, {id: self.scripts[id] for id in ids if id in self.scripts}
            )
        self.news = False

    def verdict(self, check: Check, status: Status, message: str, **more: Any) -> CheckVerdict:
        """Return the verdict on a check of any step whose checks were collected."""
        found = self.checks.get(check.id)
        title = (found.title if found else "") or check.id
        points = check.points if status is Status.PASSED else 0.0
        return CheckVerdict(
            check.id, check.function, title, status, points, check.points, message, **more
        )

    def check_function(self, check: Check) -> CheckFunction:
        """Return the check as its author wrote it.

        Raise KitError if the suite has no check of that name.
        """
        if check.id not in self.checks:
            raise KitError(f"there is no check {check.id}")
        return self.checks[check.id]

    def _judge(self, check: Check) -> CheckVerdict:
        if check.id not in self.checks:
            return self.verdict(check, Status.FAILED, messages.NEVER_REPORTED)
        self.printed = ""
        self.asked, self.asking = check.function, None
        start, failure = len(self.log.calls), self._failure(self.checks[check.id])
        self.log.spans[check.id] = (start, len(self.log.calls))
        if failure is None:
            return self.verdict(check, Status.PASSED, "")
        verdict = self._report_failure(check, failure)
        verdict = self._with_code(verdict, failure)
        self._note_failure(verdict, start, isinstance(failure, (TimedOut, Died)))
        return replace(verdict, fingerprint=self.log.fingerprint(check.id))

    def _with_code(self, verdict: CheckVerdict, failure: BaseException) -> CheckVerdict:
        """Add the student's own lines to a function's first failure, where failures are shown."""
        failed = verdict.status not in (Status.SKIPPED, Status.NOT_ATTEMPTED)
        if not self.shows or not failed or verdict.function in self.coded:
            return verdict
        self.coded.add(verdict.function)
        lines = failure.lines if isinstance(failure, (Raised, TimedOut)) else ()
        guilty = lines[-1] if lines else 0
        source, step = self.attempt.source, self.attempt.step
        return replace(verdict, code=find_code(source, verdict.function, guilty, step.filename))

    def _note_failure(self, verdict: CheckVerdict, start: int, pending: bool) -> None:
        """Note the calls of the first check that failed, for a program that repeats them."""
        failed = verdict.status not in (Status.SKIPPED, Status.NOT_ATTEMPTED)
        if not failed or self.first_failure is not None:
            return
        call = None
        if pending and self.asking is not None:
            args, kwargs = self.asking
            call = Call(self.asked, args, kwargs, opaque=False, outcome=None)
        self.first_failure = FirstFailure(verdict, list(self.log.calls), start, call)

    def _failure(self, check: CheckFunction) -> BaseException | None:
        """Run a check. Return what it raised, or None only if everything held."""
        if self.attempt.untouched:  # each of its functions says so at once
            return Raised(*UNWRITTEN)
        if self.worker is not None:
            self.worker.anew = True
        try:
            check.run(self.student, self.inputs_for(self.attempt.step))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return without_frames(error)
        return None

    def _birth_of_nan(self, failure: Broken) -> str:
        """Return the operation that made a NaN in the wrong result, by repeating the same call."""
        results = failure.evidence.got if failure.evidence else ()
        nan = any("nan" in str(array.cells) for array in results)
        call = self.log.calls[-1] if self.log.calls else None
        if not nan or call is None or any(isinstance(value, Handle) for value in call.args):
            return ""
        try:
            self._working().call(call.function, call.args, call.kwargs, strict=True)
        except Raised as raised:
            if raised.type == "FloatingPointError":
                return messages.birth_of_nan(raised, self.attempt.source, self.attempt.step)
        except CallFailed:
            pass
        return ""

    def _call(self) -> Evidence | None:
        """Return the last call of the check, where failures are shown."""
        if not self.shows or self.asking is None:
            return None
        return show_call(self.attempt.step, self.asked, *self.asking)

    def _again(self, failure: Raised) -> bool:
        """Return whether the step has reported this exception in this line before."""
        line = failure.lines[-1] if failure.lines else 0
        seen = (self.asked, failure.type, line)
        again = line > 0 and seen in self.raised
        self.raised.add(seen)
        return again

    def _exception(self, check: Check, failure: Raised) -> CheckVerdict:
        visible = self.shows
        crash = Explanation()
        with contextlib.suppress(Exception):  # a failed check must not be hidden by it
            crash = self._crash(failure)
        status, message = messages.explain_raised(
            failure, self.asked, self.attempt.source, self.attempt.step, visible, crash.says
        )
        evidence = None
        if status is Status.ERROR:
            evidence = self._call()
            known = any(asked == self.asked for asked, _, _ in self.raised)
            if self._again(failure):
                message = messages.explain_raised_again(crash.met if visible else "")
            elif known and not visible:  # one place for each function
                message = messages.explain_raised_more(self.asked)
        printed = self.printed if visible else ""
        return self.verdict(check, status, message, evidence=evidence, printed=printed)

    def _crash(self, failure: Raised) -> Explanation:
        """Return the exception's message, with names for the lengths if they are known."""
        given = self.givens.get(self.attempt.step.id)
        call = self.log.calls[-1] if self.log.calls else None
        if call is None or given is None:
            return Explanation()
        takes = self.attempt.step.function(call.function).takes
        shapes = arrays_of({**dict(zip(takes, call.args, strict=False)), **call.kwargs})
        sizes = sizes_of([(arrays_of(one.arguments), one.sizes) for one in given.made], shapes)
        visible, fed = self.shows, count_tokens_fed(self.log.calls)
        params = {**dict(zip(takes, call.args, strict=False)), **call.kwargs}.get("params")
        theirs = params if isinstance(params, Mapping) else {}
        keys = list(theirs) if visible else _keys_made(given, theirs)
        steps = load().before(self.attempt.step)
        earlier = {function.name: step.id for step in steps for function in step.functions}
        told = list(shapes.values())
        if not visible:  # what a call returned may be an argument of the next one
            longest = max(self._lengths())
            told = [shape for shape in told if all(length <= longest for length in shape)]
        known = know_sizes(
            sizes,
            told,
            visible=visible,
            fed=fed,
            keys=keys,
            earlier=earlier,
            cells=from_notebook(self.attempt.source),
        )
        return explain(failure, known)

    def _lengths(self) -> set[int]:
        """Return all lengths of the arguments of the check's cases, and of their right results."""
        given = self.givens.get(self.attempt.step.id)
        made = given.made if given else ()
        return {0, 1}.union(*(case.lengths() for case in made))

    def _report_failure(self, check: Check, failure: BaseException) -> CheckVerdict:
        visible = self.shows
        match failure:
            case WrongValue():
                return self.verdict(
                    check, Status.SKIPPED, messages.explain_not_counted(check.function)
                )
            case Broken():
                message = only_known(failure.told, self._lengths())
                if visible:
                    message = failure.shown + self._birth_of_nan(failure)
                evidence = (failure.evidence or self._call()) if visible else None
                printed = self.printed if visible else ""
                return self.verdict(
                    check, Status.FAILED, message, evidence=evidence, printed=printed
                )
            case Raised():
                return self._exception(check, failure)
            case TimedOut():
                message = messages.explain_timeout(
                    failure, self.asked, self.host.limits, self.attempt.source, self.attempt.step
                )
                return self.verdict(check, Status.TIMEOUT, message, evidence=self._call())
            case Died():
                message = messages.explain_death(self.asked)
                return self.verdict(check, Status.ERROR, message, evidence=self._call())
            case Missing():
                attempt = self.attempt
                message = messages.missing(failure.name, attempt.step, attempt.source)
                return self.verdict(check, Status.ERROR, message)
            case KitError() | SandboxError():
                raise KitError(f"the check {check.id} cannot be run: {failure}") from failure
        # A result can be anything at all, however careful the checks are.
        return self.verdict(check, Status.ERROR, messages.unusable(check.function))


def _keys_made(given: Given, params: Mapping[str, Any]) -> list[str]:
    """Return the keys of params as a case has them; none if no case has these.

    The arguments of a training step are results of the one before, with any keys.
    """
    made = (case.arguments.get("params") for case in given.made)
    alike = (one for one in made if isinstance(one, Mapping) and one.keys() == params.keys())
    return list(next(alike, ()))


@dataclass
class Missing(CallFailed):
    """The submission has no function of that name."""

    name: str
