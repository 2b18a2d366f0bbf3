"""A window's cache: a token sees its window and no more, in any division into chunks."""

import numpy as np

from grader.checks.influence_inputs.step05_output import OFFERS, change_tokens
from grader.checks.laws.chunks import InChunks
from grader.checks.laws.influence import Moves, past
from grader.checks.student import Student
from grader.steps.inputs import Draw

CHUNKS, WINDOW = (2, 1, 3), 3
T = sum(CHUNKS)
_TOKENS, _OFFERED = change_tokens(Draw("maps", "window cache", decimals=2), T)
_SEES = past(T) & ~np.tri(T, T, -WINDOW, dtype=bool)
_CUT = f"The window is {WINDOW}, the text came in chunks of {', '.join(map(str, CHUNKS))} tokens."

MAPS = {
    "attend_with_window_cache": [
        Moves(
            _TOKENS,
            _SEES,
            offers=_OFFERED,
            how=f"{_CUT} {OFFERS}",
        )
    ],
}


def _in_chunks(student: Student) -> InChunks:
    fresh = lambda: student.new_window_cache(WINDOW)  # noqa: E731
    return InChunks(student.attend_with_window_cache, fresh, CHUNKS, "attend_in_window")


CALLS = {"attend_with_window_cache": _in_chunks}
