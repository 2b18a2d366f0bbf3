"""Find the first failing visible case of a step: its calls, and the expected result.

Hidden checks are never shown.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from grader.checks.compare import WrongResult
from grader.diagnosis.calls import FETCH, Call
from grader.engine.failures import FailedCheck, name_arguments, plain
from grader.engine.grading import Grader
from grader.intake.submission import Submission
from grader.isolation.client import Raised
from grader.isolation.wire import Handle
from grader.report.records import CheckVerdict
from grader.steps.registry import KitError, Step
from grader.steps.tree import leaves

MOST_CALLS = 60  # of a program that somebody reads


@dataclass(frozen=True)
class FailingCase:
    """A failing check as calls, in order.

    shown: how many of the last calls the check compares; the others make what these take. expected:
    the right result of the last call, or None if a law compares two results. seen: the path to the
    part of the result that is expected.
    """

    step: Step
    verdict: CheckVerdict
    calls: tuple[Call, ...]
    shown: int = 1
    expected: Any = None
    seen: tuple[int, ...] = ()


def find_failing_case(grader: Grader, submission: Submission, step: Step) -> FailingCase | None:
    """Return the first failing case of a step, on the kit's earlier steps or on the learner's own.

    Return None if no check fails, or if its calls cannot be repeated. Raise CallFailed if the step
    cannot be loaded.
    """
    if grader.bench.suite != "visible":
        raise KitError("only a visible case may be shown")
    for right in (grader.right, grader.find_missing(submission)):
        trial = grader.bench.run(grader.attempt(submission, step, right), step.checks)
        if trial.failure is not None:
            raise trial.failure
        if trial.first_failed is not None:
            return _case_of(step, trial.first_failed)
    return None


def _case_of(step: Step, failed: FailedCheck) -> FailingCase | None:
    """Return the calls that show the failure: one, or two if a law compares their results."""
    known = [call for call in failed.calls if call.function != FETCH]
    own = [call for call in failed.calls[failed.start :] if call.function != FETCH]
    asked = [failed.unanswered] if failed.unanswered else own[-2:]
    if not asked or failed.verdict is None:
        return None
    wrong, seen = failed.error, tuple[int, ...]()
    about_one, expected = isinstance(wrong, WrongResult), None
    if isinstance(wrong, WrongResult):
        for call, way in _find_part(own, wrong.got):
            asked, expected, seen = [call], wrong.right, way
    last = asked[-1]
    if isinstance(last.outcome, Raised):
        expected = _look_up(step, failed, last)
    alone = about_one or isinstance(last.outcome, Raised) or {"before", "after"} & last.more.keys()
    if alone or asked[0].function != last.function:
        asked = [last]
    calls = _with_makers(asked, known)
    if calls is None or len(calls) > MOST_CALLS:
        return None
    return FailingCase(step, failed.verdict, tuple(calls), len(asked), expected, seen)


def _look_up(step: Step, failed: FailedCheck, call: Call) -> Any:
    """Return the stored right result of a call that raised, or None."""
    try:
        return failed.given and failed.given.expect(
            call.function, plain(name_arguments(step, call))
        )
    except Exception:  # nothing is stored for these arguments, a cache among them
        return None


def _parts_of(outcome: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yield a result, and if it has several parts each of them, with the path to it."""
    yield (), outcome
    if isinstance(outcome, (tuple, list)):
        yield from (((place,), part) for place, part in enumerate(outcome))


def _find_part(calls: Sequence[Call], part: Any) -> Iterator[tuple[Call, tuple[int, ...]]]:
    """Yield the calls with that result, or with it among their results, and the path to it."""
    for call in calls:
        yield from ((call, way) for way, one in _parts_of(call.outcome) if one is part)


def held_parts(call: Call) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield the numbers of the parts of the result that later calls take, and the path to each."""
    if isinstance(call.more.get("kept"), int):
        yield call.more["kept"], ()
    for way, part in _parts_of(call.outcome):
        if isinstance(part, Handle):
            yield part.number, way


def _with_makers(asked: Sequence[Call], known: Sequence[Call]) -> list[Call] | None:
    """Return the calls after those that make their arguments; None if one of these is not known."""
    makers = {number: place for place, call in enumerate(known) for number, _ in held_parts(call)}
    wanted = {place for place, call in enumerate(known) if any(call is one for one in asked)}
    open_calls = list(asked)
    while open_calls:
        call = open_calls.pop()
        for leaf in leaves([list(call.args), dict(call.kwargs)]):
            if not isinstance(leaf, Handle):
                continue
            if leaf.number not in makers:
                return None
            if makers[leaf.number] not in wanted:
                wanted.add(makers[leaf.number])
                open_calls.append(known[makers[leaf.number]])
    calls = [known[place] for place in sorted(wanted)]
    return calls + [call for call in asked if not any(call is one for one in calls)]
