"""The law of work, which is counted, never timed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from grader.checks.compare import Broken
from grader.checks.laws.cases import Answered, Case, values_are_right
from grader.checks.student import StudentFunction
from grader.isolation.wire import Counted


def work_is_linear(
    function: StudentFunction,
    cases: Sequence[Case],
    *,
    weights: Sequence[str],
    tokens: Callable[[Case], int],
    because: str,
) -> None:
    """Projection work, counted in the worker, grows with the number of tokens, not its square.

    cases: the same problem at growing lengths; weights: which arrays in `params`, at any depth of
    it, count.
    """
    counts, answers = [], []
    for case in cases:
        params = _counting(case.arguments["params"], weights)
        answer = function.answer(**{**case.arguments, "params": params})
        counts.append((tokens(case), answer.products))
        answers.append(Answered("first", case.arguments, answer.value))
    (few, least), (many, most) = counts[0], counts[-1]
    # Linear work keeps the cost per token; a loop over prefixes multiplies it by many/few.
    if least and most / many > (least / few) * (1 + many / few) / 2:
        grew = f"when the text grew {many / few:.1f} times."
        raise Broken(
            f"{because} The work of projecting grew much more {grew}",
            f"{because} The work of projecting grew {most / least:.1f} times {grew}",
        )
    for case, one in zip(cases, answers, strict=True):
        values_are_right(function, case, one, ())


def _counting(params: Any, weights: Sequence[str]) -> Any:
    """The same nest of dicts and lists, in which the arrays of these names count."""
    if isinstance(params, list):
        return [_counting(item, weights) for item in params]
    if not isinstance(params, dict):
        return params
    return {
        name: Counted(value) if name in weights else _counting(value, weights)
        for name, value in params.items()
    }
