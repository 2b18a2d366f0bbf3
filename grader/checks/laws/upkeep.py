"""State laws about the cost of a long sequence: memory that is kept, and memory needed at once.

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
MIB = 2**20


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
            most = f"at most {allowed} keys and values may be kept."
            raise Broken(
                f"After {piece.stop} positions more is kept than the window allows: {most}",
                f"After {piece.stop} positions {kept // 1024} KiB more are in use than before the "
                f"first, room for {kept // (8 * numbers)} keys and values: {most}",
            )
    return pieces, grew


def _piece_is_right(function: InChunks, case: Case, piece: Piece, keys: int) -> None:
    """Raise WrongValue unless one chunk's rows are right; of earlier keys the last `keys` count."""
    text = case.arguments[function.text][..., max(0, piece.start - keys) : piece.stop, :]
    latest = _Latest(function.name, function.like, piece.stop - piece.start)
    arguments = {**case.arguments, function.text: text}
    values_are_right(latest, case, Answered(("piece", piece.number), arguments, piece.value))


def never_holds_everything(function: StudentFunction, cases: Sequence[Case], *, mib: float) -> None:
    """Demand a correct result that never needs more memory than that on the way.

    Python keeps small freed objects. So a call that needs too much is repeated once, after a
    similar call. Memory that is kept after both counts as needed.
    """
    for case in cases:
        needed = _needed(case, function, function.answer(**case.arguments, traced=True))
        if needed > mib * MIB:
            again = function.answer(**case.arguments, then=case.arguments, both=True, traced=True)
            is_right(function, case, again.first)
            needed = _needed(case, function, again)
        if needed > mib * MIB:
            t_q, t_k = (case.arguments[name].shape[-2] for name in "qk")
            asked = f"With {t_q} queries and {t_k} keys, {case.arguments['block']} at a time, "
            raise Broken(
                f"{asked}more memory was needed at once than the keys of a block can explain.",
                f"{asked}{needed / MIB:.1f} MiB were needed at once; {mib} MiB are "
                f"plenty. A matrix of all scores takes {t_q * t_k * 8 / MIB:.1f} MiB, and a mask "
                f"of that size {t_q * t_k / MIB:.1f} MiB.",
            )


def _needed(case: Case, function: StudentFunction, answer: Answer) -> int:
    is_right(function, case, answer.value)
    before, most, after = _trace(answer)
    return most - before + max(0, after - before)


def _trace(answer: Answer) -> tuple[int, int, int]:
    """Return the memory in use before the call, at most during it, and after it."""
    if answer.traced is None:
        raise Broken("The memory that the call needs could not be measured.")
    return answer.traced
