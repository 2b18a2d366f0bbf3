"""State the law of losses: no prediction has seen its answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.checks.compare import Broken, as_array, describe
from grader.checks.laws.cases import Answered, Case, Function, name_of, show_case, values_are_right
from grader.checks.tolerances import Tolerance

TOTAL = Tolerance(0.0, 1e-7)
EITHER = (
    "Either the loss is not the mean of -log p (fix the values first), or a prediction has seen "
    "its answer."
)


def probabilities_add_up(
    function: Function, cases: Sequence[Case], *, only_last: bool = False
) -> None:
    """Demand that the probabilities of all possible next tokens add up to 1.

    n predictions of mean loss L give a sequence the probability exp(-n·L). The sum over all
    possible last tokens is the probability of the sequence before them. It is not if a prediction
    has seen its answer or a later token. only_last: look at the last position alone.
    """
    for case in cases:
        tokens, asked = case.arguments["tokens"], list[Answered]()
        for end in range(len(tokens) - 1 if only_last else 1, len(tokens)):
            before = _log_probability(function, case, tokens[:end], asked)
            texts = [np.append(tokens[:end], i) for i in range(int(case.sizes["vocabulary"]))]
            after = [_log_probability(function, case, text, asked) for text in texts]
            with np.errstate(all="ignore"):
                total = float(np.exp(np.logaddexp.reduce(after) - before))
            if not abs(total - 1) <= case.within(TOTAL).atol:
                _do_not_add_up(function, case.changed(tokens=texts[0]), end, total)
        values_are_right(function, case, asked[0], asked[1:])


def _log_probability(
    function: Function, case: Case, text: NDArray[Any], asked: list[Answered]
) -> float:
    """Return the sequence's log probability given its first token, from the others' mean loss."""
    if len(text) < 2:
        return 0.0
    arguments = {**case.arguments, "tokens": text}
    value = function(**arguments)
    asked.append(Answered(("text", text.tobytes()), arguments, value))
    loss = as_array(value)
    if loss is None or loss.ndim:
        raise Broken(f"{name_of(function)} returned {describe(value)}; expected a single number.")
    return -(len(text) - 1) * float(loss)


def _do_not_add_up(function: Function, case: Case, end: int, total: float) -> None:
    which = (
        f"The probabilities of all tokens that may stand at position {end}, as the losses have them"
    )
    told = f"{which}, do not sum to 1. {EITHER}"
    seen = f"{which}, sum to {total:.6g}; they should sum to 1. {EITHER}"
    raise Broken(told, seen, show_case(function, case.arguments))
