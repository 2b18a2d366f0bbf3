"""Turn what a check raised into its verdict: how it ended, the message, and what may be shown."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from grader.checks.compare import Broken, WrongValue, call_text, show_inputs
from grader.checks.suites import Given
from grader.diagnosis.calls import Call
from grader.diagnosis.exceptions import Lengths, arrays_of, explain, sizes_of
from grader.diagnosis.slips import find_other_form
from grader.engine import messages
from grader.isolation import SandboxError
from grader.isolation.client import CallFailed, Died, Raised, TimedOut
from grader.isolation.survey import find_spot, from_notebook, lines_of, survey
from grader.isolation.wire import Counted, Handle, Laid
from grader.report.records import CheckVerdict, Code, Evidence, Status
from grader.steps.registry import Check, KitError, Limits, Step, load
from grader.steps.tree import map_leaves

UNUSABLE = "The check cannot work with what {} returned: look at its shape and type."
UNTOLD = (Status.SKIPPED, Status.NOT_ATTEMPTED)
MOST_LINES = 30  # of a student's own code
MAX_WIDTH = 160


@dataclass
class Missing(CallFailed):
    """The submission has no function of that name."""

    name: str


def plain(value: Any) -> Any:
    """Return the value without the memory layout of its arrays."""
    return map_leaves(value, lambda leaf: leaf.array if isinstance(leaf, (Laid, Counted)) else leaf)


def name_arguments(step: Step, call: Call) -> dict[str, Any]:
    """Return the arguments of a call by their names."""
    return {**dict(zip(step.function(call.function).takes, call.args, strict=False)), **call.kwargs}


@dataclass(frozen=True)
class FailedCheck:
    """A check that failed: what it raised, its last call, all calls so far, and its inputs.

    asked: the last call, even if it had no answer, or None. printed: what it printed. start: the
    number of its own first call.
    """

    check: Check
    error: BaseException
    asked: Call | None
    printed: str
    calls: Sequence[Call]
    start: int
    given: Given | None
    verdict: CheckVerdict | None = None

    @property
    def function(self) -> str:
        """Return the function that was asked last, or else the one that the check is about."""
        return self.asked.function if self.asked else self.check.function


@dataclass(frozen=True)
class FailureReporter:
    """Reports the failures of one attempt; it tells the same exception in the same line once.

    make: makes a verdict from a check, a status, a message and more. again: makes a call once more,
    in which overflow and invalid operations of NumPy raise. raised: the function, type and line of
    the exceptions so far. told: the functions that have failed so far.
    """

    step: Step
    source: str
    visible: bool
    limits: Limits
    make: Callable[..., CheckVerdict]
    again: Callable[[Call], object]
    raised: set[tuple[str, str, int]] = field(default_factory=set)
    told: set[str] = field(default_factory=set)

    def report(self, failed: FailedCheck) -> CheckVerdict:
        """Return the verdict, with the student's own lines at a function's first failure.

        Raise KitError if it is the check that does not work.
        """
        verdict = self._explain(failed)
        if verdict.status in UNTOLD or verdict.function in self.told:
            return verdict
        self.told.add(verdict.function)
        slip = find_other_form(self.source, self.step, verdict.function)
        verdict = replace(verdict, message=verdict.message + slip)
        if not self.visible:
            return verdict
        lines = failed.error.lines if isinstance(failed.error, (Raised, TimedOut)) else ()
        guilty = lines[-1] if lines else 0
        code = find_code(self.source, verdict.function, guilty, self.step.filename)
        return replace(verdict, code=code)

    def _explain(self, failed: FailedCheck) -> CheckVerdict:
        check, asked, status = failed.check, failed.function, Status.ERROR
        match failed.error:
            case WrongValue():
                return self.make(check, Status.SKIPPED, messages.NOT_COUNTED.format(check.function))
            case Broken() as broken:
                return self._broken(failed, broken)
            case Raised() as raised:
                return self._exception(failed, raised)
            case TimedOut() as late:
                status = Status.TIMEOUT
                message = messages.explain_timeout(late, asked, self.limits, self.source, self.step)
            case Died():
                ends = "it exited, crashed or was killed"
                message = f"The process ended while {asked} was running: {ends}."
            case Missing(name):
                message = messages.missing(name, self.step, self.source)
            case KitError() | SandboxError() as error:
                raise KitError(f"the check {check.id} cannot be run: {error}") from error
            case _:  # a result can be anything at all, however careful the checks are
                message = UNUSABLE.format(check.function)
        evidence = self._call(failed) if isinstance(failed.error, (TimedOut, Died)) else None
        return self.make(check, status, message, evidence=evidence)

    def _broken(self, failed: FailedCheck, broken: Broken) -> CheckVerdict:
        if not self.visible:
            message = broken.tell(_lengths(failed.given))
            return self.make(failed.check, Status.FAILED, message)
        message = broken.shown + self._birth_of_nan(failed, broken)
        evidence = broken.evidence or self._call(failed)
        return self.make(
            failed.check, Status.FAILED, message, evidence=evidence, printed=failed.printed
        )

    def _birth_of_nan(self, failed: FailedCheck, broken: Broken) -> str:
        """Return the operation that made a NaN in the wrong result, by repeating the same call."""
        results = broken.evidence.got if broken.evidence else ()
        cells = [np.asarray(array.cells, float) for array in results if array.cells is not None]
        nan = any(np.isnan(one).any() for one in cells)
        call = failed.calls[-1] if failed.calls else None
        if not nan or call is None or any(isinstance(value, Handle) for value in call.args):
            return ""
        try:
            self.again(call)
        except Raised as raised:
            if raised.type == "FloatingPointError":
                return messages.birth_of_nan(raised, self.source, self.step)
        except CallFailed:
            pass
        return ""

    def _call(self, failed: FailedCheck) -> Evidence | None:
        """Return the last call of the check; the hidden suite does not show it."""
        if not self.visible or failed.asked is None:
            return None
        shown = plain(name_arguments(self.step, failed.asked))
        return Evidence(call_text(failed.function, shown), show_inputs(shown))

    def _exception(self, failed: FailedCheck, raised: Raised) -> CheckVerdict:
        asked, crash = failed.function, ""
        with contextlib.suppress(Exception):  # a failed check must not be hidden by it
            crash = self._crash(failed, raised)
        status, message = messages.explain_raised(
            raised, asked, self.source, self.step, self.visible, crash
        )
        printed = failed.printed if self.visible else ""
        if status is not Status.ERROR:
            return self.make(failed.check, status, message, printed=printed)
        seen = asked, raised.type, raised.lines[-1] if raised.lines else 0
        if raised.lines and seen in self.raised:
            message = "The same error as above, in the same line."
        elif not self.visible and any(name == asked for name, _, _ in self.raised):
            message = f"{asked} raised an exception here too: fix the one above first."
        self.raised.add(seen)
        evidence = self._call(failed)
        return self.make(failed.check, status, message, evidence=evidence, printed=printed)

    def _crash(self, failed: FailedCheck, raised: Raised) -> str:
        """Return the exception's message, with names for the lengths if they are known."""
        given, call = failed.given, failed.calls[-1] if failed.calls else None
        if call is None or given is None:
            return ""
        arguments = name_arguments(self.step, call)
        shapes = arrays_of(arguments)
        sizes = sizes_of([(arrays_of(one.arguments), one.sizes) for one in given.made], shapes)
        if any(isinstance(value, Handle) for value in arguments.values()):
            sizes = []  # a length may be any number of earlier tokens, or of layers in a cache
        params = arguments.get("params")
        theirs = params if isinstance(params, Mapping) else {}
        earlier = {one.name: step.id for step in load().before(self.step) for one in step.functions}
        told = list(shapes.values())
        if not self.visible:  # what a call returned may be an argument of the next one
            longest = max(_lengths(given))
            told = [shape for shape in told if all(length <= longest for length in shape)]
        known = Lengths(
            sizes,
            told,
            visible=self.visible,
            keys=list(theirs) if self.visible else _keys_made(given, theirs),
            earlier=earlier,
            cells=from_notebook(self.source),
            options=call.kwargs.keys(),
        )
        return explain(raised, known)


