"""Find the first failing visible case of a step: its calls, and the expected result.

Hidden checks are never shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.checks.compare import Broken, WrongResult, matches
from grader.checks.tolerances import EXACT
from grader.diagnosis.calls import FETCH, Call
from grader.engine.bench import Bench
from grader.engine.failures import Failed
from grader.engine.grading import Grader
from grader.intake.submission import Submission
from grader.isolation.client import Raised
from grader.isolation.wire import Counted, Handle, Laid
from grader.report.records import CheckVerdict
from grader.steps.registry import KitError, Step
from grader.steps.tree import leaves, map_leaves

MOST_CALLS = 60  # of a program that somebody reads
UNKNOWN = object()


@dataclass(frozen=True)
class FailingCase:
    """A failing check as calls, in order.

    shown: how many of the last calls the check compares; the others make what these take. expected:
    the right result of the last call, or UNKNOWN if a law compares two results. seen: the path to
    the part of the result that the check is about.
    """

    step: Step
    verdict: CheckVerdict
    calls: tuple[Call, ...]
    shown: int = 1
    expected: Any = UNKNOWN
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
            return _case_of(grader.bench, step, trial.first_failed)
    return None


def _case_of(bench: Bench, step: Step, failed: Failed) -> FailingCase | None:
    """Return the calls that show the failure: one, or two if a law compares their results."""
    known = [call for call in failed.calls if call.function != FETCH]
    own = [call for call in failed.calls[failed.start :] if call.function != FETCH]
    asked = [failed.unanswered] if failed.unanswered else own[-2:]
    if not asked or failed.verdict is None:
        return None
    last, seen = asked[-1], tuple[int, ...]()
    expected = UNKNOWN if failed.unanswered else _find_expected(bench, step, last)
    about_one = isinstance(failed.error, WrongResult)
    if expected is UNKNOWN and about_one:
        expected, seen = _read_expected(failed.verdict, last.outcome)
    alone = about_one or isinstance(last.outcome, Raised) or {"before", "after"} & last.more.keys()
    if alone or asked[0].function != last.function:
        asked = [last]
    calls = _with_makers(asked, known)
    if calls is None or len(calls) > MOST_CALLS:
        return None
    return FailingCase(step, failed.verdict, tuple(calls), len(asked), expected, seen)


def _find_expected(bench: Bench, step: Step, call: Call) -> Any:
    """Return the stored right result of a wrong call, or UNKNOWN."""
    arguments = plain(name_arguments(step, call.function, call.args, call.kwargs))
    try:
        right = bench.inputs_for(step).expect(call.function, arguments)
        matches(right, call.outcome, EXACT, name=call.function)
    except Broken:
        return right
    except Exception:  # nothing is stored for these arguments, a cache among them
        return UNKNOWN
    return UNKNOWN


def _read_expected(verdict: CheckVerdict, outcome: Any) -> tuple[Any, tuple[int, ...]]:
    """Return the expected result in the evidence, and which part of the result it is."""
    shown = verdict.evidence.expected if verdict.evidence else ()
    if len(shown) != 1 or shown[0].cells is None:
        return UNKNOWN, ()
    right = np.array(shown[0].cells).reshape(shown[0].shape)
    parts = outcome if isinstance(outcome, (tuple, list)) else ()
    for way, part in [((), outcome), *(((place,), part) for place, part in enumerate(parts))]:
        if isinstance(part, np.ndarray) and part.shape == right.shape:
            return right, way
    return UNKNOWN, ()


def plain(value: Any) -> Any:
    """Return the value without the memory layout of its arrays."""
    return map_leaves(value, lambda leaf: leaf.array if isinstance(leaf, (Laid, Counted)) else leaf)


def held_parts(call: Call) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield the numbers of the parts of the result that later calls take, and the path to each."""
    if isinstance(call.more.get("kept"), int):
        yield call.more["kept"], ()
    if isinstance(call.outcome, Handle):
        yield call.outcome.number, ()
    elif isinstance(call.outcome, (tuple, list)):
        for place, item in enumerate(call.outcome):
            if isinstance(item, Handle):
                yield item.number, (place,)


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


def name_arguments(
    step: Step, function: str, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a call by their names."""
    return {**dict(zip(step.function(function).takes, args, strict=False)), **kwargs}
