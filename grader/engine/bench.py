"""Run checks: functions of `student`, which talks to a worker, and `given`, the suite's inputs.

The check functions are imported once; then any number of attempts are tested with them. A check
ends as the exception says that it raised. The registry says what it is worth.
"""

import contextlib
import functools
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from grader.checks.student import Placed, Student
from grader.checks.suites import CheckFunction, Given, load_checks
from grader.diagnosis.calls import Call, Log
from grader.engine import messages
from grader.engine.failures import UNTOLD, FailedCheck, FailureReporter, Missing
from grader.isolation import Host
from grader.isolation.client import Answer, CallFailed, Outside, Program, Raised, TimedOut, Worker
from grader.isolation.margins import Margins
from grader.isolation.survey import forget_sources
from grader.report.records import CheckVerdict, Status
from grader.steps.registry import Check, Step

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
class Attempt:
    """A step's code, and the modules that it builds on."""

    step: Step
    program: Program
    source: str
    untouched: bool = False
    """Whether the source is the kit's own stub, so that nothing has to be run."""


class Bench:
    """The checks of a suite with their inputs, and the host on which attempts are tested.

    shows: whether failures are shown with their inputs and with what the submission says.
    """

    def __init__(self, host: Host, given: Callable[[Step], Given], suite: str) -> None:
        self.host = host
        self.make_given = given
        self.suite, self.shows = suite, suite == "visible"
        self.checks: dict[str, CheckFunction] = {}
        self.givens: dict[str, Given] = {}

    def load(self, steps: Sequence[Step]) -> None:
        """Import the suite's checks of these steps. Raise KitError if they cannot be imported."""
        for step in steps:
            self.checks |= load_checks(self.suite, step)

    def inputs_for(self, step: Step) -> Given:
        """Return the suite's inputs for a step, made once."""
        if step.id not in self.givens:
            self.givens[step.id] = self.make_given(step)
        return self.givens[step.id]

    def begin_anew(self, host: Host) -> None:
        """Forget the last submission; the next one runs on that host."""
        self.host, host.margins = host, Margins()
        forget_sources()

    def verdict(self, check: Check, status: Status, message: str, **more: Any) -> CheckVerdict:
        """Return the verdict on a check of any step whose checks were collected."""
        found = self.checks.get(check.id)
        title = (found.title if found else "") or check.id
        points = check.points if status is Status.PASSED else 0.0, check.points
        return CheckVerdict(check.id, check.function, title, status, *points, message, **more)

    def run(
        self, attempt: Attempt, checks: Sequence[Check], seconds: float | None = None
    ) -> "Trial":
        """Run these checks on an attempt, in order. seconds: for all, if less than usual."""
        trial = Trial(self, attempt, seconds)
        try:
            with trial:
                trial.run(checks)
        except CallFailed as error:
            trial.failure = without_frames(error)
        return trial


