"""State the law of work, which is counted, never timed."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from grader.checks.compare import Broken
from grader.checks.laws.cases import Answered, Case, values_are_right
from grader.checks.laws.chunks import InChunks
from grader.checks.laws.state import Noted
from grader.checks.student import StudentFunction
from grader.isolation.client import Raised
from grader.isolation.wire import Counted
from grader.steps.inputs import Arguments

Found = TypeVar("Found")


def work_is_linear(
    function: StudentFunction,
    cases: Sequence[Case],
    *,
    weights: Sequence[str],
    tokens: Callable[[Case], int],
    because: str,
) -> None:
    """Demand that projection work, counted in the worker, grows linearly with the tokens.

    cases: the same problem at growing lengths. weights: which arrays in `params`, at any depth,
    count.
    """
    counts, answers = [], []
    for case in cases:
        tracked = _counting(case.arguments, weights)
        answer = _counted(function.answer, case, tracked)
        counts.append((tokens(case), answer.products))
        answers.append(Answered(case.arguments, answer.value))
    (few, least), (many, most) = counts[0], counts[-1]
    # Linear work keeps the cost per token; a loop over prefixes multiplies it by many/few.
    if least and most / many > (least / few) * (1 + many / few) / 2:
        grew = f"when the text grew {many / few:.1f} times."
        raise Broken(
            f"{because} The projections' work grew much more {grew}",
            f"{because} The projections' work grew {most / least:.1f} times {grew}",
        )
    for case, one in zip(cases, answers, strict=True):
        values_are_right(function, case, one)


def new_tokens_only(
    functions: Sequence[InChunks], cases: Sequence[Case], *, weights: Sequence[str]
) -> None:
    """Demand that the work for the last chunk does not depend on the number of earlier tokens.

    cases: sequences whose last chunks are equally long; the first sequence has fewer tokens before
    it. weights: the arguments that count, or arrays in `params`.
    """
    counts, answers = [], []
    for function, case in zip(functions, cases, strict=True):
        tracked = _counting(case.arguments, weights)
        value, work = _counted(partial(_of_the_last, function), case, tracked)
        counts.append((sum(function.chunks[:-1]), work))
        answers.append(Answered(case.arguments, value))
    (few, least), (many, most) = counts
    if least and most > 2 * least:
        again = "go through the layers" if "params" in cases[0].arguments else "are projected"
        why = f"Old tokens {again} again: take what belongs to them from the cache."
        raise Broken(
            f"One more token takes more work if more tokens came before it. {why}",
            f"After {many} tokens one more took {most / least:.1f} times the work that it took "
            f"after {few}. {why}",
        )
    for function, case, one in zip(functions, cases, answers, strict=True):
        values_are_right(function, case, one)


def works_in_blocks(function: StudentFunction, cases: Sequence[Case]) -> None:
    """Demand that no product is made with more of `k` or `v` at once than `block`.

    Also that the values are right. In one case a result may by chance look like rows of the keys,
    so several cases have to have such a product.
    """
    larger = 0
    for case in cases:
        k, block = case.arguments["k"], case.arguments["block"]
        tracked = {name: Counted(case.arguments[name], rows=True) for name in "kv"}
        keys = _counted(partial(_count_keys, function, case), case, tracked)
        larger += keys > block
        if keys > block and larger > 1:
            told = f"With {k.shape[-2]} keys and block = {block}, "
            raise Broken(
                f"{told}a product was made with more keys or values at once.",
                f"{told}a product was made with {keys} keys or values at once.",
            )


def _count_keys(function: StudentFunction, case: Case, given: Arguments) -> int:
    """Return the most keys or values in a product, if the result is right."""
    answer = function.answer(given)
    values_are_right(function, case, Answered(case.arguments, answer.value))
    return answer.products


def _of_the_last(function: InChunks, whole: Arguments) -> tuple[Any, int]:
    """Return the answer for the whole sequence, and the products made for the last chunk."""
    noted = Noted(function.step)
    return function.join(whole, noted), noted.answers[-1].products


def _counted(ask: Callable[[Arguments], Found], case: Case, tracked: Arguments) -> Found:
    """Return what `ask` finds with arrays that count, or with ordinary ones if the code refuses.

    It may want arrays of exactly NumPy's type, such as `type(weight) is np.ndarray`.
    """
    try:
        return ask({**case.arguments, **tracked})
    except (Raised, Broken):
        return ask(case.arguments)


def _counting(params: Any, weights: Sequence[str]) -> Any:
    """Return the same nest of dicts and lists, in which the arrays of these names count."""
    if isinstance(params, list):
        return [_counting(item, weights) for item in params]
    if not isinstance(params, dict):
        return params
    return {
        name: Counted(value) if name in weights else _counting(value, weights)
        for name, value in params.items()
    }
