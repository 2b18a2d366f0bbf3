"""State laws about the memory that a long sequence takes: how much is kept, and needed at once.

Both are measured in the worker, which counts every array and object wherever it is kept. A worker
could lie about these numbers, but not about its results. So these laws, like all others, earn
points only if the values are right, and a lie earns only this one law.
"""

from collections.abc import Sequence
from typing import Any

from grader.checks.compare import Broken, WrongValue
from grader.checks.laws.cases import Case, is_right, is_roughly
from grader.checks.laws.chunks import InChunks, Piece
from grader.checks.student import StudentFunction
from grader.isolation.client import Answer

PER_NUMBER = 32  # bytes: as a Python float in a list, the largest form
SLACK = 2**16  # bytes: for everything that does not grow with the text
KIB = 2**10
SHARE = 0.9  # of a mask


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