def _lengths(given: Given | None) -> set[int]:
    """Return all lengths of the arguments of the check's cases, and of their right results."""
    made = given.made if given else ()
    return {0, 1}.union(*(case.lengths() for case in made))


def _keys_made(given: Given, params: Mapping[str, Any]) -> list[str]:
    """Return the keys of params as a case has them; none if no case has these.

    The arguments of a training step are results of the one before, with any keys.
    """
    made = (case.arguments.get("params") for case in given.made)
    alike = (one for one in made if isinstance(one, Mapping) and one.keys() == params.keys())
    return list(next(alike, ()))


def find_code(source: str, function: str, guilty: int, filename: str) -> Code | None:
    """Return the lines of a function without its docstring; None if they cannot be found.

    guilty: the number of the line to blame, or 0. If that line is in another function, that
    function is shown.
    """
    known = survey(source)
    named = [one for one in known.functions if one.name == function]
    found = known.around(guilty) or next(reversed(named), None)
    if found is None:
        return None
    numbers = [found.first, *range(max(found.begin, found.first + 1), found.last + 1)]
    if len(numbers) > MOST_LINES:
        middle = numbers.index(guilty) if guilty in numbers else 0
        start = max(0, min(middle - MOST_LINES // 2, len(numbers) - MOST_LINES))
        numbers = numbers[start : start + MOST_LINES]
    where, first = find_spot(source, numbers[0], filename)
    if not first:
        return None
    above, lines = numbers[0] - first, lines_of(source)
    shown = tuple((n - above, lines[n - 1].rstrip()[:MAX_WIDTH]) for n in numbers)
    return Code(where, shown, guilty - above if guilty in numbers else 0)
