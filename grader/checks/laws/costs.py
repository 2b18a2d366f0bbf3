"""State laws about costs: work, which is counted, never timed, and the memory of long sequences.

Memory is measured in the worker, which counts every array and object wherever it is kept: how much
is kept, and needed at once. A worker could lie about these numbers, but not about its results. So
these laws, like all others, earn points only if the values are right, and a lie earns only this one
law.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from grader.checks.compare import Broken, WrongValue
from grader.checks.laws.cases import Answered, Case, is_right, is_roughly, values_are_right
from grader.checks.laws.chunks import InChunks, Piece
from grader.checks.laws.state import Noted
from grader.checks.student import StudentFunction
from grader.isolation.client import Answer, Raised
from grader.isolation.wire import Counted
from grader.steps.inputs import Arguments

Found = TypeVar("Found")
PER_NUMBER = 32  # bytes: as a Python float in a list, the largest form
SLACK = 2**16  # bytes: for everything that does not grow with the text
KIB = 2**10
SHARE = 0.9  # of a mask


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


def does_not_grow(function: InChunks, case: Case, *, keys: int, numbers: int) -> None:
    """Demand that each call keeps at most `keys` and the new positions, anywhere.

    numbers: how many numbers one key and one value have together, in all sequences of the batch.

    Some memory is taken once: by an import inside a function, or when Python's table of names
    doubles. So what seems to be too much has to be too much in a second cache as well.
    """
    pieces, grew = _feed(function, case, keys, numbers, last=False)
    lot = case.draw(("compared", case.chance)).whole(1, len(pieces))
    compared = [pieces[-1], pieces[lot]]  # not the first, which may be long
    if grew:
        again, _ = _feed(function, case, keys, numbers, last=True)
        compared += [again[-1], again[lot]]
    for piece in compared:
        _piece_is_right(function, case, piece, keys)


def _feed(
    function: InChunks, case: Case, keys: int, numbers: int, *, last: bool
) -> tuple[list[Piece], bool]:
    """Feed a new cache. Return the pieces, and whether too much is kept after one.

    last: raise Broken instead, at once.
    """
    answers, pieces, grew = list[Answer](), list[Piece](), False

    def measuring(**given: Any) -> Any:
        answers.append(function.step.answer(given, traced=True, forget=[given["cache"]]))
        return answers[-1].value

    for piece in function.parts(case.arguments, measuring):
        pieces.append(piece)
        kept = _trace(answers[-1])[2] - _trace(answers[0])[0]
        allowed = keys + piece.stop - piece.start
        if kept <= allowed * numbers * PER_NUMBER + SLACK:
            continue
        grew = True
        if last:
            most = (
                f"at most {allowed} keys and values may be kept. A slice keeps the whole array "
                "that it is a part of."
            )
            raise Broken(
                f"After {piece.stop} positions more is kept than the window allows: {most}",
                f"After {piece.stop} positions {kept // KIB} KiB more are in use than before the "
                f"first, room for {kept // (8 * numbers)} keys and values: {most}",
            )
    return pieces, grew


def _piece_is_right(function: InChunks, case: Case, piece: Piece, keys: int) -> None:
    """Raise WrongValue unless one chunk's rows are right; of earlier keys the last `keys` count."""
    text = case.arguments[function.text][..., max(0, piece.start - keys) : piece.stop, :]
    arguments = {**case.arguments, function.text: text}
    whole = case.right_result(function, arguments)
    right = whole[..., piece.start - piece.stop :, :]
    if case.witness is None and not is_roughly(right, piece.value):
        raise WrongValue(f"{function.name} does not return the right values here.")


def never_holds_everything(
    function: StudentFunction, cases: Sequence[Sequence[Case]], *, few: int, most: Sequence[int]
) -> None:
    """Demand right results, and little more memory for many queries than for few.

    What `few` queries need is subtracted, so copies of the keys, in whatever form, do not count.
    The other queries must need less than a boolean mask, the smallest array over all keys.

    cases: each in several sizes; the law has to hold in one of them. Small blocks suit code that
    makes lists of a block's scores. Few blocks suit code that keeps a small result of each. most:
    how many queries each size has. Code may keep arrays for later calls of the same shape, so no
    two sizes should have the same numbers of queries and keys.
    """
    for sizes in cases:
        asked = list(zip(sizes, most, strict=True))
        for case, many in asked:  # also what few programs need, so that it is stored
            for queries in (few, few + 1, many, many + 1):
                _with_queries(case, queries).right_result(function)
        if all(grown := _grown(function, case, few, many) for case, many in asked):
            t_k, block = case.arguments["k"].shape[-2], case.arguments["block"]
            mask = (many - few) * t_k
            told = f"With {t_k} keys, {block} at a time, "
            raise Broken(
                f"{told}more queries need more memory at once than a block of keys can explain.",
                f"{told}{many + 1} queries needed {grown // KIB} KiB more at once than "
                f"{few + 1} did. A matrix of all scores takes {8 * mask // KIB} KiB more, and "
                f"a mask of that size {mask // KIB} KiB; one block of keys needs much less.",
            )


def _with_queries(case: Case, queries: int) -> Case:
    """Return the case with the first of its queries only."""
    return case.changed(q=case.arguments["q"][..., :queries, :])


def _grown(function: StudentFunction, case: Case, few: int, many: int) -> int:
    """Return how much more memory many queries need than few, or 0 if that is allowed.

    What is made once and kept for all calls is made by the first, which does not count. Python
    keeps small freed objects. So calls that need too much are repeated once, each after a similar
    call, and with one more query. Memory that is kept after both counts as needed.
    """
    mask, grown = (many - few) * case.arguments["k"].shape[-2], 0
    for again in (False, True):
        less, more = (_with_queries(case, queries + again) for queries in (few, many))
        _, kept = _needed(less, function, again=again)
        least, kept = _needed(less, function, kept, again=again)
        needed, _ = _needed(more, function, kept, again=again)  # the report shows this call
        grown = needed - least
        if grown <= SHARE * mask:
            return 0
    return grown


def _needed(
    case: Case, function: StudentFunction, kept: int = 0, *, again: bool
) -> tuple[int, int]:
    """Return how much memory a call with right results needs, and how much is in use after it.

    kept: what was in use after a similar call. again: make two calls with the same arguments. What
    the second needs counts, and what both have kept.
    """
    if again:
        answer = function.answer(case.arguments, then=case.arguments, both=True, traced=True)
        is_right(function, case, answer.first)
    else:
        answer = function.answer(case.arguments, traced=True)
    is_right(function, case, answer.value)
    before, most, after = _trace(answer)
    return most - before + (max(0, after - kept) if again else 0), after


def _trace(answer: Answer) -> tuple[int, int, int]:
    """Return the memory in use before the call, at most during it, and after it."""
    if answer.traced is None:
        raise Broken("The memory that the call needs could not be measured.")
    return answer.traced