class Trial:
    """One attempt in its worker, with the calls that were made so far, and the verdicts on it.

    Use it in a `with` block, whose end is the worker's. Raise CallFailed at its beginning if the
    attempt cannot be loaded. seconds: the most that it may take, if less than usual.

    failure: why the attempt could not be loaded. late: whether its time was over before its end.
    outside: what it did that is refused where a class is graded.
    """

    def __init__(self, bench: Bench, attempt: Attempt, seconds: float | None = None) -> None:
        self.bench = bench
        self.attempt = attempt
        limits = bench.host.limits
        most = limits.step_seconds
        self.deadline = time.monotonic() + (most if seconds is None else min(seconds, most))
        self.worker: Worker | None = None
        self.log = Log()
        self.asked: Call | None = None
        self.printed = ""
        self.verdicts: Sequence[CheckVerdict] = ()
        self.first_failed: FailedCheck | None = None
        self.failure: CallFailed | None = None
        self.late = False
        self.outside: set[Outside] = set()
        self.failures = FailureReporter(
            *(attempt.step, attempt.source, bench.shows, limits, bench.verdict),
            lambda call: self.working().call(call.function, call.args, call.kwargs, strict=True),
        )

    def __enter__(self) -> "Trial":
        if not self.attempt.untouched:
            try:
                self._start_worker()
            except BaseException:
                self.__exit__()
                raise
        return self

    def __exit__(self, *error: object) -> None:
        """End the worker."""
        with contextlib.suppress(OSError):
            if self.worker is not None:
                self.late = time.monotonic() > self.worker.deadline
                self.worker.close()

    def _start_worker(self) -> Worker:
        """Load the attempt in a worker. Raise CallFailed if that fails."""
        watched = self.bench.suite == "visible"
        self.worker = Worker(self.bench.host, self.deadline, watched=watched)
        self.worker.noted = self.outside
        self.worker.load(self.attempt.program)
        return self.worker

    # For the checks.

    @property
    def student(self) -> Student:
        """Return the submission's functions of this step."""
        return Student(self.attempt.step, self.ask, self.fetch, self.ask_all)

    def ask(self, function: str, *args: Any, **options: Any) -> Answer:
        """Return the worker's answer to a call, and note both."""
        worker = self._working_for(function, *(options.get("then") or args))
        return self._noting(
            lambda: worker.call(function, *args, **options), function, args, options
        )

    def ask_all(
        self, function: str, questions: Iterable[Placed], opaque: Sequence[bool]
    ) -> Iterator[Answer]:
        """Yield the worker's answers to calls that are sent together, and note all of them."""
        asked, sent = itertools.tee(questions)
        answers = None
        for args in asked:
            worker = self._working_for(function, *args)
            if answers is None:
                answers = worker.call_all(function, sent, opaque)
            yield self._noting(functools.partial(next, answers), function, args, {"opaque": opaque})

    def _working_for(self, function: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Worker:
        """Note what is asked now, and return the worker."""
        self.asked, self.printed = Call(function, args, kwargs, opaque=False, outcome=None), ""
        worker = self.working()
        if function not in worker.names:
            raise Missing(function)
        return worker

    def _noting(
        self,
        ask: Callable[[], Answer],
        function: str,
        args: Sequence[Any],
        options: Mapping[str, Any],
    ) -> Answer:
        """Ask, and keep the call for the diagnosis, whatever comes of it."""
        try:
            answer: Answer | Raised = ask()
        except Raised as raised:
            answer = without_frames(raised)
        self.printed = answer.printed
        self.log.note(function, args, options, answer)
        if isinstance(answer, Raised):
            raise answer
        return answer

    def fetch(self, handle: Any) -> Any:
        """Return a kept result as it is now."""
        value = self.working().fetch(handle)
        self.log.note_again(handle, value)
        return value

    def working(self) -> Worker:
        """Return the worker, or a fresh one if it has ended."""
        if self.worker is not None and self.worker.alive:
            return self.worker
        self.log = Log(whole=False)  # the calls in the process that ended are lost
        return self._start_worker()

    # For the grader.

    @property
    def points(self) -> float:
        """Return the points that the attempt earns."""
        return sum(verdict.points for verdict in self.verdicts)

    @property
    def passed(self) -> bool:
        """Return whether every check passed."""
        return self.failure is None and {one.status for one in self.verdicts} <= {Status.PASSED}

    @property
    def timed_out(self) -> bool:
        """Return whether the step, or a call of it, timed out."""
        late = Status.TIMEOUT in {verdict.status for verdict in self.verdicts}
        return late or isinstance(self.failure, TimedOut)

    def run(self, checks: Sequence[Check]) -> Sequence[CheckVerdict]:
        """Run these checks, in order, and return the verdicts."""
        verdicts: dict[str, CheckVerdict] = {}
        for check in checks:
            needed = verdicts.get(check.needs or "")
            if needed and needed.status in HOPELESS:
                verdict = self.bench.verdict(check, needed.status, needed.message)
            else:
                verdict = self._judge(check)
            if needed and needed.status is not Status.PASSED and verdict.status is Status.PASSED:
                message = messages.NOT_COUNTED.format(check.function)
                verdict = replace(verdict, status=Status.SKIPPED, points=0.0, message=message)
            verdicts[check.id] = verdict
        self.verdicts = list(verdicts.values())
        return self.verdicts

    def _judge(self, check: Check) -> CheckVerdict:
        function = self.bench.checks[check.id]
        self.asked, self.printed = None, ""
        start, error = len(self.log.calls), self._failure(function)
        self.log.spans[check.id] = (start, len(self.log.calls))
        if error is None:
            return self.bench.verdict(check, Status.PASSED, "")
        given = self.bench.givens.get(self.attempt.step.id)
        failed = FailedCheck(check, error, self.asked, self.printed, self.log.calls, start, given)
        verdict = self.failures.report(failed)
        if self.first_failed is None and verdict.status not in UNTOLD:
            self.first_failed = replace(failed, calls=[*self.log.calls], verdict=verdict)
        return replace(verdict, fingerprint=self.log.fingerprint(check.id))

    def _failure(self, check: CheckFunction) -> BaseException | None:
        """Run a check. Return what it raised, or None only if everything held."""
        if self.attempt.untouched:  # each of its functions says so at once
            return Raised(*UNWRITTEN)
        if self.worker is not None:
            self.worker.anew = True
        failure: BaseException | None = None
        try:
            check.run(self.student, self.bench.inputs_for(self.attempt.step))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            failure = without_frames(error)
        if self.worker is not None:
            self.worker.drop_answers()
        return failure
