"""State laws about the memory that a long sequence takes: how much is kept, and needed at once.

Both are measured in the worker, which counts every array and object wherever it is kept. A worker
could lie about these numbers, but not about its results. So these laws, like all others, earn
points only if the values are right, and a lie earns only this one law.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from grader.checks.compare import Broken
from grader.checks.laws.cases import Answered, Case, Expect, is_right, values_are_right
from grader.checks.laws.chunks import InChunks, Piece
from grader.checks.student import StudentFunction
from grader.isolation.client import Answer
from grader.steps.inputs import Arguments

PER_NUMBER = 32  # bytes: as a Python float in a list, the largest form
SLACK = 2**16  # bytes: for everything that does not grow with the text
KIB = 2**10
SHARE = 0.9  # of a mask


@dataclass(frozen=True)
class _Latest:
    """The last rows of the result of a function of a sequence."""

    name: str
    like: str
    rows: int

    def __call__(self, **arguments: Any) -> Any:
        """Raise an error, because nobody calls it."""
        raise NotImplementedError

    def right(self, expect: Expect, arguments: Arguments) -> Any:
        """Return the reference's last rows."""
        return expect(self.like, arguments)[..., -self.rows :, :]


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
        answers.append(function.step.answer(**given, traced=True, forget=[given["cache"]]))
        return answers[-1].value

    for piece in function.pieces(case.arguments, measuring):
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
    latest = _Latest(function.name, function.like, piece.stop - piece.start)
    arguments = {**case.arguments, function.text: text}
    values_are_right(latest, case, Answered(("piece", piece.number), arguments, piece.value))


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
        asked = [_Asked(case, few, many) for case, many in zip(sizes, most, strict=True)]
        for one in asked:
            one.store_results(function)
        if all(grown := _grown(function, one) for one in asked):
            last = asked[-1]
            t_k, block = last.keys, last.case.arguments["block"]
            told = f"With {t_k} keys, {block} at a time, "
            raise Broken(
                f"{told}more queries need more memory at once than a block of keys can explain.",
                f"{told}{last.most + 1} queries needed {grown // KIB} KiB more at once than "
                f"{few + 1} did. A matrix of all scores takes {8 * last.mask // KIB} KiB more, and "
                f"a mask of that size {last.mask // KIB} KiB; one block of keys needs much less.",
            )


@dataclass(frozen=True)
class _Asked:
    """A case, and with how few and how many of its queries the memory is measured."""

    case: Case
    few: int
    most: int

    @property
    def keys(self) -> int:
        return int(self.case.arguments["k"].shape[-2])

    @property
    def mask(self) -> int:
        """Return the bytes of a boolean mask for the queries that more have than few."""
        return (self.most - self.few) * self.keys

    def with_few(self, more: int = 0) -> Case:
        return self._with(self.few + more)

    def with_most(self, more: int = 0) -> Case:
        return self._with(self.most + more)

    def _with(self, queries: int) -> Case:
        return self.case.changed(q=self.case.arguments["q"][..., :queries, :])

    def store_results(self, function: StudentFunction) -> None:
        """Compute all right results, also those that few programs need, so that they are kept."""
        for more in (0, 1):
            self.with_few(more).expected(function.name)
            self.with_most(more).expected(function.name)


def _grown(function: StudentFunction, asked: _Asked) -> int:
    """Return how much more memory is needed than for few of the queries, or 0 if that is allowed.

    What is made once and kept for all calls is made by the first, which does not count. Python
    keeps small freed objects. So calls that need too much are repeated once, each after a similar
    call, and with one more query. Memory that is kept after both counts as needed.
    """
    grown = 0
    for again in (False, True):
        few, most = asked.with_few(again), asked.with_most(again)
        _, kept = _needed(few, function, again=again)
        least, kept = _needed(few, function, kept, again=again)
        needed, _ = _needed(most, function, kept, again=again)  # the report shows this call
        grown = needed - least
        if grown <= SHARE * asked.mask:
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
        answer = function.answer(**case.arguments, then=case.arguments, both=True, traced=True)
        is_right(function, case, answer.first)
    else:
        answer = function.answer(**case.arguments, traced=True)
    is_right(function, case, answer.value)
    before, most, after = _trace(answer)
    return most - before + (max(0, after - kept) if again else 0), after


def _trace(answer: Answer) -> tuple[int, int, int]:
    """Return the memory in use before the call, at most during it, and after it."""
    if answer.traced is None:
        raise Broken("The memory that the call needs could not be measured.")
    return answer.traced
